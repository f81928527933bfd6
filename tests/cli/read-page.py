#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read-page PAGE DRAWN: the data of a page of --html, and what there is in it, as JSON; fails when the page, or what its
script drew, has an element or attribute that could load or run something, or elements that are not closed."""

import html.parser
import json
import pathlib
import re
import sys

ELEMENTS = set("html meta main title style script noscript h1 h2 p dl dt dd div table caption tr th td small span b svg "
               "path text rect g section details summary ul li br wbr code button tspan".split())
ATTRIBUTES = set("lang charset name content http-equiv class id type tabindex hidden role aria-roledescription aria-label aria-live aria-hidden "
                 "height width viewbox transform d x y fill stroke text-anchor visibility data-place aria-pressed rx".split())
OPEN = {"html", "meta", "main", "br", "wbr"}  # without an end
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


class Page(html.parser.HTMLParser):
    """Elements as (name, attributes, text)."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inside = [], []
        self.feed(text)
        self.close()
        assert not self.inside, f"not closed: {self.inside}"

    def handle_starttag(self, tag, attrs):
        assert tag in ELEMENTS, f"<{tag}>"
        for name, value in attrs:
            assert name in ATTRIBUTES, f"<{tag} {name}={value!r}>"
        self.elements.append([tag, dict(attrs), ""])
        if tag not in OPEN:
            self.inside.append(self.elements[-1])

    def handle_endtag(self, tag):
        assert self.inside.pop()[0] == tag, f"</{tag}>"

    def handle_data(self, data):
        if self.inside:
            self.inside[-1][2] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    def texts(self, tag, **attributes):
        return [text for name, attrs, text in self.elements
                if name == tag and attributes.items() <= {"class": None, **attrs}.items()]


def main():
    source = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    page = Page(source)
    drawn = Page(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    assert any(attrs.get("content") == POLICY for tag, attrs, _ in page.elements if tag == "meta")
    assert len(page.texts("script", **{"class": None})) == 1
    code = page.texts("script", **{"class": None})[0] + page.texts("style")[0]
    assert not re.search(r"https?:|url\(|@import|fetch|XMLHttpRequest|WebSocket|eval\(", code)
    windows = [json.loads(text) for text in page.texts("script", **{"class": "window"})]
    numbers = page.texts("td", **{"class": "number"})
    if any(row["event"] for row in windows[0]["rows"]):
        numbers = []  # two columns
    print(json.dumps({
        "windows": windows,
        "about": json.loads(page.texts("script", **{"class": "about"})[0]),
        "facts": dict(zip(page.texts("dt"), page.texts("dd"))),
        "cells": [text.strip() for text in numbers],
        "drawn": {"h2": len(drawn.texts("h2")), "histograms": len(drawn.texts("svg", **{"class": "histogram"})), "svg": len(drawn.texts("svg")) - sum(len(drawn.texts("svg", **{"class": name})) for name in ("swatch", "area", "map")),
                  "places": len([1 for name, attrs, _ in drawn.elements if name == "g" and "data-place" in attrs]),
                  "lines": len(drawn.texts("path", **{"class": "value"}) + drawn.texts("path", **{"class": "value rest"})),
                  "cells": drawn.texts("td", **{"class": "total"})},
    }))


if __name__ == "__main__":
    main()
