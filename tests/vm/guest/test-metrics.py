#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every metric that the catalogue has for the guest's PMUs, against what the traffic must give.

Stepped: the counts are exact, so the metric is, too; the seconds in it are the time that uncore itself
says its counters were enabled. perf counts the same events over the same step, and its counts go
through the same formula. Steady: at a rate the value must come out whatever the window. A window
must be long beside the time that it takes to start all counters, or uncore rightly calls the value
partial: so there are several tries for that, and for what is measured at a rate.

The formulas of EXPECTED (some in expected_*.py) are written by hand from the documents. A metric that
has none there is skipped, by name."""

import fnmatch
import json
import re

import expected_amd
import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = rig.pmus()
TICKS = 100003  # of a step
RATE = 200000  # ticks per second
TRIES = 4  # of what is partial by a short window
WINDOWS = ("400ms", "1s", "2s", "4s")  # at a steady rate: to start counters takes some ms

# What a formula gets: c(PMUs, terms) is the count summed over those PMUs of the place, n(PMUs) their
# number, s the seconds. PMUs are a shell pattern.
IMC, CMEM, UCF = "uncore_imc_[0-9]*", "nvidia_cmem_latency_pmu_*", "nvidia_ucf_pmu_*"
UCF_CLOCK = "config=0x100000000"


def controllers(reads, writes, clock):
    """Metrics of Intel's memory controllers: 64 bytes for each CAS, which take four clocks."""
    return {
        "memory.read.bandwidth": lambda c, n, s: c(IMC, reads) * 64 / s,
        "memory.write.bandwidth": lambda c, n, s: c(IMC, writes) * 64 / s,
        "memory.bandwidth": lambda c, n, s: (c(IMC, reads) + c(IMC, writes)) * 64 / s,
        "memory.utilization": lambda c, n, s: 4 * (c(IMC, reads) + c(IMC, writes)) / c(IMC, clock),
        "memory.clock.frequency": lambda c, n, s: c(IMC, clock) / n(IMC) / s,
    }


CONTROLLERS = {
    "skx": controllers("event=0x4,umask=0x3", "event=0x4,umask=0xc", "event=0x0"),
    "icx": controllers("event=0x4,umask=0xf", "event=0x4,umask=0x30", "event=0x0"),
    "spr": controllers("event=0x5,umask=0xcf", "event=0x5,umask=0xf0", "event=0x1,umask=0x1"),
}
EXPECTED = {
    **expected_amd.EXPECTED,
    **{(model, f"intel-imc/{name}"): formula
       for model, table in CONTROLLERS.items() for name, formula in table.items()},
    # Little's law in clocks of the controller; a clock's length is n x s / clocks.
    ("skx", "intel-imc/memory.read.queue.latency"):
        lambda c, n, s: c(IMC, "event=0x80") / c(IMC, "event=0x10") * (n(IMC) * s / c(IMC, "event=0x0")),
    # nvidia-tegra410-pmu.rst; requests of 32 bytes.
    ("t410", "nvidia-t410-cmem/memory.read.latency"):
        lambda c, n, s: c(CMEM, "event=2") / c(CMEM, "event=1") * (n(CMEM) * s / c(CMEM, "event=0")),
    ("t410", "nvidia-t410-cmem/memory.local.read.bandwidth"): lambda c, n, s: c(CMEM, "event=1") * 32 / s,
    ("t410", "nvidia-t410-ucf/memory.read.bandwidth"): lambda c, n, s: c(UCF, "event=0x123") / s,
    ("t410", "nvidia-t410-ucf/memory.write.bandwidth"): lambda c, n, s: c(UCF, "event=0x124") / s,
    ("t410", "nvidia-t410-ucf/memory.bandwidth"):
        lambda c, n, s: (c(UCF, "event=0x123") + c(UCF, "event=0x124")) / s,
    ("t410", "nvidia-t410-ucf/memory.read.request.rate"):
        lambda c, n, s: c(UCF, "event=0x121") / c(UCF, UCF_CLOCK),
    ("t410", "nvidia-t410-ucf/memory.write.request.rate"):
        lambda c, n, s: c(UCF, "event=0x122") / c(UCF, UCF_CLOCK),
    ("t410", "nvidia-t410-ucf/cache.read.bandwidth"): lambda c, n, s: c(UCF, "event=0x113") / s,
    ("t410", "nvidia-t410-ucf/cache.write.bandwidth"): lambda c, n, s: c(UCF, "event=0x114") / s,
    ("t410", "nvidia-t410-ucf/cache.read.request.rate"):
        lambda c, n, s: c(UCF, "event=0x111") / c(UCF, UCF_CLOCK),
    ("t410", "nvidia-t410-ucf/cache.write.request.rate"):
        lambda c, n, s: c(UCF, "event=0x112") / c(UCF, UCF_CLOCK),
    ("t410", "nvidia-t410-ucf/cache.hit.ratio"): lambda c, n, s: c(UCF, "event=0x119") / c(UCF, "event=0x111"),
    ("t410", "nvidia-t410-ucf/fabric.clock.frequency"): lambda c, n, s: c(UCF, UCF_CLOCK) / n(UCF) / s,
}


class Metric:
    """A metric of the catalogue on this machine, and its formula."""

    def __init__(self, explained, names):
        self.family, self.unit = explained["family"], explained["unit"]
        self.name = f"{self.family}/{explained['name']}"
        self.short = explained["name"]
        self.pmus = names  # those of its family
        self.events = [(e["name"], e["pmu"], e["terms"]) for e in explained["events"] if e["pmu"]]
        self.formula = EXPECTED.get((rig.MODEL, self.name))

    def value(self, count, place, seconds):
        """The formula with count(pmu, terms, cpu), over the counters of a place: a socket, or (PMU, CPU)."""
        def cpus(pattern):
            for pmu in self.pmus:
                for cpu in PMUS[pmu].cpus:
                    if fnmatch.fnmatch(pmu, pattern) and place in (None, rig.socket_of(cpu), (pmu, cpu)):
                        yield pmu, cpu

        return self.formula(lambda p, terms: sum(count(pmu, terms, cpu) for pmu, cpu in cpus(p)),
                            lambda p: len(list(cpus(p))), seconds)


def weight(pmu, terms, cpu):
    """Counts per tick."""
    return MODEL.weight(pmu, PMUS[pmu].encode(terms), cpu)


def metrics():
    """All metrics whose PMUs the traffic reaches."""
    machine = json.loads(rig.run(["uncore", "list", "-j"]).stdout)
    families = {}
    for pmu in machine["pmus"]:
        if pmu["family"] and pmu["name"] in PMUS:
            families.setdefault(pmu["family"], []).append(pmu["name"])
    here = {(m["family"], m["name"]) for m in machine["metrics"] if m["missing"] is None}
    explained = json.loads(rig.run(["uncore", "explain", "-j", "*"]).stdout)["metrics"]
    return [Metric(m, families[m["family"]]) for m in explained
            if m["family"] in families and (m["family"], m["name"]) in here]


def row_of(rows, metric, place):
    """The one row of a metric in a place."""
    mine = [r for r in rows if r["kind"] == "metric" and (r["family"], r["name"], r["socket"]) ==
            (metric.family, metric.short, place)]
    return mine[0] if len(mine) == 1 else None


# ---- stepped ---------------------------------------------------------------------------------------


def stem(name):
    """A PMU's name without its last number."""
    return re.sub(r"_\d+$", "", name)


def perf_counter(every):
    """perf's counts over the step, of all events of all metrics, as count(pmu, terms, cpu)."""
    asked = {}

    def note(pmu, terms, _):
        asked.setdefault((pmu, terms), len(asked))
        return 1

    for metric in every:
        metric.value(note, None, 1.0)
    batches, used = {}, {}
    for (pmu, terms), number in asked.items():
        before = used[pmu] = used.get(pmu, -1) + 1
        limit = max((MODEL.room(pmu) or 8) - 1, 1)
        batches.setdefault(before // limit, []).append((pmu, terms, number))
    counts = {}
    for batch in batches.values():
        events = ",".join(f"{pmu}/{terms},name=m{number}/" for pmu, terms, number in batch)
        for c in rig.perf(events, ["traffic", "step", TICKS], "each"):
            pmu, terms, _ = next(b for b in batch if f"m{b[2]}" == c.name)
            counts[(pmu, terms, c.cpu)] = c.value if c.share == 100 else float("nan")
    return lambda pmu, terms, cpu: counts[(pmu, terms, cpu)]


def seconds_of(rows, place):
    """How long the counters were enabled, from the event rows beside a metric."""
    rows = [r for r in rows if r["kind"] == "event" and r["socket"] == place and r["enabled_ns"]]
    enabled, instances = sum(r["enabled_ns"] for r in rows), sum(r["instances"] for r in rows)
    return enabled / instances / 1e9 if instances else float("nan")


def near(value, expected, share):
    """Whether two numbers differ by no more than a share."""
    return value is not None and abs(value - expected) <= share * abs(expected)


def stepped(metric, perf):
    """One step between two readings: [(place, perf, uncore, truth, verdict)]."""
    place = "socket" if rig.SOCKETS > 1 else "all"
    output = "/tmp/metrics.json"
    also = [a for pmu in sorted({stem(p) for p in metric.pmus}) for a in ("-e", f"{pmu}/{metric.events[0][2]}/")]
    for _ in range(TRIES):
        rig.run([*rig.uncore_argv(metric.name, output, place, more=also, what="-M"), "--",
                 "sh", "-c", f"traffic step {TICKS}; sleep 0.2"])
        rows = rig.uncore_rows(output)
        if all(r["quality"] != "partial" for r in rows):
            break
    results = []
    for where in rig.sockets() if place == "socket" else [None]:
        seconds = seconds_of(rows, where)
        row = row_of(rows, metric, where)
        expected = metric.value(lambda *a: weight(*a) * TICKS, where, seconds)
        theirs = metric.value(perf, where, seconds)
        verdict = "exact"
        if row is None or row["quality"] != "measured" or row["unit"] != metric.unit:
            verdict = f"uncore: {row and (row['quality'], row['unit'], row['reason'])}"
        elif not near(row["value"], expected, 1e-9):
            verdict = "uncore differs"
        elif not near(theirs, expected, 1e-12):
            verdict = "perf differs"
        results.append((where, theirs, row and row["value"], expected, verdict))
    return results


def test_stepped(metric, perf):
    """A TAP line, and lines in the table."""
    bad = []
    results = stepped(metric, perf)
    for where, theirs, ours, expected, verdict in results:
        name = metric.short + ("" if where is None else f" on socket {where}")
        rig.record(metric.family, name, theirs, ours, expected, verdict)
        if verdict != "exact":
            bad.append(f"{name}: {verdict}; perf {theirs} uncore {ours} truth {expected}")
    rig.ok(results and not bad, f"{metric.name} stepped", "\n".join(bad))


# ---- steady ----------------------------------------------------------------------------------------


def steady(metric, window):
    """A metric at a steady rate: why it is wrong, or None."""
    output = "/tmp/metrics.json"
    rig.run([*rig.uncore_argv(metric.name, output, what="-M"), "--timeout", window])
    row = row_of(rig.uncore_rows(output), metric, None)
    expected = metric.value(lambda *a: weight(*a) * RATE, None, 1.0)
    if row is None or row["quality"] != "measured":
        return f"{row}"
    return None if near(row["value"], expected, 0.005) else f"{row['value']} and not {expected}"


def steady_each(metric, window):
    """The same of each PMU and CPU: by channel, by cache."""
    output = "/tmp/metrics.json"
    rig.run([*rig.uncore_argv(metric.name, output, "each", what="-M"), "--timeout", window])
    rows = [r for r in rig.uncore_rows(output) if r["kind"] == "metric" and r["name"] == metric.short]
    places = {(pmu, cpu) for pmu in metric.pmus for cpu in PMUS[pmu].cpus}
    if len(rows) != len(places) or {(r["pmu"], r["cpu"]) for r in rows} != places:
        return f"rows of {[(r['pmu'], r['cpu']) for r in rows]}"
    for row in rows:
        place = row["pmu"], row["cpu"]
        expected = metric.value(lambda *a: weight(*a) * RATE, place, 1.0)
        if row["quality"] != "measured" or not near(row["value"], expected, 0.005):
            return f"{place}: {row['value']} {row['quality']} and not {expected}"
    return None


def test_steady(every):
    """A TAP line for each metric, and one for all of its instances."""
    rig.traffic("rate", RATE)
    for metric in every:
        for what, measure in (("", steady), (" by instance", steady_each)):
            why = "not counted"
            for window in WINDOWS:
                why = why and measure(metric, window)
            rig.ok(why is None, f"{metric.name} at a steady rate{what}", why)
    rig.traffic("rate", 0)


def main():
    """All metrics."""
    rig.traffic("rate", 0)
    found = metrics()
    every = [m for m in found if m.formula]
    without = [m.name for m in found if not m.formula]
    if without or not every:
        rig.skip(f"{len(without)} metrics of the catalogue", "no formula written by hand: " + " ".join(without))
    if not every:
        rig.done()
    perf = perf_counter(every)
    for metric in every:
        try:
            test_stepped(metric, perf)
        except (rig.Failed, KeyError, ZeroDivisionError) as e:
            rig.ok(False, f"{metric.name} stepped", repr(e))
    test_steady(every)
    unused = [name for model, name in EXPECTED if model == rig.MODEL and name not in {m.name for m in every}]
    rig.ok(not unused, "every formula written by hand is of a metric that is here", unused)
    rig.done()


if __name__ == "__main__":
    main()
