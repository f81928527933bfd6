#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore list --json` (standard input) must name every PMU, term and alias of a tree:
check-list.py TREE

Walks the tree by itself, so that neither the command nor the golden file can be wrong in the same
way. Names, texts, types, CPUs, units, scales and flags are compared; the bits of a term are worked
out here from its format text."""

import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "machines"))
import rows
import snapshot
from rows import check

WORDS = {"config": 0, "config1": 1, "config2": 2, "config3": 3}
METRIC = {"alternatives", "doubt", "evidence", "family", "formula", "kernel_bug", "kernel_note", "missing", "name", "title", "unit"}
SUFFIXES = (".scale", ".unit", ".per-pkg", ".snapshot")


def text_of(path):
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def files(directory):
    return {p.name: p for p in directory.iterdir()} if directory.is_dir() else {}


def bits_of(format_text):
    """(word, mask) of "config1:0-7,21"; a word alone means all of it."""
    name, _, ranges = format_text.partition(":")
    mask = 0
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        for bit in range(int(first), int(last or first) + 1):
            mask |= 1 << bit
    return WORDS[name], mask if ranges else (1 << 64) - 1


def cpus_of(text):
    cpus = []
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def online_of(tree):
    return cpus_of(text_of(tree / "sys/devices/system/cpu/online"))


def compare(where, what, theirs, ours):
    check(theirs == ours, f"{where}: {what} is {theirs!r}, and the tree has {ours!r}")


def names(where, what, listed, found):
    twice = {n for n in listed if listed.count(n) > 1}
    check(not twice, f"{where}: {what} listed twice: {sorted(twice)}")
    check(set(listed) == set(found), f"{where}: {what} differ: {set(listed) ^ set(found)}")


def check_terms(where, listed, found):
    listed = [t for t in listed if not t["values"]]  # those with names are the catalogue's
    names(where, "terms", [t["name"] for t in listed], list(found))
    for term in listed:
        text = text_of(found[term["name"]])
        word, mask = bits_of(text)
        at = f"{where} term {term['name']}"
        compare(at, "format", term["format"], text)
        compare(at, "word", term["word"], word)
        compare(at, "bits", int(term["bits"], 16), mask)


def check_events(where, listed, found):
    """The driver's; those that the catalogue names have evidence, and names that the driver does not use."""
    aliases = [n for n in found if not n.endswith(SUFFIXES)]
    ours = [e for e in listed if e["evidence"] is None]
    names(where, "events", [e["name"] for e in ours], aliases)
    names(where, "names", [e["name"] for e in listed], aliases + [e["name"] for e in listed if e not in ours])
    for event in ours:
        name = event["name"]
        scale = text_of(found[name + ".scale"]) if name + ".scale" in found else "1"
        unit = text_of(found[name + ".unit"]) if name + ".unit" in found else None
        at = f"{where} event {name}"
        compare(at, "terms", event["terms"], text_of(found[name]))
        compare(at, "unit", event["unit"], unit)
        compare(at, "scale", event["scale"], float(scale))
        compare(at, "per_package", event["per_package"], name + ".per-pkg" in found)
        compare(at, "snapshot", event["snapshot"], name + ".snapshot" in found)


def check_pmu(pmu, directory, online):
    where = pmu["name"]
    compare(where, "type", pmu["type"], int(text_of(directory / "type")))
    compare(where, "identifier", pmu["identifier"], text_of(directory / "identifier"))
    compare(where, "alias", pmu["alias"], text_of(directory / "alias"))
    compare(where, "associated_cpus", pmu["associated_cpus"], text_of(directory / "associated_cpus") or None)
    cpus = [text_of(directory / n) for n in ("cpumask", "cpus")]
    cpus = next((cpus_of(c) for c in cpus if c), None) or online
    compare(where, "cpus", pmu["cpus"], cpus)
    check_terms(where, pmu["terms"], files(directory / "format"))
    check_events(where, pmu["events"], files(directory / "events"))
    caps = {name: text_of(path) for name, path in files(directory / "caps").items()}
    compare(where, "caps", pmu["caps"], caps)


def check_device(tree, pmu):
    """One that counts itself, in files that are below a directory of its name."""
    where = pmu["name"]
    compare(where, "cpus", pmu["cpus"], [])
    check(pmu["family"] and pmu["events"], f"{where}: has no events")
    # A snapshot has no counts, and GPUs have no such directory.
    check(any("NVML" in e["where"] for e in pmu["events"]) or (tree / "sys/block" / where).is_dir() or
          any((tree / "sys/class").glob(f"*/{where}")), f"{where}: no such device")
    for event in pmu["events"]:
        at = f"{where} event {event['name']}"
        check(event["where"] and event["evidence"], f"{at}: {event}")


def check_metrics(metrics):
    """The data files' metrics: data tests have their values; here each has all that is promised."""
    for metric in metrics:
        where = f"metric {metric.get('name')}"
        check(set(metric) == METRIC, f"{where}: keys are {sorted(metric)}")
        for key in METRIC - {"missing", "kernel_bug", "kernel_note", "doubt", "alternatives"}:
            check(isinstance(metric[key], str) and metric[key], f"{where}: {key} is {metric[key]!r}")
        check(metric["missing"] is None, f"{where} is listed, and missing")


def check_tree(tree, listing):
    found = files(tree / "sys/bus/event_source/devices")
    online = online_of(tree)
    check(found, "the tree has no PMU: this test would test nothing")
    pmus = [p for p in listing["pmus"] if p["type"] is not None]
    names("the tree", "PMUs", [p["name"] for p in pmus], list(found))
    for pmu in pmus:
        check_pmu(pmu, found[pmu["name"]], online)
    for pmu in listing["pmus"]:
        if pmu not in pmus:
            check_device(tree, pmu)
    # Numbers in numeric order: uncore_imc_2 before uncore_imc_10.
    listed = [p["name"] for p in listing["pmus"]]
    key = lambda name: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", name)]
    check(listed == sorted(listed, key=key), f"not in order: {listed}")
    terms = sum(len(p["terms"]) for p in listing["pmus"])
    events = sum(len(p["events"]) for p in listing["pmus"])
    print(f"{len(listed)} PMUs, {terms} terms, {events} events")


def main():
    try:
        with snapshot.directory(sys.argv[1]) as tree:
            listing = rows.json_value(sys.stdin.read())
            compare("list", "schema", listing["schema"], rows.SCHEMA)
            compare("list", "simulated", listing["simulated"], False)
            check_tree(tree, listing)
            check_metrics(listing["metrics"])
            present = cpus_of(text_of(tree / "sys/devices/system/cpu/present"))
            compare("machine", "cpus", listing["machine"]["cpus"], len(present))
    except rows.Wrong as wrong:
        sys.exit(f"check-list {sys.argv[1]}: {wrong}")


if __name__ == "__main__":
    main()
