# SPDX-License-Identifier: MIT
"""Pages of the documentation as text: headings, anchors and links, for tools/book and tests/check-links."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

# "uncore-stat(1)", in a man page "*uncore-stat*(1)".
MANUAL = re.compile(r"(?<![\w/.-])[*_]?((?:lib)?uncore(?:-[a-z]+)*)[*_]?\(([1-8])\)")
# In a man page, and in messages: "docs/guests.md".
DOCS = re.compile(r"(?<![a-z/.-])docs/[a-z0-9/-]+\.md")
# In a man page: "KERNEL BUGS in *uncore-data*(5)", "see EVENTS below".
SECTION = re.compile(r"\b([A-Z][A-Z]+(?:[ ,-]+[A-Z]+)*)\s+(?:in\s+\*([\w-]+)\*\((\d)\)|(?:below|above)\b)")
LINK = re.compile(r"\]\(([^)\s]*)\)|^\[[^\]]+\]:\s+(\S+)|<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]*)\"", re.M)
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2[^\S\n]*$", re.M | re.S)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.M)
TEMPLATES = (".github", ".gitlab")  # of issues and changes


def blank(found):
    """The same lines without text: the number of a line stays what it is."""
    return re.sub(r"[^\n]", " ", found.group())


def without_code(text):
    """Markdown without blocks of code, and without what is in backquotes."""
    return re.sub(r"`[^`\n]+`", blank, FENCE.sub(blank, text))


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def markdown(root):
    """Every page, also those of tests and templates; neither those of build directories nor of other projects."""
    for path in sorted(root.rglob("*.md")):
        top = path.relative_to(root).parts[0]
        if not (top.startswith("build") and top != "build.md") and (top[0] != "." or top in TEMPLATES) \
                and "node_modules" not in path.parts:
            yield path


def slug(heading):
    """The anchor of a heading, as the forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def unique(names):
    """Repeated anchors have numbers: a, a-1, a-2."""
    seen = {}
    for name in names:
        count = seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{count}" if count else name


def plain(heading):
    """A heading of Markdown without its markup."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")


def sections(text):
    """Headings of a man page."""
    return [heading.replace("\\", "") for heading in HEADING.findall(FENCE.sub(blank, text))]


def anchors(path):
    """The anchors of a page: as the forges make them, or as mandoc does."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".scd":
        return {heading.replace(" ", "_") for heading in sections(text)}
    return set(unique([slug(plain(heading)) for heading in HEADING.findall(FENCE.sub(blank, text))]))


def links(text):
    """[(line, target)] of Markdown."""
    shown = without_code(text)
    return [(line_of(text, found.start()), next(part for part in found.groups() if part is not None))
            for found in LINK.finditer(shown)]
