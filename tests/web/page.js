// SPDX-License-Identifier: MIT
// The live page of `serve` in Chromium, from a simulated machine:  page.js UNCORE [--mock] [--screenshots DIR] [PATTERN]
//
// Between the browser and the server is a proxy that can cut the connection. --mock: a server in this file, for tests that
// choose what is sent; also used when `uncore serve` has no page. PATTERN: only the tests whose names have it.
"use strict";
const {execFileSync, spawn} = require("child_process");
const fs = require("fs");
const http = require("http");
const net = require("net");
const path = require("path");
const {chromium} = require("playwright-core");

// The packages of package.json are found by NODE_PATH: `make test-page`.
const ROOT = path.resolve(__dirname, "../..");
const args = process.argv.slice(2), [uncore, ...more] = args;
const shots = more.includes("--screenshots") ? more[more.indexOf("--screenshots") + 1] : null;
const pattern = more.filter((word, i) => !word.startsWith("--") && more[i - 1] !== "--screenshots")[0] ?? "";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const assert = (right, what) => {
	if (!right)
		throw new Error(typeof what === "string" ? what : JSON.stringify(what));
};

// ---- servers ----

const json = (...words) => execFileSync(uncore, words, {stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26}).toString();

// What the server sends of a machine, with invented values.
class Mock {
	constructor({source = "sim:t410", options = ["--per-socket"], rows, screen, quality, samples = false, held = 600, every = 1000, recorded = false} = {}) {
		Object.assign(this, {source, options, rows, screen, quality, samples, held, every, recorded, clients: new Set(), run: 0, offset: 0});
		this.machine = {schema: 1, version: "0", host: "example", cpu_model: "x", cpu_name: "Simulated CPU", source, simulated: true,
			command_line: `uncore --source ${source} serve`, interval: every / 1000, topology: JSON.parse(json("--source", source, "topo", "-j")),
			findings: JSON.parse(json("--source", source, "doctor", "-j"))};
	}

	// The rows and the screen of a real server.
	async describe() {
		const real = this.rows ? null : new Real({source: this.source, options: this.options});
		if (real) {
			await real.start();
			Object.assign(this, await real.values());
			await real.stop();
		}
		this.screen ??= {views: [], lines: []};
		this.metrics = [...new Map(this.rows.map((row) => [row.name + row.family, row])).values()].map((row) =>
			({name: row.name, family: row.family, title: `Title of ${row.name}`, unit: row.unit, formula: "(a + b) / seconds", evidence: "a document"}));
	}

	window(n) {
		const of = (i) => {
			const {unit, ceiling, name} = this.rows[i];
			const size = ceiling ? ceiling * 0.7 : {"B/s": 2e11, s: 2e-7, ratio: 0.6, Hz: 2e9}[unit] ?? 1e6;
			return size * (1 + 0.3 * Math.sin(n / (20 + i % 7) + i) + 0.1 * Math.sin(n * 1.7 + i * name.length));
		};
		const round = (v) => +v.toPrecision(5), w = {time: n + 1, interval: this.every / 1000, intervals: 1, wall_ns: (this.epoch + n * this.every / 1000) * 1e9, missed: 0};
		w.values = this.rows.map((_, i) => (i === 5 && n % 97 < 12) || this.quality?.some(([k, name]) => k === i && name === "unavailable") ? null : round(of(i)));
		if (this.samples) {
			w.least = w.values.map((v) => v && round(v * 0.8)), w.most = w.values.map((v) => v && round(v * 1.3));
			this.distributions = w.values.map((v) => v && ({samples: 100, min: v * 0.8, max: v * 1.3, p50: v, p90: v * 1.1, p99: v * 1.2,
				bins: [0.8, 0.9, 1, 1.1, 1.3].map((f, k) => [Math.ceil(Math.log2(v * f) * 32), [5, 20, 50, 20, 5][k], [5, 20, 50, 20, 5][k] / 100])}));
		}
		return w;
	}

	send(client, n) {
		if (this.quality && client.sent < 0)
			client.write(`event: quality\ndata: ${JSON.stringify(this.quality)}\n\n`);
		if (([0, 12].includes(n % 97) || client.sent < 0) && this.rows.length > 8)
			client.write(`event: quality\ndata: ${JSON.stringify([[7, "suspect", "the formula is in doubt on this machine"],
				...n % 97 < 12 ? [[5, "unavailable", "division by zero: no events in this interval"]] : []])}\n\n`);
		client.write(`id: ${this.run}-${n}\nevent: window\ndata: ${JSON.stringify(this.window(n))}\n\n`);
		client.sent = n;
		if (this.samples && n >= this.next - 1)
			client.write(`event: distributions\ndata: ${JSON.stringify(this.distributions)}\n\n`);
	}

	reply(request, response) {
		const file = {"/": "live.html", "/page.css": "page.css", "/page.js": "page.js", "/map.js": "map.js", "/words.js": "words.js", "/live.js": "live.js"}[request.url];
		const type = {html: "text/html", css: "text/css", js: "text/javascript"}[file?.split(".")[1]];
		response.setHeader("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
			"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
		if (file)
			return response.setHeader("Content-Type", type), response.end(fs.readFileSync(path.join(ROOT, "web", file)));
		if (request.url === "/api/v1/machine")
			return response.setHeader("Content-Type", "application/json"), response.end(JSON.stringify(this.machine));
		if (request.url !== "/api/v1/stream")
			return response.writeHead(404), response.end();
		response.writeHead(200, {"Content-Type": "text/event-stream"});
		response.write(`retry: 300\nevent: start\ndata: ${JSON.stringify({run: `r${this.run}`.slice(1), rows: this.rows, screen: this.screen, metrics: this.metrics, live: !this.recorded})}\n\n`);
		const [run, last] = (request.headers["last-event-id"] ?? "").split("-");
		response.sent = -1;
		// Some that the client has.
		for (let n = run === String(this.run) ? +last - 4 : Math.max(0, this.next - this.held); n < this.next; n++)
			this.send(response, n);
		if (this.recorded)
			response.write("event: end\ndata: {}\n\n");
		this.clients.add(response);
		response.on("close", () => this.clients.delete(response));
	}

	async start(port) {
		this.run++;
		if (!this.metrics)
			await this.describe();
		this.next = this.held, this.epoch = Date.now() / 1000 - this.held * this.every / 1000;
		this.server = http.createServer((request, response) => this.reply(request, response));
		await new Promise((done) => this.server.listen(port ?? 0, "127.0.0.1", done));
		this.port = this.server.address().port;
		this.timer = this.recorded ? null : setInterval(() => {
			const n = this.next++;
			for (const client of this.clients)
				this.send(client, n);
		}, this.every);
	}

	async stop() {
		clearInterval(this.timer);
		this.server.closeAllConnections();
		await new Promise((done) => this.server.close(done));
	}
}

class Real {
	constructor({source = "sim:t410", options = ["--per-socket"], samples} = {}) {
		this.command = [...source ? ["--source", source] : [], "serve", "-I", "1s", ...options, ...samples ? ["--sample", "10ms"] : []];
	}

	async start(port = 0) {
		let told = "";
		this.process = spawn(uncore, [...this.command, "--listen", `127.0.0.1:${port}`], {stdio: ["ignore", "ignore", "pipe"]});
		this.process.stderr.on("data", (text) => told += text);
		this.ended = new Promise((done) => this.process.on("exit", done));
		for (let i = 0; i < 100 && !this.port; i++, await sleep(100))
			this.port = +/listening on http:\/\/127.0.0.1:(\d+)/.exec(told)?.[1];
		assert(this.port, told);
		for (let i = 0; port && i < 100 && !await this.answers(); i++)
			await sleep(100);
	}

	answers() {
		return fetch(`http://127.0.0.1:${this.port}/`).then((reply) => reply.headers.get("content-type").includes("html"), () => false);
	}

	// The rows, the screen and the last interval; it waits for the first one.
	async values() {
		for (let i = 0; i < 100; i++, await sleep(100)) {
			const reply = await fetch(`http://127.0.0.1:${this.port}/api/v1/values`).catch(() => null);
			const all = reply?.ok ? await reply.json().catch(() => null) : null;
			if (all)
				return {rows: all.rows, screen: all.screen, last: all.window};
		}
		throw new Error("no values");
	}

	async stop() {
		this.process.kill();
		await this.ended;
	}
}

// Passes connections on, and can cut them.
class Proxy {
	async start(to) {
		this.sockets = new Set(), this.open = true;
		this.server = net.createServer((client) => {
			if (!this.open)
				return client.destroy();
			const other = net.connect(to.port, "127.0.0.1");
			for (const [a, b] of [[client, other], [other, client]]) {
				this.sockets.add(a);
				a.pipe(b);
				a.on("error", () => b.destroy());
				a.on("close", () => b.destroy() && this.sockets.delete(a));
			}
		});
		await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
		this.url = `http://127.0.0.1:${this.server.address().port}/`;
	}

	cut() {
		this.open = false;
		this.sockets.forEach((socket) => socket.destroy());
	}
}

// ---- tests ----

let browser, mock;
const counts = {passed: 0, failed: 0};

// A page of a server, which must violate no policy and print no error but those of a lost connection.
async function visit(options, then, {width = 1440, height = 900, colorScheme = "light"} = {}) {
	const server = mock || options.mock ? new Mock(options) : new Real(options), proxy = new Proxy(), errors = [];
	await server.start();
	await proxy.start(server);
	const page = await browser.newPage({viewport: {width, height}, colorScheme, acceptDownloads: true});
	page.on("console", (message) => ["error", "warning"].includes(message.type()) &&
		!/net::ERR_(?!ABORTED|BLOCKED)/.test(message.text()) && errors.push(message.text()));
	page.on("pageerror", (error) => errors.push(error.stack));
	page.on("request", (request) => !request.url().startsWith(proxy.url) && !request.url().startsWith("data:") && errors.push(`loads ${request.url()}`));
	await page.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`CSP: ${e.violatedDirective} ${e.sourceFile}:${e.lineNumber}`)));
	try {
		await page.goto(proxy.url);
		await page.waitForSelector("#charts section", {state: "attached"});
		// A chart is drawn when it is seen, and all are laid out anew when what is known of the machine arrives: `cells` is
		// null from then until they are.
		await page.waitForFunction(() => {
			document.querySelector("#charts section")?.scrollIntoView();
			return Object.keys(live.state.machine).length && live.state.cells && document.querySelector("#charts path.value");
		});
		await page.evaluate(() => scrollTo(0, 0));
		await then(page, proxy, server);
		assert(!errors.length, errors.join("\n"));
	} finally {
		await page.close();
		proxy.cut();
		proxy.server.close();
		await server.stop();
	}
}

async function test(name, act) {
	if (!name.includes(pattern))
		return;
	try {
		await act();
		counts.passed++;
		console.log(`ok - ${name}`);
	} catch (error) {
		counts.failed++;
		console.log(`not ok - ${name}\n${error.stack.replace(/^/gm, "# ")}`);
	}
}

// What the first chart draws; the windows that are held, by the wall clock.
const drawn = (page) => page.waitForSelector("#charts .lines", {state: "attached"}).then(() => page.$eval("#charts .lines", (lines) => lines.outerHTML));
const points = (page) => page.$eval("#charts .lines > path.value", (line) => line.getAttribute("d").split(/[ML]/).length - 1);
const held = (page) => page.evaluate(() => live.held().map((w) => Math.round(w.wall_ns / 1e8) / 10));
const changes = async (page, ms = 5000) => {
	const before = await drawn(page);
	for (const end = Date.now() + ms; Date.now() < end; await sleep(100))
		if (await drawn(page) !== before)
			return true;
	return false;
};
async function without(page, what) {
	const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth ? null : [...document.querySelectorAll("body *")]
		.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest(".wide, svg")).map((e) => e.outerHTML.slice(0, 150)).join("\n"));
	assert(wide === null, `${what}: wider than the window: ${wide}`);
}

// Labels of the map that overlap, or leave their box.
const overlaps = (page) => page.evaluate(() => {
	const svg = document.querySelector("svg.map"), box = (e) => e.getBoundingClientRect(), all = [...svg.querySelectorAll("text")].map((e) => [e, box(e)]), list = [];
	const outside = (a, b) => a.left < b.left - 0.5 || a.right > b.right + 0.5 || a.top < b.top - 0.5 || a.bottom > b.bottom + 0.5;
	all.forEach(([e, a], i) => {
		for (const [other, b] of all.slice(i + 1))
			if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
				list.push(`${e.textContent} | ${other.textContent}`);
		const own = e.closest(".place")?.querySelector("rect[class~=box], rect.socket");
		if (outside(a, box(svg)) || (own && outside(a, box(own))))
			list.push(`${e.textContent} leaves its box`);
	});
	return list;
});

async function axe(page, what) {
	await page.evaluate(fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	const {violations} = await page.evaluate(() => window.axe.run());
	const bad = violations.filter((v) => ["serious", "critical"].includes(v.impact));
	assert(!bad.length, `${what}: ${bad.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`).join("\n")}`);
}

async function shot(page, name, full) {
	if (!shots)
		return;
	const {width, height} = page.viewportSize();
	if (full) // charts are drawn where they are seen
		await page.setViewportSize({width, height: Math.min(await page.evaluate(() => document.documentElement.scrollHeight), 8000)});
	await sleep(300);
	await page.screenshot({path: path.join(shots, `${name}.png`)});
	await page.setViewportSize({width, height});
}

async function tests() {
	await test("charts and numbers move with each interval", () => visit({}, async (page) => {
		const cell = () => page.$$eval("#now td b", (all) => all.map((b) => b.textContent).join());
		const before = await cell();
		assert(await changes(page), "the line is as it was");
		assert(await cell() !== before, "the numbers are as they were");
		assert(await page.textContent("#state") === "live" && /^\d\d:\d\d:\d\d$/.test(await page.textContent("#last")), "state");
		assert(await page.isVisible("#simulated"), "SIMULATED");
		assert((await page.$$("#map [data-place]")).length > 8 && /^Hottest/.test(await page.textContent("#words")), "the map");
		const picture = () => page.$eval("#map", (map) => map.textContent), drawn = await picture();
		await page.waitForFunction((old) => document.getElementById("map").textContent !== old, drawn);
	}));

	await test("zoom by dragging and by keys, and reset", () => visit({mock: true}, async (page) => {
		const all = await points(page), plot = page.locator(".plot").first(), box = await plot.boundingBox();
		assert(all > 500, `${all} points of ten minutes`);
		await page.mouse.move(box.x + 200, box.y + 60);
		await page.mouse.down();
		await page.mouse.move(box.x + 300, box.y + 60, {steps: 4});
		await page.mouse.up();
		await page.waitForFunction(() => !document.getElementById("reset").disabled);
		await sleep(100);
		const some = await points(page);
		assert(some < all / 2 && some > 20, `${some} of ${all} points`);
		assert(!await changes(page, 2500), "what is zoomed in moves");
		await plot.focus();
		await page.keyboard.press("+");
		await sleep(100);
		assert(Math.abs(await points(page) - some / 2) < 5, "plus");
		const before = await drawn(page);
		for (let i = 0; i < 100; i++)
			await page.keyboard.press("ArrowLeft");
		await sleep(100);
		assert(await drawn(page) !== before, "the arrows do not move what is shown");
		assert(/^\d\d:\d\d:\d\d: /.test(await page.locator(".readout").first().textContent()), "readout");
		await page.keyboard.press("-");
		await page.keyboard.press("Escape");
		await sleep(100);
		assert(await points(page) >= all - 2 && await page.isDisabled("#reset"), "Escape");
		await page.keyboard.press("+");
		await page.click("#reset");
		await page.click("[data-range='60']");
		await sleep(100);
		assert(Math.abs(await points(page) - 60) < 4, `${await points(page)} points of a minute`);
	}));

	await test("pause freezes the drawing, and no interval is lost", () => visit({}, async (page) => {
		await page.click("#pause");
		await sleep(100);
		const count = (await held(page)).length;
		assert(!await changes(page, 2500), "the drawing moves");
		assert((await held(page)).length > count && /paused; \d+ interval/.test(await page.textContent("#last")), "data go on");
		await page.click("#pause");
		assert(await changes(page), "it goes on");
	}));

	await test("a cut connection is told, and recovers without a gap or an interval twice", () => visit({}, async (page, proxy) => {
		proxy.cut();
		await page.waitForFunction(() => /^reconnecting since \d\d:\d\d:\d\d$/.test(document.getElementById("state").textContent));
		await shot(page, "lost");
		await sleep(2500);
		proxy.open = true;
		await page.waitForFunction(() => document.getElementById("state").textContent === "live");
		assert(await changes(page), "it goes on");
		const times = await held(page), steps = times.slice(1).map((t, i) => t - times[i]);
		assert(steps.every((s) => s > 0.5 && s < 1.6), steps);
		assert(await page.evaluate(() => live.held().every((w) => !w.gap)), "a gap");
	}));

	await test("a server that was started again begins anew", () => visit({}, async (page, proxy, server) => {
		const before = await held(page), run = await page.evaluate(() => live.run());
		await server.stop();
		await page.waitForFunction(() => /^reconnecting/.test(document.getElementById("state").textContent));
		await server.start(server.port);
		await page.waitForFunction((old) => live.run() !== old && live.held().length > 1, run, {timeout: 20000});
		await page.waitForFunction(() => document.getElementById("state").textContent === "live");
		const times = await held(page);
		assert(times.every((t, i) => !i || t > times[i - 1]), "order");
		assert(server instanceof Mock || times[0] > before.at(-1), "intervals of the other run");
		assert(await changes(page), "it goes on");
	}));

	await test("the keyboard alone reaches and operates all", () => visit({}, async (page) => {
		const seen = new Set();
		const focused = () => page.evaluate(() => {
			const e = document.activeElement;
			return e.id || e.dataset.range || e.getAttribute("role") || (e === document.body ? "" : e.className) || e.tagName;
		});
		for (let i = 0; i < 150; i++) {
			await page.keyboard.press("Tab");
			const what = await focused();
			if (what === "BODY")
				break;
			seen.add(what);
			assert(await page.evaluate(() => {
				const e = document.activeElement, style = getComputedStyle(e.matches("g") ? e.querySelector("rect[class~=box], .socket, .track, .touch") : e);
				return e.matches("g") ? style.stroke !== "none" && parseFloat(style.strokeWidth) >= 3 : style.outlineStyle !== "none";
			}), `no outline: ${what}`);
		}
		for (const what of ["pause", "60", "300", "600", "button", "search", "explain", "application", "SUMMARY"])
			assert(seen.has(what), `${what} is not reached: ${[...seen]}`);
		// The map: the arrows go from place to place, Enter chooses one.
		const first = await page.textContent("#chosen");
		await page.focus("#map [tabindex='0']");
		await page.keyboard.press("Home");
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("Enter");
		const id = await page.evaluate(() => document.activeElement.dataset.place);
		assert(await page.$eval("#map [aria-pressed=true]", (e) => e.dataset.place) === id, "chosen");
		await page.waitForFunction((old) => document.getElementById("chosen").textContent !== old, first);
		await sleep(2500);
		assert(await page.evaluate(() => document.activeElement.dataset.place) === id, "the focus is lost with the next interval");
		// Explain, and back.
		await page.focus("#now button.explain");
		await page.keyboard.press("Enter");
		assert(await page.isVisible("dialog[open] code"), "explained");
		await page.keyboard.press("Escape");
		assert(await focused() === "explain" && !await page.isVisible("dialog[open]"), "closed");
		await page.focus("#pause");
		await page.keyboard.press("Space");
		assert(await page.getAttribute("#pause", "aria-pressed") === "true", "paused");
	}));

	for (const [width, height] of [[390, 844], [1440, 900]])
		for (const colorScheme of ["light", "dark"])
			await test(`${width} px, ${colorScheme}: nothing is too wide, and axe finds nothing`, () => visit({}, async (page) => {
				const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
				assert(/rgb\((2[0-5]\d|\d\d?),/.test(back) && (parseInt(back.slice(4), 10) < 128) === (colorScheme === "dark"), back);
				await without(page, "all");
				await axe(page, "all");
				await shot(page, `${width}-${colorScheme}`);
				await shot(page, `${width}-${colorScheme}-all`, true);
				await page.evaluate(() => document.querySelectorAll("details").forEach((each) => each.open = true));
				await page.click("#now button.explain");
				await without(page, "explain");
				await axe(page, "explain");
				await shot(page, `${width}-${colorScheme}-explain`);
				await page.click("dialog button.close");
				assert(!await page.isVisible("dialog[open]"), "closed");
				await without(page, "details");
				await shot(page, `${width}-${colorScheme}-details`, true);
			}, {width, height, colorScheme}));

	for (const [name, options] of [["ports", ["--per-port", "-M", "pcie.*bandwidth"]], ["matrix", ["-M", "matrix.*"]], ["channels", ["--per-channel", "-M", "memory.*"]], ["all", ["-M", "*", "--no-merge"]]])
		for (const width of [390, 1440])
			await test(`${name}, ${width} px`, () => visit({options, mock: true, source: name === "channels" ? "sim:spr" : "sim:t410"}, async (page) => {
				await without(page, name);
				await shot(page, `${name}-${width}`, name !== "all");
				assert((await page.$$("#now td[data-row]")).length > 3, "numbers");
			}, {width}));

	await test("short samples: envelope and histograms, of the last interval and of all", () => visit({samples: true}, async (page) => {
		await page.waitForSelector("#charts svg.histogram");
		await page.waitForFunction(() => /Last [5-9] intervals/.test(document.querySelector("#held").textContent));
		assert((await page.$$("#charts path.most")).length > 1 && await page.isVisible("#charts svg.histogram"), "drawn");
		const of = () => page.$eval("#charts .bars svg", (bars) => [...bars.querySelectorAll("rect title")]
			.reduce((sum, title) => sum + +/(\d+) samples/.exec(title.textContent)[1], 0));
		const one = await of();
		await page.click("[data-held='1']");
		await sleep(200);
		assert(await of() > 4 * one, `${one}, ${await of()}`);
		await axe(page, "samples");
		await shot(page, "samples");
	}));

	if (!mock)
		await test("each short sample of the last seconds, with a zoom", () => visit({samples: true}, async (page) => {
			await page.waitForSelector("button.samples");
			await sleep(2000);
			await page.locator("button.samples").first().click();
			await page.waitForSelector("#samples path.value");
			const count = () => page.$$eval("#samples path.value", (lines) => lines.map((l) => (l.getAttribute("d").match(/[ML]/g) ?? []).length));
			const all = await count();
			assert(all.every((n) => n > 150) && all.length > 0, `${all} samples of 10 ms`);
			await axe(page, "each sample");
			await shot(page, "each-sample");
			await page.locator("#samples .plot").focus();
			for (let i = 0; i < 3; i++)
				await page.keyboard.press("+");
			assert((await count()).every((n, i) => n > 2 && n < all[i] / 4), `${await count()} of ${all}`);
			await page.keyboard.press("ArrowLeft");
			assert(/\d\d:\d\d:\d\d\.\d\d\d: /.test(await page.textContent("#samples .readout")), await page.textContent("#samples .readout"));
			await page.keyboard.press("Escape");
			await page.keyboard.press("Escape");
			assert(!await page.isVisible("#samples"), "closed");
		}));

	await test("a recording: all of it, and its end", () => visit({mock: true, recorded: true, held: 1500}, async (page) => {
		await page.waitForFunction(() => document.getElementById("state").textContent === "recording, complete");
		assert((await held(page)).length === 1500 && await page.getAttribute("#ranges [data-range='0']", "aria-pressed") === "true", "all");
		assert(/reduced: the smallest and largest of/.test(await page.textContent("#charts .note")), "reduced");
		await page.click("[data-range='600']");
		await sleep(100);
		assert(Math.abs(await points(page) - 600) < 2, "range");
		await shot(page, "recording");
	}));

	for (const width of [320, 768, 1000])
		await test(`${width} px: nothing is too wide`, () => visit({}, async (page) => {
			await without(page, "all");
			await shot(page, `${width}`);
		}, {width}));

	await test("the page of --html: charts, zoom, and all again", async () => {
		const file = path.join(fs.mkdtempSync(path.join(require("os").tmpdir(), "uncore-")), "page.html"), errors = [];
		json("--source", "sim:t410,step=1s", "stat", "--html", "-o", file, "-I", "10ms", "--interval-count", "100");
		const page = await browser.newPage({viewport: {width: 1440, height: 900}});
		page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
		page.on("pageerror", (error) => errors.push(error.stack));
		await page.goto(`file://${file}`);
		await page.waitForSelector("path.value");
		const all = await points(page);
		await page.locator(".plot").first().focus();
		await page.keyboard.press("+");
		assert(all === 100 && await points(page) === 50 && await page.isVisible("button.whole"), "zoom");
		await axe(page, "html");
		await shot(page, "html");
		await page.click("button.whole");
		assert(await points(page) === 100 && !await page.isVisible("button.whole"), "all");
		assert(!errors.length, errors.join("\n"));
		await page.close();
		fs.rmSync(path.dirname(file), {recursive: true});
	});

	const machines = fs.mkdtempSync(path.join(require("os").tmpdir(), "uncore-"));
	execFileSync(path.join(ROOT, "tests/machines/make-devices"), [machines]);
	// A guest with a GPU that counts itself: the machine is a real one's, the rates are invented.
	fs.writeFileSync(path.join(machines, "h200-guest.yaml"), `sim: h200-guest\ntitle: a guest with a GPU\nmachine: ${ROOT}/tests/machines/nvidia-h200-guest.txt\nseed: 1\nrates:\n` +
		Object.entries({rx_bytes: 58e9, tx_bytes: 12.8e9, packet_bytes: 256, memory_bytes: 2600e9, memory_peak: 4.8e12, nvlink_in: 0, nvlink_out: 0, power: 412e3, energy: 412e3})
			.map(([event, rate]) => `  - {pmu: nvidia_gpu_0, event: ${event}, constant: ${rate}}\n`).join("") +
		["vda", "vdb"].flatMap((pmu) => [["read_sectors", 2e6], ["write_sectors", 4e5], ["reads", 4e4], ["writes", 8e3]].map(([event, rate]) =>
			`  - {pmu: ${pmu}, event: ${event}, constant: ${rate}}\n`)).join("") +
		["received_bytes", "transmitted_bytes", "received_packets", "transmitted_packets"].map((event) => `  - {pmu: eth0, event: ${event}, constant: 1e3}\n`).join(""));
	const sources = {spr: "sim:spr,step=1s", zen4: "sim:zen4,step=1s", t410: "sim:t410,step=1s", devices: `sim:${machines}/spr-devices.yaml,step=1s`};
	const more_ = Object.fromEntries(["zen4-devices", "t410-devices", "spr-switch", "grace-devices", "intel-gpus", "h200-guest"].map((name) => [name, `sim:${machines}/${name}.yaml,step=1s`]));
	const all = {...sources, ...more_, "this-machine": ""};
	for (const [name, source] of Object.entries(all))
		for (const [width, schemes] of [[390, ["light", "dark"]], [1440, ["light", "dark"]], [2560, ["light"]]])
			await test(`the map of ${name}, ${width} px: no label overlaps another, nothing leaves its box`, () => visit({source, options: []}, async (page) => {
				for (const colorScheme of schemes) {
					await page.emulateMedia({colorScheme});
					assert(!(await overlaps(page)).length, (await overlaps(page)).join("\n"));
					await without(page, "map");
					await axe(page, `${name}, ${colorScheme}`);
					await shot(page, `map-${name}-${width}-${colorScheme}`);
				}
				if (await page.$("#map [data-place^=idle]")) {
					await page.click("#map [data-place^=idle]");
					assert(!(await overlaps(page)).length, (await overlaps(page)).join("\n"));
					await without(page, "idle places");
				}
			}, {width, height: width < 500 ? 844 : width > 2000 ? 1300 : 900}));

	// Sockets with 8 channels, 20 devices and links, of which one channel is dead and one device suspect.
	function large(sockets) {
		const rows = [], lines = [], columns = {in: "IN", out: "OUT", total: "TOTAL"};
		const row = (name, socket, ceiling, more) => rows.push({name, family: "f", unit: "B/s", event: false, place: `socket ${socket}`, role: null, filter: null,
			ceiling, socket, node: null, channel: null, port: null, pmu: null, extra: true, ...more}) - 1;
		const line = (view, kind, label, socket, parent, names, ceiling, detail = "") => lines.push({view, kind, parent, label, detail, socket, device: null,
			rows: Object.fromEntries(names.map((name) => [name, row(`v${view}.${name}`, socket, ceiling, {place: label})]))}) - 1;
		for (let s = 0; s < sockets; s++) {
			const sum = line(0, "socket", `socket ${s}`, s, null, ["in", "out", "total"], 307e9);
			for (let k = 0; k < 8; k++)
				line(0, "channel", `channel ${k}`, s, sum, ["in", "out", "total"], 38.4e9);
			for (let k = 0; k < 20; k++)
				line(1, "port", ["nvme", "mlx5_", "A device with a rather long name "][k % 3] + k, s, null, ["in", "out"], k % 4 ? 63e9 : null, "Samsung NVMe SSD Controller PM173X, 0000:01:00.0");
			line(2, "socket", `socket ${s}`, s, null, ["in", "out"], null);
			line(2, "link", `socket ${s}, GPU`, s, null, ["in", "out"], 450e9);
		}
		return {rows, screen: {views: [["memory", "Memory", "memory"], ["devices", "Devices", "pcie"], ["links", "Links", "links"]].map(([name, title, screen]) => ({name, title, screen, columns})), lines}};
	}
	for (const [sockets, width] of [[2, 390], [2, 1440], [4, 1440], [8, 2560], [16, 1440], [16, 2560]])
		await test(`the map of ${sockets} sockets with 20 devices each, ${width} px`, () => visit({mock: true, ...large(sockets), source: "sim:spr"}, async (page) => {
			assert(!(await overlaps(page)).length, (await overlaps(page)).join("\n"));
			await without(page, "map");
			await shot(page, `large-${sockets}-${width}`, true);
		}, {width}));

	// Three digits, as a person writes them.
	const brief = (v) => {
		const power = [12, 9, 6, 3, 0].find((p) => Number((v / 10 ** p).toPrecision(3)) >= 1) ?? 0;
		return v === 0 ? "0 B/s" : `${(v / 10 ** power).toPrecision(3)} ${{12: "T", 9: "G", 6: "M", 3: "k", 0: ""}[power]}B/s`;
	};
	for (const [name, source] of Object.entries(sources))
		await test(`each number on the map of ${name} is that of the row`, () => visit({source, options: []}, async (page, proxy, server) => {
			if (server instanceof Mock)
				return;
			let values, time;
			// The page and the server must show the same interval.
			for (let i = 0; i < 50 && (time === undefined || time !== values.last.time); i++) {
				values = await server.values();
				time = await page.evaluate(() => live.held().at(-1).time);
			}
			await page.click("#pause");
			assert(await page.evaluate(() => live.held().at(-1).time) === time, "another interval");
			const texts = await page.$$eval("#map [data-place]", (all) => all.map((e) => [e.dataset.place, [...e.querySelectorAll("text")].map((t) => t.textContent)]));
			let checked = 0;
			for (const [id, lines] of texts.filter((each) => /^\d+$/.test(each[0]))) {
				const line = values.screen.lines[id], value = (column) => values.last.values[line.rows[column]];
				for (const [sign, column] of [["↓", "in"], ["↑", "out"], ["in", "in"], ["out", "out"]])
					for (const text of lines.filter((each) => each.startsWith(`${sign} `))) {
						assert(text === `${sign} ${brief(value(column))}`, `${line.label}: ${text}, not ${value(column)}`);
						checked++;
					}
				for (const text of line.kind === "channel" ? lines.slice(0, 1) : []) {
					const right = (value("total") ?? value("in") + value("out")) / 1e9;
					assert(Math.abs(+text - right) <= 0.0051 * right, `${line.label}: ${text}, not ${right}`);
					checked++;
				}
			}
			assert(checked > 6, `${checked} numbers`);
		}));

	await test("a place is chosen by a click, the search finds places and metrics, and all charts have one cursor", () => visit({source: sources.devices, options: []}, async (page) => {
		await page.click("#map [data-place^=socket]");
		assert(await page.textContent("#chosen") === "Socket 0", await page.textContent("#chosen"));
		await page.setViewportSize({width: 1440, height: 2400});
		await page.waitForFunction(() => document.querySelectorAll("#charts path.value").length > 4);
		const box = await page.locator("#charts .plot").first().boundingBox();
		await page.mouse.move(box.x + box.width - 20, box.y + 60);
		const told = await page.$$eval("#charts .chart", (all) => all.filter((e) => e.querySelector("path.value")).map((e) => e.querySelector(".readout").textContent.slice(0, 8)));
		assert(told.length > 1 && new Set(told).size === 1 && /^\d\d:/.test(told[0]), told);
		assert(await page.$eval("#charts .chart", (e) => e.querySelector("path.ceiling, path.value") && [...e.querySelectorAll(".key span")].map((s) => s.textContent.split(" ")[0]).join()) === "total,read,write", "one chart");
		assert(await page.$eval("#charts .chart", (e) => e.querySelector("path.ceiling") && /by the share that is counted/.test(e.querySelector(".note").textContent)), "the ceiling of memory");
		await page.fill("#search", "card1");
		assert((await page.$$("#map .place.other")).length > 5 && await page.$$eval("#map .place:not(.other)", (all) => all.some((e) => /card1/.test(e.querySelector("title").textContent))), "found");
		await page.press("#search", "Enter");
		assert(/card1/.test(await page.textContent("#chosen")), "Enter");
		for (const [kind, head] of [["csv", /^time,.*bandwidth/], ["png", /^\x89PNG/]]) {
			const [file] = await Promise.all([page.waitForEvent("download"), page.click(`#charts button.${kind}`)]);
			const text = fs.readFileSync(await file.path(), "latin1");
			assert(head.test(text) && file.suggestedFilename().endsWith(`.${kind}`), text.slice(0, 80));
			if (shots)
				fs.copyFileSync(await file.path(), path.join(shots, `download.${kind}`));
		}
	}));

	// Each kind of place: its name in the map, what moves there, the number of charts of bytes that have a ceiling, and the words of their lines.
	for (const [name, find, words, ceiling] of [
		["devices", "channel 3", "total, read, write", true], ["devices", "card0?", "to device, from device, both", true], ["devices", "nvme0", "to device, from device, both", true],
		["devices", "uncore_upi_2", "in, out, both", false], ["t410-devices", "mlx5_2", "to device, from device, both", true], ["t410-devices", "card0", "to device, from device, both", true],
		["grace-devices", "nvme0, mlx5_0, card0", "to device, from device, both", true], ["zen4-devices", "nvidia_gpu_1", "to device, from device, both", true], ["h200-guest", "nvidia_gpu_0", "to device, from device, both", true]])
		await test(`the charts of ${find} of ${name} have all directions in one, and the ceiling if one is known`, () => visit({source: all[name], options: []}, async (page) => {
			const id = await page.evaluate((what) => live.state.model.lines.find((line) => line.label.replace(/^socket \d+, /, "") === what && line.cells.in)?.i, find);
			assert(id !== undefined, await page.evaluate(() => live.state.model.lines.map((line) => line.label).join()));
			await page.evaluate((i) => document.querySelector(`#map [data-place="${i}"]`).dispatchEvent(new MouseEvent("click", {bubbles: true})), id);
			await page.waitForFunction(() => document.querySelector("#charts .lines > path.value"));
			const lines = await page.$eval("#charts .chart", (e) => [...e.querySelectorAll(".key span")].map((s) => s.firstChild.nextSibling.textContent.trim()));
			assert(lines.join(", ") === words, lines);
			assert(!!await page.$("#charts .chart:first-child path.ceiling") === ceiling, "ceiling");
			// The sum is that of the two directions.
			const numbers = await page.$$eval("#charts .chart:first-child .numbers tr > td:nth-child(2)", (cells) => cells.map((cell) => cell.textContent)).then((list) =>
				list.slice(-3).map((text) => parseFloat(text) * {G: 1e9, M: 1e6, k: 1e3, B: 1}[/[GMkB]/.exec(text)[0]]));
			const [sum, a, b] = words.startsWith("total") ? numbers : [numbers[2], numbers[0], numbers[1]];
			assert(Math.abs(sum - a - b) <= 0.011 * sum, numbers);
		}));

	await test("the first questions are answered without a click", async () => {
		const answers = {
			devices: [/Hottest.*(Channel \d|card0\?)/, /Memory .*% read; \d+.% of the peak\. All 8 channels are in use/, /card0\? moves most: 60.0.GB\/s/, /No link is near its ceiling/, /Links In: .*beside .* of memory/,
				/GPUs Busiest: card0\?, 40.0.GB\/s to device, 20.0.GB\/s from device \(63.%\).*1.20.TB\/s/, /Quality .*names have a \?: which counter counts the device is uncertain/],
			"t410-devices": [/Memory .*% read; the peak is unknown\. Most on socket \d \(node \d\)/, /mlx5_2 moves most/, /between the sockets is not counted/, /GPUs Busiest: .*card0/],
			"grace-devices": [/Links In: .*beside .* of memory/, /GPUs .*nvidia_gpu_0, 1.20.TB/],
			"intel-gpus": [/GPUs Busiest: /],
			"h200-guest": [/Hottest .*nvidia_gpu_0: .*% of its peak/, /This is near its ceiling/, /GPUs Busiest: nvidia_gpu_0/, /Guest .*no counters of its memory/],
		};
		// With the links of GPUs, which are no links between sockets.
		answers["t410-devices link"] = [/What passes between the sockets is not counted\. Busiest: Socket 0, nvidia_gpu_0/];
		answers["spr"] = [/Hottest Channel \d/];
		for (const [name, right] of Object.entries(answers))
			await visit({source: all[name.split(" ")[0]], options: name.split(" ").slice(1)}, async (page) => {
				const words = await page.textContent("#words");
				for (const each of right)
					assert(each.test(words), `${name}: ${each} in ${words}`);
				assert(/every 1 s/.test(await page.textContent(".state")), "the interval");
				assert(await page.$eval("#words", (e) => e.getBoundingClientRect().bottom < innerHeight), "they are on the first screen");
				// A comma is on the line of the name before it.
				assert(await page.$$eval("#words .joined", (all) => all.length && all.every((e) => {
					const range = document.createRange();
					range.selectNode(e.lastChild);
					return range.getBoundingClientRect().bottom <= e.querySelector("button").getBoundingClientRect().bottom + 3;
				})), "a comma begins a line");
			});
	});

	await test("the key has each colour with its limits, and the question mark", () => visit({source: all.devices, options: []}, async (page) => {
		const key = await page.textContent("#key");
		for (const each of [/under 50 % of the ceiling/, /50 to 80 %/, /80 % and more/, /no ceiling known/, /suspect/, /\? which counter counts this device is uncertain/])
			assert(each.test(key), key);
		const used = await page.$$eval("#map [class]", (list) => [...new Set(list.flatMap((e) => [...e.classList]).filter((c) => /^s[0-9x]$/.test(c)))]);
		const told = await page.$$eval("#key rect", (list) => list.map((e) => e.getAttribute("class")));
		assert(used.length > 1 && used.every((c) => told.includes(c)), used);
		// The colour of each device is that of its share.
		const wrong = await page.evaluate(() => [...document.querySelectorAll("#map [data-place] > rect.box")].filter((rect) => {
			const share = parseFloat(/([\d.]+) % of the ceiling/.exec(rect.parentElement.querySelector("title").textContent.split(";")[0])?.[1]);
			const right = isNaN(share) ? "sx" : share < 49.5 ? "s0" : share > 80.5 || (share > 50.5 && share < 79.5) ? (share < 80 ? "s1" : "s2") : null;
			return right && !rect.classList.contains(right) && !rect.classList.contains("idle");
		}).length);
		assert(!wrong, `${wrong} boxes have the colour of another share`);
	}));

	await test("no events are no warning: a port without requests does not shade the latency's chart", () => {
		const rows = [["pcie.inbound.read.bandwidth", "B/s"], ["pcie.inbound.read.latency", "s"]].flatMap(([name, unit]) => [0, 1].map((i) => ({name, family: "f", unit, event: false, place: `port ${i}`,
			role: null, filter: null, ceiling: null, socket: 0, node: null, channel: null, port: null, pmu: `p${i}`})));
		const quality = [[3, "unavailable", "division by zero: no events in this interval"]];
		return visit({mock: true, rows, quality}, async (page) => {
			await page.click("#now [data-place=m2]");
			await page.waitForFunction(() => /latency/.test(document.querySelector("#charts h2")?.textContent) && document.querySelector("#charts path.value"));
			assert(!(await page.$$("#charts .shade")).length && !/shaded/.test(await page.textContent("#charts .note")), "shaded");
			assert(!await page.$("#now .quality") && /no events/.test(await page.textContent("#now td[data-row='3']")), "a warning");
			assert(!/unavailable/.test(await page.textContent("#words")), await page.textContent("#words"));
		});
	});

	await test("devices have their names in each legend", () => visit({source: all.devices, options: ["pcie"]}, async (page) => {
		const id = await page.evaluate(() => live.state.data.rows.findIndex((row) => row.name === "pcie.inbound.read.bandwidth" && !row.extra));
		await page.evaluate((i) => document.querySelector(`#now [data-place=m${i}]`).click(), id);
		await page.waitForFunction(() => document.querySelector("#charts .lines > path.value"));
		const key = await page.textContent("#charts .key");
		assert(/card0/.test(key) && /mlx5_0/.test(key) && /nvme0/.test(key), key);
	}));

	if (!mock)
		await test("what the server allows is switched on for all pages, and what was counted before stays", () => visit({source: all.devices, options: ["--choices", "cache.*,memory.cxl.*"]}, async (page, proxy) => {
			const other = await browser.newPage(), button = (name) => `button[data-choice="${name}"]`;
			await other.goto(proxy.url);
			await other.waitForSelector(button("cache.*"));
			await page.waitForFunction(() => live.held().length > 3);
			await page.click("#map [data-place='1']");
			const chosen = await page.textContent("#chosen"), count = (await held(page)).length, rows = await page.evaluate(() => live.state.data.rows.length);
			assert(await page.getAttribute(button("cache.*"), "aria-pressed") === "false", "off at the start");
			await page.click(button("cache.*"));
			for (const each of [page, other])
				await each.waitForFunction((n) => live.state.data.rows.length > n && document.querySelector(`button[data-choice="cache.*"][aria-pressed=true]:not([aria-busy])`) &&
					/cache\./.test(document.getElementById("now").textContent), rows);
			await page.waitForFunction((n) => live.held().length > n + 1, count);
			assert(await page.textContent("#chosen") === chosen && await page.evaluate(() => live.held().every((w) => !w.gap)), "what is shown stays");
			assert(await points(page) > count, `${await points(page)} points, of which ${count} are of before`);
			await axe(page, "choices");
			await shot(page, "choices");
			// This machine has none.
			await page.click(button("memory.cxl.*"));
			await page.waitForFunction(() => /memory\.cxl\.\* is not counted: ./.test(document.getElementById("refused").textContent));
			assert(await page.getAttribute(button("memory.cxl.*"), "aria-pressed") === "false", "refused");
			// Another site cannot.
			for (const [right, headers] of [[415, {}], [403, {"Content-Type": "application/json", Origin: "http://evil.example"}]]) {
				const {status} = await fetch(`${proxy.url}api/v1/choices`, {method: "POST", headers, body: JSON.stringify({choice: "cache.*", on: false})});
				assert(status === right, status);
			}
			await page.click(button("cache.*"));
			await other.waitForFunction((n) => live.state.data.rows.length === n, rows);
			await other.close();
		}));

	await test("a chart of 24 places colours the busiest eight", () => {
		const rows = Array.from({length: 24}, (_, i) => ({name: "memory.bandwidth", family: "f", unit: "B/s", event: false, place: `place ${i}`,
			role: null, filter: null, ceiling: null, socket: 0, node: null, channel: null, port: null, pmu: null}));
		return visit({mock: true, rows}, async (page) => {
			const colours = await page.$$eval("#charts .lines > path", (all) => all.map((e) => e.getAttribute("stroke")));
			assert(colours.length === 24 && new Set(colours).size === 9 && /and 16 more, grey/.test(await page.textContent("#charts .key")), colours);
		});
	});

	await test("200 series over 10 minutes: frames a second while the cursor moves", () => {
		const rows = Array.from({length: 200}, (_, i) => ({name: "memory.bandwidth", family: "f", unit: "B/s", event: false, place: `place ${i}`,
			role: null, filter: null, ceiling: null, socket: 0, node: null, channel: null, port: null, pmu: null}));
		return visit({mock: true, rows}, async (page) => {
			const box = await page.locator("#charts .plot").first().boundingBox();
			await page.evaluate(() => {
				window.frames_ = [];
				const next = (t) => (window.frames_.push(t), requestAnimationFrame(next));
				requestAnimationFrame(next);
			});
			await sleep(1000);
			await browser.startTracing(page, {categories: ["cc"]});
			for (const end = Date.now() + 8000, from = Date.now(); Date.now() < end;)
				await page.mouse.move(box.x + 90 + (Date.now() - from) % 250, box.y + 50);
			// CPU time of the main thread, since a busy machine drops frames of any page.
			const frames = JSON.parse((await browser.stopTracing()).toString()).traceEvents.filter((e) => e.name === "ProxyMain::BeginMainFrame" && e.tdur).map((e) => e.tdur / 1000);
			const longest = frames.sort((a, b) => b - a).slice(0, 3);
			console.log(`# ${frames.length} frames, of which the longest take ${longest.map((ms) => ms.toFixed(1)).join(", ")} ms of CPU time`);
			assert(frames.length > 50 && longest[2] < 25, longest);
			const times = await page.evaluate(() => window.frames_), steps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
			const rate = (times.length - 1) / (times.at(-1) - times[0]) * 1000;
			console.log(`# ${rate.toFixed(1)} frames a second; a frame takes ${steps[steps.length >> 1].toFixed(1)} ms (p50), ${steps[Math.floor(steps.length * 0.99)].toFixed(1)} ms (p99)`);
			assert(rate > 30, `${rate} frames a second`);
		});
	});

	await test("24 charts of 3 lines and 600 points take little script time", () => {
		const rows = Array.from({length: 72}, (_, i) => ({name: `memory.m${i / 3 | 0}.bandwidth${i % 3}`, family: "f", unit: "B/s", event: false, place: "socket 0",
			role: null, filter: null, ceiling: null, socket: 0, node: null, channel: null, port: null, pmu: null}));
		const screen = {views: Array.from({length: 24}, (_, i) => ({name: `v${i}`, title: `View ${i}`, screen: "memory", columns: {in: "READ", out: "WRITE", total: "TOTAL"}})),
			lines: Array.from({length: 24}, (_, i) => ({view: i, kind: "socket", parent: null, label: "socket 0", detail: "", socket: 0, device: null,
				rows: {in: 3 * i, out: 3 * i + 1, total: 3 * i + 2}}))};
		return visit({mock: true, rows, screen}, async (page) => {
			await page.click("#map [data-place=socket-0]");
			const client = await page.context().newCDPSession(page);
			await client.send("Performance.enable");
			const measure = async () => Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
			const of = async (seconds) => {
				await sleep(2000);
				const before = await measure();
				await sleep(seconds * 1000);
				const after = await measure();
				return ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration"].map((name) => (after[name] - before[name]) / seconds * 1000);
			};
			const print = (what, ms) => console.log(`# ${what}, ms a second: script ${ms[0].toFixed(1)}, layout ${ms[1].toFixed(1)}, style ${ms[2].toFixed(1)}, all ${ms[3].toFixed(1)}`);
			const seen = await of(10);
			print("in view", seen);
			await page.setViewportSize({width: 1440, height: 12000});
			const all = await of(10);
			print("all 24", all);
			assert(seen[0] < 50 && all[0] < 130, "too slow"); // see ADR 19
		});
	});

	await test("all files of the page take at most 300 KB, compressed", () => {
		const size = ["live.html", "page.css", "page.js", "map.js", "words.js", "live.js"].reduce((sum, name) => sum + require("zlib").gzipSync(fs.readFileSync(path.join(ROOT, "web", name))).length, 0);
		console.log(`# ${(size / 1000).toFixed(1)} KB`);
		assert(size <= 300e3, `${size} bytes`);
	});
	fs.rmSync(machines, {recursive: true});
}

async function main() {
	assert(uncore, "page.js UNCORE [--mock] [--screenshots DIR] [PATTERN]");
	const real = new Real();
	mock = more.includes("--mock");
	if (!mock) {
		await real.start();
		mock = !await real.answers();
		await real.stop();
		console.log(`# ${mock ? "uncore serve has no page: the server of this file" : "uncore serve"}`);
	}
	browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: process.getuid() ? [] : ["--no-sandbox"]});
	await tests();
	await browser.close();
	console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
	process.exit(counts.failed || !counts.passed ? 1 : 0);
}

main();
