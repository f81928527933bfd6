// SPDX-License-Identifier: MIT
// The book in Chromium, from files: book.js DIRECTORY [--every] [--screenshots DIR]
//
// One page of each kind (--every: all), on a desktop and on a phone, light and dark: nothing is too wide, axe finds nothing, nothing comes from elsewhere.
// The search finds, also by keys; without JavaScript the pages are complete.
"use strict";
const fs = require("fs");
const path = require("path");
const {pathToFileURL} = require("url");
const {chromium} = require("playwright-core");

const args = process.argv.slice(2), [site] = args;
const every = args.includes("--every");
const shots = args.includes("--screenshots") ? args[args.indexOf("--screenshots") + 1] : null;
const SHOWN = ["index.html", "concepts.html", "uncore-reasons.7.html", "uncore.schema.html", "uncore-stat.1.html", "tasks.html"];
const assert = (right, what) => {
	if (!right)
		throw new Error(what);
};
const url = (name) => pathToFileURL(path.resolve(site, name)).href;
let passed = 0, failed = 0;

async function test(name, run) {
	try {
		await run();
		passed++;
	} catch (error) {
		failed++;
		console.log(`FAILED ${name}: ${error.message}`);
	}
}

async function complete(page, what) {
	const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
	const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

	assert(wide <= 0, `${what}: ${wide} pixels too wide`);
	await page.evaluate(axe);
	const {violations} = await page.evaluate(() => window.axe.run());
	assert(!violations.length, `${what}: ${violations.map((v) => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`).join("\n")}`);
}

(async () => {
	const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"]});
	const foreign = [];
	const open = async (name, width, colorScheme, more = {}) => {
		const page = await browser.newPage({viewport: {width, height: 900}, colorScheme, ...more});

		page.on("request", (request) => request.url().startsWith("file:") || foreign.push(request.url()));
		page.on("pageerror", (error) => foreign.push(error.message));
		await page.goto(url(name));
		return page;
	};

	for (const name of fs.readdirSync(site).filter((file) => SHOWN.includes(file) || (every && file.endsWith(".html"))))
		for (const [width, scheme] of [[1280, "light"], [390, "dark"]])
			await test(`${name}, ${width} px, ${scheme}`, async () => {
				const page = await open(name, width, scheme);

				await complete(page, name);
				if (shots && SHOWN.includes(name))
					await page.screenshot({path: path.join(shots, `${name}-${width}-${scheme}.png`)});
				await page.close();
			});
	await test("the search", async () => {
		const page = await open("index.html", 1280, "light");

		await page.keyboard.press("/");
		await page.keyboard.type("multiplexed coverage");
		await page.waitForSelector("#found li");
		assert(await page.isHidden("article"), "the page is still there");
		assert(await page.locator("#found mark").count() > 2, "no words are marked");
		await complete(page, "search");
		if (shots)
			await page.screenshot({path: path.join(shots, "search.png")});
		await page.fill("#search input", "nowhere4711");
		assert(!await page.locator("#found li").count(), "it finds what is not there");
		await page.fill("#search input", "uncore-stat(1) TIME");
		await page.keyboard.press("Enter");
		await page.waitForURL(/uncore-stat\.1\.html/);
		await page.close();
	});
	await test("each reason, as it is printed, leads to its explanation", async () => {
		const page = await open("index.html", 1280, "light");
		const placesOf = async (query) => {
			await page.fill("#search input", query);
			return page.evaluate(() => Array.from(document.querySelectorAll("#found a"), (link) => link.getAttribute("href")));
		};
		const missed = [];
		let section = "", reasons = 0;

		await page.focus("#search input");
		await page.waitForSelector("#index", {state: "attached"});
		for (const line of fs.readFileSync(path.join(__dirname, "../../man/uncore-reasons.7.scd"), "utf8").split("\n")) {
			const [, reason] = line.match(/^\*(.+)\*$/) || [];

			section = line.startsWith("## ") ? line.slice(3) : section;
			if (!reason || !section)
				continue;
			const places = await placesOf(reason.replaceAll("\\", "").replaceAll("...", "uncore_imc_3/cas_rd/"));

			reasons++;
			if (!places.slice(0, 5).includes(`uncore-reasons.7.html#${section}`))
				missed.push(`${reason}: ${places.slice(0, 5)}`);
		}
		const asked = (await placesOf("Why is this row suspect?")).slice(0, 3);

		assert(asked.some((place) => place.startsWith("uncore-reasons.7.html")), `why is this row suspect: ${asked}`);
		assert(reasons > 100 && !missed.length, `${missed.length} of ${reasons}:\n${missed.join("\n")}`);
		await page.close();
	});
	await test("without JavaScript", async () => {
		const page = await open("guests.html", 390, "light", {javaScriptEnabled: false});

		assert(await page.isHidden("#search"), "a search that cannot search");
		await page.click("text=Contents");
		await page.click("nav >> text=Daily tasks");
		assert(page.url().endsWith("tasks.html"), page.url());
		await page.close();
	});
	await test("nothing from elsewhere, no error", () => assert(!foreign.length, foreign.join("\n")));
	await browser.close();
	console.log(`${passed} passed, ${failed} failed, 0 skipped`);
	process.exit(failed ? 1 : 0);
})();
