// SPDX-License-Identifier: MIT
// Draws the data of the page: a chart for each metric, percentiles of short samples, the machine, doctor's findings.
// Data becomes text through text() only, so that no name can be markup.
"use strict";
const page = (() => {
	const MOST_POINTS = 2000; // of a line; more are reduced to the smallest and largest of equal spans
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
		const rows = (windows[0]?.rows ?? []).map((row) => ({...row, values: [], most: [], quality: []}));
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
					row.values.push(null), row.most.push(null), row.quality.push(["unavailable", "not recorded"]);
				shift = begin + w.interval - w.time;
			}
			intervals.push({...w, time: w.time + shift});
			rows.forEach((row, i) => {
				row.values.push((row.event && finite(w.rates?.[i]) ? w.rates : w.values)[i]);
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
		return {intervals, charts: [...charts.values()], totals: totals.length ? totals : windows.slice(-1), rows};
	}

	const color = (i) => `hsl(${(212 + i * 137.5) % 360} 65% 52%)`;
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
			for (const v of [...row.values, ...row.most])
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
				`<text x="${LEFT - 6}" y="${(g.y(v) + 4).toFixed(1)}" text-anchor="end">${text(human(v, unit))}</text>`;
		for (const t of ticks(g.begin, g.end, width < 500 ? 3 : 6))
			out += `<text x="${g.x(t).toFixed(1)}" y="${HEIGHT - 6}" ` +
				`text-anchor="${g.x(t) > width - 40 ? "end" : "middle"}">${+t.toPrecision(6)} s</text>`;
		if (g.ceiling <= g.most && finite(g.ceiling))
			out += `<path class="ceiling" d="M${LEFT} ${g.y(g.ceiling).toFixed(1)}H${width - RIGHT}"><title>ceiling ` +
				`${text(human(g.ceiling, unit))}</title></path>`;
		rows.forEach((row, i) => {
			out += line(row.most, intervals, g, "most", i) + line(row.values, intervals, g, "value", i);
		});
		return `<svg height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true">${out}` +
			`<path class="cursor" visibility="hidden" d="M0 ${TOP}V${HEIGHT - BOTTOM}"/></svg>`;
	}

	function chart(rows, intervals, width) {
		const [first] = rows, {span} = reduce(first.values), ceiling = Math.max(...rows.map((row) => row.ceiling ?? -Infinity));
		const notes = [];
		if (finite(ceiling))
			notes.push(`ceiling ${human(ceiling, first.unit)}`);
		if (rows.some((row) => row.most.some(finite)))
			notes.push("dotted: the largest short sample");
		const told = [...new Set(rows.flatMap((row) => row.quality.filter(Boolean).map((q) => q.filter(Boolean).join(": "))))];
		if (told.length)
			notes.push(`shaded: ${told[0]}${told.length > 1 ? `, and ${told.length - 1} more reasons` : ""}`);
		if (span > 1)
			notes.push(`reduced: the smallest and largest of ${span} intervals`);
		const key = rows.length < 2 ? "" : rows.slice(0, 24).map((row, i) =>
			`<span><i style="background:${color(i)}"></i>${text(label(row))}</span>`).join(" ") +
			(rows.length > 24 ? ` and ${rows.length - 24} more` : "");
		if (!rows.some((row) => row.values.some(finite)))
			return `<h2>${text(first.name)}</h2><p class="note">no value: ${text(told[0] ?? "")}</p>`;
		return `<h2>${text(first.name)} <small>${text(rows.length < 2 && label(first) !== "all" ? label(first) : "")} ` +
			`${text(notes.join("; "))}</small></h2>` +
			`<div class="plot" tabindex="0" role="img" aria-label="${text(first.name)} over time; arrow keys read values">` +
			`${svg(rows, intervals, width)}</div><div class="key">${key}</div><div class="readout" aria-live="polite"></div>`;
	}

	// What the cursor reads at an interval.
	function readout(rows, intervals, at) {
		const w = intervals[at];
		const parts = rows.slice(0, 24).map((row) => {
			const q = row.quality[at];
			return `${rows.length > 1 ? `${text(label(row))}: ` : ""}<b>${text(human(row.values[at], row.unit))}</b>` +
				(finite(row.most[at]) ? ` (short samples up to ${text(human(row.most[at], row.unit))})` : "") +
				(q ? ` ${text(q.filter(Boolean).join(": "))}` : "");
		});
		return `${w.time.toFixed(3)} s, ${text(date(w))}` +
			`${w.missed ? `, ${w.missed} intervals missed` : ""}: ${parts.join("; ")}`;
	}

	// ---- tables ----

	const cell = (v) => finite(v) ? `<td class="number">${text(v)}</td>` :
		`<td>${text(Array.isArray(v) ? v.join(", ") : v)}</td>`;
	// Objects as lines, with a column for each key that has a value anywhere.
	function table(caption, list) {
		const known = (v) => v != null && v !== "" && v !== false && !(Array.isArray(v) && !v.length);
		const keys = Object.keys(list[0] ?? {}).filter((k) => list.some((o) => known(o[k])));
		if (!keys.length)
			return "";
		return `<div class="wide"><table><caption>${text(caption)}</caption><tr>` +
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
		return table(`Short samples: each is the mean over its time; until ${date(total)}`, list);
	}

	function machine(about) {
		const t = about.topology ?? {};
		const devices = (t.devices ?? []).filter((d) => !d.bridge).map(({address, name, driver, names, socket, root_port, link}) =>
			({address, name, driver, names, socket, root_port,
				link: link?.width ? `x${link.width} ${human(link.rate, "B/s")}` : ""}));
		const peak = {...t.memory_peak, peak: finite(t.memory_peak?.peak) ? human(t.memory_peak.peak, "B/s") : null,
			used: finite(t.memory_peak?.used) ? human(t.memory_peak.used, "B/s") : null};
		const sockets = (t.sockets ?? []).map((s) => ({...s, cpus: s.cpus?.length}));
		return `<details><summary>Findings of doctor</summary>${table("", about.findings?.findings ?? []) || "none"}</details>` +
			`<details><summary>Machine</summary>${table("Sockets", sockets)}${table("Memory", [peak])}` +
			`${table("PMUs of memory", t.memory ?? [])}${table("Links", t.links ?? [])}` +
			`${table("Root ports", t.root_ports ?? [])}${table("PCI devices", devices)}</details>`;
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
		const boxes = (data.intervals.length > 1 ? data.charts : []).map((rows) => {
			const box = document.createElement("section");
			box.className = "chart";
			into.append(box);
			return [box, rows];
		});
		for (const [box, rows] of boxes) {
			box.innerHTML = chart(rows, data.intervals, box.clientWidth);
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
		document.body.append(below);
		new ResizeObserver(() => {
			if (charts.clientWidth !== width)
				draw(data, charts);
			width = charts.clientWidth;
		}).observe(charts);
	}

	return {start, collect, chart, readout, samples, machine, human, reduce};
})();
if (typeof document === "object")
	document.addEventListener("DOMContentLoaded", page.start);
else
	module.exports = page;
