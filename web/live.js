// SPDX-License-Identifier: MIT
// The live page of `serve`: the map of the machine (map.js), the charts of the chosen place (page.js), and a table of all
// metrics, from the windows that the server sends. As in page.js, functions return markup; only start() and the functions that it calls use the
// document.
"use strict";
const live = ((page, map) => {
	const HELD = 700; // windows of a live source that are kept
	const CELLS = 100; // of the table, written in a frame
	const BLOCK = 70; // windows in a block, whose histograms are added up
	const {text, finite, human, label} = page;

	// ---- the table of all metrics ----

	const word = (q) => q && page.harmless(q) ? `<em class="dim">no events</em>` : q ? `<em class="quality" title="${text(q.filter(Boolean).join(": "))}">${text(q[0])}</em>` : "";

	// The cells of a number: the value with its quality, and the share of the ceiling.
	const valueMarkup = (row) => `<b>${text(human(row.values.at(-1), row.unit))}</b>${word(row.quality.at(-1))}`;
	function shareMarkup(row) {
		const v = row.values.at(-1), share = row.ceiling > 0 && finite(v) ? v / row.ceiling : null;
		return share === null ? "" : `<span class="share"><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="${share >= map.limits.bad ? "high" : ""}" ` +
			`width="${(Math.min(Math.max(share, 0), 1) * 100).toFixed(1)}" height="4"/></svg> <small>${(share * 100).toFixed(0)} %</small></span>`;
	}

	// Of rows that only the map needs there are no lines.
	function tableOf(rows) {
		const lines = rows.map((row, i) => row.extra ? "" : `<tr data-line="${i}"><th scope="row">${page.explainButton(row, page.broken(row.name))}</th>` +
			`<td><button class="go" data-place="m${i}" aria-label="Chart of ${text(row.name)}, ${text(label(row))}">${text(label(row))}</button></td>` +
			`<td data-row="${i}">${valueMarkup(row)}</td><td>${shareMarkup(row)}</td></tr>`);
		return `<div class="wide" tabindex="0" role="region" aria-label="All metrics"><table><caption>All metrics</caption><tr><th scope="col">Metric</th>` +
			`<th scope="col">Place</th><th scope="col">Now</th><th scope="col">Of the ceiling</th></tr>${lines.join("")}</table></div><p class="note"></p>`;
	}

	// The charts of the chosen place: {title, rows}; without a title they are of one metric.
	function chartsOf(model, rows, id) {
		const row = rows[/^m\d+$/.test(id) ? +id.slice(1) : -1];
		return row ? [{rows: page.busiest(rows.filter((each) => !each.extra && each.name === row.name && each.family === row.family))}] : map.chartsOf(model, id);
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
		const last = intervals.at(-1), follows = Number.isNaN(data.told) && (w.wall_ns - last?.wall_ns) / 1e9 - w.interval <= data.drift;
		if (data.drift > 0 && last && (follows || Math.abs(w.time - w.interval - data.told) <= data.drift))
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

	// ---- another plan of the same server ----

	const keyOf = (row) => JSON.stringify([row.family, row.name, row.unit, row.event, row.place, row.role, row.filter, row.socket, row.node, row.channel, row.port, row.pmu]);

	// The windows of before, with the rows of now: those that were not counted then have no values.
	function continued(old, rows) {
		const data = empty(rows), known = new Map(old.rows.map((row) => [keyOf(row), row])), none = () => old.intervals.map(() => null);
		for (const row of data.rows) {
			const {values = none(), least = none(), most = none(), quality = none()} = known.get(keyOf(row)) ?? {};
			known.delete(keyOf(row)); // a list of values belongs to one row
			Object.assign(row, {values, least, most, quality});
		}
		return Object.assign(data, {intervals: old.intervals, shift: old.shift, told: NaN});
	}

	// What a place is called, which its id is not: {id}, {row} or {view, name}.
	function placeOf(model, rows, id) {
		const line = model.lines[/^\d+$/.test(id) ? +id : -1], row = rows[/^m\d+$/.test(id) ? +id.slice(1) : -1];
		return row ? {row: keyOf(row)} : line ? {view: line.view.name, name: map.nameOf(line)} : {id};
	}

	function idOf(model, rows, {id, row, view: name, name: label_}) {
		const i = row ? rows.findIndex((each) => keyOf(each) === row) : -1;
		const line = model.lines.find((each) => each.view.name === name && map.nameOf(each) === label_);
		return id ?? (i >= 0 ? `m${i}` : line ? `${line.i}` : null);
	}

	const choiceMarkup = (list) => list.map(({choice, title, on, wanted, refused}) => `<button data-choice="${text(choice)}" aria-pressed="${wanted}"` +
		`${on === wanted ? "" : ` aria-busy="true"`} title="${text(refused ?? title ?? choice)}">${text(choice)}</button>`).join(" ");
	const refusedMarkup = (list) => text(list.filter((each) => each.refused).map((each) => `${each.choice} is not counted: ${each.refused}`).join("; "));

	// ---- the document ----

	const byId = (id) => document.getElementById(id);
	const say = (where, what) => where.textContent === what || (where.textContent = what);
	const now = () => page.timeOfDay(Date.now() / 1000);
	const state = {data: null, run: null, metrics: [], live: true, machine: {}, model: null, screen: null, paused: false, rest: false, at: -CELLS, all: false, since: null, boxes: [],
		map: {chosen: null, stop: null, idle: false, found: null}};
	const view = {zoom: null, range: 600, height: 190, clock: 0, explain: true, changed: () => {
		byId("reset").disabled = !view.zoom;
		frame(true);
	}};

	// Draws everything, for a new run or a new choice.
	function layout() {
		const {data, model, map: s} = state, [name, detail] = s.chosen?.startsWith("m") ? ["", ""] : map.titleOf(model, s.chosen ?? "");
		if (!state.cells) {
			byId("now").innerHTML = tableOf(data.rows);
			state.cells = [...document.querySelectorAll("#now td[data-row]")].flatMap((cell) => {
				const row = data.rows[cell.dataset.row];
				return [[cell, row, valueMarkup], [cell.nextElementSibling, row, shareMarkup]];
			});
			filter();
		}
		say(byId("chosen"), name);
		say(byId("detail"), detail);
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
		for (const {title, rows} of s.chosen === null ? [] : chartsOf(model, data.rows, s.chosen)) {
			const box = document.createElement("section");
			box.className = "chart";
			byId("charts").append(box);
			state.boxes.push(box.chart = {box, rows, title, seen: state.boxes.length < 2, dirty: true});
			state.seen.observe(box);
		}
		for (const each of state.boxes) {
			histograms(each.rows);
			const none = page.part(each.rows, data.intervals, Infinity, Infinity); // it is drawn when it becomes visible
			each.box.innerHTML = page.metric(none.rows, none.intervals, each.box.clientWidth, view, each.title) + `<div class="figures"></div>`;
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
			const i = data.rows.indexOf(row.of ?? row);
			row.distribution = state.all ? page.joined(data.blocks.map((block) => block.of[i])) : data.last[i];
		}
	}

	// Updates everything that changes with a window: the charts at once, the rest in the next frame, so that none takes long.
	// `moved`: draws charts again even if no window was added.
	function update(moved) {
		const {data} = state, last = data?.intervals.at(-1);
		if (!last)
			return;
		view.clock = last.wall_ns / 1e9 - last.time;
		if (state.map.chosen === null)
			choose(map.hottest(state.model), true);
		else if (!state.cells)
			layout();
		const width = state.boxes[0]?.box.clientWidth, wide = byId("map").clientWidth; // read before anything is written: reading them afterwards would cause a layout
		if (state.rest && !state.paused)
			updateRest(wide);
		else if (moved)
			state.draw?.(wide);
		if (state.changed && !state.paused) {
			for (const each of state.boxes)
				each.dirty = true;
			say(byId("last"), page.timeOfDay(last.wall_ns / 1e9));
			state.changed = false, state.rest = true, state.at = -CELLS;
		}
		for (const each of state.boxes)
			if (each.seen && (each.dirty || moved)) {
				histograms(each.rows);
				each.draw(width);
				each.dirty = false, each.counted = false;
				state.rest = true, state.at = -CELLS;
			} else if (moved) {
				each.dirty = true;
			}
		if (state.rest)
			frame();
	}

	// The words, the map, the numbers below charts, and then the table: CELLS of its cells in each frame.
	function updateRest(wide, count = CELLS) {
		const {cells, at} = state;
		for (const [cell, row, of] of cells.slice(at, at + count)) {
			const markup = of(row);
			if (cell.told !== markup)
				cell.innerHTML = cell.told = markup;
		}
		state.at = at + count;
		state.rest = state.at < cells.length;
		if (at >= 0 && count === CELLS)
			return;
		overview(wide);
		for (const each of state.boxes)
			if (each.seen && !each.counted) {
				figures(each);
				each.counted = true;
			}
	}

	// What is said above the map, and the map.
	function overview(wide) {
		const {model} = state, made = document.createElement("template");
		for (const [id, markup] of [["totals", map.totals(model)], ["words", map.words(model)]]) {
			made.innerHTML = `<div id="${id}">${markup}</div>`;
			map.morph(byId(id), made.content.firstElementChild);
		}
		state.draw?.(wide);
	}

	function figures(each) {
		const {intervals} = state.data, cut = view.range || view.zoom ? page.part(each.rows, intervals, ...Object.values(page.span(intervals, view))) : {rows: each.rows, intervals};
		const markup = map.numbers(cut.rows, cut.intervals, view.clock);
		if (each.figures !== markup)
			each.box.querySelector(".figures").innerHTML = each.figures = markup;
	}

	// Shows what has the words of the search.
	function filter() {
		const wanted = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean), {data, model} = state;
		state.map.found = model && map.search(model, byId("search").value);
		for (const line of document.querySelectorAll("#now tr[data-line]")) {
			const row = data.rows[line.dataset.line], what = `${row.name} ${label(row)} ${row.place}`.toLowerCase();
			line.hidden = !wanted.every((word) => what.includes(word));
		}
		state.draw?.();
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

	// `first`: without being asked; then the page does not scroll.
	function choose(id, first) {
		state.map.chosen = id;
		state.map.stop = /^m/.test(id) ? state.map.stop : id;
		layout();
		state.draw?.();
		frame(true);
		if (!first && byId("place").getBoundingClientRect().top > innerHeight - 120)
			byId("place").scrollIntoView({block: "start"});
	}

	function model() {
		const {data, machine} = state;
		state.model = map.model(state.screen ?? {views: [], lines: []}, data.rows, machine.topology);
		map.nameRows(state.model, data.rows);
		byId("key").innerHTML = map.key();
	}

	// Begins again: another run of the server has other rows and numbers. If it only counts something else, what was counted
	// before stays, and so does what is shown.
	function begin(start) {
		if (start.run === state.run)
			return;
		const same = state.data && start.continues && start.continues === state.run, before = same && state.model && placeOf(state.model, state.data.rows, state.map.chosen);
		Object.assign(state, {run: start.run, metrics: start.metrics ?? [], live: start.live, data: same ? continued(state.data, start.rows) : empty(start.rows), screen: start.screen,
			cells: null, boxes: [], changed: true});
		state.map.chosen = null;
		if (!same)
			view.zoom = null;
		byId("reset").disabled = !view.zoom;
		byId("ranges").lastElementChild.hidden = start.live;
		byId("held").hidden = true;
		if (!start.live)
			range(0);
		model();
		state.map.chosen = before ? idOf(state.model, state.data.rows, before) : null;
		byId("now").replaceChildren();
		byId("charts").replaceChildren();
		if (same)
			return;
		byId("choices").hidden = true;
		fetch("/api/v1/machine").then((reply) => reply.json()).then(machine).catch(() => {});
	}

	function machine(about) {
		state.machine = about;
		const {host, cpu_name: cpu, source, version} = about;
		document.title = `uncore${host ? `: ${host}` : ""}`;
		say(byId("machine"), [host, cpu, source !== "kernel" && source, version && `uncore ${version}`].filter(Boolean).join(" · "));
		byId("simulated").hidden = !about.simulated;
		say(byId("every"), about.interval ? `every ${human(about.interval, "s").replace(/\.0+ /, " ")}` : "");
		const open = [...byId("below").querySelectorAll("details")].map((each) => each.open);
		byId("below").innerHTML = page.machine(about) + (about.command_line ? `<p class="note">${text(about.command_line)}</p>` : "");
		byId("below").querySelectorAll("details").forEach((each, i) => each.open = open[i] ?? false);
		if (!state.data)
			return;
		model();
		state.cells = null;
		state.changed = true;
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

	// What may be switched on and off here.
	function choices({choices: list}) {
		const made = document.createElement("template");
		made.innerHTML = `<span>${choiceMarkup(list)}</span>`;
		map.morph(byId("choices").lastElementChild, made.content.firstElementChild);
		byId("choices").hidden = !list.length;
		byId("refused").innerHTML = refusedMarkup(list);
	}

	async function switchChoice(button) {
		const body = JSON.stringify({choice: button.dataset.choice, on: button.getAttribute("aria-pressed") !== "true"});
		const reply = await fetch("/api/v1/choices", {method: "POST", headers: {"Content-Type": "application/json"}, body}).catch(() => null);
		if (reply?.ok)
			choices(await reply.json());
		else
			say(byId("refused"), reply ? await reply.text() : "the server does not answer");
	}

	function connect() {
		const stream = new EventSource("/api/v1/stream"), on = (name, act) => stream.addEventListener(name, act);
		on("start", (event) => {
			begin(JSON.parse(event.data));
			state.since = null, state.arrived = Date.now();
			show(state.live ? "live" : "recording", state.live ? "live" : "recording");
		});
		on("quality", (event) => state.data && marked(state.data, JSON.parse(event.data)));
		on("choices", (event) => choices(JSON.parse(event.data)));
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
		const rows = all.filter((row) => !row.made).slice(0, 24), box = byId("samples"), last = state.data.intervals.at(-1);
		const clock = last.wall_ns / 1e9 - last.time + state.data.shift;
		const replies = await Promise.all(rows.map((row) => fetch(`/api/v1/samples?row=${state.data.rows.indexOf(row.of ?? row)}`)
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
			const button = event.target.closest("button.explain"), go = event.target.closest("button[data-place]");
			const sampled = event.target.closest("button.samples"), choice = event.target.closest("button[data-choice]"), dialog = event.target.closest("dialog");
			if (button)
				explain(button);
			else if (choice)
				switchChoice(choice);
			else if (sampled)
				showSamples(state.boxes.find((each) => each.box.contains(sampled)).rows);
			else if (dialog && (event.target === dialog || event.target.closest("button.close")))
				dialog.close(); // a click on the backdrop or on the close button
			else if (go)
				choose(go.dataset.place);
		});
		state.draw = map.follow(byId("map"), () => state.data?.intervals.length && state.model, state.map, choose);
		byId("search").oninput = filter;
		byId("search").onkeydown = ({key}) => {
			const [first] = state.map.found ?? [];
			if (key === "Enter" && first !== undefined)
				choose(first);
		};
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
		let width = 0;
		new ResizeObserver(() => {
			if (byId("face").clientWidth !== width)
				frame(true);
			width = byId("face").clientWidth;
		}).observe(byId("face"));
		onbeforeprint = () => {
			state.boxes.forEach((each) => each.seen = each.dirty = true);
			update();
			state.at = 0;
			updateRest(byId("map").clientWidth, Infinity);
		};
		setInterval(late, 1000);
		connect();
	}

	// For tests: the windows that are kept, and the run to which they belong.
	const held = () => state.data.intervals, run = () => state.run;

	return {continued, placeOf, idOf, choiceMarkup, refusedMarkup, start, held, run, state, tableOf, explainMarkup, empty, marked, take, sum, shortSamples};
})(typeof page === "object" ? page : require("./page.js"), typeof map === "object" ? map : require("./words.js").map);
if (typeof document === "object")
	live.start();
else
	module.exports = live;
