#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command of the kernel's nvidia-tegra410-pmu.rst, as it stands: perf runs it around uncore with the
same arguments, around one step of the traffic, and both must have counted what the traffic gave."""

import pathlib
import shlex

import rig
import truth

EXAMPLES = pathlib.Path(__file__).parents[2] / "cli" / "t410-examples.txt"
TICKS = 100003
PAUSES = (0, 0.5, 2)  # seconds after a step
COMMANDS = 20


def examples():
    """[(command, [(PMU, configuration words)])] of the file."""
    found = []
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            pmu, *words = line.split()
            found[-1][1].append((pmu, [int(word, 0) for word in words] + [0]))
        elif not line.startswith("#"):
            found.append((line, []))
    return found


def count(command):
    """([perf's counts], [uncore's rows]) of one step. The outputs are made readable by -j -o."""
    program, stat, *arguments = shlex.split(command)
    if (program, stat) != ("perf", "stat"):
        raise ValueError(command)
    argv = []
    for who in ("perf", "uncore"):
        argv += [who, "stat", "-j", "-o", f"/tmp/example-{who}", *arguments, "--"]
    for pause in PAUSES:  # beside a short step the start of the counters may take so long that it shows
        rig.run([*argv, "sh", "-c", f"traffic step {TICKS}; sleep {pause}"])
        rows = rig.uncore_rows("/tmp/example-uncore")
        if all(row["quality"] != "partial" for row in rows):
            break
    return rig.perf_counts("/tmp/example-perf"), rows


def judge(model, counters, counts, rows):
    """[(what, perf, uncore, truth, verdict)] of each counter."""
    results = []
    for i, (pmu, words) in enumerate(counters):
        expected = TICKS * model.weight(pmu, words, rig.Pmu(rig.DEVICES / pmu).cpus[0])
        theirs, ours = counts[i], rows[i]
        verdict = "exact"
        if theirs.value != expected or theirs.share != 100:
            verdict = "perf differs"
        if ours["count"] != expected or ours["quality"] != "measured":
            verdict = "uncore differs" if verdict == "exact" else "all differ"
        results.append((ours["name"], theirs.value, ours["value"], expected, verdict))
    return results


def test(model, command, counters):
    """One command."""
    absent = sorted({pmu for pmu, _ in counters if not (rig.DEVICES / pmu).exists()})
    if absent and rig.SOCKETS == 1 and all("_pmu_1" in pmu for pmu in absent):
        rig.skip(command, "it is about socket 1, and there is one socket")
        return
    if not rig.ok(not absent, f"{command}: its PMUs are here", absent):
        return
    try:
        counts, rows = count(command)
    except rig.Failed as e:
        rig.ok(False, command, e)
        return
    if len(counts) != len(counters) or len(rows) != len(counters):
        rig.ok(False, command, f"{counts} {rows}")
        return
    results = judge(model, counters, counts, rows)
    for (name, theirs, ours, expected, verdict), (pmu, _) in zip(results, counters):
        rig.record(pmu, f"document: {name}", theirs, ours, expected, verdict)
    rig.ok(all(r[4] == "exact" and r[3] > 0 for r in results), command, results)


def main():
    """All of them."""
    if rig.MODEL != "t410":
        rig.skip("the document's commands", "they are for the Tegra410")
        rig.done()
    model = truth.model(rig.MODEL)
    rig.traffic("rate", 0)
    found = examples()
    rig.ok(len(found) == COMMANDS, f"the document has {COMMANDS} commands", len(found))
    for command, counters in found:
        test(model, command, counters)
    rig.done()


main()
