// SPDX-License-Identifier: MIT
// Draws data: charts and histograms of each metric, the machine, and the findings of doctor. For the page of --html,
// and for the live page of `serve` (live.js). All functions except start() and the functions that it calls take arrays
// and objects and return markup. All data pass through text(), so that no name can act as markup.
"use strict";
const page = (() => {
	const MOST_POINTS = 2000; // points of a line; more are reduced to the smallest and largest value of equal spans
	const BINS = 32; // bins in each octave
	const COLORS = 8; // rows of a chart with a colour: the busiest ones
	const MOVES = 20; // moves of a chart, at least, before it is drawn again
	const HEIGHT = 200, LEFT = 74, RIGHT = 8, TOP = 10, BOTTOM = 24;

	const text = (s) => String(s ?? "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
	const finite = (v) => typeof v === "number" && isFinite(v);
	const date = (w) => new Date(w.wall_ns / 1e6).toISOString();

	// The same prefixes as in the command's tables: human() in cli/base/table.c.
	const scales = {"B/s": [0, 4], B: [0, 4], Hz: [0, 3], s: [-3, 0], W: [-2, 1], J: [-2, 2], V: [-1, 0]};
	function human(value, unit) {
		if (!finite(value))
			return "-";
		let power = 0;
		if (unit === "ratio")
			[value, unit] = [value * 100, "%"];
		const [least, most] = scales[unit] ?? [0, 0];
		for (; power < most && Math.abs(value) >= 999.95; power++)
			value /= 1000;
		for (; power > least && Math.abs(value) < 0.99995 && value !== 0; power--)
			value *= 1000;
		const size = Math.abs(value);
		const decimals = !unit || value === 0 ? 0 : size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 10000 ? 1 : 0;
		const number = size >= 1e18 || (unit && size > 0 && size < 0.0005) ? value.toPrecision(3) :
			value.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, ",");
		return `${number} ${["n", "µ", "m", "", "k", "M", "G", "T"][power + 3]}${unit}`.trimEnd();
	}

	// A value at an axis, without trailing zeros.
	const brief = (value, unit) => human(value, unit).replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

	// Indices of the points to draw: all, or for each span the smallest and the largest value.
	function reduce(values, points = MOST_POINTS) {
		const span = values.length > points ? Math.ceil(values.length / (points / 2)) : 1;
		const kept = [];
		if (span === 1)
			return {kept: Array.from(values, (_, i) => i), span};
		for (let from = 0; from < values.length; from += span) {
			let least = from, most = from, gap = -1;
			for (let i = from; i < Math.min(from + span, values.length); i++) {
				if (!finite(values[i]))
					gap = i;
				if (!(values[i] >= values[least]) && finite(values[i]))
					least = i;
				if (!(values[i] <= values[most]) && finite(values[i]))
					most = i;
			}
			kept.push(...[...new Set([least, most, gap])].filter((i) => i >= 0).sort((a, b) => a - b));
		}
		return {kept, span};
	}

	// An empty record of windows: their times, and rows with values, extreme short samples and qualities for each
	// window.
	function begin(rows) {
		return {intervals: [], quality: [], shift: 0, drift: 1e-6, rows: rows.map((row) =>
			({...row, values: [], least: [], most: [], quality: []}))};
	}

	// If a session of a recording follows another, the gap is computed from the wall clock: a machine's own time
	// restarts at boot.
	function gap(data, w) {
		const last = data.intervals.at(-1), from = Math.max(last.time + (w.wall_ns - last.wall_ns) / 1e9 - w.interval, last.time);
		data.intervals.push({time: from, interval: from - last.time, wall_ns: w.wall_ns - w.interval * 1e9, gap: true});
		for (const row of data.rows)
			row.values.push(null), row.least.push(null), row.most.push(null), row.quality.push(["unavailable", "not recorded"]);
		data.shift = from + w.interval - w.time;
	}

	// Adds a window. `data.drift`: how far it may begin from the end of the previous window.
	function add(data, w) {
		const {rows, intervals} = data, last = intervals.at(-1);
		data.quality = w.quality ?? data.quality; // absent: unchanged
		if (last && Math.abs(w.time + data.shift - w.interval - last.time) > data.drift)
			gap(data, w);
		intervals.push({...w, time: w.time + data.shift});
		rows.forEach((row, i) => {
			row.values.push((row.event && finite(w.rates?.[i]) ? w.rates : w.values)[i]);
			row.extremes ||= w.least !== undefined;
			row.least.push(w.least?.[i] ?? null);
			row.most.push(w.most?.[i] ?? null);
			row.quality.push(null);
		});
		for (const [i, name, reason] of data.quality)
			rows[i].quality[rows[i].quality.length - 1] = [name, reason];
	}

	// Rows of one metric share a chart. Of many, the busiest come first.
	const charts = (rows) => group(rows, (row) => JSON.stringify([row.family, row.name, row.unit])).map(busiest);
	function busiest(rows) {
		if (rows.length <= COLORS)
			return rows;
		const mean = (row) => row.values.reduce((sum, v) => sum + (finite(v) ? Math.abs(v) : 0), 0);
		return rows.map((row) => [mean(row), row]).sort((a, b) => b[0] - a[0]).map(([, row]) => row);
	}

	// Collects windows in the form that the page of --html has.
	function collect(windows) {
		const data = begin(windows[0]?.rows ?? []), totals = windows.filter((w) => w.total);
		for (const w of windows)
			if (w.total)
				data.quality = w.quality ?? data.quality;
			else
				add(data, w);
		const whole = totals.length ? totals : windows.slice(-1);
		data.rows.forEach((row, i) => row.distribution = whole.at(-1)?.distributions?.[i]);
		return {intervals: data.intervals, charts: charts(data.rows.filter((row) => !row.extra)), totals: whole, rows: data.rows, quality: data.quality,
			screen: windows[0]?.screen};
	}

	// The intervals whose middle lies between two times, with the same part of the rows.
	function part(rows, intervals, from, to) {
		const inside = (w) => w.time - w.interval / 2 >= from && w.time - w.interval / 2 <= to;
		const first = intervals.findIndex(inside), end = intervals.findLastIndex(inside) + 1;
		const cut = (list) => first < 0 ? [] : list.slice(first, end);
		return {first, intervals: cut(intervals), rows: rows.map((row) => ({...row, values: cut(row.values),
			least: cut(row.least), most: cut(row.most), quality: cut(row.quality)}))};
	}

	// Colours that are visible on white and on black.
	function color(i) {
		if (i >= COLORS)
			return "hsl(210 6% 55%)";
		const hue = (212 + i * 137.5) % 360;
		return `hsl(${hue} 65% ${hue > 30 && hue < 200 ? 38 : 54}%)`;
	}
	// `shown` and `named` come from the screen: map.js.
	const label = (row) => row.shown ?? [row.named ?? row.place, row.role, row.filter].filter(Boolean).join(", ");
	// A latency or ratio of a time in which nothing happened is no warning.
	const harmless = (q) => q[0] === "unavailable" && /no events/.test(q[1] ?? "");

	// Round steps of an axis.
	function ticks(least, most, count) {
		const raw = (most - least) / count, ten = 10 ** Math.floor(Math.log10(raw));
		const step = ten * ([1, 2, 5].find((n) => n * ten >= raw) ?? 10);
		const list = [];
		for (let n = Math.ceil(least / step - 1e-9); n * step <= most + step * 1e-9; n++)
			list.push(n * step);
		return list;
	}

	// A live page draws no more points than can be seen.
	const pointsFor = (wide, clock) => clock === undefined ? MOST_POINTS : Math.max(2 * wide, 800);

	// `view`: `begin` and `end`, if they differ from those of the intervals; `clock`, the seconds to add to get the
	// time of day, if this is shown; `height`.
	function geometry(rows, intervals, width, view = {}) {
		const begin = view.begin ?? intervals[0].time - intervals[0].interval, end = view.end ?? intervals.at(-1).time;
		const height = view.height ?? HEIGHT, wide = width - LEFT - RIGHT, high = height - TOP - BOTTOM;
		let least = 0, most = 0;
		for (const row of rows)
			for (const list of row.extremes ? [row.values, row.least, row.most] : [row.values])
				for (const v of list)
					if (v > most && v < Infinity)
						most = v;
					else if (v < least && v > -Infinity)
						least = v;
		const ceiling = Math.max(...rows.map((row) => row.ceiling ?? -Infinity));
		if (ceiling > most && (rows[0].shown || ceiling < most * 3))
			most = ceiling;
		// Up to a line of the grid, so that the scale seldom changes on a live page.
		most = most > least ? most : least + 1;
		const [zero, one] = ticks(least, most, 4), step = one - zero;
		most = Math.ceil(most / step - 1e-9) * step;
		const grid = ticks(least, most, (most - least) / step);
		return {begin, end, least, most, grid, ceiling, width, height, clock: view.clock, bottom: height - BOTTOM,
			points: pointsFor(wide, view.clock),
			x: (t) => LEFT + (t - begin) / (end - begin || 1) * wide,
			y: (v) => TOP + (most - v) / (most - least) * high};
	}

	const same = (a, b) => a === b || (a && b && a[0] === b[0] && a[1] === b[1]);

	// Marks the spans in which a line is not measured. Pointing at them shows the reason.
	function shades(rows, intervals, g) {
		const out = [];
		for (const row of rows)
			for (let i = 0, to; i < intervals.length; i = to) {
				for (to = i + 1; to < intervals.length && same(row.quality[to], row.quality[i]); to++)
					;
				if (!row.quality[i] || harmless(row.quality[i]))
					continue;
				const from = Math.max(g.x(intervals[i].time - intervals[i].interval), LEFT), wide = g.x(intervals[to - 1].time) - from;
				out.push(`<rect class="shade" x="${from.toFixed(1)}" y="${TOP}" width="${Math.max(wide, 1).toFixed(1)}" ` +
					`height="${g.bottom - TOP}"><title>${text(label(row))}: ` +
					`${text(row.quality[i].filter(Boolean).join(": "))}</title></rect>`);
			}
		// A machine may have hundreds of equal lines: the first ones are enough.
		return out.slice(0, 200).join("");
	}

	// `xs`: positions of the middles of the intervals. Rounds to one decimal without toFixed(), which takes ten times
	// as long.
	function line(values, xs, g, kind, i) {
		const kept = values.length > g.points ? reduce(values, g.points).kept : null, count = (kept ?? values).length;
		let path = "", drawing = false;
		for (let n = 0; n < count; n++) {
			const at = kept ? kept[n] : n, v = values[at];
			if (finite(v))
				path += `${drawing ? "L" : "M"}${xs[at]} ${Math.round(g.y(v) * 10) / 10}${drawing ? "" : "h0"}`;
			drawing = finite(v);
		}
		return path ? `<path class="${kind}${i < COLORS ? "" : " rest"}" stroke="${color(i)}" d="${path}"/>` : "";
	}

	// The labels of a time axis: seconds since the start, or the time of day.
	function times(g) {
		const count = g.width < 500 ? 3 : 6, {clock} = g;
		if (clock === undefined)
			return ticks(g.begin, g.end, count).map((t) => [t, `${+t.toPrecision(6)} s`]);
		const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600];
		const step = steps.find((s) => (g.end - g.begin) / s <= count) ?? 86400, list = [];
		const zone = new Date((g.begin + clock) * 1000).getTimezoneOffset() * 60;
		for (let n = Math.ceil((g.begin + clock - zone) / step - 1e-6); n * step <= g.end + clock - zone + step * 1e-6; n++)
			list.push([n * step + zone - clock, timeOfDay(n * step + zone, step < 1 ? 2 : 0).slice(0, step < 60 ? undefined : 5)]);
		return list;
	}

	// The time of day, with this many digits of a second.
	function timeOfDay(seconds, digits = 0) {
		const date = new Date(Math.round(seconds * 1000));
		return date.toTimeString().slice(0, 8) + (digits ? `.${String(date.getMilliseconds()).padStart(3, "0").slice(0, digits)}` : "");
	}

	function lines(rows, intervals, g) {
		const xs = intervals.map((w) => Math.round(g.x(w.time - w.interval / 2) * 10) / 10);
		return rows.map((row, i) => (i < COLORS ? line(row.least, xs, g, "most", i) + line(row.most, xs, g, "most", i) : "") +
			line(row.values, xs, g, "value", i)).reverse().join("");
	}

	// A label that moves is shown only where it fits completely.
	const labels = (g) => times(g).filter(([t]) => g.clock === undefined || g.x(t) < g.width - 30).map(([t, name]) => `<text x="${g.x(t).toFixed(1)}" y="${g.height - 6}" ` +
		`text-anchor="${g.x(t) > g.width - 40 ? "end" : "middle"}">${name}</text>`).join("");

	// The lines have an area of their own, which follow() moves.
	function svg(rows, intervals, g) {
		const {width} = g, {unit} = rows[0];
		let out = `<g class="shades">${shades(rows, intervals, g)}</g>`;
		for (const v of g.grid)
			out += `<path class="grid" d="M${LEFT} ${g.y(v).toFixed(1)}H${width - RIGHT}"/>` +
				`<text x="${LEFT - 6}" y="${(g.y(v) + 4).toFixed(1)}" text-anchor="end">${text(brief(v, unit))}</text>`;
		out += `<g class="times">${labels(g)}</g>`;
		if (g.ceiling <= g.most && finite(g.ceiling))
			out += `<path class="ceiling" d="M${LEFT} ${g.y(g.ceiling).toFixed(1)}H${width - RIGHT}"><title>ceiling ` +
				`${text(human(g.ceiling, unit))}</title></path><text x="${LEFT + 6}" y="${(g.y(g.ceiling) + 13).toFixed(1)}">` + // the latest values are at the right
				`ceiling ${rows.every((row) => row.ceiling) ? "" : "of each direction "}${text(brief(g.ceiling, unit))}</text>`;
		out += `<svg class="area" x="${LEFT}" width="${Math.max(width - LEFT - RIGHT, 0)}" height="${g.height}"><g class="lines" ` +
			`transform="translate(${-LEFT} 0)">${lines(rows, intervals, g)}<g class="since"></g></g></svg>`;
		return `<svg height="${g.height}" viewBox="0 0 ${width} ${g.height}" aria-hidden="true">${out}` +
			`<rect class="drag" visibility="hidden" y="${TOP}" height="${g.bottom - TOP}"/>` +
			`</svg><div class="cursor" hidden></div>`; // above the drawing, which then need not be painted again
	}

	// Notes below a chart.
	function notes(rows, intervals, points = MOST_POINTS) {
		const [first] = rows, span = first.values.length > points ? reduce(first.values, points).span : 1, list = [];
		const ceiling = Math.max(...rows.map((row) => row.ceiling ?? -Infinity));
		if (finite(ceiling))
			list.push(`ceiling ${human(ceiling, first.unit)}${first.derived ? ", by the share that is counted" : ""}`);
		const merged = intervals.reduce((most, w) => Math.max(most, w.intervals ?? 1), 1);
		if (rows.some((row) => row.most.some(finite)))
			list.push(`dotted: the smallest and largest ${first.distribution ? "short sample" : "interval"}`);
		if (merged > 1)
			list.push(`means of up to ${merged} intervals`);
		const told = reasons(rows);
		if (told.length)
			list.push(`shaded: ${told[0]}${told.length > 1 ? `, and ${told.length - 1} more reasons` : ""}`);
		if (span > 1)
			list.push(`reduced: the smallest and largest of ${span} ${merged > 1 ? "means" : "intervals"}`);
		return text(rows.some((row) => row.values.some(finite)) ? list.join("; ") : `no value: ${told[0] ?? "no events"}`);
	}

	function reasons(rows) {
		const told = new Set();
		for (const {quality} of rows)
			for (let i = 0; i < quality.length; i++)
				if (quality[i] && quality[i] !== quality[i - 1] && !harmless(quality[i]))
					told.add(quality[i].filter(Boolean).join(": "));
		return [...told];
	}

	// The legend. With `at`: also the values at this interval.
	function key(rows, at) {
		if (rows.length < 2 && at === undefined)
			return "";
		return rows.slice(0, COLORS).map((row, i) => `<span>` + (rows.length < 2 ? "" :
			`<svg class="swatch" width="12" height="3" aria-hidden="true"><rect width="12" height="3" fill="${color(i)}"/></svg>` +
			text(label(row))) + (at === undefined ? "" : ` <b>${text(human(row.values[at], row.unit))}</b>`) +
			`</span>`).join(" ") + (rows.length > COLORS ? ` <span>and ${rows.length - COLORS} more, grey</span>` : "");
	}

	function chart(rows, intervals, width, view) {
		const some = rows.some((row) => row.values.some(finite));
		return `<p class="note">${notes(rows, intervals)}</p><div class="plot" ${some ? "" : "hidden "}tabindex="0" role="application" ` +
			`aria-roledescription="chart" aria-label="${text(rows[0].name)} over time; left and right read values, plus and minus ` +
			`zoom, Escape shows all">${some ? svg(rows, intervals, geometry(rows, intervals, width, view)) : ""}</div>` +
			`<div class="key">${some ? key(rows) : ""}</div><div class="readout" aria-live="polite"></div>` +
			`<p class="downloads">Download <button class="csv">CSV</button> <button class="png">PNG</button></p>`;
	}

	// The text at the cursor, for an interval. With `clock` (see geometry()) it has the time of day.
	function readout(rows, intervals, at, clock) {
		const w = intervals[at];
		const parts = rows.slice(0, COLORS).map((row) => {
			const q = row.quality[at];
			return `${rows.length > 1 ? `${text(label(row))}: ` : ""}<b>${text(human(row.values[at], row.unit))}</b>` +
				(finite(row.most[at]) ? ` (${text(human(row.least[at], row.unit))} to ${text(human(row.most[at], row.unit))})` : "") +
				(q ? ` ${text(q.filter(Boolean).join(": "))}` : "");
		});
		const when = clock === undefined ? `${w.time.toFixed(3)} s, ${text(date(w))}` :
			timeOfDay(w.wall_ns / 1e9, w.interval < 1 ? 3 : 0);
		return `${when}${w.intervals > 1 ? `, mean of ${w.intervals} intervals` : ""}` +
			`${w.missed ? `, ${w.missed} intervals missed` : ""}: ${parts.join("; ")}`;
	}

	// ---- histograms of short samples ----

	// Bins of several rows on one logarithmic axis. Adjacent bins are combined until they are 3 pixels wide. A row's
	// bars are [first, seconds, samples], where `first` is the lower bound in bins, or null for values of 0 or less.
	function binned(rows, width) {
		const all = rows.flatMap((row) => row.distribution.bins), at = all.map((b) => b[0]).filter(finite);
		let low = Math.min(...at) - 1, high = Math.max(...at), per = 1;
		if (!at.length)
			[low, high] = [0, BINS];
		for (let pad = Math.max(2, (high - low) / 24, (BINS - high + low) / 2); pad > 0; pad--)
			low--, high++;
		while (per * Math.max(width, 1) < 3 * (high - low))
			per *= 2;
		low = Math.floor(low / per) * per, high = Math.ceil(high / per) * per;
		return {low, high, per, zero: all.some((b) => b[0] === null), bars: rows.map((row) => {
			const bars = new Map();
			for (const [index, samples, seconds] of row.distribution.bins) {
				const first = index === null ? null : Math.floor((index - 1) / per) * per, sum = bars.get(first) ?? [0, 0];
				bars.set(first, [sum[0] + seconds, sum[1] + samples]);
			}
			return [...bars].map(([first, sum]) => [first, ...sum]);
		})};
	}

	const bounds = (first, per, unit) => first === null ? "0 or less" :
		`${human(2 ** (first / BINS), unit)} to ${human(2 ** ((first + per) / BINS), unit)}`;
	const duration = (bars) => bars.reduce((sum, bar) => sum + bar[1], 0);

	// The labels of a logarithmic axis.
	function decades(least, most) {
		const list = [];
		if (most / least < 8)
			return ticks(least, most, 4);
		for (let ten = 10 ** Math.floor(Math.log10(least)); ten <= most; ten *= 10)
			list.push(...[1, 2, 5].map((n) => n * ten).filter((v) => v >= least && v <= most));
		return most / least < 1000 ? list : list.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9);
	}

	// Lines at percentiles. The names of lines that are close together form one text.
	function marks(row, x, top, bottom, width, named) {
		const groups = [];
		for (const name of ["p50", "p90", "p99", "max"]) {
			const at = x(row.distribution[name]), last = groups.at(-1);
			if (last && at - last.at < 12 + 26 * last.names.length)
				last.names.push(name);
			else
				groups.push({at, names: [name]});
		}
		const lines = ["p50", "p90", "p99", "max"].map((name) => `<path class="mark" ` +
			`d="M${x(row.distribution[name]).toFixed(1)} ${top}V${bottom}"/>`);
		return lines.join("") + (!named ? "" : groups.map(({at, names}) => `<text x="${at.toFixed(1)}" y="${top - 3}" ` +
			`text-anchor="${at > width - 30 * names.length ? "end" : "start"}">${names.join(" ")}</text>`).join(""));
	}

	// Rows with a histogram, up to the number that is drawn.
	const sampled = (rows) => rows.filter((row) => row.distribution?.bins?.length).slice(0, 24);

	// A strip of bars for each row. The share of time is logarithmic, too, since bursts are short.
	function bars(rows, width) {
		const list = sampled(rows), {unit} = rows[0];
		if (!list.length)
			return "";
		const one = list.length < 2, strip = one ? 120 : 36, top = one ? 16 : 14;
		const {low, high, per, zero, bars: all} = binned(list, width - LEFT - RIGHT);
		const left = LEFT + (zero ? 24 : 0), end = list.length * strip, scale = (width - left - RIGHT) / (high - low);
		const x = (v) => v > 0 ? left + (Math.min(Math.max(Math.log2(v) * BINS, low), high) - low) * scale : LEFT + 8;
		const shares = all.flatMap((row) => row.map((bar) => bar[1] / duration(row)));
		const floor = Math.min(-1, Math.max(-5, Math.floor(Math.log10(Math.min(...shares)) - 1e-9)));
		const level = (share) => (1 - Math.log10(share) / floor) * (strip - top);
		let out = "", last = -Infinity;
		for (let power = 0; one && power >= floor; power--)
			out += `<path class="grid" d="M${LEFT} ${(strip - level(10 ** power)).toFixed(1)}H${width - RIGHT}"/>` +
				`<text x="${LEFT - 6}" y="${(strip - level(10 ** power) + 4).toFixed(1)}" text-anchor="end">` +
				`${+(100 * 10 ** power).toPrecision(1)} %</text>`;
		list.forEach((row, i) => {
			const bottom = (i + 1) * strip, sum = duration(all[i]);
			out += one ? "" : `<path class="grid" d="M${LEFT} ${bottom}H${width - RIGHT}"/>`;
			for (const [first, seconds, samples] of all[i]) {
				const from = first === null ? LEFT + 2 : left + (first - low) * scale, h = Math.max(1.5, level(seconds / sum));
				out += `<rect fill="${color(i)}" x="${from.toFixed(1)}" y="${(bottom - h).toFixed(1)}" ` +
					`width="${(first === null ? 12 : Math.max(per * scale - 0.5, 1)).toFixed(1)}" height="${h.toFixed(1)}">` +
					`<title>${text(bounds(first, per, unit))}: ${samples} samples, ${human(seconds / sum, "ratio")} of the time` +
					`</title></rect>`;
			}
			out += marks(row, x, bottom - strip + top, bottom, width, one) +
				(one ? "" : `<text x="${LEFT}" y="${bottom - strip + 11}">${text(label(row))}</text>`);
		});
		for (const v of decades(2 ** (low / BINS), 2 ** (high / BINS)))
			if (x(v) - last > (x(v) > width - 40 ? 92 : 56) && x(v) < width - RIGHT) {
				out += `<text x="${(last = x(v)).toFixed(1)}" y="${end + 16}" ` +
					`text-anchor="${x(v) > width - 40 ? "end" : "middle"}">${text(brief(v, unit))}</text>`;
			}
		if (zero)
			out += `<text x="${LEFT + 8}" y="${end + 16}" text-anchor="middle">0</text>`;
		const {p50, p90, p99, max} = list[0].distribution;
		return `<p class="note">short samples: share of the time by value; both scales are logarithmic; lines: p50, p90, p99, max` +
			`${rows.length > 24 ? "; of the first 24" : ""}</p>` +
			`<svg class="histogram" height="${end + 22}" viewBox="0 0 ${width} ${end + 22}" role="img" ` +
			`aria-label="${text(`${rows[0].name}: histogram of short samples` + (one ? `, p50 ${human(p50, unit)}, p90 ` +
			`${human(p90, unit)}, p99 ${human(p99, unit)}, max ${human(max, unit)}` : ""))}">${out}</svg>`;
	}

	function binTable(rows, width) {
		const list = sampled(rows), {per, bars: all} = binned(list, width - LEFT - RIGHT);
		return tableOf("", list.flatMap((row, i) => all[i].map(([first, seconds, samples]) => ({place: list.length < 2 ? "" : label(row),
			values: bounds(first, per, row.unit), samples, time: human(seconds / duration(all[i]), "ratio")}))));
	}

	function histogram(rows, width) {
		return sampled(rows).length ? `<div class="bars">${bars(rows, width)}</div><details class="bins"><summary>Histogram as a ` +
			`table</summary><div>${binTable(rows, width)}</div></details>` : "";
	}

	// Combines histograms of several intervals into one.
	function joined(list) {
		const bins = new Map(), all = list.filter((d) => d?.samples);
		const least = Math.min(...all.map((d) => d.min)), most = Math.max(...all.map((d) => d.max));
		for (const d of all)
			for (const [index, samples, seconds] of d.bins) {
				const sum = bins.get(index) ?? [0, 0];
				bins.set(index, [sum[0] + samples, sum[1] + seconds]);
			}
		const sorted = [...bins].map(([index, sum]) => [index, ...sum]).sort((a, b) => (a[0] ?? -Infinity) - (b[0] ?? -Infinity));
		const whole = sorted.reduce((sum, bin) => sum + bin[2], 0), out = {samples: 0, bins: sorted, min: least, max: most};
		out.samples = sorted.reduce((sum, bin) => sum + bin[1], 0);
		// The middle of a bin, as percentile() in lib/count/distribution.c.
		for (const [name, share] of [["p50", 0.5], ["p90", 0.9], ["p99", 0.99]]) {
			let sum = 0;
			const bin = sorted.find((b) => (sum += b[2]) >= share * whole * (1 - 1e-12));
			out[name] = !bin ? null : bin[0] === null ? (most > 0 ? Math.max(least, 0) : most) :
				Math.min(Math.max(2 ** ((bin[0] - 0.5) / BINS), least), most);
		}
		return out;
	}

	// A button that explains a metric. Names can be broken after each dot.
	const broken = (name) => text(name).replace(/\./g, ".<wbr>");
	const explainButton = (row, name) => `<button class="explain" aria-haspopup="dialog" aria-label="Explain ${text(row.name)}" ` +
		`data-name="${text(row.name)}" data-family="${text(row.family)}">${name}</button>`;

	// Chart, legend and notes of a metric, or of the rows of a place with their `title`. With `view.explain` its name is a button.
	function metric(rows, intervals, width, view, title) {
		const [first] = rows, place = rows.length < 2 && label(first) !== "all" ? label(first) : "";
		const heading = view?.explain ? explainButton(first, broken(first.name)) : broken(first.name);
		const names = [...new Set(rows.map((row) => row.name))].map((each) => `<code>${text(each)}</code>`).join(" ");
		return `<h2>${title ? text(title) : `${heading} <small>${text(place)}</small>`}</h2>` +
			(title ? `<p class="names">${view?.explain ? rows.filter((row) => !row.made).map((row) => explainButton(row, text(row.name))).join(" ") : names}</p>` : "") +
			(intervals.length > 1 || view?.explain ? chart(rows, intervals, width, view) : "") + histogram(rows, width);
	}

	// ---- tables ----

	const cell = (v) => finite(v) ? `<td class="number">${text(v)}</td>` :
		`<td>${text(Array.isArray(v) ? v.join(", ") : v)}</td>`;
	// Prints objects as lines, with a column for each key that has a value in any of them.
	function tableOf(caption, list) {
		const known = (v) => v != null && v !== "" && v !== false && !(Array.isArray(v) && !v.length);
		const keys = Object.keys(list[0] ?? {}).filter((k) => list.some((o) => known(o[k])));
		if (!keys.length)
			return "";
		return `<div class="wide" tabindex="0"><table>${caption && `<caption>${text(caption)}</caption>`}<tr>` +
			`${keys.map((k) => `<th>${text(k.replace(/_/g, " "))}</th>`).join("")}</tr>` +
			`${list.map((o) => `<tr>${keys.map((k) => cell(o[k])).join("")}</tr>`).join("")}</table></div>`;
	}

	// The distribution of short samples over a whole session.
	function samples(rows, total) {
		const list = [];
		rows.forEach((row, i) => {
			const d = total.distributions?.[i];
			if (!d || !d.samples)
				return;
			const of = (v) => human(v, row.unit);
			list.push({name: row.name, place: label(row), samples: d.samples, missing: d.samples_missing, mean: of(d.mean),
				min: of(d.min), p50: of(d.p50), p90: of(d.p90), p99: of(d.p99), max: of(d.max),
				bursts: finite(d.threshold) ? `${of(d.threshold)} or more: ${human(d.above / total.interval, "ratio")} ` +
					`of the time, longest ${human(d.burst, "s")}` + (finite(d.burst_time) ? ` at ${d.burst_time.toFixed(3)} s` : "") : ""});
		});
		return tableOf(`Short samples: each is the mean over its time; until ${date(total)}`, list);
	}

	// ---- the machine ----

	// Numbers as a list: "0-3,8".
	function ranges(ids) {
		const list = [];
		for (const id of [...ids].sort((a, b) => a - b))
			if (list.length && list.at(-1)[1] === id - 1)
				list.at(-1)[1] = id;
			else
				list.push([id, id]);
		return list.map(([from, to]) => from === to ? from : `${from}-${to}`).join(",");
	}

	// ---- downloads ----

	// The values of a chart, in the units of the library.
	function csv(rows, intervals) {
		const quoted = (s) => /[",\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
		const head = ["time", ...rows.map((row) => `${row.name} ${row.shown ? row.named ?? row.place : label(row)} (${row.unit})`)].map(quoted).join(",");
		return `${head}\n${intervals.map((w, i) => [date(w), ...rows.map((row) => row.values[i] ?? "")].join(",")).join("\n")}\n`;
	}

	// Draws the SVG of a chart on a canvas, since the policy of the page allows no other image.
	function paint(svg, title, names) {
		const box = svg.getBoundingClientRect(), canvas = document.createElement("canvas"), scale = 2, to = canvas.getContext("2d");
		canvas.width = box.width * scale, canvas.height = (box.height + 48) * scale;
		to.scale(scale, scale);
		const base = getComputedStyle(document.body), font = (size, bold) => `${bold ? "600 " : ""}${size} ${base.fontFamily}`;
		to.fillStyle = base.backgroundColor;
		to.fillRect(0, 0, box.width, box.height + 48);
		to.fillStyle = base.color;
		to.font = font("14px", true);
		to.fillText(title, 8, 18);
		let x = 8;
		to.font = font("12px");
		for (const [name, fill] of names) {
			to.fillStyle = fill;
			to.fillRect(x, box.height + 36, 12, 3);
			to.fillStyle = base.color;
			to.fillText(name, x + 16, box.height + 41);
			x += to.measureText(name).width + 32;
		}
		for (const each of svg.querySelectorAll("path, rect, text")) {
			const style = getComputedStyle(each), matrix = each.getScreenCTM();
			if (style.visibility === "hidden" || !matrix)
				continue;
			to.save();
			if (each.closest(".area")) {
				to.beginPath();
				to.rect(LEFT, 24, box.width - LEFT - RIGHT, box.height);
				to.clip();
			}
			to.setTransform(matrix.a * scale, 0, 0, matrix.d * scale, (matrix.e - box.left) * scale, (matrix.f - box.top + 24) * scale);
			to.globalAlpha = each.tagName === "rect" ? +style.fillOpacity : +style.strokeOpacity;
			to.fillStyle = style.fill, to.strokeStyle = style.stroke, to.lineWidth = parseFloat(style.strokeWidth) || 1;
			to.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat));
			const at = (name) => +each.getAttribute(name);
			if (each.tagName === "path") {
				to.stroke(new Path2D(each.getAttribute("d")));
			} else if (each.tagName === "rect") {
				to.fillRect(at("x"), at("y"), at("width"), at("height"));
			} else {
				to.font = font(style.fontSize), to.textAlign = {middle: "center", end: "right"}[each.getAttribute("text-anchor")] ?? "left";
				to.fillText(each.textContent, at("x"), at("y"));
			}
			to.restore();
		}
		return canvas;
	}

	function save(blob, name) {
		const a = document.createElement("a");
		a.href = URL.createObjectURL(blob), a.download = name;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	}

	// A range of names: "uncore_imc_{0-7}".
	function names(list) {
		const parts = list.map((name) => /^(.*?)(\d+)$/.exec(name)), [first] = parts;
		const range = list.length > 1 && parts.every((p, i) => p && p[1] === first[1] && +p[2] === +first[2] + i);
		return range ? `${first[1]}{${first[2]}-${parts.at(-1)[2]}}` : list.join(", ");
	}

	function group(list, key) {
		const groups = new Map();
		for (const each of list)
			groups.set(key(each), [...(groups.get(key(each)) ?? []), each]);
		return [...groups.values()];
	}

	const branch = (head, below, note) => `<li>${text(head)}${note ? ` <span class="dim">${text(note)}</span>` : ""}` +
		`${below?.length ? `<ul>${below.join("")}</ul>` : ""}</li>`;
	function speed(link) {
		if (!link?.max_width)
			return "";
		const now = link.width ? `${link.speed} GT/s x${link.width}, ${human(link.rate, "B/s")}` : "no link";
		return now + (link.max_width > link.width || link.max_speed > link.speed ?
			` (up to ${link.max_speed} GT/s x${link.max_width})` : "");
	}

	function device(d, devices, shown) {
		const below = devices.filter((other) => other.parent === d.address && !shown.has(other.address));
		shown.add(d.address);
		return branch([d.address, ...d.names, d.name].filter(Boolean).join(" "), below.map((b) => device(b, devices, shown)),
			[d.driver, speed(d.link), d.pmus?.length && `counts itself: ${d.pmus.join(", ")}`].filter(Boolean).join(", "));
	}

	function port(p, devices, shown) {
		const own = devices.find((d) => d.address === p.address);
		const below = devices.filter((d) => d.parent === p.address && !shown.has(d.address));
		shown.add(p.address);
		return branch(`root port ${p.address}`, below.map((b) => device(b, devices, shown)),
			[p.root_complex != null && `root complex ${p.root_complex}`, speed(own?.link),
				p.pmus.length ? `counted by ${p.pmus.join(", ")}` : `not counted: ${p.unknown ?? "no PMU"}`,
				p.doubt && `suspect: ${p.doubt}`].filter(Boolean).join("; "));
	}

	function socket(id, t, shown) {
		const here = (list) => (list ?? []).filter((each) => (each.socket ?? -1) === id);
		const memory = group(here(t.memory), (m) => m.family).map((pmus) => branch(
			"memory", [], `a PMU for each ${pmus[0].instance}: ${names(pmus.map((m) => m.pmu))}`));
		const links = group(here(t.links), (l) => JSON.stringify([l.family, l.role, l.peer, l.peer_socket, !l.unknown])).map((l) =>
			branch(`link to ${l[0].role ?? l[0].peer ?? "an unknown end"}` +
				(l[0].peer_socket != null ? ` of socket ${l[0].peer_socket}` : ""), [],
			[names(l.map((each) => each.pmu)), l[0].unknown, l[0].kernel_bug].filter(Boolean).join("; ")));
		const ports = here(t.root_ports).map((p) => port(p, t.devices ?? [], shown));
		return [...memory, ...links, ...ports];
	}

	// Sockets with their memory, links and root ports, and the devices below the ports.
	function tree(t) {
		const shown = new Set(), peak = t.memory_peak ?? {};
		const known = (t.sockets ?? []).filter((s) => s.id !== null), other = (t.sockets ?? []).find((s) => s.id === null);
		const count = (s) => `${s.cpus.length} CPUs${s.nodes.length ? `, NUMA node ${s.nodes.join(", ")}` : ""}`;
		const out = known.map((s) => branch(`socket ${s.id}`, socket(s.id, t, shown), count(s)));
		const unplaced = socket(-1, t, shown);
		out.unshift(branch(`memory peak ${finite(peak.peak) ? human(peak.peak, "B/s") : "unknown"}`, [], [peak.channels &&
			`${peak.channels} channels`, finite(peak.transfers) && `${peak.transfers} MT/s`, peak.from, peak.unknown]
			.filter(Boolean).join(", ")));
		if (unplaced.length || other)
			out.push(branch("socket unknown", unplaced, other ? count(other) : ""));
		const rest = (t.devices ?? []).filter((d) => !d.bridge && !shown.has(d.address));
		const named = rest.filter((d) => d.names.length || d.name || d.driver);
		if (rest.length)
			out.push(branch("below no root port", named.map((d) => device(d, [], shown)),
				rest.length > named.length ? `${rest.length - named.length} devices without a name` : ""));
		return `<ul class="tree">${out.join("")}</ul>`;
	}

	function findings(list) {
		const order = (f) => ["denied", "missing", "note", "ok"].indexOf(f.verdict);
		const sorted = [...list].sort((a, b) => order(a) - order(b));
		const items = sorted.map((f) => `<li><b class="${order(f) < 2 ? "bad" : "dim"}">` +
			`${text(f.verdict)}</b> ${text(f.subject)}: ${text(f.found)}${f.why ? `; ${text(f.why)}` : ""}` +
			`${f.fix ? `<br>fix: <code>${text(f.fix)}</code>` : ""}</li>`);
		const counts = group(sorted, (f) => f.verdict).map((g) => `${g.length} ${g[0].verdict}`).join(", ");
		return `<details><summary>Findings of doctor <small>${text(counts)}</small></summary>` +
			`<ul class="findings">${items.join("")}</ul></details>`;
	}

	function machine(about) {
		return findings(about.findings?.findings ?? []) +
			`<details><summary>Machine</summary>${tree(about.topology ?? {})}</details>`;
	}

	// ---- the document ----

	// The time span to show: `view.zoom`, or the last `view.range` seconds, or everything; it ends at `view.frozen` or
	// the last interval.
	function span(intervals, {zoom, range, frozen}) {
		const first = intervals[0].time - intervals[0].interval, end = frozen ?? intervals.at(-1).time;
		if (zoom)
			return {begin: zoom[0], end: zoom[1]};
		return {begin: range ? Math.max(end - range, Math.min(first, end - 60)) : first, end};
	}

	// The span after zooming in or out around a time, within the data; null: everything.
	function zoomed(intervals, view, around, factor) {
		const now = span(intervals, view), all = span(intervals, {...view, zoom: null}), wide = (now.end - now.begin) * factor;
		const begin = Math.max(all.begin, Math.min(all.end - wide, around - (around - now.begin) * factor));
		if (wide >= (all.end - all.begin) * 0.999)
			return null;
		return wide < 2 * intervals.at(-1).interval ? view.zoom : [begin, begin + wide];
	}

	// Makes the drawing of metric() in `box` follow pointer, keys and data. All charts share `view`; view.changed() is
	// called when its zoom has changed. Returns a function that draws again; `rows` and `intervals` may have grown
	// before it is called.
	function follow(box, rows, intervals, view) {
		const [plot, told, note, names] = [".plot", ".readout", ".note", ".key"].map((name) => box.querySelector(name));
		const [bins, bar] = [box.querySelector(".bins"), box.querySelector(".bars")];
		const title = (rows[0].shown ? `${label({...rows[0], shown: undefined})}: ` : "") + (box.querySelector("h2")?.textContent.trim() || rows[0].name);
		const name = `uncore-${title.replace(/[^\w.]+/g, "-")}`;
		let width = box.clientWidth, at = null, from = null, shown = span(intervals, view), base = null, pointer = null; // `at`: the middle of an interval
		const put = (where, markup) => where.told === markup || (where.innerHTML = where.told = markup);
		const time = (event) => Math.min(Math.max(shown.begin + (event.clientX - plot.getBoundingClientRect().left - LEFT) /
			(width - LEFT - RIGHT) * (shown.end - shown.begin), shown.begin), shown.end);
		const x = (t) => LEFT + (t - shown.begin) / (shown.end - shown.begin) * (width - LEFT - RIGHT);
		const index = (t) => {
			const i = intervals.findIndex((w) => w.time >= t);
			return i < 0 ? intervals.length - 1 : i;
		};
		const cursor = () => {
			const line = plot.querySelector(".cursor"), seen = at !== null && at >= shown.begin && at <= shown.end;
			if (line) {
				line.hidden = !seen;
				line.style.transform = `translateX(${seen ? x(at).toFixed(1) : 0}px)`;
			}
			put(told, at === null ? "" : readout(rows, intervals, index(at), view.clock));
		};
		// All charts show the same time.
		const follower = {box, move: (t) => {
			if (at !== t)
				at = t, cursor();
		}};
		view.followers = [...(view.followers ?? []).filter((each) => each.box.isConnected), follower];
		const move = (t) => view.followers.forEach((each) => each.move(t));
		// If only the time has advanced, the drawing moves to the left, and only new intervals are drawn.
		const moved = (cut, g) => {
			const area = plot.querySelector(".lines"), equal = ["least", "most", "width", "height", "ceiling"];
			if (!area || !base || view.zoom || base.draws-- < 1 || equal.some((name) => base[name] !== g[name]) || g.end < base.end ||
				Math.abs(g.end - g.begin - base.end + base.begin) > 1e-6 || cut.intervals.length > g.points)
				return false;
			const from = Math.max(cut.intervals.findLastIndex((w) => w.time <= base.end + 1e-6), 0), since = (list) => list.slice(from);
			area.setAttribute("transform", `translate(${(g.x(base.begin) - 2 * LEFT).toFixed(1)} 0)`);
			area.lastElementChild.innerHTML = lines(cut.rows.map((row) => ({values: since(row.values), least: since(row.least),
				most: since(row.most)})), since(cut.intervals), base);
			put(plot.querySelector(".shades"), shades(cut.rows, cut.intervals, g));
			plot.querySelector(".times").innerHTML = labels(g);
			return true;
		};
		// All charts have the same width. A caller with several charts reads it once, since reading it causes a layout.
		const draw = (wide = box.clientWidth) => {
			width = wide, shown = span(intervals, view);
			const cut = view.zoom || view.range || view.frozen ? part(rows, intervals, shown.begin, shown.end) : {rows, intervals};
			const some = cut.rows.some((row) => row.values.some(finite));
			const g = geometry(cut.rows, cut.intervals, width, {...shown, clock: view.clock, height: view.height});
			put(note, notes(cut.rows, cut.intervals, g.points));
			plot.hidden = !some;
			if (!some || !moved(cut, g)) {
				base = {...g, draws: MOVES * (1 + Math.random())}; // a random number, so that charts are not all drawn at the same time
				plot.innerHTML = some ? svg(cut.rows, cut.intervals, g) : "";
			}
			put(names, some ? key(cut.rows, view.explain && cut.intervals.length - 1) : "");
			if (bar)
				bar.innerHTML = bars(rows, width);
			if (bins?.open)
				bins.lastElementChild.innerHTML = binTable(rows, width);
			cursor();
		};
		const show = (t) => {
			const w = intervals[index(t)], {zoom} = view;
			const to = w.time - w.interval / 2;
			if (zoom && (to < zoom[0] || to > zoom[1])) {
				const by = to < zoom[0] ? to - zoom[0] - w.interval : to - zoom[1] + w.interval;
				view.zoom = [zoom[0] + by, zoom[1] + by];
				view.changed();
			}
			move(to);
		};
		const zoom = (to) => {
			view.zoom = to;
			view.changed();
		};
		const drag = (to) => {
			const rect = plot.querySelector(".drag"), wide = Math.abs(x(to) - x(from));
			rect?.setAttribute("x", Math.min(x(to), x(from)).toFixed(1));
			rect?.setAttribute("width", wide.toFixed(1));
			rect?.setAttribute("visibility", wide > 4 ? "visible" : "hidden");
			return wide > 4;
		};
		plot.onpointerdown = (event) => {
			if (event.button)
				return;
			from = time(event);
			plot.setPointerCapture(event.pointerId);
			show(from);
		};
		plot.onpointermove = (event) => {
			const where = `${event.clientX} ${event.clientY}`;
			if (where === pointer)
				return; // the drawing has moved, not the pointer: keep the choice of the keys
			pointer = where;
			show(time(event));
			if (from !== null)
				drag(time(event));
		};
		plot.onpointerup = (event) => {
			const to = time(event), [begin, end] = [Math.min(from ?? to, to), Math.max(from ?? to, to)];
			if (from !== null && drag(to) && end - begin > 2 * intervals.at(-1).interval)
				zoom([begin, end]);
			else if (from !== null)
				plot.querySelector(".drag")?.setAttribute("visibility", "hidden");
			from = null;
		};
		plot.onpointercancel = () => from = null;
		plot.onpointerleave = () => {
			if (from === null && document.activeElement !== plot)
				move(null);
		};
		plot.ondblclick = () => zoom(null);
		plot.onkeydown = (event) => {
			const i = at === null ? index(shown.end) + (event.key === "ArrowLeft" ? 1 : 0) : index(at), last = intervals.length - 1;
			const to = {ArrowLeft: i - 1, ArrowRight: i + (at === null ? 0 : 1), Home: 0, End: last, PageUp: i - 20, PageDown: i + 20}[event.key];
			const factor = {"+": 0.5, "=": 0.5, "-": 2, _: 2}[event.key];
			const middle = (shown.begin + shown.end) / 2;
			const all = event.key === "Escape" && (view.zoom || at !== null); // otherwise Escape closes a dialog
			if (event.ctrlKey || event.altKey || event.metaKey || (to === undefined && !factor && !all))
				return;
			event.preventDefault();
			if (to !== undefined)
				show(intervals[Math.max(0, Math.min(last, to))].time);
			else if (factor)
				zoom(zoomed(intervals, view, at === null || at < shown.begin || at > shown.end ? middle : at, factor));
			else
				move(null), zoom(null);
		};
		box.querySelector(".csv").onclick = () => {
			const cut = part(rows, intervals, shown.begin, shown.end);
			save(new Blob([csv(cut.rows, cut.intervals)], {type: "text/csv"}), `${name}.csv`);
		};
		box.querySelector(".png").onclick = () => {
			const drawn = plot.querySelector("svg"), names = rows.slice(0, COLORS).map((row, i) => [label(row), color(i)]);
			if (drawn)
				paint(drawn, title, names).toBlob((blob) => save(blob, `${name}.png`));
		};
		return draw;
	}

	// Draws the charts of --html. Returns a function that draws all charts with a time axis again.
	function draw(data, into, view) {
		into.replaceChildren();
		// The width of a chart depends on the number of charts.
		const boxes = data.charts.filter((rows) => data.intervals.length > 1 || rows.some((row) => row.distribution))
			.map((rows) => {
				const box = document.createElement("section");
				box.className = "chart";
				into.append(box);
				return [box, rows];
			});
		for (const [box, rows] of boxes)
			box.innerHTML = metric(rows, data.intervals, box.clientWidth);
		return boxes.filter(([box]) => box.querySelector(".plot")).map(([box, rows]) => follow(box, rows, data.intervals, view));
	}

	const hooks = []; // called with the data of a page of --html
	function start() {
		const all = (kind) => [...document.querySelectorAll(`script.${kind}`)].map((s) => JSON.parse(s.textContent));
		const [about] = all("about"), charts = document.getElementById("charts");
		if (!about)
			return; // this is the live page
		const data = collect(all("window")), below = document.createElement("div"), whole = document.createElement("button");
		let width = 0, boxes = [];
		const more = [];
		const view = {zoom: null, changed: () => {
			whole.hidden = !view.zoom;
			const wide = charts.firstElementChild?.clientWidth;
			boxes.forEach((each) => each(wide));
			more.forEach((each) => each());
		}};
		whole.textContent = "Show all of the time";
		whole.className = "whole";
		whole.hidden = true;
		whole.onclick = () => view.changed(view.zoom = null);
		charts.before(whole);
		hooks.forEach((hook) => hook(data, about, view, (draw) => more.push(draw)));
		below.innerHTML = data.totals.map((total) => samples(data.rows, total)).join("") + machine(about);
		document.querySelector("main").append(below);
		new ResizeObserver(() => {
			if (charts.clientWidth === width)
				return;
			width = charts.clientWidth;
			boxes = draw(data, charts, view);
			if (view.zoom)
				view.changed();
		}).observe(charts);
	}

	return {hooks, ranges, harmless, broken, explainButton, csv, busiest, part, start, begin, add, charts, collect, span, zoomed, metric, chart, histogram, joined, readout, samples, machine, tree,
		findings, follow, tableOf, group, names, label, reasons, text, finite, human, timeOfDay, reduce};
})();
if (typeof document === "object")
	document.addEventListener("DOMContentLoaded", page.start);
else
	module.exports = page;
