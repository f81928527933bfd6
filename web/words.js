// SPDX-License-Identifier: MIT
// What is said of a machine above its map: totals, and the answers to the first questions. As in page.js, functions return markup.
// They know lines, views and columns, and no metric.
"use strict";
((page, map) => {
	const {text, finite} = page, {nameOf, valueOf, shareOf, shareOfRow, trafficOf, sumOf, briefSum, qualityOf, worst, moves, isIdle, isWhole, brief, limits} = map;

	const percent = (share) => map.percent(share).replace(" ", "\u00a0"); // a number and its unit stay on one line

	function totals(m) {
		const tiles = [];
		// A guest whose devices count themselves has no row of all of them.
		const devices = m.guest ? m.sockets.flatMap((s) => s.devices.map(({line}) => line)) : [];
		for (const name of ["in", "out"].filter((each) => devices.some((line) => line.cells[each])))
			tiles.push([briefSum(sumOf(devices.filter((line) => line.cells[name]), (line) => valueOf(line.cells[name]))),
				`${devices[0].view.title}: sum ${(devices[0].view.columns[name] ?? name).toLowerCase()}`, devices[0]]);
		for (const line of m.machine.filter((each) => moves(each) || each.cells.total?.unit === "W")) {
			const {cells, view} = line, share = shareOf(line);
			const named = (name) => (view.columns[name] ?? name).toLowerCase();
			if (cells.total)
				tiles.push([brief(valueOf(cells.total), cells.total.unit), view.title + (finite(share) ? `, ${percent(share)} of the peak` : ""), line]);
			if (!cells.total || !finite(share))
				for (const name of ["in", "out"].filter((each) => cells[each]))
					tiles.push([brief(valueOf(cells[name]), cells[name].unit), `${view.title}: ${named(name)}`, line]);
		}
		return `${tiles.slice(0, 8).map(([value, what, line]) => `<button class="tile" data-place="${line.i}"><b>${text(value)}</b>` +
			`<span>${text(what)}</span></button>`).join("")}`;
	}

	const link = (line, name = nameOf(line)) => `<button class="go" data-place="${line.i}">${text(name)}</button>`;

	const most = (list, of) => list.filter((each) => finite(of(each))).sort((a, b) => of(b) - of(a));

	const amount = (v, unit) => finite(v) ? brief(v, unit).replace(" ", "\u00a0") : "unknown";
	const amountOf = ({value, unknown}) => `${unknown && finite(value) ? "at least " : ""}${amount(value, "B/s")}`;
	// The direction that fills its ceiling most, or all that moves.
	function how(line, ceiling = "peak") {
		const name = most(["total", "in", "out"], (each) => shareOfRow(line.cells[each]))[0], share = shareOf(line);
		const what = name && name !== "total" ? `${amount(valueOf(line.cells[name]), line.cells[name].unit)} ${(line.view.columns[name] ?? name).toLowerCase()}` : amount(trafficOf(line), "B/s");
		return `${what}${finite(share) ? `, <b>${percent(share)}</b> of its ${ceiling}` : ""}`;
	}

	const unknownOf = (lines) => lines.filter((line) => !finite(trafficOf(line))).length;
	// If no place with a value moves anything.
	function idleFact(lines, all) {
		const unknown = unknownOf(lines);
		return !unknown ? `${all} idle.` : `The traffic of ${unknown === lines.length ? "all is unknown." : `${unknown} is unknown; all others are idle.`}`;
	}

	function hottestFact(places) {
		const busy = places.filter((line) => !isIdle(line)), hot = most(busy, shareOf), [first] = hot.length ? hot : most(busy, trafficOf);
		const next = hot.find((line) => line.view !== first.view);
		if (hot.length)
			return `${link(first)}: ${how(first)}.${next ? ` Next: ${link(next)}, ${percent(shareOf(next))}.` : ""}`;
		if (!places.length)
			return "";
		const known = places.some((line) => finite(shareOf(line)) || Object.values(line.cells).some((row) => row.ceiling > 0));
		return `${first ? `${link(first, first.kind === "machine" ? first.view.title : undefined)} moves most: ${amount(trafficOf(first), "B/s")}.` : idleFact(places, "All is")}${known ? "" : " No ceiling is known."}`;
	}

	// The channels of a socket that move next to nothing while the others do.
	function deadOf({parts}) {
		const {value, unknown} = sumOf(parts, trafficOf), mean = value / (parts.length - unknown);
		return {busy: mean > 1e9, dead: mean > 1e9 ? parts.filter((line) => finite(trafficOf(line)) && trafficOf(line) < mean / 100) : []};
	}

	// How much memory moves and of what, on which socket most, and whether a channel moves next to nothing.
	function memoryFact(m, view) {
		const all = m.sockets.map((s) => ({s, ...s.memories.find((each) => each.view === view)})).filter((each) => each.view);
		const sumAt = (each) => sumOf(each.sum ? [each.sum] : each.parts, trafficOf), of = (each) => sumAt(each).value;
		const whole = m.machine.find((line) => line.view === view && moves(line)), share = whole ? shareOf(whole) : null;
		const [i, o] = whole ? [valueOf(whole.cells.in), valueOf(whole.cells.out)] : [], parts = [];
		const total = sumOf(whole ? [whole] : all.flatMap((each) => each.sum ?? each.parts), trafficOf), [first] = all.length > 1 ? most(all, of) : [];
		const peak = finite(share) ? `; <b>${percent(share)}</b> of the peak` : all.some((each) => each.sum && finite(shareOf(each.sum))) ? "" : "; the peak is unknown";
		parts.push(`${amountOf(total)}${finite(i) && finite(o) && i + o > limits.idle_bandwidth ? `, ${percent(i / (i + o))} read` : ""}${peak}.`);
		if (first) {
			const nodes = first.s.about?.nodes ?? [], name = `socket ${first.s.id}${nodes.length ? ` (node ${page.ranges(nodes)})` : ""}`, own = first.sum ? shareOf(first.sum) : null;
			parts.push(`Most on ${first.sum ? link(first.sum, name) : name}: ${amountOf(sumAt(first))}${finite(own) ? `, ${percent(own)} of its peak` : ""}.`);
		}
		const channels = all.flatMap((each) => each.parts), found = all.filter((each) => each.parts.length).map(deadOf), dead = found.flatMap((each) => each.dead), unknown = unknownOf(channels);
		if (dead.length)
			parts.push(`<b>Under 1 % of the mean of ${all.length > 1 ? "its" : "the"} socket: ${dead.slice(0, 4).map((line) => link(line)).join(", ")}${dead.length > 4 ? ` and ${dead.length - 4} more` : ""}.</b>`);
		else if (channels.length > 1 && !unknown && found.every((each) => each.busy))
			parts.push(`All ${channels.length} channels are in use.`);
		if (unknown)
			parts.push(`The traffic of ${unknown === channels.length ? "all" : `${unknown} of ${channels.length}`} channels is unknown.`);
		return parts.join(" ");
	}

	function deviceFact(devices) {
		const busy = most(devices.filter((line) => !isIdle(line)), trafficOf), near = most(devices, shareOf).filter((line) => shareOf(line) >= limits.bad);
		if (!busy.length)
			return idleFact(devices, "All are");
		const known = devices.some((line) => finite(shareOf(line))), unknown = unknownOf(devices);
		return `${link(busy[0])} moves most: ${amount(trafficOf(busy[0]), "B/s")} in both directions${finite(shareOf(busy[0])) ? `; ${how(busy[0], "link")}` : ""}. ` +
			(near.length === 1 && near[0] === busy[0] ? "<b>This is near its ceiling.</b>" : near.length ? `<b>Near the ceiling of the link: ${near.slice(0, 4).map((line) => `${link(line)}, ${percent(shareOf(line))}`).join("; ")}${near.length > 4 ? `; and ${near.length - 4} more` : ""}.</b>` :
				known ? "No link is near its ceiling." : "No ceiling of a link is known.") + (unknown ? ` The traffic of ${unknown} is unknown.` : "");
	}

	// What passes between sockets, or to devices with links of their own, beside what memory moves.
	function linkFact(m) {
		const tops = m.sockets.flatMap((s) => [...s.between, ...s.links.map(({line}) => line)]), near = most(tops, shareOf);
		const remote = m.sockets.flatMap((s) => s.between.filter((line) => line.cells.in)), bytes = sumOf(remote, (line) => valueOf(line.cells.in));
		const memories = m.machine.filter((line) => line.view.screen === "memory" && moves(line)), all = sumOf(memories, trafficOf), parts = [];
		const several = m.sockets.filter((s) => s.id !== null).length > 1, whole = finite(bytes.value) && !bytes.unknown && !all.unknown;
		if (remote.length)
			parts.push(`${several ? "From other sockets" : "In"}: ${amountOf(bytes)}${all.value > 1e9 ? `, beside ${amountOf(all)} of memory${whole && bytes.value < all.value ? ` (${percent(bytes.value / all.value)})` : ""}` : ""}.`);
		else if (several)
			parts.push("What passes between the sockets is not counted.");
		const [first] = near.length ? near : most(tops, trafficOf);
		if (first && !isIdle(first))
			parts.push(`Busiest: ${link(first)}, ${how(first)}${finite(shareOf(first)) ? "" : "; no ceiling is known"}.`);
		return parts.join(" ");
	}

	// Which GPU is busy, which way, and its memory.
	function gpuFact(m) {
		const displays = new Set((m.topology?.devices ?? []).filter((d) => /^0x(3|12)....$/.test(d.class)).map((d) => d.address)); // accelerators, too
		const all = m.sockets.flatMap((s) => s.devices).flatMap(({line, inside}) => {
			const memories = [...inside, ...line.view.screen === "gpus" ? [line] : []], other = [line, ...line.below].find((each) => displays.has(each.device));
			return memories.length ? memories.map((gpu) => ({line, gpu})) : other ? [{line, gpu: other}] : [];
		}).map(({line, gpu}) => {
			// If a counter has several devices, the GPU's own count.
			const own = line.device !== gpu.device && line.below.find((each) => each.kind === "device" && each.device === gpu.device);
			return {gpu, line, at: own || line, ways: line.view.screen === "gpus" ? null : own || line};
		});
		const [first] = most(all, ({ways}) => ways ? trafficOf(ways) : null), [other] = most(all, ({gpu}) => gpu.view.screen === "gpus" ? trafficOf(gpu) : null), parts = [];
		if (first) {
			const {cells, view} = first.ways, ways = ["in", "out"].filter((name) => cells[name]).map((name) =>
				`${amount(valueOf(cells[name]), cells[name].unit)} ${(view.columns[name] ?? name).toLowerCase()}`);
			parts.push(`Busiest: ${link(first.line, nameOf(first.at))}${ways.length ? `, ${ways.join(", ")}` : ""}${finite(shareOf(first.ways)) ? ` (${percent(shareOf(first.ways))})` : ""}.`);
		}
		if (other)
			parts.push(`Most in its memory: ${link(other.line, nameOf(other.at))}, ${amount(trafficOf(other.gpu), "B/s")}${finite(shareOf(other.gpu)) ? `, ${percent(shareOf(other.gpu))} of its peak` : ""}.`);
		return parts.join(" ");
	}

	// How far the numbers can be trusted, and why not.
	function qualityFact(m) {
		const kinds = new Map(), parts = [];
		// A latency or share without a value is no quality of its line, but it is not measured either.
		const missing = (line) => Object.values(line.cells).map(qualityOf).find((q) => q && !page.harmless(q));
		for (const q of m.lines.map((line) => worst(line) ?? missing(line)).filter((each) => each && !page.harmless(each)))
			kinds.set(q[0], [...kinds.get(q[0]) ?? [], q[1]]);
		for (const [name, reasons] of kinds) {
			const why = [...new Set(reasons.filter(Boolean))];
			parts.push(`<b>${reasons.length} ${name}</b>${why.length ? `: ${text(why[0].length > 120 ? `${why[0].slice(0, 119).trimEnd()}…` : why[0])}${why.length > 1 ? `, and ${why.length - 1} more reason${why.length > 2 ? "s" : ""}` : ""}` : ""}.`);
		}
		const doubt = m.lines.filter((line) => line.label.endsWith("?")).length;
		if (!parts.length && m.lines.length)
			parts.push("All values are measured.");
		if (doubt)
			parts.push(`${doubt} name${doubt > 1 ? "s have" : " has"} a ?: which counter counts the device is uncertain.`);
		return parts.join(" ");
	}

	// The answers to the first questions.
	function words(m) {
		const places = m.lines.filter((line) => line.kind !== "machine" && moves(line)), views = [...new Set(m.sockets.flatMap((s) => s.memories.map((each) => each.view)))];
		const devices = m.sockets.flatMap((s) => s.devices.map(({line}) => line)).filter((line) => !isWhole(line) && line.view.screen !== "gpus");
		const facts = [["Hottest", hottestFact(places.length ? places : m.machine.filter(moves))], ...views.map((view) => [view.title, memoryFact(m, view)]),
			["Devices", devices.length ? deviceFact(devices) : ""], ["Links", linkFact(m)], ["GPUs", gpuFact(m)], ["Quality", qualityFact(m)]];
		if (m.guest && m.lines.length)
			facts.push(["Guest", "This machine shows no counters of its memory and links: the numbers are the devices' own counts."]);
		// No line ends between a name and the comma behind it.
		const joined = (said) => said.replace(/(<button class="go" [^>]*>[^<]*<\/button>)([,:;.])/g, `<span class="joined">$1$2</span>`);
		return facts.filter(([, said]) => said).map(([name, said]) => `<p><span class="what">${text(name)}</span> ${joined(said)}</p>`).join("");
	}

	Object.assign(map, {totals, words});
	if (typeof document !== "object")
		module.exports.map = map;
})(typeof page === "object" ? page : require("./page.js"), typeof map === "object" ? map : require("./map.js").map);
