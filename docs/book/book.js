// SPDX-License-Identifier: MIT
// The search of the book. Its index is a script, so that it also loads from file://; it is loaded when it is needed first.
"use strict";

const form = document.getElementById("search");
const found = document.getElementById("found");
const article = document.querySelector("article");
const field = form.querySelector("input");
const MOST = 40;

// Each word must be in the heading or in the text. Headings count most, then how often the words occur.
function score(entry, words) {
	const [, page, heading, text] = entry;
	const title = `${page} ${heading}`.toLowerCase(), body = text.toLowerCase();
	let sum = 0;

	for (const word of words) {
		const times = body.split(word).length - 1;

		if (!times && !title.includes(word))
			return 0;
		sum += Math.min(times, 5) + (heading.toLowerCase().includes(word) ? 30 : title.includes(word) ? 12 : 0);
	}
	return sum + (body.includes(words.join(" ")) ? 8 : 0);
}

function element(name, text, ...children) {
	const made = document.createElement(name);

	made.textContent = text;
	made.append(...children);
	return made;
}

// The text around the first word, with all of them marked.
function excerpt(text, words) {
	const first = Math.min(...words.map((word) => (text.toLowerCase().indexOf(word) + text.length + 1) % (text.length + 1)));
	const from = first >= text.length ? 0 : Math.max(0, text.lastIndexOf(" ", Math.max(0, first - 60)) + 1);
	const part = text.slice(from, from + 220), low = part.toLowerCase();
	const line = element("p", from ? "... " : "");

	for (let at = 0; at < part.length;) {
		const hits = words.map((word) => [low.indexOf(word, at), word]).filter(([where]) => where >= 0).sort((a, b) => a[0] - b[0]);
		const [where, word] = hits[0] || [part.length, ""];

		line.append(part.slice(at, where), ...word ? [element("mark", part.slice(where, where + word.length))] : []);
		at = where + Math.max(1, word.length);
	}
	return line;
}

function show() {
	const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
	const index = window.searchIndex || [];
	const hits = words.length ? index.map((entry) => [score(entry, words), entry]).filter(([sum]) => sum) : [];

	article.hidden = found.hidden = !words.length;
	article.hidden = Boolean(words.length);
	if (!words.length)
		return;
	hits.sort((a, b) => b[0] - a[0]);
	found.replaceChildren(element("h1", `${hits.length} place${hits.length === 1 ? "" : "s"} with “${words.join(" ")}”`),
		element("ol", "", ...hits.slice(0, MOST).map(([, [url, page, heading, text]]) => {
			const link = element("a", heading === page ? page : `${page}: ${heading}`);

			link.href = url;
			link.addEventListener("click", () => { field.value = ""; show(); }); // a place of this page
			return element("li", "", link, excerpt(text, words));
		})));
}

function load() {
	if (document.getElementById("index"))
		return;
	const script = document.createElement("script");

	script.id = "index";
	script.src = "search-index.js";
	script.addEventListener("load", show);
	document.head.append(script);
}

const contents = document.getElementById("contents"), here = contents.querySelector("[aria-current]");

if (here) // where the contents scroll
	contents.scrollTop = here.offsetTop - 120;
form.hidden = false;
field.addEventListener("focus", load);
field.addEventListener("input", () => { load(); show(); });
form.addEventListener("submit", (event) => {
	const first = found.querySelector("a");

	event.preventDefault();
	if (first && !found.hidden)
		first.click();
});
document.addEventListener("keydown", (event) => {
	if (event.key === "/" && !/INPUT|TEXTAREA/.test(event.target.tagName)) {
		event.preventDefault();
		field.focus();
	} else if (event.key === "Escape" && event.target === field) {
		field.value = "";
		show();
	}
});
