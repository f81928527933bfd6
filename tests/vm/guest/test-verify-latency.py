#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` beside a pointer chase: each load is one request of the right socket, and is in flight as long as the rig
says; verdicts are those that this and the time of a load allow, and faults are named."""

import json
import statistics

import rig

SECONDS = 16
TICKS = 10  # that a load is in flight, see pmon/intel.h
SHARE = 0.75  # of what a load takes in the guest: proved are 0.5 to 1
FIRST_RATE = 20_000_000  # ticks per second
NEAR = 0.02  # of the latency: that the guest's clock and the host's differ
ALL_LOADS = 0.002  # caches of the guest's CPUs may have lines of an earlier run, 16384 each
TRIES = 3
SOCKETS = (0, 1)
# Metric, node, far, socket.
ALL = {("cache.miss.latency", n, far, n ^ far) for n in SOCKETS for far in (False, True)}
ALL |= {("memory.local.read.latency", n, False, n) for n in SOCKETS}
ALL |= {("memory.remote.read.latency", n, True, 1 - n) for n in SOCKETS}
EXPECTED = {"skx": ALL, "icx": ALL | {("memory.read.latency", n, False, n) for n in SOCKETS}}
LONGER, SHORTER, PROVED = ("off", "longer than the load"), ("off", "shorter than memory"), ("proved", None)


def verify():
    """All verdicts, and the process."""
    done = rig.run(["uncore", "verify", "-M", "cache.miss.latency,memory.*latency", "--time", f"{SECONDS}s", "-j"],
                   status=None)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def key(row):
    return row["name"], row["node"], row["far"], row["socket"]


def short(rows):
    return [(*key(row), row["requests"], row["latency_ns"], row["load_ns"], row["verdict"], row["reason"]) for row in rows]


def begin(rate, settings=""):
    """Real traffic, of which each CPU's cache gets whole lines; the clock of the counters runs at that rate."""
    rig.traffic("real", "nt")
    rig.traffic("cache", 1024)
    rig.traffic("rate", int(rate))
    for setting in filter(None, settings.split(", ")):
        rig.traffic(*setting.split())


def wanted(row):
    """The verdicts that its times allow: how long a load takes in a guest depends on the host. Near a limit it is both."""
    part = row["latency_ns"] / row["load_ns"]
    return {verdict for verdict, low, high in ((SHORTER, 0, 0.52), (PROVED, 0.47, 1.05), (LONGER, 0.98, 1e9))
            if low < part < high}


def right(rate, verdict=None):
    """Without a fault, but that the clock may not be one that can be. Returns the rows."""
    for _ in range(TRIES):
        begin(rate)
        rows, done = verify()
        other = [row for row in rows if not row["latency_ns"] or abs(row["latency_ns"] * rate / TICKS / 1e9 - 1) > NEAR
                 or abs(row["requests"] - 1) > ALL_LOADS
                 or (row["verdict"], row["fault"]) not in ({verdict} if verdict else wanted(row))]
        good = {key(row) for row in rows} == EXPECTED[rig.MODEL] and not other
        if good:
            break
    rig.ok(good, f"each load is one request of {TICKS / rate * 1e9:.0f} ns: {verdict or 'as the load allows'}",
           f"{done.returncode} {short(other)} {done.stderr}")
    return rows


def proved():
    """At a rate for which the rig's latency is possible."""
    rate = FIRST_RATE
    for _ in range(TRIES):
        rows = right(rate)
        good = [row for row in rows if row["verdict"] == "proved"]
        if 2 * len(good) > len(rows):
            break
        loads = [row["load_ns"] for row in rows]
        rate = int(TICKS / (SHARE * statistics.median(loads) * 1e-9)) if loads else rate
    rig.ok(good, "what is possible is proved", short(rows))


def fault(settings, name, sentence, which=lambda row: True):
    """All that have it are off by that name, whatever their times are."""
    for _ in range(TRIES):
        begin(FIRST_RATE, settings)
        rows, done = verify()
        having = [row for row in rows if which(row)]
        good = having and done.returncode == 1 and all(row["verdict"] == "off" and row["fault"] == name
                                                       for row in having)
        if good:
            break
    rig.ok(good, f"{settings}: {name}", f"{done.returncode} {short(rows)} {done.stderr}")
    rig.ok(any(sentence in (row["reason"] or "") for row in rows), f"{settings}: {sentence}", short(rows))


def main():
    if rig.MODEL not in EXPECTED or rig.SOCKETS != 2:
        rig.skip("verify-latency", "loads of this model are not in flight, or there is one socket")
        rig.done()
    proved()
    right(1_000_000_000, SHORTER)  # 10 ns
    right(250_000, LONGER)  # 40 us
    fault("faults agents, scale all all 500", "half", "half of the loads are counted")
    fault("faults agents, scale all all 0", "nothing", "none of the loads is counted")
    fault("faults agents, scale 1 all 0", "nothing", "none of the loads is counted", lambda row: row["socket"] == 1)
    fault("faults agents, swap on", "sockets swapped", "socket 1's counters count the loads of CPU")
    rig.traffic("rate", 0)
    rig.traffic("real", "off")
    rig.done()


main()
