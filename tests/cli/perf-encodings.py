#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the type and configuration words of events with those that perf would open.

  perf-encodings.py able DIR                 exit status 77, and why, when perf cannot judge here
  perf-encodings.py aliases DIR [PERF_DIR]   every alias of every PMU
  perf-encodings.py more DIR [PERF_DIR]      every alias with terms that it does not set
  perf-encodings.py random DIR [PERF_DIR]    lists of terms, hundreds for each set of formats

DIR has a tree for each machine. With PERF_DIR, perf reads its trees from there.

`perf stat -vv` prints the perf_event_attr of every event before the kernel refuses it, which it
must for each: so a tree has type numbers that no kernel has. Left out is what perfs do differently:
a term beside an alias that sets it (6.1 adds up the bits of both, later ones and uncore replace), an
event whose name 6.1 takes for a raw code (imx8_ddr0/read/: 0xead), and config3 (6.1 has none)."""

import collections
import os
import pathlib
import random
import re
import subprocess
import sys

import rows
from rows import check

UNCORE = os.environ.get("UNCORE_PLAIN", os.environ["UNCORE"])  # thousands of events, in copies of trees
WORDS = ("config", "config1", "config2")
SEED = 20
LISTS = 200  # random ones for each set of formats
CHUNK = 400  # events of one call; an argument of 128 KiB or more cannot be passed
SHOWN = 10  # differences in a message

RECORD = re.compile(
    r"^perf_event_attr:\n(?P<attr>(?:  .*\n)+)-+\n"
    r"sys_perf_event_open: .*\nsys_perf_event_open failed, error -2\n"
    r"Warning:\n(?P<label>e\d+) event is not supported",
    re.M,
)
# Lines among and within the records: retries of 6.1; 6.12 looks for the names of configurations.
NOISE = re.compile("^(Attempting|After|Required parameter|unknown term).*\n", re.M)
FAILED = "sys_perf_event_open failed, error "
RAW = re.compile("r[0-9a-f]+")
TYPE = re.compile(r"^  type +(\d+)", re.M)


# ---- what a tree has ----


def read_format(text):
    """("config1", set of bits) of a format file."""
    word, _, ranges = text.partition(":")
    bits = set()
    for piece in (ranges or "0-63").split(","):
        first, _, last = piece.partition("-")
        bits.update(range(int(first), int(last or first) + 1))
    return word, bits


class Pmu:
    def __init__(self, directory):
        self.name = directory.name
        self.terms = {
            name: read_format(text)
            for name, text in self.read_all(directory / "format").items()
            if not text.startswith("config3")
        }
        events = self.read_all(directory / "events")
        self.aliases = {
            name: text
            for name, text in events.items()
            if "." not in name and not RAW.fullmatch(name)
        }

    @staticmethod
    def read_all(directory):
        files = sorted(directory.iterdir()) if directory.is_dir() else []
        return {file.name: file.read_text(encoding="ascii").strip() for file in files}

    def bits_of(self, name):
        """The (word, bit) pairs that a name in an alias sets."""
        word, bits = (name, range(64)) if name in WORDS else self.terms[name]
        return {(word, bit) for bit in bits}

    def event(self, items):
        return f"{self.name}/{','.join(items)}/"


# Memory channels that no Ice Lake server has, though the driver registers them: uncore refuses them by name.
ABSENT = re.compile(r"intel-icx.*/uncore_imc_(2|5|8|11)$")


def pmus(tree):
    devices = pathlib.Path(tree, "sys/bus/event_source/devices")
    return [Pmu(directory) for directory in sorted(devices.iterdir()) if not ABSENT.search(str(directory))]


def trees(directory):
    return sorted(path for path in pathlib.Path(directory).iterdir() if path.is_dir())


# ---- events to compare ----


def number(rng, width):
    """A value of `width` bits as text: one in five times the least or the largest."""
    value = rng.choice([0, 2**width - 1]) if rng.random() < 0.2 else rng.getrandbits(width)
    return rng.choice(["{:d}", "{:#x}", "0x{:X}"]).format(value)


def with_value(rng, pmu, name):
    return f"{name}={number(rng, len(pmu.terms[name][1]))}"


def alias_items(rng, pmu, name):
    """An alias, with a value for each of its placeholders."""
    given = [term.partition("=") for term in pmu.aliases[name].split(",")]
    return [name] + [with_value(rng, pmu, term) for term, _, value in given if value == "?"]


def aliases(tree):
    rng = random.Random(SEED)
    return [p.event(alias_items(rng, p, alias)) for p in pmus(tree) for alias in p.aliases]


def free_terms(pmu, alias):
    """Terms that share no bit with those of an alias."""
    names = [term.partition("=")[0] for term in pmu.aliases[alias].split(",")]
    taken = set().union(*map(pmu.bits_of, names))
    return [name for name in pmu.terms if not taken & pmu.bits_of(name)]


def more(tree):
    rng = random.Random(SEED)
    events = []
    for pmu in pmus(tree):
        for alias in pmu.aliases:
            free = free_terms(pmu, alias)
            chosen = rng.sample(free, min(len(free), rng.randint(1, 3)))
            items = alias_items(rng, pmu, alias) + [with_value(rng, pmu, t) for t in chosen]
            rng.shuffle(items)
            if chosen:
                events.append(pmu.event(items))
    return events


def random_item(rng, pmu, name):
    """Mostly term=value. A term of one bit may go without, unless an event has its name. (With a
    wider one, perf 6.1 takes uncore_imc_1 for all of uncore_imc_1*.)"""
    if len(pmu.terms[name][1]) == 1 and name not in pmu.aliases and rng.random() < 0.3:
        return name
    return with_value(rng, pmu, name)


def random_event(rng, pmu):
    """Terms in any order, some over whole words."""
    chosen = rng.sample(sorted(pmu.terms), rng.randint(1, min(6, len(pmu.terms))))
    items = [random_item(rng, pmu, name) for name in chosen]
    items += [f"{word}={number(rng, 64)}" for word in WORDS if rng.random() < 0.1]
    rng.shuffle(items)
    return pmu.event(items)


def random_lists(tree):
    """The PMUs that have the same formats take turns."""
    kinds = {}
    for pmu in pmus(tree):
        if pmu.terms:
            kinds.setdefault(str(pmu.terms), []).append(pmu)
    rng = random.Random(SEED)
    return [random_event(rng, alike[i % len(alike)])
            for alike in kinds.values() for i in range(LISTS)]


# ---- the two encoders: of {label: event} they make {label: (type, words)} ----


def labelled(events):
    return ",".join(f"{event[:-1]},name={label}/" for label, event in events.items())


def put(encodings, label, encoding):
    """A label comes once for each CPU; all must be the same."""
    known = encodings.setdefault(label, encoding)
    check(known == encoding, f"{label} is both {known} and {encoding}")


def ask_uncore(tree, events):
    run = subprocess.run(
        [UNCORE, "--root", tree, "--data", os.environ["NO_RULES"],
         "stat", "--dry-run", "-j", "-e", labelled(events)],
        capture_output=True, text=True, check=False, timeout=120,
    )
    check(run.returncode == 0, f"{tree}: uncore exits with {run.returncode}: {run.stderr[:4000]}")
    encodings = {}
    for row in rows.json_lines(run.stdout):
        words = tuple(int(word, 16) for word in row["config"])
        check(words[3] == 0, f"config3 is set: {row}")
        put(encodings, row["event"].rpartition("name=")[2], (row["type"], words[:3]))
    return encodings


def attr_word(attr, word):
    found = re.search(rf"\b{word}(?: \}})? +(0x[0-9a-f]+|\d+)", attr)
    return int(found.group(1), 0) if found else 0  # perf leaves out what is 0


def run_perf(tree, events):
    """What perf says. It ends well or not: that depends on its version."""
    # Of user space only: else perf needs a permission, and complains instead.
    run = subprocess.run(
        ["perf", "stat", "--all-user", "-vv", "-e", labelled(events), "true"],
        env=dict(
            os.environ, LC_ALL="C", PERF_CONFIG="/dev/null", SYSFS_PATH=f"{tree}/sys",
            PERF_CPUID="none-0-0-0",  # no events of perf's own: only what the tree names
        ),
        capture_output=True, text=True, check=False, timeout=120,
    )
    return NOISE.sub("", run.stderr)


def ask_perf(tree, events):
    said, encodings = run_perf(tree, events), {}
    for record in RECORD.finditer(said):
        attr = record["attr"]
        words = tuple(attr_word(attr, word) for word in WORDS)
        put(encodings, record["label"], (int(TYPE.search(attr).group(1)), words))
    check(encodings, f"{tree}: perf shows nothing: {said[:2000]}")
    return encodings


def ask(encoder, tree, events):
    labels, encodings = list(events), {}
    for start in range(0, len(labels), CHUNK):
        chunk = {label: events[label] for label in labels[start:start + CHUNK]}
        encodings.update(encoder(tree, chunk))
    return encodings


# ---- comparison ----


def apart(events, encodings):
    """Piles in which no two events are encoded alike: uncore opens those once, under one label."""
    piles, seen = [], collections.Counter()
    for label, event in events.items():
        encoding = encodings.get(label)
        if seen[encoding] == len(piles):
            piles.append({})
        piles[seen[encoding]][label] = event
        seen[encoding] += 1
    return piles


def in_words(encoding):
    if encoding is None:
        return "nothing"
    number_of_type, words = encoding
    return f"type {number_of_type}, {' '.join(map(hex, words))}"


def differences(tree, perf_tree, events):
    theirs = ask(ask_perf, perf_tree, events)
    ours = {}
    for pile in apart(events, theirs):
        ours.update(ask(ask_uncore, tree, pile))
    for label, event in events.items():
        a, b = ours.get(label), theirs.get(label)
        if a is None or a != b:
            yield f"{tree.name}: {event}\n  uncore: {in_words(a)}\n  perf:   {in_words(b)}"


def compare(make, directory, perf_directory):
    total, found = 0, []
    for perf_tree in trees(perf_directory):
        tree = pathlib.Path(directory, perf_tree.name)
        events = {f"e{i}": event for i, event in enumerate(dict.fromkeys(make(tree)))}
        found += differences(tree, perf_tree, events)
        total += len(events)
        print(f"{tree.name}: {len(events)} events")
    check(total, f"{perf_directory}: nothing to compare")
    print(f"total: {total} events")
    summary = f"{len(found)} of {total} events are encoded differently:"
    check(not found, "\n".join([summary, *found[:SHOWN]]))


def able(directory):
    """The kernel must say "no such PMU", not "no permission"."""
    tree = trees(directory)[0]
    said = run_perf(tree, {"e0": random_lists(tree)[0]})
    if f"{FAILED}-2\n" in said:
        return
    number = re.search(f"{FAILED}-(\\d+)", said)
    if not number:
        print(f"this perf shows no perf_event_attr: {' '.join(said.split())[:200]}")
    else:
        print(f"the kernel refuses perf: {os.strerror(int(number.group(1)))}")
    sys.exit(77)


def main():
    makers = {"aliases": aliases, "more": more, "random": random_lists}
    command, *args = sys.argv[1:]
    try:
        if command == "able":
            able(args[0])
            return
        compare(makers[command], args[0], args[-1])
    except rows.Wrong as wrong:
        sys.exit(f"perf-encodings {command}: {wrong}")


if __name__ == "__main__":
    main()
