// SPDX-License-Identifier: MIT
// draw-page.js PAGE: what the script of a page makes of its data, as markup, and totals as its own units print them.
"use strict";
const fs = require("fs");
const html = fs.readFileSync(process.argv[2], "utf8");
const scripts = [...html.matchAll(/<script(?: type="application\/json" class="(\w+)")?>([^]*?)<\/script>/g)];
const own = {exports: {}};
new Function("module", scripts.find((s) => !s[1])[2])(own);
const page = own.exports;
const data = page.collect(scripts.filter((s) => s[1] === "window").map((s) => JSON.parse(s[2])));
const about = JSON.parse(scripts.find((s) => s[1] === "about")[2]);

const model = page.map.model(data.screen, data.rows, about.topology);
process.stdout.write(page.map.draw(model, 900, {chosen: "0"}) + page.map.words(model).replace(/<button[^>]*>|<\/button>/g, ""));

for (const rows of data.charts) {
	process.stdout.write(page.metric(rows, data.intervals, 600));
	process.stdout.write(page.readout(rows, data.intervals, data.intervals.length - 1));
}
process.stdout.write(data.totals.map((total) => page.samples(data.rows, total)).join("") + page.machine(about));
data.rows.forEach((row, i) => {
	if (!row.event && !row.extra)
		process.stdout.write(`<td class="total">${page.human(data.totals.at(-1).values[i], row.unit)}</td>`);
});
