// SPDX-License-Identifier: MIT
// The search of the book. Its index is a script, so that it also loads from file://; it is loaded when it is needed first.
"use strict";

const form = document.getElementById("search");
const found = document.getElementById("found");
const article = document.querySelector("article");
const field = form.querySelector("input");
const MOST = 40;

let sections = []; // of the index, in small letters

// What is around the words of a sentence that was pasted is no part of them.
function wordsOf(query) {
	return query.toLowerCase().split(/\s+/).map((word) => word.replace(/^["'“”‘’(]+|["'“”‘’).,:;?!]+$/g, "")).filter(Boolean);
}

// The sections that have all words, or much of what the best one has; the best first. Words and pairs of neighbours count,
// rare ones more: of a message's names and numbers most are nowhere. Headings count twice, and long sections less.
function search(words) {
	const scores = new Map();

	for (const term of new Set([...words, ...words.slice(1).map((word, i) => `${words[i]} ${word}`)])) {
		const having = sections.filter(({all}) => all.includes(term));
		const rare = Math.log(1 + sections.length / having.length) * (term.includes(" ") ? 2 : 1);

		for (const section of having)
			scores.set(section, (scores.get(section) || 0) + (section.heading.includes(term) ? 2 : 1) * rare / section.length);
	}
	const best = Math.max(...scores.values());
	return [...scores].map(([section, score]) => ({...section, score, complete: words.every((word) => section.all.includes(word))}))
		.filter(({score, complete}) => complete || score >= best / 3).sort((a, b) => b.score - a.score);
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
	const words = wordsOf(field.value), hits = search(words);
	const some = hits.length && !hits.some(({complete}) => complete) ? "some of " : "";

	article.hidden = found.hidden = !words.length;
	article.hidden = Boolean(words.length);
	if (!words.length)
		return;
	found.replaceChildren(element("h1", `${hits.length} place${hits.length === 1 ? "" : "s"} with ${some}“${words.join(" ")}”`),
		element("ol", "", ...hits.slice(0, MOST).map(({entry: [url, page, heading, text]}) => {
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
	script.addEventListener("load", () => {
		sections = window.searchIndex.map((entry) => {
			const [, page, heading, text] = entry;

			return {entry, heading: heading.toLowerCase(), all: `${page}\n${heading}\n${text}`.toLowerCase(), length: Math.log(500 + text.length)};
		});
		show();
	});
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
