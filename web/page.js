// SPDX-License-Identifier: MIT
// Draws data: a chart and a histogram for each metric, the machine, doctor's findings. All but start() and what it calls
// take arrays and objects and return markup; data becomes text through text() only, so that no name can be markup.
"use strict";
const page = (() => {
	const MOST_POINTS = 2000; // of a line; more are reduced to the smallest and largest of equal spans
	const BINS = 32; // in each octave
	const HEIGHT = 200, LEFT = 74, RIGHT = 8, TOP = 10, BOTTOM = 24;

	const text = (s) => String(s ?? "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
	const finite = (v) => typeof v === "number" && isFinite(v);
	const date = (w) => new Date(w.wall_ns / 1e6).toISOString();

	// As the tables of the command print it: human_value() in cli/output/table.c.
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

	// Of an axis: without zeros at the end.
	const brief = (value, unit) => human(value, unit).replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

	// Indices of the points that are drawn: all, or of each span those of the smallest and the largest value.
	function reduce(values) {
		const span = values.length > MOST_POINTS ? Math.ceil(values.length / (MOST_POINTS / 2)) : 1;
		const kept = [];
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

	// Windows as they are in the page, into rows with a value, the largest short sample and a quality for each interval.
	function collect(windows) {
		const rows = (windows[0]?.rows ?? []).map((row) => ({...row, values: [], least: [], most: [], quality: []}));
		const intervals = [], totals = windows.filter((w) => w.total);
		let quality = [], shift = 0;
		for (const w of windows) {
			const last = intervals.at(-1);
			quality = w.quality ?? quality; // none: as before
			if (w.total)
				continue;
			// Another session of a recording begins when the wall clock says: the time of a machine starts anew at boot.
			if (last && Math.abs(w.time + shift - w.interval - last.time) > 1e-6) {
				const begin = Math.max(last.time + (w.wall_ns - last.wall_ns) / 1e9 - w.interval, last.time);
				intervals.push({time: begin, interval: begin - last.time, wall_ns: w.wall_ns - w.interval * 1e9});
				for (const row of rows)
					row.values.push(null), row.least.push(null), row.most.push(null), row.quality.push(["unavailable", "not recorded"]);
				shift = begin + w.interval - w.time;
			}
			intervals.push({...w, time: w.time + shift});
			rows.forEach((row, i) => {
				row.values.push((row.event && finite(w.rates?.[i]) ? w.rates : w.values)[i]);
				row.least.push(w.least?.[i] ?? null);
				row.most.push(w.most?.[i] ?? null);
				row.quality.push(null);
			});
			for (const [i, name, reason] of quality)
				rows[i].quality[rows[i].quality.length - 1] = [name, reason];
		}
		const charts = new Map();
		for (const row of rows) {
			const key = JSON.stringify([row.family, row.name, row.unit]);
			charts.set(key, [...(charts.get(key) ?? []), row]);
		}
		const whole = totals.length ? totals : windows.slice(-1);
		rows.forEach((row, i) => row.distribution = whole.at(-1)?.distributions?.[i]);
		return {intervals, charts: [...charts.values()], totals: whole, rows};
	}

	// As dark as can be seen on white and on black.
	function color(i) {
		const hue = (212 + i * 137.5) % 360;
		return `hsl(${hue} 65% ${hue > 30 && hue < 200 ? 38 : 54}%)`;
	}
	const label = (row) => [row.place, row.role, row.filter].filter(Boolean).join(", ");

	// Round steps for an axis.
	function ticks(least, most, count) {
		const raw = (most - least) / count, ten = 10 ** Math.floor(Math.log10(raw));
		const step = ten * ([1, 2, 5].find((n) => n * ten >= raw) ?? 10);
		const list = [];
		for (let n = Math.ceil(least / step - 1e-9); n * step <= most + step * 1e-9; n++)
			list.push(n * step);
		return list;
	}

	function geometry(rows, intervals, width) {
		const first = intervals[0], begin = first.time - first.interval, end = intervals.at(-1).time;
		let least = 0, most = 0;
		for (const row of rows)
			for (const v of [...row.values, ...row.least, ...row.most])
				if (finite(v))
					[least, most] = [Math.min(least, v), Math.max(most, v)];
		const ceiling = Math.max(...rows.map((row) => row.ceiling ?? -Infinity));
		if (ceiling > most && ceiling < most * 3)
			most = ceiling;
		most = most > least ? most + (most - least) * 0.04 : least + 1;
		return {begin, end, least, most, ceiling, width,
			x: (t) => LEFT + (t - begin) / (end - begin || 1) * (width - LEFT - RIGHT),
			y: (v) => TOP + (most - v) / (most - least) * (HEIGHT - TOP - BOTTOM)};
	}

	// Spans in which a line is not measured, with the reason for those who point at it.
	function shades(rows, intervals, g) {
		const out = [];
		for (const row of rows)
			for (let i = 0, to; i < intervals.length; i = to) {
				const told = JSON.stringify(row.quality[i]);
				for (to = i + 1; to < intervals.length && JSON.stringify(row.quality[to]) === told; to++)
					;
				if (!row.quality[i])
					continue;
				const from = g.x(intervals[i].time - intervals[i].interval), wide = g.x(intervals[to - 1].time) - from;
				out.push(`<rect class="shade" x="${from.toFixed(1)}" y="${TOP}" width="${Math.max(wide, 1).toFixed(1)}" ` +
					`height="${HEIGHT - TOP - BOTTOM}"><title>${text(label(row))}: ` +
					`${text(row.quality[i].filter(Boolean).join(": "))}</title></rect>`);
			}
		// A machine of hundreds of lines that are all alike: the first say it.
		return out.slice(0, 200).join("");
	}

	function line(values, intervals, g, kind, i) {
		let path = "", drawing = false;
		for (const at of reduce(values).kept) {
			const w = intervals[at];
			if (finite(values[at]))
				path += `${drawing ? "L" : "M"}${g.x(w.time - w.interval / 2).toFixed(1)} ${g.y(values[at]).toFixed(1)}` +
					(drawing ? "" : "h0");
			drawing = finite(values[at]);
		}
		return path ? `<path class="${kind}" stroke="${color(i)}" d="${path}"/>` : "";
	}

	function svg(rows, intervals, width) {
		const g = geometry(rows, intervals, width), {unit} = rows[0];
		let out = shades(rows, intervals, g);
		for (const v of ticks(g.least, g.most, 4))
			out += `<path class="grid" d="M${LEFT} ${g.y(v).toFixed(1)}H${width - RIGHT}"/>` +
				`<text x="${LEFT - 6}" y="${(g.y(v) + 4).toFixed(1)}" text-anchor="end">${text(brief(v, unit))}</text>`;
		for (const t of ticks(g.begin, g.end, width < 500 ? 3 : 6))
			out += `<text x="${g.x(t).toFixed(1)}" y="${HEIGHT - 6}" ` +
				`text-anchor="${g.x(t) > width - 40 ? "end" : "middle"}">${+t.toPrecision(6)} s</text>`;
		if (g.ceiling <= g.most && finite(g.ceiling))
			out += `<path class="ceiling" d="M${LEFT} ${g.y(g.ceiling).toFixed(1)}H${width - RIGHT}"><title>ceiling ` +
				`${text(human(g.ceiling, unit))}</title></path>`;
		rows.forEach((row, i) => {
			out += line(row.least, intervals, g, "most", i) + line(row.most, intervals, g, "most", i) + line(row.values, intervals, g, "value", i);
		});
		return `<svg height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true">${out}` +
			`<path class="cursor" visibility="hidden" d="M0 ${TOP}V${HEIGHT - BOTTOM}"/></svg>`;
	}

	function chart(rows, intervals, width) {
		const [first] = rows, {span} = reduce(first.values), ceiling = Math.max(...rows.map((row) => row.ceiling ?? -Infinity));
		const notes = [];
		if (finite(ceiling))
			notes.push(`ceiling ${human(ceiling, first.unit)}`);
		const merged = intervals.reduce((most, w) => Math.max(most, w.intervals ?? 1), 1);
		if (rows.some((row) => row.most.some(finite)))
			notes.push(`dotted: the smallest and largest ${first.distribution ? "short sample" : "interval"}`);
		if (merged > 1)
			notes.push(`means of up to ${merged} intervals`);
		const told = [...new Set(rows.flatMap((row) => row.quality.filter(Boolean).map((q) => q.filter(Boolean).join(": "))))];
		if (told.length)
			notes.push(`shaded: ${told[0]}${told.length > 1 ? `, and ${told.length - 1} more reasons` : ""}`);
		if (span > 1)
			notes.push(`reduced: the smallest and largest of ${span} ${merged > 1 ? "means" : "intervals"}`);
		const key = rows.length < 2 ? "" : rows.slice(0, 24).map((row, i) =>
			`<span><i style="background:${color(i)}"></i>${text(label(row))}</span>`).join(" ") +
			(rows.length > 24 ? ` and ${rows.length - 24} more` : "");
		if (!rows.some((row) => row.values.some(finite)))
			return `<p class="note">no value: ${text(told[0] ?? "")}</p>`;
		return `<p class="note">${text(notes.join("; "))}</p><div class="plot" tabindex="0" role="img" aria-label="${text(first.name)} over time; arrow keys read values">` +
			`${svg(rows, intervals, width)}</div><div class="key">${key}</div><div class="readout" aria-live="polite"></div>`;
	}

	// What the cursor reads at an interval.
	function readout(rows, intervals, at) {
		const w = intervals[at];
		const parts = rows.slice(0, 24).map((row) => {
			const q = row.quality[at];
			return `${rows.length > 1 ? `${text(label(row))}: ` : ""}<b>${text(human(row.values[at], row.unit))}</b>` +
				(finite(row.most[at]) ? ` (${text(human(row.least[at], row.unit))} to ${text(human(row.most[at], row.unit))})` : "") +
				(q ? ` ${text(q.filter(Boolean).join(": "))}` : "");
		});
		return `${w.time.toFixed(3)} s, ${text(date(w))}${w.intervals > 1 ? `, mean of ${w.intervals} intervals` : ""}` +
			`${w.missed ? `, ${w.missed} intervals missed` : ""}: ${parts.join("; ")}`;
	}

	// ---- histograms of short samples ----

	// Bins of several rows on one logarithmic axis, as many of them together as 3 pixels need. A row's bars are [first,
	// seconds, samples], where first is the lower bound in bins, and null that of values of 0 or less.
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

	// Where a logarithmic axis has labels.
	function decades(least, most) {
		const list = [];
		if (most / least < 8)
			return ticks(least, most, 4);
		for (let ten = 10 ** Math.floor(Math.log10(least)); ten <= most; ten *= 10)
			list.push(...[1, 2, 5].map((n) => n * ten).filter((v) => v >= least && v <= most));
		return most / least < 1000 ? list : list.filter((v) => Math.abs(Math.log10(v) % 1) < 1e-9);
	}

	// Lines at percentiles, with the names of those that are close to each other in one text.
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

	// A strip of bars for each row: the share of the time, also logarithmic, as a burst is short.
	function histogram(rows, width) {
		const list = rows.filter((row) => row.distribution?.bins?.length).slice(0, 24), {unit} = rows[0];
		if (!list.length)
			return "";
		const one = list.length < 2, strip = one ? 120 : 36, top = one ? 16 : 14;
		const {low, high, per, zero, bars} = binned(list, width - LEFT - RIGHT);
		const left = LEFT + (zero ? 24 : 0), end = list.length * strip, scale = (width - left - RIGHT) / (high - low);
		const x = (v) => v > 0 ? left + (Math.min(Math.max(Math.log2(v) * BINS, low), high) - low) * scale : LEFT + 8;
		const shares = bars.flatMap((row) => row.map((bar) => bar[1] / duration(row)));
		const floor = Math.min(-1, Math.max(-5, Math.floor(Math.log10(Math.min(...shares)) - 1e-9)));
		const level = (share) => (1 - Math.log10(share) / floor) * (strip - top);
		let out = "", last = -Infinity;
		for (let power = 0; one && power >= floor; power--)
			out += `<path class="grid" d="M${LEFT} ${(strip - level(10 ** power)).toFixed(1)}H${width - RIGHT}"/>` +
				`<text x="${LEFT - 6}" y="${(strip - level(10 ** power) + 4).toFixed(1)}" text-anchor="end">` +
				`${+(100 * 10 ** power).toPrecision(1)} %</text>`;
		list.forEach((row, i) => {
			const bottom = (i + 1) * strip, sum = duration(bars[i]);
			out += one ? "" : `<path class="grid" d="M${LEFT} ${bottom}H${width - RIGHT}"/>`;
			for (const [first, seconds, samples] of bars[i]) {
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
			if (x(v) - last > 56 && x(v) < width - RIGHT) {
				out += `<text x="${(last = x(v)).toFixed(1)}" y="${end + 16}" ` +
					`text-anchor="${x(v) > width - 40 ? "end" : "middle"}">${text(brief(v, unit))}</text>`;
			}
		if (zero)
			out += `<text x="${LEFT + 8}" y="${end + 16}" text-anchor="middle">0</text>`;
		const told = list.map((row, i) => ({place: one ? "" : label(row), bars: bars[i], sum: duration(bars[i])}));
		const table = told.flatMap(({place, bars, sum}) => bars.map(([first, seconds, samples]) =>
			({place, values: bounds(first, per, unit), samples, time: human(seconds / sum, "ratio")})));
		const {p50, p90, p99, max} = list[0].distribution;
		return `<p class="note">short samples: share of the time by value; both scales are logarithmic; lines: p50, p90, p99, max` +
			`${rows.length > 24 ? "; of the first 24" : ""}</p>` +
			`<svg class="histogram" height="${end + 22}" viewBox="0 0 ${width} ${end + 22}" role="img" ` +
			`aria-label="${text(`${rows[0].name}: histogram of short samples` + (one ? `, p50 ${human(p50, unit)}, p90 ` +
			`${human(p90, unit)}, p99 ${human(p99, unit)}, max ${human(max, unit)}` : ""))}">${out}</svg>` +
			`<details class="bins"><summary>Histogram as a table</summary>${tableOf("", table)}</details>`;
	}

	// All of one metric.
	function metric(rows, intervals, width) {
		const [first] = rows;
		return `<h2>${text(first.name)} <small>${text(rows.length < 2 && label(first) !== "all" ? label(first) : "")}</small></h2>` +
			(intervals.length > 1 ? chart(rows, intervals, width) : "") + histogram(rows, width);
	}

	// ---- tables ----

	const cell = (v) => finite(v) ? `<td class="number">${text(v)}</td>` :
		`<td>${text(Array.isArray(v) ? v.join(", ") : v)}</td>`;
	// Objects as lines, with a column for each key that has a value anywhere.
	function tableOf(caption, list) {
		const known = (v) => v != null && v !== "" && v !== false && !(Array.isArray(v) && !v.length);
		const keys = Object.keys(list[0] ?? {}).filter((k) => list.some((o) => known(o[k])));
		if (!keys.length)
			return "";
		return `<div class="wide" tabindex="0"><table>${caption && `<caption>${text(caption)}</caption>`}<tr>` +
			`${keys.map((k) => `<th>${text(k.replace(/_/g, " "))}</th>`).join("")}</tr>` +
			`${list.map((o) => `<tr>${keys.map((k) => cell(o[k])).join("")}</tr>`).join("")}</table></div>`;
	}

	// The distribution of short samples over the whole time of a session.
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

	// "uncore_imc_{0-7}"
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
			[d.driver, speed(d.link)].filter(Boolean).join(", "));
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

	// Sockets with their memory, links and root ports, and the devices below these.
	function tree(t) {
		const shown = new Set(), peak = t.memory_peak ?? {};
		const out = (t.sockets ?? []).map((s) => branch(`socket ${s.id}`, socket(s.id, t, shown),
			`${s.cpus.length} CPUs${s.nodes.length ? `, NUMA node ${s.nodes.join(", ")}` : ""}`));
		const unplaced = socket(-1, t, shown);
		out.unshift(branch(`memory peak ${finite(peak.peak) ? human(peak.peak, "B/s") : "unknown"}`, [], [peak.channels &&
			`${peak.channels} channels`, finite(peak.transfers) && `${peak.transfers} MT/s`, peak.from, peak.unknown]
			.filter(Boolean).join(", ")));
		if (unplaced.length)
			out.push(branch("socket not known", unplaced));
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

	function follow(box, rows, intervals) {
		const plot = box.querySelector(".plot"), told = box.querySelector(".readout");
		const g = geometry(rows, intervals, box.clientWidth);
		let at = intervals.length - 1;
		const show = (i) => {
			at = Math.max(0, Math.min(intervals.length - 1, i));
			const w = intervals[at], cursor = plot.querySelector(".cursor");
			cursor.setAttribute("transform", `translate(${g.x(w.time - w.interval / 2)} 0)`);
			cursor.setAttribute("visibility", "visible");
			told.innerHTML = readout(rows, intervals, at);
		};
		plot.onpointermove = plot.onpointerdown = (event) => {
			const {left} = plot.getBoundingClientRect();
			const time = g.begin + (event.clientX - left - LEFT) / (g.width - LEFT - RIGHT) * (g.end - g.begin);
			const i = intervals.findIndex((w) => w.time >= time);
			show(i < 0 ? intervals.length - 1 : i);
		};
		plot.onkeydown = (event) => {
			const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: intervals.length - 1,
				PageUp: at - 20, PageDown: at + 20}[event.key];
			if (to === undefined)
				return;
			event.preventDefault();
			show(to);
		};
	}

	function draw(data, into) {
		into.replaceChildren();
		// The width of one depends on how many there are.
		const boxes = data.charts.filter((rows) => data.intervals.length > 1 || rows.some((row) => row.distribution))
			.map((rows) => {
				const box = document.createElement("section");
				box.className = "chart";
				into.append(box);
				return [box, rows];
			});
		for (const [box, rows] of boxes) {
			box.innerHTML = metric(rows, data.intervals, box.clientWidth);
			if (box.querySelector(".plot"))
				follow(box, rows, data.intervals);
		}
	}

	function start() {
		const all = (kind) => [...document.querySelectorAll(`script.${kind}`)].map((s) => JSON.parse(s.textContent));
		const data = collect(all("window")), charts = document.getElementById("charts");
		const below = document.createElement("div");
		let width = 0;
		below.innerHTML = data.totals.map((total) => samples(data.rows, total)).join("") + machine(all("about")[0] ?? {});
		document.querySelector("main").append(below);
		new ResizeObserver(() => {
			if (charts.clientWidth !== width)
				draw(data, charts);
			width = charts.clientWidth;
		}).observe(charts);
	}

	return {start, collect, metric, chart, histogram, readout, samples, machine, human, reduce};
})();
if (typeof document === "object")
	document.addEventListener("DOMContentLoaded", page.start);
else
	module.exports = page;
