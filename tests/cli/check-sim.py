#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulated results must be what the rates in data/sim say.

  check-sim.py MACHINE         counts every event and every metric for some seconds and compares
  check-sim.py MACHINE FILE... compares the metrics in a .jsonl or .csv, one second per interval

MACHINE is one that is built in, `all` of these, or the path of a simulation's file; or a directory
of such files.

The counts are worked out by simulation.py, the formulas of formulas_*.py are written by hand."""

import functools
import os
import pathlib
import re
import subprocess
import sys

import formulas_amd
import formulas_intel
import formulas_nvidia
import formulas_other
import rows
from rows import check
from simulation import Simulation, rate_of, wave_of

ROOT = pathlib.Path(os.environ["UNCORE_SOURCE_ROOT"])
FORMULAS = {
    **formulas_nvidia.FORMULAS,
    **formulas_intel.FORMULAS,
    **formulas_amd.FORMULAS,
    **formulas_other.FORMULAS,
}


def name_of(machine):
    return pathlib.Path(machine).stem


@functools.cache
def load(machine):
    path = machine if machine.endswith(".yaml") else ROOT / f"data/sim/{machine}.yaml"
    return Simulation(path)


def near(a, b):
    # Phases are cut to whole nanoseconds.
    return abs(a - b) <= 1e-7 * abs(b)


def key_of(row, formulas):
    """A name that several families have stands behind that of its family: other events, other ends."""
    own = f"{row['family']}/{row['name']}"
    return own if own in formulas else row["name"]


def kind_of(name):
    return name.split("/")[-1].split(".")[0]


def check_metric(simulation, machine, row, begin, end):
    formulas, pmu = FORMULAS[name_of(machine)], row["pmu"]  # "" or None: the row is of several
    socket = row["socket"] if row["level"] == "socket" else None

    def counted(name, event, cpu=0):
        if pmu and (pmu != name or int(row["cpu"]) != cpu):
            return 0.0
        # Only Tegra410 has two sockets: the first number in the PMU's name.
        if socket is not None and name.startswith("nvidia") and int(re.search(r"\d+", name)[0]) != int(socket):
            return 0.0
        since = [int(simulation.counts(name, event, cpu, t)) for t in (begin, end)]
        return (since[1] - since[0]) / (end - begin)

    name, value = key_of(row, formulas), row["value"]
    when = f"{name} from {begin} to {end} s"
    check(name in formulas, f"no formula for {name} in this test")
    try:
        expected = formulas[name](counted)
    except ZeroDivisionError:  # nothing happened: there is no mean of nothing
        check(value in (None, ""), f"{when}: {value} out of nothing")
        check(row["quality"] == "unavailable", f"{when}: no value, and {row['quality']}")
        return
    quality = "measured" if float(row["coverage"]) == 1 else "scaled"
    doubted = hasattr(formulas[name], "doubted")
    # What may be clocks or nanoseconds is withheld from 150 on, and from 200 on of other nodes.
    if doubted and name_of(machine) == "zen4" and row["unit"] == "s":
        limit = 200e-9 if "remote" in name else 150e-9
        withheld = expected >= limit
        check((row["quality"] == "unavailable") == withheld and bool(row["reason"]) == withheld, f"{when}: {expected}", row)
        check(withheld == (value in (None, "")), f"{when}: {value}")
        return
    quality = "suspect" if doubted else quality
    check(row["quality"] == quality and bool(row["reason"]) == doubted, f"{when}: not {quality}:", row)
    check(value not in (None, ""), f"{when}: nothing, and not {expected}")
    check(near(float(value), expected), f"{when}: {value}, and not {expected}")


def check_rows(machine, found, wanted):
    """Every row is right, and each of the wanted names has one."""
    simulation = load(machine)
    for row in found:
        end = float(row["time"])
        begin = end - float(row["interval"])
        check(begin == int(begin) and end == int(end), "not in steps of a second:", row)
        check_metric(simulation, machine, row, begin, end)
    seen = {key_of(row, FORMULAS[name_of(machine)]) for row in found}
    check(seen == wanted, f"metrics without a row, or more: {seen ^ wanted}")


def check_file(machine, path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    found = rows.csv_rows(text) if path.endswith(".csv") else rows.json_rows(text)
    kinds = {kind_of(row["name"]) for row in found}
    formulas = FORMULAS[name_of(machine)]
    check_rows(machine, found, {name for name in formulas if kind_of(name) in kinds})
    print(f"{path}: {len(found)} values are right")


def count(machine, seconds, *args):
    """Rows of so many seconds."""
    command = [os.environ["UNCORE"], "--source", f"sim:{machine},step=1s", "stat", "-I", "1ms"]
    command += ["--interval-count", str(seconds), *([] if "--csv" in args else ["-j"]), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    return rows.csv_rows(done.stdout) if "--csv" in args else rows.json_rows(done.stdout)


def check_metrics(machine, seconds=2):
    """All of the machine's, summed and one by one."""
    formulas = FORMULAS[name_of(machine)]
    matrix = any(name.startswith("matrix.") for name in formulas)
    for args in ([], ["--no-merge"], ["--no-merge", "--csv"]):
        found = count(machine, seconds, "-M", "*,matrix.*" if matrix else "*", *args)
        if not args:  # two families never give the same name
            check(len(found) == seconds * len(formulas), f"{machine}: more than one row of a name")
        check_rows(machine, found, set(formulas))
        print(f"{machine}: {len(found)} values of {len(formulas)} metrics are right")


def check_events(machine, seconds=3):
    simulation = load(machine)
    runs, filters = {}, {}  # a PMU of Tegra410's PCIe has one device filter for all its counters
    for i, rate in enumerate(simulation.rates):
        device = re.search("src_bdf=[^,]*", rate["event"])
        of_pmu = filters.setdefault(rate["pmu"], [])
        if device and device[0] not in of_pmu:
            of_pmu.append(device[0])
        run = 1 + of_pmu.index(device[0]) if device else 0
        runs.setdefault(run, []).extend(("-e", f"{rate['pmu']}/{rate['event']},name=rate{i}/"))
    found = [row for args in runs.values() for row in count(machine, seconds, "--no-merge", *args)]
    names = {f"rate{i}" for i in range(len(simulation.rates))}
    check({row["name"] for row in found} == names, "some have no row")
    for row in found:
        event = simulation.rates[int(row["name"][4:])]["event"]
        rate = rate_of(simulation.rates, row["pmu"], event)
        begin, end = row["time"] - row["interval"], row["time"]
        before = int(simulation.counts(row["pmu"], event, row["cpu"], begin))
        expected = int(simulation.counts(row["pmu"], event, row["cpu"], end)) - before
        what = f"{row['pmu']}/{event}/ on CPU {row['cpu']} until {end} s"
        check(row["simulated"], "not labelled:", row)
        check(row["count"] is not None, f"{what}: {row['reason']}")
        # Counts are cut to whole numbers, the phase is cut to whole nanoseconds.
        allowed = 2 + 2e-9 * sum(wave_of(rate)[1].values())
        apart = abs(row["count"] - expected)
        check(apart <= allowed, f"{what}: {row['count']}, and not {expected}")
    print(f"{machine}: {len(found)} counts of {len(simulation.rates)} rates are right")


def machines(name):
    directory = ROOT / "data/sim" if name == "all" else pathlib.Path(name)
    if name != "all" and not directory.is_dir():
        return [name]
    files = sorted(directory.glob("*.yaml"))
    return [file.stem if name == "all" else str(file) for file in files]


def main():
    try:
        for machine in machines(sys.argv[1]):
            for file in sys.argv[2:]:
                check_file(machine, file)
            if not sys.argv[2:]:
                check_events(machine)
                check_metrics(machine)
    except rows.Wrong as wrong:
        sys.exit(f"check-sim {machine}: {wrong}")


if __name__ == "__main__":
    main()
