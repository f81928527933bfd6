// SPDX-License-Identifier: MIT
// The map of the machine: sockets with their memory, links and devices, as one SVG; words.js has what is said of it. For
// the live page of `serve` and for the page of --html. As in page.js, functions return markup; only follow() uses the
// document. It draws the lines of the screen (uncore-serve(1), SCREEN), and knows no metric.
"use strict";
const map = ((page) => {
	const {text, finite, human} = page;
	// The same limits as in bare uncore and top: the screen has them. Shares of a ceiling for colours; what is idle.
	const limits = {warn: 0.5, bad: 0.8, idle_share: 0.001, idle_bandwidth: 100e3};
	const IDLE_INTERVALS = 10;
	const ONE_COLUMN = 720, BETWEEN = 150, GAP = 24, PAD = 14, BOX = 122, BARS = 72;

	// ---- numbers of a line ----

	// A report has one value for all of its time.
	const valueOf = (row) => row ? row.now ?? row.values.at(-1) : null;
	const qualityOf = (row) => row.now === undefined ? row.quality.at(-1) : row.nowQuality;
	const moves = (line) => ["in", "out", "total"].some((name) => line.cells[name]?.unit === "B/s");
	const shareOfRow = (row) => row && row.ceiling > 0 && finite(valueOf(row)) ? valueOf(row) / row.ceiling : null;

	// As screen_share() and screen_traffic().
	function shareOf(line) {
		const all = ["in", "out", "total"].map((name) => shareOfRow(line.cells[name])).filter(finite);
		return all.length ? Math.max(...all) : valueOf(line.cells.share) ?? null;
	}

	function trafficOf({cells}) {
		const [i, o] = [valueOf(cells.in), valueOf(cells.out)];
		return cells.total ? valueOf(cells.total) : !cells.in || !cells.out ? i ?? o : finite(i) && finite(o) ? i + o : null;
	}

	// The sum of the numbers that are known (null: none is), and how many are unknown.
	function sumOf(list, of) {
		const known = list.map(of).filter(finite);
		return {value: known.length ? known.reduce((a, b) => a + b) : null, unknown: list.length - known.length};
	}

	// The worst quality; that of a latency or share counts only if there is a value.
	function worst(line) {
		const order = ["measured", "scaled", "sampled", "partial", "suspect", "unavailable"];
		return Object.entries(line.cells).map(([name, row]) => [name, qualityOf(row)])
			.filter(([name, q]) => q && (q[0] !== "unavailable" || !["share", "latency"].includes(name)))
			.map(([, q]) => q).sort((a, b) => order.indexOf(b[0]) - order.indexOf(a[0]))[0];
	}

	// Whether nothing has moved for some intervals, so that a place does not come and go.
	function isIdle(line) {
		const rows = ["in", "out", "total"].map((name) => line.cells[name]).filter(Boolean);
		return rows.every((row) => {
			const most = row.ceiling > 0 ? row.ceiling * limits.idle_share : limits.idle_bandwidth;
			return (row.now !== undefined ? [row.now] : row.values.slice(-IDLE_INTERVALS)).every((v) => finite(v) && v < most);
		});
	}

	// Whether nothing counts it: it has no value, and not only in this interval.
	const isUncounted = (line) => ["in", "out", "total"].map((name) => line.cells[name]).filter(Boolean).every((row) =>
		(row.now !== undefined ? [row.now] : row.values.slice(-IDLE_INTERVALS)).every((v) => !finite(v)));

	// ---- the places ----

	const bare = (line) => line.label.replace(/^socket \d+, /, "");
	// Of the only socket of a machine the number tells nothing.
	function nameOf(line) {
		const place = line.alone && line.kind !== "socket" ? bare(line) : line.socket === null || /^socket \d+/.test(line.label) ? line.label : `socket ${line.socket}, ${line.label}`;
		return ["port", "unit", "device"].includes(line.kind) && place === line.label ? place : place[0].toUpperCase() + place.slice(1); // not names of devices
	}

	// Joins the lines with their rows, and sorts them by socket.
	function model(screen, rows, topology) {
		for (const name of Object.keys(limits))
			limits[name] = screen[name] ?? limits[name];
		const lines = screen.lines.map((line, i) => ({...line, i, view: screen.views[line.view], below: [],
			cells: Object.fromEntries(Object.entries(line.rows).map(([name, row]) => [name, rows[row]]))}));
		for (const line of lines)
			if (line.parent !== null) {
				line.above = lines[line.parent];
				line.above.below.push(line);
			}
		const known = (topology?.sockets ?? []).map((s) => s.id), used = lines.map((line) => line.socket);
		const ids = [...new Set([...known, ...used])].filter((id) => id !== null && id !== undefined).sort((a, b) => a - b);
		lines.forEach((line) => line.alone = ids.length === 1);
		const sockets = [...ids, null].map((id) => socket(lines, id, ids.length === 1, topology))
			.filter((s) => s.memories.length || s.devices.length || s.links.length || s.between.length || (s.id !== null && ids.length > 1));
		return {lines, sockets, topology, machine: lines.filter((line) => line.kind === "machine"), guest: lines.every((line) => line.kind === "device")};
	}

	// The devices of a port or PMU with several ones that count themselves; else itself.
	function several(line) {
		const own = line.below.filter((each) => each.kind === "device" && moves(each));
		return own.length > 1 ? own : [line];
	}

	// A PMU that is not of certain devices, such as one that counts all of a socket.
	const isWhole = (line) => line.kind === "unit" && Object.values(line.cells).some((row) => row.pmu === line.label);

	const between = (line) => line.kind !== "device" && (line.kind !== "link" || /socket/.test(bare(line)));

	// Of several sockets, or of several links, which are shown themselves.
	const isSum = (line) => line.kind === "machine" || (line.kind === "link" && line.socket === null && line.below.some((each) => each.socket !== null));

	function socket(lines, id, only, topology) {
		const here = (screen) => lines.filter((line) => line.view.screen === screen && line.socket === id && !isSum(line));
		const sums = lines.filter((line) => (line.kind === "socket" && line.socket === id) || (only && id !== null && line.kind === "machine"));
		const memories = [...new Set(lines.filter((line) => line.view.screen === "memory").map((line) => line.view))].map((view) => {
			const all = here("memory").filter((line) => line.view === view && moves(line));
			const sum = sums.find((line) => line.view === view && moves(line)) ?? all.find((line) => line.below.length);
			return {view, sum, parts: all.filter((line) => line !== sum && line.kind !== "socket")};
		}).filter(({sum, parts}) => sum || parts.length);
		const devices = here("pcie").filter((line) => ["port", "unit", "device"].includes(line.kind) && moves(line) &&
			!["port", "unit"].includes(line.above?.kind)).flatMap((line) => several(line).map((each) => ({line: each, inside: []})));
		for (const gpu of here("gpus").filter(moves)) {
			const own = gpu.device && devices.find(({line}) => [line, ...line.below].some((each) => each.device === gpu.device));
			if (own)
				own.inside.push(gpu);
			else
				devices.push({line: gpu, inside: []});
		}
		const tops = here("links").filter((line) => moves(line) && !(line.above?.socket === id && line.above !== line));
		const about = (topology?.sockets ?? []).find((s) => s.id === id);
		const delays = lines.filter((line) => line.cells.latency && line.kind !== "machine" && (line.socket === id) && ["socket", "link"].includes(line.kind));
		return {id, memories, devices, sums, between: tops.filter(between), links: tops.filter((line) => !between(line)).map((line) => ({line, inside: []})),
			delays, about, power: here("power").find((line) => line.kind === "socket" || line.kind === "unit")};
	}

	// ---- shapes ----

	const tint = (share) => !finite(share) ? "sx" : share < limits.warn ? "s0" : share < limits.bad ? "s1" : "s2";
	const thick = (v) => finite(v) && v >= limits.idle_bandwidth ? Math.min(22, 1.5 + Math.sqrt(v / 1e9) * 2.4) : 1;
	const percent = (share) => finite(share) ? `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %` : "";
	const n = (v) => Math.round(v * 10) / 10;

	// Three digits and the unit; without the unit, GB/s.
	function brief(v, unit) {
		if (!finite(v))
			return "-";
		// Rounding may make the next prefix necessary.
		const [number, word = ""] = human(+v.toPrecision(3), unit).split(" "), prefix = word.length > unit.length ? "nµm kMGT".indexOf(word[0]) - 3 : 0;
		const three = (v * (unit === "ratio" ? 100 : 1) / 1000 ** prefix).toPrecision(3);
		return `${v === 0 ? "0" : three.includes("e") ? number : three} ${word}`.trim();
	}
	// A sum that lacks numbers is a lower limit.
	const briefSum = ({value, unknown}) => `${unknown && finite(value) ? "≥ " : ""}${brief(value, "B/s")}`;
	const giga = (v) => !finite(v) ? "-" : v < 5e6 ? "0" : (v / 1e9).toFixed(v < 9.995e9 ? 2 : v < 99.95e9 ? 1 : 0);

	// Text that is cut where it does not fit; a letter of the widest usual font takes this share of its size.
	function put(x, y, s, room, {bold, size = 12, dim, anchor = "start", more} = {}) {
		const most = Math.floor(room / (size * (bold ? 0.66 : 0.6))), whole = String(s);
		const cut = whole.length <= most ? whole : most > 2 ? `${whole.slice(0, most - 1).trimEnd()}…` : "";
		return cut && `<text x="${n(x)}" y="${n(y)}" class="${bold ? "strong" : ""}${dim ? " dim" : ""}${size < 12 ? " small" : ""}" ` +
			`text-anchor="${anchor}">${text(cut)}${more ? `<tspan class="dim"> ${text(more)}</tspan>` : ""}</text>`;
	}
	const rect = (x, y, w, h, cls, r = 0) => `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(w, 0))}" height="${n(Math.max(h, 0))}" ` +
		`${r ? `rx="${r}" ` : ""}class="${cls}"/>`;

	// Diagonal lines over a rectangle: its value is suspect.
	function hatch(x, y, w, h) {
		let path = "";
		for (let d = -h + 3; d < w; d += 6) {
			const from = Math.max(d, 0), to = Math.min(d + h, w);
			if (to > from)
				path += `M${n(x + from)} ${n(y + h - (from - d))}L${n(x + to)} ${n(y + h - (to - d))}`;
		}
		return path && `<path class="hatch" d="${path}"/>`;
	}
	const doubt = (row, x, y, w, h) => row && qualityOf(row)?.[0] === "suspect" ? hatch(x, y, w, h) : "";

	// What a screen reader says of a line.
	function said(line) {
		const {columns} = line.view, share = shareOf(line), q = worst(line);
		const parts = ["in", "out", "total", "latency"].filter((name) => line.cells[name])
			.map((name) => [name, line.cells[name]]).map(([name, row]) =>
				`${(columns[name] ?? name).toLowerCase()} ${finite(valueOf(row)) ? human(valueOf(row), row.unit) : "unknown"}`);
		return `${nameOf(line)}: ${[...parts, finite(share) && `${percent(share)} of the ceiling`, q && q[0]].filter(Boolean).join(", ")}`;
	}

	const place = (id, label, s, inside) => `<g class="place${s.chosen === id ? " chosen" : ""}${s.found && !s.found.has(id) ? " other" : ""}" data-place="${id}" role="button" ` +
		`tabindex="${s.stop === id ? 0 : -1}" aria-pressed="${s.chosen === id}"><title>${text(label)}</title>${inside}</g>`;

	// A bar for each channel, or one for all of a memory. Returns its markup and height.
	function memory({view, sum, parts}, w, s) {
		const all = sum ? sumOf([sum], trafficOf) : sumOf(parts, trafficOf), total = all.value, share = sum ? shareOf(sum) : null;
		const right = `${briefSum(all)}${finite(share) ? ` · ${percent(share)}` : ""}`;
		const names = new Set(parts.map((line) => bare(line).replace(/ ?\d+$/, "")));
		const what = parts.length ? `${parts.length} ${names.size === 1 && [...names][0] ? [...names][0].replace(/^uncore_/, "") : "part"}${parts.length > 1 ? "s" : ""}` : "";
		let out = put(0, 14, view.title, w * 0.5 - 10, {bold: true, more: w > 330 ? what : ""}) + put(w, 14, right, w * 0.5, {bold: true, anchor: "end"});
		out += rect(0, 0, w, 20, "touch");
		out = sum ? place(`${sum.i}`, said(sum), s, out) : out;
		if (!parts.length) {
			const full = finite(share) ? Math.min(share, 1) : 0, trunk = thick(total), side = (dx, name, anchor) => sum?.cells[name] ?
				put(w / 2 + dx, 56, `${(view.columns[name] ?? name).toLowerCase()} ${brief(valueOf(sum.cells[name]), sum.cells[name].unit)}`, w / 2 - 20, {size: 11, dim: true, anchor}) : "";
			// Without a known ceiling there is no share to show.
			out += (finite(share) ? rect(0, 24, w, 12, "track", 4) + rect(0, 24, w * full, 12, tint(share), 4) : rect(0, 30, w, 6, "sx second", 3)) +
				(sum ? doubt(sum.cells.total ?? sum.cells.in, 0, 24, w * (full || 1), 12) : "") + rect(w / 2 - trunk / 2, 36, trunk, 26, tint(share)) +
				side(-18, "in", "end") + side(18, "out", "start");
			return {out, height: 62};
		}
		const step = w / parts.length, wide = Math.min(64, step - Math.min(6, step * 0.2)), top = 40, every = Math.ceil(18 / step);
		const most = Math.max(...parts.map((line) => trafficOf(line) ?? 0), 1);
		parts.forEach((line, k) => {
			const share_ = shareOf(line), own = trafficOf(line), x = k * step + (step - wide) / 2;
			const high = BARS * Math.min(Math.max(share_ ?? own / most * 0.9, 0) || 0, 1), [i, o] = [valueOf(line.cells.in), valueOf(line.cells.out)];
			const low = finite(i) && finite(o) && i + o > 0 ? high * i / (i + o) : high, number = /\d+$/.exec(bare(line))?.[0] ?? "";
			out += place(`${line.i}`, said(line), s, rect(x, top, wide, BARS, "track", 3) +
				rect(x, top + BARS - low, wide, low, tint(share_)) + rect(x, top + BARS - high, wide, high - low, `${tint(share_)} second`) +
				doubt(line.cells.total ?? line.cells.in, x, top + BARS - high, wide, high) +
				(step >= 38 ? put(x + wide / 2, top - 5, giga(own), step, {size: 11, anchor: "middle"}) : "") +
				(finite(own) ? "" : put(x + wide / 2, top + BARS / 2, "?", step, {size: 11, dim: true, anchor: "middle"})) + // no bar is not 0
				(number && k % every === 0 ? put(x + wide / 2, top + BARS + 13, number, 18 * every, {size: 11, dim: true, anchor: "middle"}) : "") +
				rect(x + wide / 2 - Math.min(thick(own), wide) / 2, top + BARS + 18, Math.min(thick(own), wide), 16, tint(share_)));
		});
		return {out, height: top + BARS + 34};
	}

	// The two directions of a line, and its box.
	function box({line, inside}, x, y, w, h, s, words) {
		const {cells} = line, share = shareOf(line), q = worst(line), cx = x + w / 2, room = w - 14, rows = ["in", "out"].filter((name) => cells[name]);
		const one = !rows.length && cells.total ? ["total"] : rows;
		let out = rect(x, y, w, h, "touch"), at = y + 66;
		one.forEach((name, k) => {
			const v = valueOf(cells[name]), wide = Math.min(thick(v), w / 2 - 12), middle = one.length > 1 ? cx + (k ? 1 : -1) * Math.min(w * 0.17, 20) : cx;
			out += rect(middle - wide / 2, y, wide, 34, tint(shareOfRow(cells[name]) ?? (one.length > 1 ? null : share))) + doubt(cells[name], middle - wide / 2, y, wide, 34);
		});
		out += rect(x, y + 34, w, h - 34, `box edge ${isIdle(line) ? "idle" : tint(share)}`, 7);
		out += put(cx, y + 51, words !== LINK ? line.label : line.kind === "socket" ? "other sockets" : bare(line), room, {bold: true, anchor: "middle"}) +
			(words === LINK ? "" : put(cx, y + 66, line.detail.split(", ").find((each) => each !== line.label) || (isWhole(line) ? "not by device" : line.view.title), room, {size: 11, dim: true, anchor: "middle"}));
		at = words === LINK ? y + 68 : y + 84;
		for (const name of one) {
			out += put(cx, at, `${words[name]} ${brief(valueOf(cells[name]), cells[name].unit)}`, room, {anchor: "middle"});
			at += 16;
		}
		out += finite(share) || q ? put(cx, at, [percent(share), q && q[0] !== "scaled" && q[0]].filter(Boolean).join(" · "), room, {size: 11, dim: !q, anchor: "middle"}) : "";
		at += finite(share) || q ? 16 : 0;
		for (const gpu of inside)
			out += put(cx, at, `memory ${brief(trafficOf(gpu), "B/s")}`, room, {size: 11, anchor: "middle"});
		const names = [line, ...inside].map(said).join("; ");
		return place(`${line.i}`, names, s, out);
	}
	const LINK = {in: "in", out: "out", total: ""}, DEVICE = {in: "↓", out: "↑", total: ""};

	// Boxes in rows below a line; those of a second row hang on a rail at the left.
	function boxes(list, w, s, words, id) {
		const idle = list.filter(({line, inside}) => isIdle(line) && inside.every(isIdle));
		const none = list.filter(({line, inside}) => !idle.some((each) => each.line === line) && isUncounted(line) && inside.every(isUncounted));
		const quiet = [...idle, ...none], shown = s.idle ? list : list.filter((each) => !quiet.includes(each));
		const most = Math.max(1, Math.floor((w + 8) / BOX)), per = Math.ceil(shown.length / Math.max(1, Math.ceil(shown.length / most))) || 1, wide = Math.min((w - 8 * (per - 1)) / per, 230);
		const told = shown.some(({line}) => finite(shareOf(line)) || worst(line)), high = (words === LINK ? 92 : 108) + (told ? 15 : 0) + (shown.some(({inside}) => inside.length) ? 16 : 0);
		let out = "", y = 0;
		for (let from = 0; from < shown.length; from += per) {
			const row = shown.slice(from, from + per), left = (w - row.length * (wide + 8) + 8) / 2;
			if (from)
				out = rect(-8, 0, 2, y, "rail") + rect(-8, y - 1, Math.max(left + (row.length - 0.5) * (wide + 8), 0) + 8, 2, "rail") + out;
			out += row.map((each, k) => box(each, left + k * (wide + 8), y, wide, high, s, words)).join("");
			y += high + 10;
		}
		if (quiet.length && id !== undefined) {
			const count = [idle.length && `${idle.length} idle`, none.length && `${none.length} not counted`].filter(Boolean).join(", ");
			const what = `${count}: ${quiet.map(({line}) => bare(line)).join(", ")}`;
			out += place(`idle-${id}`, s.idle ? `Fold what is idle` : `${what}. Show them`, s, rect(0, y, w, 24, "touch") +
				put(w / 2, y + 16, s.idle ? `fold ${count}` : what, w - 10, {dim: true, anchor: "middle"}));
			y += 26;
		}
		return {out, height: y};
	}

	// A socket: its memory above it, what hangs on it below. `top`: the height of the memory of all sockets in the row.
	function card(each, w, s, top, beside) {
		const inner = w - 2 * PAD, memories = each.memories.map((m) => memory(m, inner, s)), facts = [];
		let out = "", y = top - memories.reduce((sum, m) => sum + m.height, 0);
		for (const m of memories) {
			out += `<g transform="translate(${PAD} ${n(y)})">${m.out}</g>`;
			y += m.height;
		}
		y = top;
		if (each.id !== null) {
			const cpus = each.about && `${each.about.cpus.length} CPUs`, nodes = each.about?.nodes.length ? `node ${page.ranges(each.about.nodes)}` : "";
			const main = each.memories.map(({sum}) => sum?.cells.latency).find(Boolean);
			if (main && finite(valueOf(main)))
				facts.push(`reads take ${brief(valueOf(main), main.unit)}`);
			if (each.power)
				facts.push(brief(trafficOf(each.power), "W"));
			for (const line of each.delays.filter((d) => d.kind === "link" && finite(valueOf(d.cells.latency))))
				facts.push(`${bare(line)} ${brief(valueOf(line.cells.latency), line.cells.latency.unit)}`);
			const own = rect(1.5, y, w - 3, 50, "socket", 10) + put(PAD, y + 21, `Socket ${each.id}`, w * 0.4 - PAD, {bold: true, size: 14}) +
				put(PAD, y + 39, [cpus, nodes].filter(Boolean).join(" · "), w * 0.5 - PAD - 6, {size: 11, dim: true}) +
				put(w - PAD, y + 21, facts[0] ?? "", w * 0.6 - PAD - 6, {anchor: "end"}) +
				put(w - PAD, y + 39, facts.slice(1, 3).join(" · "), w * 0.5 - PAD - 6, {size: 11, dim: true, anchor: "end"});
			out += place(`socket-${each.id}`, `Socket ${each.id}: ${facts.join(", ")}`, s, own);
			y += 50;
		} else {
			out += put(PAD, y + 16, "Devices", w - 2 * PAD, {bold: true, size: 14});
			y += 24;
		}
		const rest = beside ? each.links : [...each.links, ...each.between.map((line) => ({line, inside: []}))];
		for (const [list, words, id] of [[each.devices, DEVICE, each.id], [rest, LINK, `links-${each.id}`]]) {
			if (!list.length)
				continue;
			if (words === LINK && each.devices.length) {
				out += rect(PAD - 8, top + 48, 2, y - top - 48 + 22, "rail") + put(PAD + 2, y + 18, "Links", 100, {dim: true}) +
					rect(PAD - 8, y + 21, w - 2 * PAD + 8, 2, "rail");
				y += 23;
			}
			const made = boxes(list, inner, s, words, id);
			out += `<g transform="translate(${PAD} ${n(y)})">${made.out}</g>`;
			y += made.height;
		}
		return {out, height: y};
	}

	// What moves between two sockets that are side by side, at the height of their boxes.
	function pair([a, b], s) {
		const sum = (each, name) => each.between.length === 1 ? each.between[0].cells[name] : null;
		const ways = [[a, b, "→", -9], [b, a, "←", 9]].map(([from, to, arrow, dy]) => ({arrow, dy, row: sum(from, "out") ?? sum(to, "in"),
			line: sum(from, "out") ? from.between[0] : to.between[0]})).filter(({row}) => row);
		return ways.map(({arrow, dy, row, line}) => {
			const v = valueOf(row), wide = thick(v), y = 25 + dy - wide / 2 + (dy > 0 ? wide / 2 : -wide / 2);
			return place(`${line.i}`, `Between the sockets ${arrow}: ${human(v, row.unit)}; ${said(line)}`, s, rect(0, dy < 0 ? -20 : 26, BETWEEN, 44, "touch") +
				rect(2, y, BETWEEN - 4, wide, tint(shareOfRow(row))) + doubt(row, 2, y, BETWEEN - 4, wide) +
				put(BETWEEN / 2, dy < 0 ? y - 6 : y + wide + 15, `${arrow} ${brief(v, row.unit)}`, BETWEEN, {bold: true, anchor: "middle"}));
		}).join("");
	}

	const columns = (count, width) => width < ONE_COLUMN ? 1 : Math.min(count, count <= 2 ? 2 : Math.max(1, Math.min(4, Math.floor((width + GAP) / 520))));

	// `s`: {chosen, stop, idle, found}: the id of the chosen place, that of the place that Tab reaches, whether idle
	// places are shown, and the ids that a search has found.
	function draw(m, width, s) {
		const across = columns(m.sockets.length, width), beside = across === 2 && m.sockets.length === 2 && m.sockets.every((each) => each.between.length === 1);
		const gap = beside ? BETWEEN : GAP, w = Math.floor((width - gap * (across - 1)) / across);
		let out = "", y = 4;
		for (let from = 0; from < m.sockets.length; from += across) {
			const row = m.sockets.slice(from, from + across);
			const top = Math.max(...row.map((each) => each.memories.reduce((sum, one) => sum + memory(one, w - 2 * PAD, s).height, 0)));
			const cards = row.map((each) => card(each, w, s, top, beside));
			cards.forEach((each, k) => out += `<g transform="translate(${k * (w + gap)} ${y})">${each.out}</g>`);
			if (beside)
				out += `<g transform="translate(${w} ${y + top})">${pair(row, s)}</g>`;
			y += Math.max(...cards.map((each) => each.height)) + GAP;
		}
		return `<svg class="map" width="${width}" height="${n(y)}" viewBox="0 0 ${width} ${n(y)}" role="group" aria-label="Map of the machine">${out}</svg>`;
	}

	const number = (share) => `${+(share * 100).toPrecision(3)} %`;
	const colours = () => [["s0", `under ${number(limits.warn)} of the ceiling`], ["s1", `${+(limits.warn * 100).toPrecision(3)} to ${number(limits.bad)}`], ["s2", `${number(limits.bad)} and more`],
		["sx", "no ceiling known"]];
	const key = () => `<p class="map-key">${colours().map(([c, what]) => `<span><svg width="18" height="8" aria-hidden="true"><rect class="${c}" width="18" height="8" rx="3"/></svg>` +
		`${what}</span>`).join("")}<span><svg width="18" height="8" aria-hidden="true"><rect class="track" width="18" height="8"/>${hatch(0, 0, 18, 8)}</svg>suspect</span>` +
		`<span><b>?</b> which counter counts this device is uncertain</span>` +
		`<span>width: traffic</span><span>↓ to the device</span><span>↑ from the device</span><span>bars: GB/s, writes lighter</span></p>`;

	// The place that is shown first: the one with the largest share of a ceiling, else the one that moves most.
	function hottest(m) {
		const some = m.lines.filter((line) => line.kind !== "machine" && moves(line)), best = (list, of) => list.reduce((a, b) => !a || of(b) > of(a) ? b : a, null);
		const line = best(some.filter((each) => finite(shareOf(each))), shareOf) ?? best(some.filter((each) => finite(trafficOf(each))), trafficOf) ?? m.lines[0];
		return line ? `${line.i}` : "m0";
	}

	// ---- the charts of a place ----

	const lineOf = (m, id) => m.lines[/^\d+$/.test(id) ? +id : -1];
	// The lines that a place shows.
	function linesOf(m, id) {
		const one = lineOf(m, id), own = /^socket-(\d+)$/.exec(id), s = own && m.sockets.find((each) => each.id === +own[1]);
		if (s)
			return [...s.sums, ...s.between.filter((line) => !s.sums.includes(line)), ...s.delays.filter((line) => !s.sums.includes(line))];
		if (!one)
			return [];
		const device = m.sockets.flatMap((each) => each.devices).find(({line}) => line === one);
		return [one, ...["port", "unit"].includes(one.kind) ? one.below : [], ...device?.inside ?? []];
	}

	// What is computed of other rows, again when these have grown.
	function computed(rows, make) {
		let made, last;
		return () => {
			const now = rows.map((row) => [row.values.length, row.values[0], row.values.at(-1)]).join();
			if (now !== last)
				made = make(), last = now;
			return made;
		};
	}

	// Both directions together.
	function both(a, b) {
		const values = computed([a, b], () => a.values.map((v, i) => finite(v) && finite(b.values[i]) ? v + b.values[i] : null));
		const quality = computed([a, b], () => a.quality.map((q, i) => q ?? b.quality[i]));
		return {...a, shown: "both", ceiling: null, role: null, of: undefined, made: true, least: [], most: [], distribution: undefined,
			get values() {
				return values();
			},
			get quality() {
				return quality();
			},
			...a.now === undefined ? {} : {now: finite(a.now) && finite(b.now) ? a.now + b.now : null, nowQuality: a.nowQuality ?? b.nowQuality}};
	}

	// The ceiling of traffic whose share is counted: the median, with three digits so that it seldom changes.
	const ceilingBy = (traffic, share) => computed([traffic, share], () => {
		const list = traffic.values.slice(-60).map((v, i, all) => v / share.values.at(i - all.length)).filter((v) => finite(v) && v > 0);
		return list.length ? +list.sort((a, b) => a - b)[list.length >> 1].toPrecision(3) : null;
	});

	// For each line a chart of what moves, and one for each other unit: lists of rows with their titles.
	function chartsOf(m, id) {
		const list = [];
		for (const line of linesOf(m, id)) {
			const {cells, view: {columns}} = line, named = ["total", "in", "out"].filter((name) => cells[name]);
			const ceiling = cells.total && cells.share && !(cells.total.ceiling > 0) ? ceilingBy(cells.total, cells.share) : null;
			const as = (name) => {
				const row = {...cells[name], shown: (columns[name] ?? name).toLowerCase(), of: cells[name]};
				return !ceiling || row.unit !== cells.total.unit ? row : {...row, derived: true, get ceiling() {
					return ceiling();
				}};
			};
			const own = `${line.i}` === id, title = line.kind === "machine" || line.kind === "socket" || line.view.screen === "gpus" ? line.view.title : own ? "" : line.label;
			const titled = (rows) => {
				const words = rows.map((row) => row.shown).join(", ");
				return title ? `${title}: ${words}` : words[0].toUpperCase() + words.slice(1);
			};
			for (const names of page.group(named, (name) => cells[name].unit)) {
				const rows = names.map(as);
				if (!names.includes("total") && names.length === 2)
					rows.push(both(cells.in, cells.out)); // behind them, since a histogram has their colours
				list.push({title: titled(rows), rows, line});
			}
			for (const name of ["share", "latency"].filter((each) => cells[each]))
				list.push({title: titled([as(name)]), rows: [as(name)], line});
		}
		return list;
	}

	function titleOf(m, id) {
		const line = lineOf(m, id), own = /^socket-(\d+)$/.exec(id);
		return own ? [`Socket ${own[1]}`, ""] : line ? [line.kind === "machine" ? "Machine" : nameOf(line), line.detail] : ["", ""];
	}

	// Now, mean, p99 and maximum of a chart's rows, and when the maximum was.
	function numbers(rows, intervals, clock) {
		const line = (row) => {
			const known = row.values.map((v, i) => [v, i]).filter(([v]) => finite(v)), sorted = known.map(([v]) => v).sort((a, b) => a - b);
			const most = known.reduce((best, each) => !best || each[0] > best[0] ? each : best, null), of = (v) => text(brief(v, row.unit));
			const when = most && intervals[most[1]] ? clock === undefined ? `${intervals[most[1]].time.toFixed(1)} s` : page.timeOfDay(intervals[most[1]].wall_ns / 1e9) : "";
			const share = most && row.ceiling > 0 ? `${percent(most[0] / row.ceiling)}, ` : "", q = qualityOf(row);
			const told = q && !page.harmless(q) ? `<small>${text(q[0])}</small>` : "";
			return `<tr><th scope="row">${text(row.shown ?? row.name)}</th><td>${row.now === undefined ? `${of(valueOf(row))}${told}</td><td>` : ""}${sorted.length ? of(sorted.reduce((a, b) => a + b) / sorted.length) : "-"}` +
				`${row.now === undefined ? "" : told}</td>` +
				`<td>${sorted.length ? of(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))]) : "-"}</td>` +
				`<td>${most ? of(most[0]) : "-"}<small>${share}${when}</small></td></tr>`;
		};
		return `<div class="wide" tabindex="0"><table class="numbers"><tr><td></td>${rows.some((row) => row.now === undefined) ? `<th scope="col">now</th>` : ""}<th scope="col">mean</th><th scope="col">p99</th><th scope="col">max</th></tr>` +
			`${rows.slice(0, 8).map(line).join("")}</table></div>`;
	}

	// The ids of the places whose names have all the words.
	function search(m, what) {
		const wanted = what.toLowerCase().split(/\s+/).filter(Boolean);
		if (!wanted.length)
			return null;
		const fits = (line) => wanted.every((word) => `${nameOf(line)} ${line.detail} ${line.view.title}`.toLowerCase().includes(word));
		// Those above them are found, too, but later.
		const lines = [...m.lines.filter(fits), ...m.lines.filter((line) => line.below.some(fits))];
		return new Set(lines.map((line) => `${line.i}`));
	}

	// Names of rows in legends: those of the screen.
	function nameRows(m, rows) {
		const key = (row) => row.port ?? JSON.stringify([row.socket, row.node, row.channel, row.port, row.pmu, row.role]), names = new Map();
		for (const line of m.lines)
			for (const row of Object.values(line.cells))
				if (["port", "unit", "device"].includes(line.kind))
					names.set(key(row), line.label);
		for (const row of rows)
			if (names.has(key(row)) && (row.port || row.pmu) && names.get(key(row)) !== row.pmu)
				row.named = names.get(key(row));
	}

	// ---- the document ----

	// Makes `old` equal to `now` without replacing what did not change, so that the focus stays.
	function morph(old, now) {
		if (old.nodeType !== 1 || now.nodeType !== 1 || old.tagName !== now.tagName || old.childNodes.length !== now.childNodes.length ||
			old.dataset.place !== now.dataset.place) {
			if (old.nodeType !== 3 || now.nodeType !== 3)
				return old.replaceWith(now);
			if (old.data !== now.data)
				old.data = now.data;
			return undefined;
		}
		for (const {name, value} of now.attributes)
			if (old.getAttribute(name) !== value)
				old.setAttribute(name, value);
		for (const {name} of [...old.attributes])
			if (!now.hasAttribute(name))
				old.removeAttribute(name);
		const next = [...now.childNodes];
		[...old.childNodes].forEach((child, i) => morph(child, next[i]));
		return undefined;
	}

	// Shows the map in `box`; `choose(id)` is called for a chosen place. Returns a function that draws it again.
	function follow(box, of, s, choose) {
		const order = () => [...box.querySelectorAll("[data-place]")], made = document.createElement("template");
		const act = (target) => {
			const id = target.dataset.place;
			if (id.startsWith("idle-")) {
				s.idle = !s.idle;
				draw_();
			} else {
				choose(id);
			}
		};
		const draw_ = (width = box.clientWidth) => {
			const m = of(), focus = document.activeElement?.closest?.("[data-place]")?.dataset.place;
			if (!m || !width)
				return;
			const markup = draw(m, Math.floor(width), s);
			if (box.told === markup)
				return;
			box.told = made.innerHTML = markup;
			if (box.firstElementChild)
				morph(box.firstElementChild, made.content.firstElementChild);
			else
				box.append(made.content.firstElementChild);
			if (!box.querySelector("[tabindex='0']"))
				box.querySelector("[data-place]")?.setAttribute("tabindex", "0");
			if (focus && document.activeElement === document.body)
				box.querySelector(`[data-place="${focus}"]`)?.focus();
		};
		box.onclick = ({target}) => target.closest("[data-place]") && act(target.closest("[data-place]"));
		box.onkeydown = (event) => {
			const list = order(), at = list.indexOf(event.target), {key} = event;
			const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: list.length - 1}[key];
			if (key === "Enter" || key === " ")
				act(event.target);
			else if (to === undefined || at < 0)
				return;
			event.preventDefault();
			if (to === undefined || !list[to])
				return;
			s.stop = list[to].dataset.place;
			list.forEach((each) => each.setAttribute("tabindex", each === list[to] ? "0" : "-1"));
			list[to].focus();
		};
		return draw_;
	}

	// The map of a page of --html, above all else: means of all of the time.
	function report(data, about, view, redraw) {
		if (!data.screen?.lines.length)
			return;
		const whole = data.totals.at(-1), marks = new Map(data.quality.map(([i, ...q]) => [i, q]));
		data.rows.forEach((row, i) => {
			if (whole)
				row.now = whole.values[i], row.nowQuality = marks.get(i) ?? null;
		});
		const m = model(data.screen, data.rows, about.topology), s = {chosen: null, stop: null, idle: false, found: null}, face = document.createElement("div");
		nameRows(m, data.rows);
		face.innerHTML = `<p class="note">Means of ${text(human(whole?.interval, "s"))}</p><div id="totals">${map.totals(m)}</div><div id="words">${map.words(m)}</div>` +
			`<div id="face"><section aria-label="Map of the machine"><div id="map"></div><div id="key">${key()}</div></section>` +
			`<section id="place" aria-label="Chosen place"><h2 id="chosen" role="status"></h2><p id="detail" class="note"></p><div></div></section></div>`;
		document.querySelector("main dl").before(face);
		document.body.classList.add("report");
		const panel = face.querySelector("#place").lastElementChild;
		let charts = [], width = 0;
		const choose = (id) => {
			const [name, detail] = titleOf(m, id);
			s.chosen = s.stop = id;
			face.querySelector("#chosen").textContent = name, face.querySelector("#detail").textContent = detail;
			panel.replaceChildren();
			charts = chartsOf(m, id).map(({title, rows}) => {
				const box = document.createElement("section");
				box.className = "chart";
				panel.append(box);
				box.innerHTML = page.metric(rows, data.intervals, panel.clientWidth, view, title) + numbers(rows, data.intervals);
				return box.querySelector(".plot") && page.follow(box, rows, data.intervals, view);
			}).filter(Boolean);
			draw_();
		};
		const draw_ = follow(face.querySelector("#map"), () => m, s, choose);
		face.onclick = ({target}) => target.closest("button[data-place]") && choose(target.closest("button[data-place]").dataset.place);
		redraw(() => charts.forEach((each) => each()));
		new ResizeObserver(() => {
			if (face.clientWidth === width)
				return;
			width = face.clientWidth;
			choose(s.chosen ?? hottest(m));
		}).observe(face);
	}
	page.hooks.push(report);

	return {model, draw, key, chartsOf, titleOf, numbers, search, nameRows, follow, morph, hottest, linesOf, nameOf, valueOf, shareOf, shareOfRow, trafficOf, sumOf, briefSum, qualityOf, worst, moves, isIdle, isWhole, brief, percent,
		giga, limits};
})(typeof page === "object" ? page : require("./page.js"));
if (typeof document !== "object")
	module.exports.map = map;
