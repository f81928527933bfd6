#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every metric that the catalogue has for the guest's PMUs, against what the traffic must give.

Stepped: the counts are exact, so the metric is, too; the seconds in it are the time that uncore itself
says its counters were enabled. perf counts the same events over the same step, and its counts go
through the same formula. Steady: at a rate the value must come out whatever the window. A window
must be long beside the time that it takes to start all counters, or uncore rightly calls the value
partial: so there are several tries for that, and for what is measured at a rate.

The formulas of EXPECTED (expected_*.py) are written by hand from the documents. A metric that has none
there is skipped, by name."""

import fnmatch
import json
import re

import expected_amd
import expected_intel
import expected_nvidia
import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = rig.pmus()
# Ticks of a step, and per second: a free-running counter of Skylake must not go round within a window.
TICKS, RATE = (1009, 2000) if rig.MODEL == "skx" else (100003, 200000)
TRIES = 4  # of what is partial by a short window
OUTPUT = "/tmp/metrics.json"
AT_ONCE = 8  # metrics in one command
WINDOWS = ("400ms", "1s", "2s", "4s")  # at a steady rate: to start counters takes some ms

# What a formula gets: c(PMUs, terms) is the count summed over those PMUs of the place, n(PMUs) their
# number, s the seconds. PMUs are a shell pattern.
EXPECTED = {**expected_amd.EXPECTED, **expected_intel.EXPECTED, **expected_nvidia.EXPECTED}
SETTLED = {**expected_amd.SETTLED, **expected_intel.SETTLED}  # what shows that a formula in doubt is right
IN_TURNS = expected_intel.IN_TURNS  # metrics with more events than can be counted at once
IN_ROUNDS = expected_intel.IN_ROUNDS  # sums of such events
# Exact by channel and by stack, too.
BY_INSTANCE = {"intel-imc/memory.read.bandwidth", "intel-imc/memory.write.bandwidth",
               "intel-iio/pcie.inbound.read.bandwidth", "intel-iio/pcie.inbound.write.bandwidth"}


class Metric:
    """A metric of the catalogue on this machine, and its formula."""

    def __init__(self, explained, names):
        self.family, self.unit = explained["family"], explained["unit"]
        self.name = f"{self.family}/{explained['name']}"
        self.short = explained["name"]
        self.pmus = names  # those of its family
        self.events = [(e["name"], e["pmu"], e["terms"]) for e in explained["events"] if e["pmu"]]
        self.formula = EXPECTED.get((rig.MODEL, self.name))
        self.timed = "seconds" in explained["formula"]
        self.suspect = any(MODEL.suspect(pmu, PMUS[pmu].encode(terms)) for _, pmu, terms in self.events)
        self.doubt = explained.get("doubt")
        self.settled = SETTLED.get((rig.MODEL, self.name))
        self.in_turns = (rig.MODEL, self.name) in IN_TURNS
        self.in_rounds = (rig.MODEL, self.name) in IN_ROUNDS
        self.tolerance = 0.03 if self.in_turns else 0.005  # at a steady rate

    def value(self, count, place, seconds, formula=None):
        """A formula with count(pmu, terms, cpu), over the counters of a place: a socket, or (PMU, CPU)."""
        def cpus(pattern):
            for pmu in self.pmus:
                for cpu in PMUS[pmu].cpus:
                    if fnmatch.fnmatch(MODEL.named(pmu), pattern) and place in (None, rig.socket_of(cpu), (pmu, cpu)):
                        yield pmu, cpu

        return (formula or self.formula)(lambda p, terms: sum(count(pmu, terms, cpu) for pmu, cpu in cpus(p)),
                            lambda p: len(list(cpus(p))), seconds)

    def doubted(self, count, place, seconds):
        """Whether the documents leave the formula in doubt, and the counts do so, too."""
        return bool(self.doubt) and not (self.settled and self.value(count, place, seconds, self.settled))

    def is_right(self, row, expected, tolerance, doubted):
        """Whether a row has the value, and is called what it is. The rig's weights know no bounds: a share
        may be over 100 %, and is suspect then."""
        over = self.unit == "ratio" and expected > 1.05
        quality = "suspect" if over or self.suspect or doubted else "scaled" if self.in_turns else "measured"
        if row["quality"] == "scaled" and not row["low"] is row["high"] is None:
            return False
        if quality == "measured" and self.in_rounds and "in rounds" not in (row["reason"] or ""):
            return False
        return row["quality"] == quality and row["unit"] == self.unit and near(row["value"], expected, tolerance)


def weight(pmu, terms, cpu):
    """Counts per tick. Where the driver goes to the first box for every box, they are that one's."""
    return MODEL.weight(re.sub(r"\d+$", "0", pmu) if MODEL.broken(pmu) else pmu, PMUS[pmu].encode(terms), cpu)


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


def batches(every):
    """Metrics to be counted at once: on no PMU more events than it has counters, less one for perf."""
    found = []
    for metric in every:
        room = min((MODEL.room(pmu) or AT_ONCE) for pmu in metric.pmus) - 1
        for batch in found:
            events = {e[1:] for m in batch if m.family == metric.family for e in (*m.events, *metric.events)}
            filters = {MODEL.shared(pmu, PMUS[pmu].encode(terms)) for pmu, terms in events} - {None}
            if len(batch) < AT_ONCE and len(events) <= room and len(filters) < 2:
                batch.append(metric)
                break
        else:
            found.append([metric])
    return found


def listed(batch):
    """The list for -M."""
    return ",".join(metric.name for metric in batch)


def is_in(row, place):
    """Whether a row is of a place: None for the machine, a socket, or (PMU, CPU)."""
    return place == ((row["pmu"], row["cpu"]) if row["pmu"] else row["socket"])


def row_of(rows, metric, place):
    """The one row of a metric in a place."""
    mine = [r for r in rows if r["kind"] == "metric" and (r["family"], r["name"]) == (metric.family, metric.short)
            and is_in(r, place)]
    return mine[0] if len(mine) == 1 else None


def places_of(metric, place):
    """What rows are of: the machine, sockets, or each (PMU, CPU)."""
    if place == "each":
        return [(pmu, cpu) for pmu in metric.pmus for cpu in PMUS[pmu].cpus]
    return rig.sockets() if place == "socket" else [None]


# ---- stepped ---------------------------------------------------------------------------------------


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
        again = {}  # what took turns, as two events that only one counter can count: one on each PMU
        for event in perf_batch(batch, counts):
            again.setdefault(event[1], []).append(event)
        for alone in again.values():
            perf_batch(alone, counts)
    return lambda pmu, terms, cpu: counts[(pmu, terms, cpu)]


def perf_batch(batch, counts):
    """Counts over a step; returns what was not counted for all of it."""
    partly = {}
    events = ",".join(f"{pmu}/{terms},name=m{number}/" for pmu, terms, number in batch)
    for c in rig.perf(events, ["traffic", "step", TICKS], "each"):
        event = next(b for b in batch if f"m{b[2]}" == c.name)
        counts[(*event[:2], c.cpu)] = c.value if c.share == 100 else float("nan")
        if c.share != 100:
            partly[event] = None
    return list(partly)


def seconds_of(row):
    """How long the counters of the metric's first event were enabled, in the mean, from the row's own inputs:
    another row may be of another group, or of more PMUs."""
    used = [i for i in row["inputs"] if i["counters"]] if row else []
    return used[0]["enabled_ns"] / used[0]["counters"] / 1e9 if used else float("nan")


def near(value, expected, share):
    """Whether two numbers differ by no more than a share."""
    return value is not None and abs(value - expected) <= share * abs(expected)


def step_once(batch, place):
    """Rows of one step between two readings, in a window that is long beside starting the counters."""
    for _ in range(TRIES):
        rig.run([*rig.uncore_argv(listed(batch), OUTPUT, place, what="-M"), "--",
                 "sh", "-c", f"traffic step {TICKS}; sleep 0.2"])
        rows = rig.uncore_rows(OUTPUT)
        if all(r["quality"] != "partial" for r in rows):
            break
    return rows


# Not exact and no failure: one step of traffic shows in full by how much the windows of instances differ.
UNEVEN = "the windows of its instances differ"


def judge(metric, rows, perf, where):
    """One place: (perf, uncore, truth, verdict)."""
    row = row_of(rows, metric, where)
    seconds = seconds_of(row)
    expected = metric.value(lambda *a: weight(*a) * TICKS, where, seconds)
    doubted = metric.doubted(lambda *a: weight(*a) * TICKS, where, seconds)
    theirs = metric.value(perf, where, seconds)
    verdict = "exact"
    # A rate is the sum of those of each counter in its own time, and the rows have the mean time only. What has
    # no time in its formula is made of counts.
    one = row is not None and (row["instances"] == 1 or not metric.timed)
    if row is not None and not one and not metric.is_right(row, expected, 1e-4, doubted) and \
            metric.is_right(row, expected, 2e-2, doubted):
        verdict = UNEVEN
    elif row is None or not metric.is_right(row, expected, 1e-9 if one else 1e-4, doubted):
        verdict = f"uncore: {row and (row['quality'], row['unit'], row['reason'])}"
    elif not near(theirs, expected, 1e-12):
        verdict = "perf differs"
    return theirs, row and row["value"], expected, verdict


def stepped(batch, perf, place):
    """[(metric, name with its place, perf, uncore, truth, verdict)] of one step."""
    rows, judged = step_once(batch, place), []
    for metric in batch:
        for where in places_of(metric, place):
            name = metric.short
            if where is not None:
                name += " of {} on CPU {}".format(*where) if place == "each" else f" on socket {where}"
            judged.append((metric, name, *judge(metric, rows, perf, where)))
    return judged


def by_time(line):
    """Whether a line is wrong by no more than what the host takes between starting two groups: the
    seconds are those of the metric's first event, and the others may have had some more or less."""
    _, _, _, ours, expected, verdict = line
    return verdict.startswith("uncore") and near(ours, expected, 1e-3)


def test_stepped(batch, perf, place):
    """A TAP line for each metric, and lines in the table."""
    for left in reversed(range(TRIES)):
        judged = stepped(batch, perf, place)
        wrong = [line for line in judged if line[-1] != "exact"]
        if not left or not wrong or not all(map(by_time, wrong)):
            break
        rig.diag("again, the time being another's:", *[f"{name}: {ours} {want}" for _, name, _, ours, want, _ in wrong])
    for metric in batch:
        bad = []
        for _, name, theirs, ours, expected, verdict in [line for line in judged if line[0] is metric]:
            rig.record(metric.family, name, theirs, ours, expected, verdict)
            if verdict not in ("exact", UNEVEN):
                bad.append(f"{name}: {verdict}; perf {theirs} uncore {ours} truth {expected}")
        rig.ok(not bad, f"{metric.name} stepped{' by instance' if place == 'each' else ''}", "\n".join(bad))


def test_all_stepped(every):
    """Those that are counted at once: exact."""
    every = [m for m in every if not m.in_turns and not m.in_rounds]
    perf = perf_counter(every)
    for place in ("socket" if rig.SOCKETS > 1 else "all", "each"):
        for batch in batches([m for m in every if place != "each" or m.name in BY_INSTANCE]):
            try:
                test_stepped(batch, perf, place)
            except (rig.Failed, KeyError, ZeroDivisionError) as e:
                rig.ok(False, f"{listed(batch)} stepped", repr(e))


# ---- steady ----------------------------------------------------------------------------------------


def at_rate(metric, place):
    """(value, whether it is in doubt) at the steady rate."""
    return [f(lambda *a: weight(*a) * RATE, place, 1.0) for f in (metric.value, metric.doubted)]


def steady(metric, rows):
    """A metric at a steady rate: why it is wrong, or None."""
    row = row_of(rows, metric, None)
    expected, doubted = at_rate(metric, None)
    good = row is not None and metric.is_right(row, expected, metric.tolerance, doubted)
    return None if good else f"{expected} and not {row}"


def steady_each(metric, rows):
    """The same of each PMU and CPU: by channel, by cache."""
    rows = [r for r in rows if (r["kind"], r["family"], r["name"]) == ("metric", metric.family, metric.short)]
    places = {(pmu, cpu) for pmu in metric.pmus for cpu in PMUS[pmu].cpus}
    if len(rows) != len(places) or {(r["pmu"], r["cpu"]) for r in rows} != places:
        return f"rows of {[(r['pmu'], r['cpu']) for r in rows]}"
    for row in rows:
        place = row["pmu"], row["cpu"]
        expected, doubted = at_rate(metric, place)
        if not metric.is_right(row, expected, metric.tolerance, doubted):
            return f"{place}: {row['value']} {row['quality']} and not {expected}"
    return None


def steady_batch(batch, place, judge_one):
    """{metric: why it is wrong, or None}; what is wrong has another try in a longer window."""
    why = {metric: "not counted" for metric in batch}
    for window in WINDOWS:
        again = [metric for metric in batch if why[metric]]
        if not again:
            break
        rig.run([*rig.uncore_argv(listed(again), OUTPUT, place, what="-M"), "--timeout", window])
        rows = rig.uncore_rows(OUTPUT)
        why.update({metric: judge_one(metric, rows) for metric in again})
    return why


def test_steady(every):
    """A TAP line for each metric, and one for all of its instances."""
    rig.traffic("rate", RATE)
    for batch in batches(every):
        for what, place, judge_one in (("", "all", steady), (" by instance", "each", steady_each)):
            for metric, why in steady_batch(batch, place, judge_one).items():
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
    test_all_stepped(every)
    test_steady(every)
    unused = [name for model, name in EXPECTED if model == rig.MODEL and name not in {m.name for m in every}]
    if unused and rig.KERNEL < (6, 7):
        rig.skip(f"{len(unused)} formulas written by hand", "this kernel has no PMUs for " + " ".join(unused))
    else:
        rig.ok(not unused, "every formula written by hand is of a metric that is here", unused)
    rig.done()


if __name__ == "__main__":
    main()
