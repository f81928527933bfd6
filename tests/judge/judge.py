#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares uncore's metrics with what the formulas of perf, PCM and LIKWID make of the same counts.

  judge.py [MODEL...]   compares, by the tables of docs/judges.md, on all of machines.MODELS or on some
  judge.py --write      writes the table of formulas at the end of docs/judges.md

Every counter of a simulated machine gets a random rate. perf's formulas are those of the newest
Linux in the cache (tests/judge/prepare), as its own scripts read them. Time is an interval of SECONDS:
not 1, so that a formula without time in it gives another number."""

import fnmatch
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import machines

sys.path.insert(0, str(machines.ROOT / "tools"))
import pmu_events  # noqa: E402

UNCORE = os.environ.get("UNCORE", str(machines.ROOT / "build/uncore"))
PAGE = machines.ROOT / "docs/judges.md"
SECONDS = 2
# What perf reads of the machine. Parts with cores that are off have more boxes than cores: perf
# divides by cores in some places.
LITERALS = {"num_packages": 1, "num_cores": 3, "num_cpus": 4, "num_dies": 1, "has_pmem": 1}


class Unknown(Exception):
    """The formula has something that is no count of an uncore PMU of this machine."""


# ---- the same counts for all ----


def stat(*args):
    """Rows of all metrics; not every machine has a matrix."""
    for metrics in ("*,matrix.*", "*"):
        command = [UNCORE, *args[:2], "stat", "-j", "-M", metrics, *args[2:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode == 0:
            return [json.loads(line) for line in done.stdout.splitlines()]
    raise SystemExit(f"{command}: {done.returncode}: {done.stderr}")


class World:
    """A machine whose counters have rates. A mask of parts counts the sum of the parts."""

    PARTS = {"uncore_iio": "ch_mask", "amd_l3": "umask", "amd_umc": "rdwrmask"}
    # Linux (commit 496a18f09374): the driver of Ice Lake has three channels of each controller, of which the hardware has two;
    # the third reads 0.
    ABSENT = {"icx": re.compile(r"uncore_imc_(2|5|8|11)$")}

    def __init__(self, tree):
        self.tree, self.pmus, self.rates = tree, machines.pmus(tree), {}
        for row in stat("--root", str(tree), "--dry-run"):
            if row["kind"] == "counter":
                self.rate(row["pmu"], tuple(int(word, 16) for word in row["config"]))

    def absent(self, pmu):
        return self.tree.name in self.ABSENT and self.ABSENT[self.tree.name].match(pmu)

    def rate(self, pmu, words):
        """In counts a second, of one CPU."""
        if (pmu, words) not in self.rates:
            seeds = [(pmu, words)]
            term = next((t for p, t in self.PARTS.items() if pmu.startswith(p)), None)
            # What devices count themselves is not in /sys/bus/event_source.
            if pmu in self.pmus and term in self.pmus[pmu].formats:
                word, mask = self.pmus[pmu].formats[term]
                parts = [bit for bit in mask if words[word] >> bit & 1]
                if term == "rdwrmask":  # none: all
                    parts = parts or list(mask)
                rest = list(words)
                rest[word] &= ~sum(1 << bit for bit in mask)
                seeds = [(pmu, rest, bit) for bit in parts] or seeds
            self.rates[pmu, words] = 0 if self.absent(pmu) else sum(random.Random(repr(seed)).randrange(10**6, 10**9) for seed in seeds)
        return self.rates[pmu, words]

    def values(self, directory):
        """{metric: value}, by uncore, with the rates given so far."""
        lines = ["sim: judge", f"machine: {self.tree}", "rates:"]
        for (pmu, words), rate in self.rates.items():
            text = ",".join(f"config{i or ''}={w:#x}" for i, w in enumerate(words) if w or not i)
            lines.append(f'  - {{pmu: {pmu}, event: "{text}", constant: {rate}}}')
        file = pathlib.Path(directory, f"{self.tree.name}.yaml")
        file.write_text("\n".join(lines) + "\n", encoding="ascii")
        rows = stat("--source", f"sim:{file},step={SECONDS}s", "--timeout", str(SECONDS))
        # A name of several families: the first of them.
        return {row["name"]: row["value"] for row in reversed(rows) if row["value"] is not None}


class Sum(float):
    """A count added up, which knows over how many counters."""

    def __new__(cls, value, sources):
        self = super().__new__(cls, value)
        self.sources = sources
        return self


# ---- perf's formulas ----

TOKEN = re.compile(r"\s*(?P<number>\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])|\.\d+)|\s*(?P<name>#?[A-Za-z_](?:[\w.:]|\\.)*)"
                   r"(?P<terms>@[^@]*@)?|\s*(?P<sign>.)", re.S)
WORDS = {"if", "else", "min", "max", "d_ratio", "source_count", "aggr_nr", "has_event", "NaN", "duration_time"}
SCALE = re.compile(r"([\d.]+(?:e[-+]?\d+)?)?(.*)")
UNITS = {"MB/s": 1e6, "GB/s": 1e9, "MiB": 2**20, "MB": 1e6, "KB": 1024, "%": 1e-2, "ns": 1e-9, "GHz": 1e9}


class Evaluator:
    """Formulas of a model of perf's on a world."""

    def __init__(self, model, world):
        self.model, self.world, self.used = model, world, False

    def counters(self, name, terms):
        """[(PMU, words)] of an event, or of terms behind the name of a PMU."""
        event, extra = self.model.events.get(name.lower()), terms.split(",") if terms else []
        if not event and extra and extra[0].lower() in self.model.events:
            text, extra = self.model.events[extra[0].lower()].terms, extra[1:]
        elif not event and not terms:
            raise Unknown(name)
        else:
            text = event.terms if event else ""
        unit = event.unit if event else name
        chosen = [p for pmu, p in self.world.pmus.items() if pmu_events.matches(pmu, unit)]
        if not chosen:
            raise Unknown(f"no PMU {unit}")
        try:
            return [(p, p.encode(",".join([t for t in [text, *extra] if t]))) for p in chosen]
        except KeyError as key:
            raise Unknown(f"{unit} has no term {key}") from None

    def count(self, name, terms):
        self.used = True
        counters = self.counters(name, terms)
        total = sum(self.world.rate(p.name, words) * p.cpus for p, words in counters)
        return Sum(total * SECONDS, sum(p.cpus for p, _ in counters))

    def python(self, match):
        name, terms = (re.sub(r"\\(.)", r"\1", t or "") for t in (match["name"], match["terms"]))
        if name.startswith("#"):
            return repr(LITERALS[name[1:]]) if name[1:] in LITERALS else "unknown"
        if name in WORDS and not terms:
            return f" {name} "
        if not terms and name in self.model.metrics and name.lower() not in self.model.events:
            return f"M({name!r})"
        return f"V({name!r}, {terms.strip('@')!r})"

    def value(self, formula):
        """NaN for a division by zero."""
        text = "".join(self.python(m) if m["name"] else m["number"] or m["sign"]
                       for m in TOKEN.finditer(formula.strip()))
        scope = {"V": self.count, "M": lambda name: self.value(self.model.metrics[name].formula),
                 "d_ratio": lambda a, b: a / b if b else 0, "min": min, "max": max, "has_event": lambda v: True,
                 "source_count": lambda v: v.sources, "aggr_nr": lambda v: v.sources, "NaN": math.nan,
                 "duration_time": SECONDS, "__builtins__": {}}
        try:
            return eval(text, scope)  # of Linux and of this repository
        except ZeroDivisionError:
            return math.nan
        except NameError as name:
            raise Unknown(str(name)) from None

    def metric(self, name):
        """In base units; None when it counts nothing of an uncore PMU. Events of cores: Unknown."""
        self.used, metric = False, self.model.metrics[name]
        value = self.value(metric.formula)
        number, unit = SCALE.fullmatch(metric.scale).groups()
        return value * float(number or 1) * UNITS.get(unit, 1) if self.used else None


# ---- the tables ----


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def table(heading, columns):
    """Rows of the first table below a heading."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines():
        if line.startswith("| ") and not line.startswith(f"| {columns[0]} |"):
            row = dict(zip(columns, cells(line.replace("`", ""))))
            found.append(row | {"line": line, "models": row["models"].split()})
    return found


def ours(text, values):
    """An expression over uncore's metrics; None when one of them has no value."""
    missing = []

    def name(match):
        if match[0] == "seconds":
            return str(SECONDS)
        if match[0] not in values:
            missing.append(match[0])
        return repr(values.get(match[0], math.nan))

    value = eval(re.sub(r"(?<![\w.])[a-z]\w*(?:\.\w+)*(?![\w.(])", name, text), {"__builtins__": {}, "nan": math.nan, "max": max})
    return None if missing else value


def verdict(theirs, text, values, reason):
    """What is wrong with a row on a model, or None."""
    if text == "-":
        return None if reason else "there is no reason why uncore has nothing"
    mine = ours(text, values)
    if mine is None:
        return f"uncore gives no value of {text}"
    if math.isclose(mine, theirs, rel_tol=1e-9):
        return "both are the same, and a reason is given why not" if reason else None
    return None if reason else f"{text} is {mine}, and theirs {theirs}"


class Judge:
    def __init__(self, name, tree, source):
        self.name, self.world = name, World(tree)
        self.model = source.model(machines.MODELS[name][0])
        self.evaluator = Evaluator(self.model, self.world)
        self.perf, self.wrong = {}, []
        for metric in self.model.metrics:
            try:
                value = self.evaluator.metric(metric)
            except Unknown:
                continue  # of cores too, or of a PMU that this machine lacks
            if value is not None:
                self.perf[metric] = value

    def compare(self, rows, others, directory):
        theirs = []
        for row in others:
            if self.name in row["models"]:
                try:
                    theirs.append((row, self.evaluator.value(row["formula"])))
                except Unknown as why:
                    self.complain(row, f"unknown: {why}")
        values = self.world.values(directory)
        for row in rows:  # the first one that fits a metric
            for metric in fnmatch.filter(list(self.perf), row["metric"]):
                if self.name in row["models"] or row["models"] == ["all"]:
                    theirs.append((row, self.perf.pop(metric)))
        for row, value in theirs:
            row["used"] = True
            self.complain(row, verdict(value, row["uncore"], values, row["reason"]))
        return len(theirs)

    def complain(self, row, why):
        if why:
            self.wrong.append(f"{self.name}: {row['metric']}: {why}")


# ---- formulas, for people ----


def shortened(formula):
    """a_0 + a_1 + a_2 as a_0 + ... + a_2"""
    return re.sub(r"(\w*?)(\d+)( \+ \1\d+)+ \+ (\1\d+)", r"\1\2 + ... + \4", formula)


def formulas(judges, rows):
    """The generated table: perf's formulas of what uncore has, by groups of models."""
    groups, missing = {}, [row["metric"] for row in rows if row["uncore"] == "-" and row["models"] == ["all"]]
    for judge in judges:
        for metric in judge.perf:
            if any(fnmatch.fnmatch(metric, pattern) for pattern in missing) and not metric.endswith(".all"):
                continue
            text = shortened(judge.model.metrics[metric].formula)
            scale = judge.model.metrics[metric].scale
            groups.setdefault((metric, text, scale), []).append(judge.name)
    lines = ["| perf's metric | models | formula | unit |", "|---|---|---|---|"]
    for (metric, text, scale), names in sorted(groups.items()):
        text = text.replace("\\", "").replace("|", "\\|")
        lines.append(f"| {metric} | {' '.join(names)} | `{text}` | {scale} |")
    return "\n".join(lines) + "\n"


def main():
    source, names = pmu_events.sources()[-1], [a for a in sys.argv[1:] if a != "--write"] or list(machines.MODELS)
    marker = f"\n## perf's formulas\n\nOf Linux {source.version}; `tests/judge/judge.py --write` writes this table.\n\n"
    page = PAGE.read_text(encoding="utf-8")
    rows = table("perf", ("metric", "models", "uncore", "reason"))
    others = table("PCM and LIKWID", ("metric", "models", "formula", "uncore", "reason"))
    wrong, compared = [], 0
    with tempfile.TemporaryDirectory() as directory:
        trees = machines.make(directory)
        judges = [Judge(name, trees[name], source) for name in names]
        text = formulas(judges, rows)
        if "--write" in sys.argv:
            PAGE.write_text(page.split("\n## perf's formulas\n")[0] + marker + text, encoding="utf-8")
            return
        for judge in judges:
            compared += judge.compare(rows, others, directory)
            wrong += judge.wrong + [f"{judge.name}: perf's {m} is in no row" for m in judge.perf]
    if len(names) == len(machines.MODELS):
        wrong += [f"no model has this: {row['line']}" for row in rows + others if "used" not in row]
        if marker in page and not page.endswith(marker + text):
            wrong.append("the formulas in docs/judges.md are not those of the table: run judge.py --write")
    print(f"{compared} values of Linux {source.version}'s, PCM's and LIKWID's formulas compared on {len(names)} models")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
