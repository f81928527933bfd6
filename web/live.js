// SPDX-License-Identifier: MIT
// The live page of `serve`: the tree of places, a table of current values, and the charts of page.js, from the windows
// that the server sends. As in page.js, functions return markup; only start() and the functions that it calls use the
// document.
"use strict";
const live = ((page) => {
	const HELD = 700; // windows of a live source that are kept
	const BLOCK = 70; // windows in a block, whose histograms are added up
	const {text, finite, human, label, group} = page;

	// ---- the tree of places ----

	const KINDS = [["memory", "Memory", /^(memory|dram)\./], ["pcie", "PCIe", /^pcie\./], ["link", "Links", /^link\./],
		["device", "Devices, their own counts", /^(device|storage|network)\./],
		["cache", "Caches and fabric", /^(cache|fabric|ring|mesh)\./], ["matrix", "Matrix", /^matrix\./], ["other", "Other", /^/]];

	// The kind of a row: by the name of its metric, or for an event by the place that its PMU counts.
	function kindOf(row, t) {
		const has = (list) => (list ?? []).some((each) => each.pmu === row.pmu);
		if (row.pmu && !row.family)
			return has(t.memory) ? "memory" : has(t.links) ? "link" : t.root_ports?.some((p) => p.pmus.includes(row.pmu)) ? "pcie" : "other";
		return KINDS.find(([, , names]) => names.test(row.name))[0];
	}

	function socketOf(row, t) {
		const own = (t.root_ports ?? []).find((p) => p.address === row.port) ??
			[...t.memory ?? [], ...t.links ?? []].find((each) => row.pmu && each.pmu === row.pmu) ??
			(t.root_ports ?? []).find((p) => row.pmu && p.pmus.includes(row.pmu)) ??
			(t.sockets ?? []).find((s) => row.node !== null && s.nodes.includes(row.node));
		return row.socket ?? own?.socket ?? own?.id ?? null;
	}

	// A node of the tree. `rows`: indices of its own rows and of all rows below it.
	const node = (name, note, own, below = []) => ({name, note, below, own,
		rows: [...new Set([...own, ...below.flatMap((each) => each.rows)])].sort((a, b) => a - b)});

	const deviceName = (d) => [d.names[0] ?? d.name ?? d.driver ?? `${d.vendor}:${d.device}`.replace(/0x/g, ""), d.names[1]].filter(Boolean).join(" ");

	// Root ports with a row or a device, and the devices below them. The traffic of a device is that of its port.
	function ports(list, t, rows) {
		const used = list.map((p) => {
			const own = rows.filter(([, row]) => row.port === p.address || (!row.port && row.pmu && p.pmus.includes(row.pmu))).map(([i]) => i);
			const devices = (t.devices ?? []).filter((d) => d.root_port === p.address && !d.bridge && d.address !== p.address);
			return {p, own, devices};
		}).filter(({own, devices}) => own.length || devices.length);
		return used.map(({p, own, devices}) => node(`port ${p.address}`, p.unknown ?? "", own,
			devices.map((d) => node(deviceName(d), d.address, own))));
	}

	// The nodes below a kind: the other ends of links, or the places of memory; other kinds have none.
	function parts(kind, t, rows) {
		const of = (key) => group(rows.filter(([, row]) => key(row) !== null), ([, row]) => key(row));
		const indices = (list) => list.map(([i]) => i);
		if (kind === "link")
			return of((row) => row.role).map((list) => node(list[0][1].role, page.names([...new Set(list.map(([, row]) => row.pmu))]
				.filter(Boolean)), indices(list)));
		const channels = of((row) => row.channel).map((list) => node(list[0][1].place.replace(/^socket \d+, /, ""), "", indices(list)));
		const pmus = of((row) => row.channel === null && row.port === null ? row.pmu : null)
			.map((list) => node(list[0][1].place, list[0][1].device ?? "", indices(list)));
		return [...channels, ...pmus.length > 1 ? pmus : []];
	}

	function kinds(t, rows, id) {
		const here = (list) => (list ?? []).filter((each) => (each.socket ?? null) === id);
		return KINDS.map(([kind, title]) => {
			const own = rows.filter(([, row]) => kindOf(row, t) === kind);
			if (kind === "pcie")
				return {...node(title, "", own.map(([i]) => i), ports(here(t.root_ports), t, own)), kind};
			const memory = kind === "memory" ? here(t.memory) : kind === "link" ? here(t.links) : [];
			const note = !own.length && memory.length ? page.names(memory.map((m) => m.pmu)) : "";
			return {...node(title, note, own.map(([i]) => i), parts(kind, t, own)), kind, here: memory.length > 0};
		}).filter((each) => each.rows.length || each.below.length || each.here);
	}

	// The tree: machine, sockets, kinds, and below these ports, channels and ends of links.
	function placesOf(topology, rows) {
		const numbered = rows.map((row, i) => [i, row]), t = topology ?? {};
		const on = (id) => numbered.filter(([, row]) => socketOf(row, t) === id);
		const sockets = (t.sockets ?? []).map((s) => node(`Socket ${s.id ?? "unknown"}`, `${s.cpus.length} CPUs`, [], kinds(t, on(s.id), s.id)));
		// Rows of an unknown socket have no socket, like rows of the machine.
		const unknown = (t.sockets ?? []).some((s) => s.id === null);
		return node("Machine", "", [], [...unknown ? [] : kinds({...t, memory: [], links: []}, on(null), null), ...sockets]);
	}

	// The nodes of the tree as list items. `path` has the index of each node above, and identifies the node.
	function treeMarkup(top, path = "0", level = 1) {
		const open = level < 3 || top.below.length <= 8;
		return `<li role="treeitem" tabindex="-1" data-path="${path}" aria-level="${level}" aria-selected="false"` +
			`${top.below.length ? ` aria-expanded="${open}"` : ""}><span class="node${top.rows.length ? "" : " none"}">` +
			`<i aria-hidden="true"></i>${text(top.name)}${top.note ? ` <small>${text(top.note)}</small>` : ""}</span>` +
			(top.below.length ? `<ul role="group">${top.below.map((each, i) => treeMarkup(each, `${path}.${i}`, level + 1)).join("")}</ul>` : "") + `</li>`;
	}

	// The nodes along a path, beginning with the machine.
	function way(top, path) {
		const list = [top];
		for (const i of path.split(".").slice(1))
			list.push(list.at(-1)?.below[i]);
		return list.every(Boolean) ? list : [top];
	}

	// ---- the table of current values ----

	const word = (q) => q ? `<em class="quality" title="${text(q.filter(Boolean).join(": "))}">${text(q[0])}</em>` : "";

	// The cell of a number: value, share of the ceiling, quality.
	function cellMarkup(row) {
		const v = row.values.at(-1), share = finite(row.ceiling) && row.ceiling > 0 && finite(v) ? v / row.ceiling : null;
		return `<b>${text(human(v, row.unit))}</b>` + (share === null ? "" :
			`<span class="share"><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="${share > 0.8 ? "high" : ""}" ` +
			`width="${(Math.min(Math.max(share, 0), 1) * 100).toFixed(1)}" height="4"/></svg> ` +
			`<small>${(share * 100).toFixed(0)} %<span class="hidden"> of the ceiling</span></small></span>`) + word(row.quality.at(-1));
	}

	const nameButton = (row) => `<button class="explain" aria-haspopup="dialog" data-name="${text(row.name)}" data-family="${text(row.family)}" ` +
		`aria-label="Explain ${text(row.name)}">${text(row.name).replace(/\./g, ".<wbr>")}</button>`;

	// Metrics with the same places share a table.
	function grids(caption, list, names) {
		const metrics = group(list, ([, row]) => `${row.name} ${row.family}`);
		return group(metrics, (rows) => JSON.stringify(rows.map(([, row]) => label(row)))).map((same) => grid(caption, same.flat(), names)).join("");
	}

	const span = (columns) => columns > 5 ? " whole" : columns > 2 ? " double" : "";

	// `list`: [index, row]. If there are few places, metrics are lines; otherwise places are.
	function grid(caption, list, names) {
		const places = group(list, ([, row]) => label(row)), metrics = group(list, ([, row]) => `${row.name} ${row.family}`);
		const down = places.length > 3, [lines, columns] = down ? [places, metrics] : [metrics, places];
		const short = (row) => label(row).replace(/^socket \d+, /, "");
		const place = ([[, row]]) => `${text(short(row))}${names(row) ? ` <small>${text(names(row))}</small>` : ""}`;
		const metric = ([[, row]]) => nameButton(row);
		const cell = (a, b) => {
			const both = a.find((each) => b.includes(each));
			return both ? `<td data-row="${both[0]}">${cellMarkup(both[1])}</td>` : "<td></td>";
		};
		const only = !down && places.length < 2 && [caption.split(" · ")[0].toLowerCase(), "all"].includes(label(list[0][1]));
		return `<div class="card${span(columns.length)}"><div class="wide" tabindex="0" role="region" aria-label="${text(caption)}"><table><caption>${text(caption)}</caption>` +
			`<tr${only ? ' class="hidden"' : ""}><th scope="col">${down ? "Place" : "Metric"}</th>` +
			columns.map((c) => `<th scope="col">${(down ? metric : place)(c)}</th>`).join("") + "</tr>" +
			lines.map((l) => `<tr><th scope="row">${(down ? place : metric)(l)}</th>${columns.map((c) => cell(l, c)).join("")}</tr>`).join("") +
			`</table></div><p class="note" data-rows="${list.map(([i]) => i).join(" ")}"></p></div>`;
	}

	// Lines are the sources of requests, columns their targets, as in `uncore matrix`.
	function matrix(caption, list) {
		const parts = list.map(([i, row]) => [i, row, /^matrix\.(\w+)\.(\w+)\.(\w+)/.exec(row.name)]).filter((each) => each[2]);
		return group(parts, ([, row, m]) => JSON.stringify([label(row), m[3]])).map((all) => {
			const [[, row, m]] = all, words = (n) => [...new Set(all.map((each) => each[2][n]))];
			const title = `${caption}: ${m[3]}s${label(row) === "all" ? "" : `, ${label(row)}`}`;
			const cell = (from, to) => {
				const one = all.find((each) => each[2][1] === from && each[2][2] === to);
				return one ? `<td data-row="${one[0]}">${cellMarkup(one[1])}</td>` : `<td class="dim">n/a</td>`;
			};
			return `<div class="card${span(words(2).length)}"><div class="wide" tabindex="0" role="region" aria-label="${text(title)}"><table><caption>${text(title)}</caption>` +
				`<tr><td></td>${words(2).map((to) => `<th scope="col">to ${text(to)}</th>`).join("")}</tr>` +
				words(1).map((from) => `<tr><th scope="row">from ${text(from)}</th>${words(2).map((to) => cell(from, to)).join("")}</tr>`).join("") +
				`</table></div></div>`;
		}).join("");
	}

	// Tables of the chosen rows: one for each kind and socket, in the order of the tree.
	function tables(top, rows, chosen, t) {
		const below = new Map((t.root_ports ?? []).map((p) => [p.address, (t.devices ?? []).filter((d) =>
			d.root_port === p.address && !d.bridge && d.address !== p.address).map(deviceName).join(", ")]));
		const names = (row) => below.get(row.port) ?? "";
		const groups = top.below.flatMap((each) => each.kind ? [["", each]] : each.below.map((kind) => [each.name, kind]));
		return groups.map(([socket, kind]) => {
			const list = kind.rows.filter((i) => chosen.has(i)).map((i) => [i, rows[i]]);
			const caption = [socket, kind.name].filter(Boolean).join(" · ");
			return !list.length ? "" : kind.kind === "matrix" ? matrix(caption, list) : grids(caption, list, names);
		}).join("");
	}

	// ---- explain ----

	// The same words as in `uncore explain`.
	function explainMarkup(rows, metric) {
		const [row] = rows, known = ["formula", "evidence", "doubt", "kernel_bug", "kernel_note", "missing"];
		const facts = [["unit", row.unit], ["family", row.family], ...known.map((name) => [name.replace("_", " "), metric?.[name]]),
			["events", row.family && `uncore explain ${row.name}`]].filter(([, v]) => v);
		const list = rows.map((each) => ({place: label(each), value: human(each.values.at(-1), each.unit), ceiling: finite(each.ceiling) ?
			human(each.ceiling, each.unit) : "", quality: each.quality.at(-1)?.[0] ?? "measured", reason: each.quality.at(-1)?.[1] ?? ""}));
		return `<button class="close" aria-label="Close">×</button><h2 id="explained">${text(row.name)}</h2>` +
			`<p>${text(metric?.title ?? (row.family ? "" : "An event, as perf names it; its rate is shown."))}</p><dl>` +
			facts.map(([name, v]) => `<dt>${text(name)}</dt><dd>${["formula", "events"].includes(name) ? `<code>${text(v)}</code>` : text(v)}</dd>`).join("") +
			`</dl>${page.tableOf("Now", list)}`;
	}

	// ---- short samples ----

	// Combines the answers of /api/v1/samples for several rows to the time that all of them cover. `clock`: as in view.
	function shortSamples(rows, replies, clock) {
		const from = Math.max(...replies.map((each) => each.ends[0])), to = Math.min(...replies.map((each) => each.ends.at(-1)));
		const inside = ({ends}, list) => list.filter((_, i) => ends[i] > from && ends[i] <= to), ends = inside(replies[0], replies[0].ends);
		return {intervals: ends.map((time, i) => ({time, interval: time - (ends[i - 1] ?? from), wall_ns: (time + clock) * 1e9})),
			rows: rows.map((row, i) => ({...row, values: inside(replies[i], replies[i].values), least: [], most: [], quality: [],
				distribution: undefined}))};
	}

	// ---- windows that are kept ----

	// Adds a window; returns false if it was added before. Missing numbers make a gap.
	function take(data, w, number, most) {
		const {intervals} = data;
		if (number <= data.number)
			return false;
		// After a missing number or in another session, the wall clock decides. Times have few digits, so small
		// differences are no gap.
		data.drift = number > data.number + 1 && intervals.length ? -1 : 0.5 * w.interval + 1e-4 * w.time;
		if (data.drift > 0 && intervals.length && Math.abs(w.time - w.interval - data.told) <= data.drift)
			data.shift = intervals.at(-1).time + w.interval - w.time;
		page.add(data, w);
		for (const [i] of data.quality)
			data.rows[i].quality[data.rows[i].quality.length - 1] = data.marks.get(i); // one object for as long as it does not change
		data.number = number, data.told = w.time;
		const many = most ? intervals.length - most : 0;
		if (many > 0)
			for (const list of [intervals, ...data.rows.flatMap((row) => [row.values, row.least, row.most, row.quality])])
				list.splice(0, many);
		return true;
	}

	// Adds the histograms of the window with this number: to the last ones, and to sums over blocks of windows. The
	// oldest blocks are dropped.
	function sum(data, distributions, number, most) {
		if (number <= data.summed)
			return;
		data.summed = number;
		if (!data.blocks.length || data.blocks.at(-1).count === BLOCK)
			data.blocks.push({count: 0, of: []});
		const block = data.blocks.at(-1);
		block.count++;
		data.last = distributions;
		distributions.forEach((d, i) => block.of[i] = page.joined([block.of[i], d]));
		if (most && data.blocks.length > most / BLOCK)
			data.blocks.shift();
	}

	function marked(data, list) {
		data.quality = list;
		data.marks = new Map(list.map(([i, name, reason]) => [i, [name, reason]]));
	}

	const empty = (rows) => ({...page.begin(rows), number: -1, summed: -1, told: 0, marks: new Map(), blocks: [], last: null});

	// ---- the document ----

	const byId = (id) => document.getElementById(id);
	const say = (where, what) => where.textContent === what || (where.textContent = what);
	const now = () => page.timeOfDay(Date.now() / 1000);
	const state = {data: null, run: null, metrics: [], live: true, machine: {}, top: null, path: "0", paused: false, all: false, since: null, boxes: []};
	const view = {zoom: null, range: 600, height: 168, clock: 0, explain: true, changed: () => {
		byId("reset").disabled = !view.zoom;
		frame(true);
	}};

	// The chosen rows: those of the nearest node along the path that has any.
	function chosen() {
		const nodes = way(state.top, state.path), at = nodes.findLast((each) => each.rows.length) ?? state.top, last = nodes.at(-1);
		say(byId("chosen"), last === at ? "" : `${last.name}: not counted alone; ${at === state.top ? "the machine" :
			nodes.slice(1, nodes.indexOf(at) + 1).map((each) => each.name).join(", ")} is shown.`);
		return new Set(at.rows);
	}

	// Draws everything, for a new run or a new choice.
	function layout() {
		const {data, machine} = state, rows = chosen();
		byId("now").innerHTML = tables(state.top, data.rows, rows, machine.topology ?? {});
		state.cells = [...document.querySelectorAll("#now td[data-row]")].map((cell) => [cell, data.rows[cell.dataset.row]]);
		state.notes = [...document.querySelectorAll("#now .note")].map((p) => [p, p.dataset.rows.split(" ").map((i) => data.rows[i])]);
		state.notes.forEach(([p, list]) => say(p, notesOf(list)));
		state.seen?.disconnect();
		byId("charts").replaceChildren();
		state.boxes = [];
		if (!data.intervals.length)
			return;
		state.seen = new IntersectionObserver((list) => {
			for (const {target, isIntersecting} of list)
				target.chart.seen = isIntersecting;
			frame();
		}, {rootMargin: "100px"});
		for (const rows_ of page.charts(data.rows.filter((_, i) => rows.has(i)))) {
			const box = document.createElement("section");
			box.className = "chart";
			byId("charts").append(box);
			state.boxes.push(box.chart = {box, rows: rows_, seen: false, dirty: true});
			state.seen.observe(box);
		}
		for (const each of state.boxes) {
			histograms(each.rows);
			const none = page.part(each.rows, data.intervals, Infinity, Infinity); // it is drawn when it becomes visible
			each.box.innerHTML = page.metric(none.rows, none.intervals, each.box.clientWidth, view);
			each.box.querySelector(".plot").hidden = false;
			each.box.querySelector(".note").textContent = "";
			if (data.last && state.live)
				each.box.insertAdjacentHTML("beforeend", `<button class="samples" aria-haspopup="dialog">Each short sample of ` +
					`${text(each.rows[0].name)}</button>`);
			each.draw = page.follow(each.box, each.rows, data.intervals, view);
		}
	}

	function histograms(rows) {
		const {data} = state;
		for (const row of data.last ? rows : []) {
			const i = data.rows.indexOf(row);
			row.distribution = state.all ? page.joined(data.blocks.map((block) => block.of[i])) : data.last[i];
		}
	}

	// Updates everything that changes with a window. `moved`: draws charts again even if no window was added.
	function update(moved) {
		const {data} = state, last = data?.intervals.at(-1);
		if (!last)
			return;
		view.clock = last.wall_ns / 1e9 - last.time;
		if (!state.cells || !state.boxes.length)
			layout();
		const width = state.boxes[0]?.box.clientWidth; // read before anything is written: reading it afterwards would cause a layout
		if (state.changed && !state.paused) {
			for (const [cell, row] of state.cells) {
				const markup = cellMarkup(row);
				if (cell.told !== markup)
					cell.innerHTML = cell.told = markup;
			}
			for (const [p, rows] of state.notes)
				say(p, notesOf(rows));
			for (const each of state.boxes)
				each.dirty = true;
			say(byId("last"), page.timeOfDay(last.wall_ns / 1e9));
			state.changed = false;
		}
		for (const each of state.boxes)
			if (each.seen && (each.dirty || moved)) {
				histograms(each.rows);
				each.draw(width);
				each.dirty = false;
			} else if (moved) {
				each.dirty = true;
			}
	}

	// The reasons why numbers of a table are not measured.
	function notesOf(rows) {
		const told = [...new Set(rows.map((row) => row.quality.at(-1)).filter(Boolean).map((q) => q.filter(Boolean).join(": ")))];
		return told.slice(0, 2).join("; ") + (told.length > 2 ? `; and ${told.length - 2} more reasons` : "");
	}

	function frame(moved) {
		state.moved = state.moved || moved;
		state.frame ??= requestAnimationFrame(() => {
			const all = state.moved;
			state.frame = undefined, state.moved = false;
			update(all);
		});
	}

	function show(name, what) {
		document.body.dataset.state = name;
		say(byId("state"), what);
	}

	function choose(item) {
		for (const each of byId("tree").querySelectorAll("[aria-selected=true]"))
			each.setAttribute("aria-selected", "false");
		item.setAttribute("aria-selected", "true");
		focusable(item);
		state.path = item.dataset.path;
		layout();
		frame(true);
	}

	// Tab reaches one item of the tree at a time.
	function focusable(item) {
		for (const each of byId("tree").querySelectorAll("[tabindex='0']"))
			each.tabIndex = -1;
		item.tabIndex = 0;
	}

	function unfold(item, open) {
		item.setAttribute("aria-expanded", String(open));
	}

	function treeKeys(event) {
		const item = event.target.closest("[role=treeitem]"), open = item.getAttribute("aria-expanded");
		const shown = [...byId("tree").querySelectorAll("[role=treeitem]")].filter((each) => !each.parentElement.closest("[aria-expanded=false]"));
		const i = shown.indexOf(item), {key} = event;
		const to = {ArrowDown: shown[i + 1], ArrowUp: shown[i - 1], Home: shown[0], End: shown.at(-1)}[key] ??
			(key === "ArrowRight" && open === "true" ? shown[i + 1] : key === "ArrowLeft" && open !== "true" ?
				item.parentElement.closest("[role=treeitem]") : null);
		if (key === "Enter" || key === " ")
			choose(item);
		else if (to)
			focusable(to), to.focus();
		else if (key === "ArrowRight" && open === "false")
			unfold(item, true);
		else if (key === "ArrowLeft" && open === "true")
			unfold(item, false);
		else if (!key.startsWith("Arrow"))
			return;
		event.preventDefault();
	}

	function drawTree() {
		const {data, machine} = state;
		state.top = placesOf(machine.topology, data.rows);
		if (way(state.top, state.path).length !== state.path.split(".").length)
			state.path = "0";
		byId("tree").innerHTML = treeMarkup(state.top);
		const item = byId("tree").querySelector(`[data-path="${state.path}"]`);
		item.setAttribute("aria-selected", "true");
		item.tabIndex = 0;
	}

	// Begins again: another run of the server has other rows and numbers.
	function begin(start) {
		if (start.run === state.run)
			return;
		Object.assign(state, {run: start.run, metrics: start.metrics ?? [], live: start.live, data: empty(start.rows), cells: null, boxes: [], changed: true});
		view.zoom = null;
		byId("reset").disabled = true;
		byId("ranges").lastElementChild.hidden = start.live;
		byId("held").hidden = true;
		if (!start.live)
			range(0);
		drawTree();
		byId("now").replaceChildren();
		byId("charts").replaceChildren();
		fetch("/api/v1/machine").then((reply) => reply.json()).then(machine).catch(() => {});
	}

	function machine(about) {
		state.machine = about;
		const {host, cpu_model: cpu, source, version} = about;
		document.title = `uncore${host ? `: ${host}` : ""}`;
		say(byId("machine"), [host, cpu, source !== "kernel" && source, version && `uncore ${version}`].filter(Boolean).join(" · "));
		byId("simulated").hidden = !about.simulated;
		const open = [...byId("below").querySelectorAll("details")].map((each) => each.open);
		byId("below").innerHTML = page.machine(about) + (about.command_line ? `<p class="note">${text(about.command_line)}</p>` : "");
		byId("below").querySelectorAll("details").forEach((each, i) => each.open = open[i] ?? false);
		if (!state.data)
			return;
		drawTree();
		state.cells = null;
		frame(true);
	}

	function window_(event) {
		const w = JSON.parse(event.data), at = event.lastEventId.lastIndexOf("-");
		if (!state.data || event.lastEventId.slice(0, at) !== state.run || !take(state.data, w, +event.lastEventId.slice(at + 1), state.live ? HELD : 0))
			return;
		state.arrived = Date.now();
		state.changed = true;
		if (state.paused)
			say(byId("last"), `paused; ${++state.behind} ${state.behind > 1 ? "intervals" : "interval"} since`);
		else
			frame();
	}

	// Histograms of the previous window, for pages that were connected then.
	function histograms_(event) {
		const {data} = state, at = event.lastEventId.lastIndexOf("-");
		if (!data || event.lastEventId.slice(0, at) !== state.run)
			return;
		if (!data.last)
			state.cells = null; // now charts get a place for histograms
		sum(data, JSON.parse(event.data), +event.lastEventId.slice(at + 1), state.live ? HELD : 0);
		byId("held").hidden = false;
		if (state.paused)
			return;
		say(byId("held").lastElementChild, `Last ${data.blocks.reduce((all, block) => all + block.count, 0)} intervals`);
		state.boxes.forEach((each) => each.dirty = true);
		frame();
	}

	function connect() {
		const stream = new EventSource("/api/v1/stream"), on = (name, act) => stream.addEventListener(name, act);
		on("start", (event) => {
			begin(JSON.parse(event.data));
			state.since = null, state.arrived = Date.now();
			show(state.live ? "live" : "recording", state.live ? "live" : "recording");
		});
		on("quality", (event) => state.data && marked(state.data, JSON.parse(event.data)));
		on("window", window_);
		on("distributions", histograms_);
		on("end", () => {
			stream.close();
			state.ended = true;
			show("recording", "recording, complete");
		});
		stream.onerror = () => {
			state.since ??= now();
			show("lost", `reconnecting since ${state.since}`);
			if (stream.readyState === EventSource.CLOSED)
				setTimeout(connect, 3000); // the browser does not try again after a reply that is not a stream
		};
	}

	// Reports a server that is connected and sends nothing.
	function late() {
		const wait = Math.max(3 * (state.machine.interval ?? 1), 3) * 1000;
		if (state.since === null && !state.ended && state.live && state.arrived)
			show(Date.now() - state.arrived > wait ? "late" : "live", Date.now() - state.arrived > wait ?
				`no interval since ${page.timeOfDay(state.arrived / 1000)}` : "live");
	}

	function range(seconds) {
		view.range = seconds;
		for (const each of byId("ranges").children)
			each.setAttribute("aria-pressed", String(+each.dataset.range === seconds));
		view.zoom = null;
		view.changed();
	}

	function pause() {
		state.paused = !state.paused;
		state.behind = 0;
		byId("pause").setAttribute("aria-pressed", String(state.paused));
		view.frozen = state.paused ? state.data?.intervals.at(-1)?.time : undefined;
		if (!state.paused)
			frame(true);
	}

	function explain(button) {
		const {name, family} = button.dataset, is = (each) => each.name === name && (each.family ?? "") === family;
		byId("explain").innerHTML = explainMarkup(state.data.rows.filter(is), state.metrics.find(is));
		byId("explain").showModal();
	}

	// Shows the last seconds of a chart, with a zoom of its own.
	async function showSamples(all) {
		const rows = all.slice(0, 24), box = byId("samples"), last = state.data.intervals.at(-1);
		const clock = last.wall_ns / 1e9 - last.time + state.data.shift;
		const replies = await Promise.all(rows.map((row) => fetch(`/api/v1/samples?row=${state.data.rows.indexOf(row)}`)
			.then((reply) => reply.ok ? reply.json() : null))).catch(() => [null]);
		const close = `<button class="close" aria-label="Close">×</button>`;
		box.showModal();
		const data = replies.includes(null) ? null : shortSamples(rows, replies, clock);
		if (!data?.intervals.length) {
			box.innerHTML = `${close}<h2 id="sampled">${text(rows[0].name)}</h2><p>The server has none now.</p>`;
			return;
		}
		const own = {zoom: null, clock, height: 260, changed: () => draw()};
		box.innerHTML = `${close}<h2 id="sampled">${text(rows[0].name)}</h2><section class="chart"></section>`;
		const chart = box.lastElementChild;
		chart.innerHTML = page.chart(data.rows, data.intervals, chart.clientWidth, own);
		const draw = page.follow(chart, data.rows, data.intervals, own);
	}

	function start() {
		document.addEventListener("click", (event) => {
			const button = event.target.closest("button.explain"), item = event.target.closest("[role=treeitem]");
			const sampled = event.target.closest("button.samples"), dialog = event.target.closest("dialog");
			if (button)
				explain(button);
			else if (sampled)
				showSamples(state.boxes.find((each) => each.box.contains(sampled)).rows);
			else if (dialog && (event.target === dialog || event.target.closest("button.close")))
				dialog.close(); // a click on the backdrop or on the close button
			else if (item && event.target.closest("i"))
				unfold(item, item.getAttribute("aria-expanded") !== "true");
			else if (item)
				choose(item);
		});
		byId("tree").addEventListener("keydown", treeKeys);
		byId("pause").onclick = pause;
		byId("reset").onclick = () => view.changed(view.zoom = null);
		byId("ranges").onclick = ({target}) => target.dataset.range && range(+target.dataset.range);
		byId("held").onclick = ({target}) => {
			if (target.dataset.held === undefined)
				return;
			state.all = target.dataset.held !== "";
			for (const each of byId("held").children)
				each.setAttribute("aria-pressed", String(each === target));
			frame(true);
		};
		const wide = matchMedia("(min-width: 900px)"), fold = () => byId("places").open = wide.matches;
		wide.onchange = fold;
		fold();
		let width = 0;
		new ResizeObserver(() => {
			if (byId("charts").clientWidth !== width)
				frame(true);
			width = byId("charts").clientWidth;
		}).observe(byId("charts"));
		onbeforeprint = () => {
			state.boxes.forEach((each) => each.seen = each.dirty = true);
			update();
		};
		setInterval(late, 1000);
		connect();
	}

	// For tests: the windows that are kept, and the run to which they belong.
	const held = () => state.data.intervals, run = () => state.run;

	return {start, held, run, placesOf, treeMarkup, way, tables, explainMarkup, empty, marked, take, sum, shortSamples};
})(typeof page === "object" ? page : require("./page.js"));
if (typeof document === "object")
	live.start();
else
	module.exports = live;
