#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the vendors' names of events with those of perf: of all tables in the cache, and of the perf that is
installed, if it prints what names stand for (6.1 does). What differs must be in the table "Names of events" of
docs/judges.md, and each of its rows must be needed."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import judge
import machines
import pmu_events

CHUNK = 400  # events of one call of perf
SERVERS = [name for name, (_, _, *cpu) in machines.MODELS.items() if cpu]


def names_of_uncore(tree):
    """{PMU: {name: terms}}"""
    command = [judge.UNCORE, "--root", str(tree), "list", "events", "--all", "-j"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return {pmu["name"]: {e["name"].lower(): e["terms"] for e in pmu["events"]}
            for pmu in json.loads(done.stdout)["pmus"]}


def names_of_tables(model, pmus):
    """[(name, PMU, words)], None for words that the PMU cannot have."""
    for name, event in model.events.items():
        for pmu in pmus.values():
            if pmu_events.matches(pmu.name, event.unit):
                yield name, pmu, encode(pmu, event.terms)


def encode(pmu, terms):
    try:
        return pmu.encode(terms)
    except KeyError:
        return None


def names_of_perf(tree, cpu, names, pmus):
    """The same, as the installed perf resolves names."""
    family, model, stepping = cpu
    vendor = "GenuineIntel" if family == 6 else "AuthenticAMD"
    environment = dict(os.environ, LC_ALL="C", PERF_CONFIG="/dev/null", SYSFS_PATH=f"{tree}/sys",
                       PERF_CPUID=f"{vendor}-{family}-{model:X}-{stepping:X}")
    for start in range(0, len(names), CHUNK):
        done = subprocess.run(
            ["perf", "stat", "--all-user", "-vv", "-e", ",".join(names[start:start + CHUNK]), "true"],
            capture_output=True, text=True, env=environment, check=False, timeout=600)
        for name, pmu, terms in re.findall(r"^(\S+) -> (\w+)/(.*)/$", done.stderr, re.M):
            if pmu in pmus:
                yield name, pmus[pmu], encode(pmus[pmu], re.sub(r",?period=\w+", "", terms))


class Names:
    def __init__(self):
        self.rows, self.wrong = judge.table("Names of events", ("name", "models", "tables", "reason")), []

    def excused(self, name, model, version):
        for row in self.rows:
            if fnmatch.fnmatchcase(name, row["name"]) and model in row["models"] and version in row["tables"].split():
                row["used"] = True
                return True
        return False

    def compare(self, theirs, ours, model, version):
        """How many different names there are, and how many of them are here."""
        names, here = set(), set()
        for name, pmu, words in theirs:
            names.add(name)
            terms = ours.get(pmu.name, {}).get(name)
            mine = encode(pmu, terms) if terms is not None else None
            if terms is not None:
                here.add(name)
            if (terms is None or mine != words) and not self.excused(name, model, version):
                self.wrong.append(f"{model}: {version}: {pmu.name}/{name}/: {words}, here {mine} ({terms})")
        return len(names), len(here)


def main():
    names, sources = Names(), pmu_events.sources()
    installed = re.search(r"\d+\.\d+", subprocess.run(
        ["perf", "--version"], capture_output=True, text=True, check=False).stdout) if shutil.which("perf") else None
    with tempfile.TemporaryDirectory() as directory:
        trees = machines.make(directory)
        for name in SERVERS:
            table, _, *cpu = machines.MODELS[name]
            pmus, ours, said = machines.pmus(trees[name]), names_of_uncore(trees[name]), []
            for source in sources:
                if not (source.directory / "arch/x86" / table).is_dir():
                    continue
                model = source.model(table)
                total, here = names.compare(names_of_tables(model, pmus), ours, name, source.version)
                said.append(f"tables of {source.version}: {here} of {total}, {len(model.events) - total} of PMUs "
                            "that this machine lacks")
                if installed and source.version == installed[0]:
                    found = list(names_of_perf(trees[name], cpu, list(model.events), pmus))
                    total, here = names.compare(found, ours, name, source.version)
                    said.append(f"perf {installed[0]}: {here} of {total}")
            print(f"{name}: {'; '.join(said)}")
    names.wrong += [f"nothing differs by this: {row['line']}" for row in names.rows if "used" not in row]
    if names.wrong:
        sys.exit("\n".join(names.wrong))


if __name__ == "__main__":
    main()
