#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` on counters that see what it moves: all of them are proved where they are right, with a cache, beside
other traffic and beside a program that takes counters away, and each planted fault is named where it is. Its report
is left for the host, see reports() of tests/vm/test.

  UNCORE_CLEAN_RUNS   how many short runs without a fault are made, 2: none of their verdicts may be wrong
  UNCORE_SHORT        set by tests/vm/test for its short list: some models plant a few of the faults only"""

import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import time

import rig

CLEAR = 0.002  # a loss of 3 % cannot be missed with that error, but with twice as much
TRIES = 3  # a host that stops the guest within a round makes a number that verify does not judge
CACHE = 1024  # KiB of each CPU
CLEAN_RUNS = int(os.environ.get("UNCORE_CLEAN_RUNS") or 2)
SHORT = bool(os.environ.get("UNCORE_SHORT"))
TOLD = 0.8  # of the verdicts of clean runs, at least: the others depend on the host

# ---- what is judged -------------------------------------------------------------------------------

SOCKETS = (0, 1)
DIRECTIONS = ("read", "write")
# Metric, node, direction, far, socket: of memory both near and far, of agents one of these, of links what is far.
MEMORY = {(f"memory.{d}.bandwidth", n, d, far, n) for d in DIRECTIONS for n in SOCKETS for far in (False, True)}
AT_THE_CPU = {(f"memory.{d}.bandwidth", n, d, True, 1 - n) for d in DIRECTIONS for n in SOCKETS}
AGENTS = {(f"memory.local.{d}.bandwidth", n, d, False, n) for d in DIRECTIONS for n in SOCKETS}
AGENTS |= {(f"memory.from.remote.{d}.bandwidth", n, d, True, n) for d in DIRECTIONS for n in SOCKETS}
LINKS = {(f"link.{side}.bandwidth", n, d, True, s) for side in ("in", "out") for d in DIRECTIONS for n in SOCKETS
         for s in SOCKETS if (s == n) == ((d == "read") == (side == "out"))}
SENT = {key for key in LINKS if key[0] == "link.out.bandwidth"}
FABRIC = {(f"fabric.memory.{d}.bandwidth", n, d, far, n) for d in DIRECTIONS for n in SOCKETS for far in (False, True)}


def key(row):
    return row["name"], row["node"], row["direction"], row["far"], row["socket"]


def memory(row):
    return row["name"] in ("memory.read.bandwidth", "memory.write.bandwidth")


def stored(row):
    return memory(row) and row["direction"] == "write"


def near(row):
    return memory(row) and not row["far"]


def on_node_0(row):
    return memory(row) and row["node"] == 0


def on_node_1(row):
    return memory(row) and row["node"] == 1


def at_socket_1(row):
    return memory(row) and row["socket"] == 1


def links(row):
    return row["name"].startswith("link.")


def agents(row):
    return row["name"].startswith(("memory.local", "memory.from.remote"))


# ---- faults ---------------------------------------------------------------------------------------

# What is planted, the fault's name, a part of the sentence, and the verdicts that have it.
Fault = collections.namedtuple("Fault", "words name sentence where")
CHANNELS = (
    Fault("scale all 1 2000", "channel twice", "channel 1 counts twice", memory),
    Fault("scale 1 1 0", "channel dead", "channel 1 counts nothing", on_node_1),
)
SWAPPED = Fault("reads on", "directions swapped", "writes are counted as reads", stored)
FACTORS = (
    Fault("scale all all 500", "half", "one of two PMUs is missing", memory),
    Fault("scale all all 2000", "double", "two PMUs count the same", memory),
    Fault("scale all all 64000", "times 64", "bytes are taken for lines", memory),
    Fault("scale all all 1074", "units", "decimal and binary units are confused: 1.024^3", memory),
    Fault("scale 1 all 0", "nothing", "nothing is counted", at_socket_1),
)
PASSED = (SWAPPED, Fault("scale all all 970", None, "the factor is 0.9700", memory), *FACTORS)
# The stores of Arm pass caches only if these like to: they may have kept a fifth.
HINTED = (SWAPPED, Fault("scale all all 700", None, "the factor is 0.7000", memory), *FACTORS)
ONE_END = (
    Fault("swap on", "sockets swapped", "socket 1's counters count node 0", memory),
    Fault("swap on, turn on", "sockets and directions swapped", "are counted as reads of socket 0", memory),
    Fault("stray 50", "astray", "is counted as", on_node_0),
)
# From afar both sockets count all of it, and none misses when they are swapped.
BOTH_ENDS = (Fault("swap on", "sockets swapped", "socket 1's counters count node 0", near),)
OF_LINKS = (
    Fault("faults links, turn on", "sockets or directions swapped", "data sent are counted as data received", links),
    Fault("faults links, scale all all 0", "nothing", "nothing is counted", links),
)
# Without link.in the one that receives seems to be the one that sends.
OF_SENDERS = (
    Fault("faults links, turn on", "sockets swapped", "socket 1's counters count node 0", links),
    OF_LINKS[1],
)
OF_AGENTS = (
    Fault("faults agents, remote on", "kinds swapped", "local reads are counted as reads by other sockets", agents),
)
# Local and remote ones have no room in one pass, so that it does not show where they are counted instead.
OF_PORTS = (Fault("faults ports, remote on", "nothing", "nothing is counted", agents),)

# ---- models ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Model:
    """What is judged and planted, how many of the faults in the short list, seconds of a run and of a short one, the
    clock's rate for some tens of MB/s beside it, and events that fill the counters of memory."""

    keys: set
    faults: tuple
    short: int
    seconds: int
    least: int
    rate: int
    taken: tuple


def boxes(pmu, count):
    """So many events of PMUs, which count whatever they do."""
    return tuple(f"{pmu}/event={event:#x}/" for event in range(0x40, 0x40 + count))


def each_socket(pmu, count):
    """The same, of a PMU for each socket."""
    return tuple(event for socket in SOCKETS for event in boxes(f"{pmu}_{socket}", count))


INTEL = CHANNELS + PASSED + ONE_END + OF_LINKS + OF_AGENTS
MODELS = {
    "skx": Model(MEMORY | AGENTS | LINKS | FABRIC, INTEL, len(INTEL), 12, 6, 1000, boxes("uncore_imc", 6)),
    "icx": Model(MEMORY | AGENTS | LINKS, INTEL, 3, 12, 6, 500, boxes("uncore_imc", 6)),
    "spr": Model(MEMORY | AGENTS | LINKS | FABRIC, INTEL, 3, 12, 6, 500, boxes("uncore_imc", 6)),
    "gnr": Model(MEMORY | AGENTS | LINKS | FABRIC, INTEL, 3, 12, 6, 500, boxes("uncore_imc", 6)),
    # Home agents need several passes.
    "amd": Model(MEMORY | AGENTS | SENT, CHANNELS + PASSED + ONE_END + OF_SENDERS + OF_PORTS, 3, 16, 12, 250,
                 boxes("amd_umc", 6)),
    "grace": Model(MEMORY, HINTED + ONE_END, 3, 12, 6, 100, each_socket("nvidia_scf_pmu", 8)),
    "t410": Model(MEMORY | AT_THE_CPU, HINTED + BOTH_ENDS, 3, 12, 6, 1000, each_socket("nvidia_ucf_pmu", 8)),
}

# ---- runs -----------------------------------------------------------------------------------------

# What counts real traffic: latencies are judged in test-verify-latency.py, and clocks count what they are told to.
METRICS = "*bandwidth"
REPORT = rig.SHARE / "report.uncore"
KEPT = pathlib.Path("/var/lib/uncore/verified.uncore")
STATUS = {"proved": 0, "off": 1, "cannot tell": 3}


_begins = []  # how long each run took to begin, in seconds


def verify(seconds, *more):
    """All verdicts. The status is that of the worst of them."""
    began = time.monotonic()
    done = rig.run(["uncore", "verify", "-M", METRICS, "--time", f"{seconds}s", "-j", *more], status=None)
    _begins.append(max(0.0, time.monotonic() - began - seconds))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    verdicts = {row["verdict"] for row in rows}
    worst = next((v for v in ("off", "cannot tell", "proved") if v in verdicts), None)
    if done.returncode != STATUS.get(worst):
        raise rig.Failed(f"status {done.returncode} of {verdicts}: {done.stderr}")
    return rows


def of_sockets(rows):
    return [row for row in rows if row["channel"] is None]


def short(rows):
    return [(*key(row), row["counted"], row["error"], row["verdict"], row["reason"]) for row in rows]


def deviation(rows):
    """The largest of those that are proved."""
    return max((abs(row["counted"] - 1) for row in rows if row["verdict"] == "proved"), default=0)


def proved(name, most_off, which=lambda row: True, more=()):
    """All of these, at the first or a later try; and none is ever off."""
    wanted = {k for k in MINE.keys if which({"name": k[0]})}
    got, wrong, told, rows = set(), [], 0, []
    for _ in range(TRIES):
        rows = of_sockets(verify(MINE.seconds, *more))
        wrong += short(row for row in rows if row["verdict"] == "off")
        wrong += sorted({key(row) for row in rows} ^ MINE.keys)
        good = [row for row in rows if row["verdict"] == "proved" and abs(row["counted"] - 1) <= most_off]
        got |= {key(row) for row in good}
        told = max(told, len(good))
        if wanted <= got:
            break
    rig.diag(f"{name}: {told} of {len(rows)} proved at once, off by {100 * deviation(rows):.3f} % at most")
    rig.ok(wanted <= got and not wrong, name, f"{wanted - got} {wrong} {short(rows)}")


def fault(words, name, sentence, where):
    """Named where it is, and nowhere else; at the first or a later try."""
    named, wrong, said = set(), [], set()
    for _ in range(TRIES):
        rig.traffic("real", "nt")
        for setting in words.split(", "):
            rig.traffic(*setting.split())
        rows = of_sockets(verify(MINE.seconds))
        off = [row for row in rows if row["verdict"] == "off"]
        named |= {key(row) for row in off if where(row) and row["fault"] == name}
        wrong += short(row for row in off if not where(row))
        wrong += short(row for row in rows if where(row) and row["verdict"] == "proved" and row["error"] < CLEAR)
        said |= {row["reason"] for row in rows if row["reason"]}
        missing = {key(row) for row in rows if where(row)} - named
        if not missing:
            break
    rig.ok(rows and not missing and not wrong, f"{words}: {name or 'the factor'}", f"{missing} {wrong} {short(rows)}")
    rig.ok(any(sentence in reason for reason in said), f"{words}: {sentence}", said)


def multiplexed():
    """Another program fills the counters for half of the time: what was not counted is not judged, and the rest is right."""
    events = ",".join(MINE.taken)
    for name in rig.pmus():  # each rotation costs far more here than on hardware
        if any(name.startswith(event.split("/")[0]) for event in MINE.taken):
            (rig.DEVICES / name / "perf_event_mux_interval_ms").write_text("20", encoding="ascii")
    lasts = max(_begins) + MINE.seconds / 2
    with subprocess.Popen(["perf", "stat", "-a", "-e", events, "--", "sleep", str(lasts)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as perf:
        time.sleep(0.5)
        rows = of_sockets(verify(MINE.seconds))
        taken = perf.wait() == 0
    wrong = short(row for row in rows if row["verdict"] == "off" or
                  row["verdict"] == "proved" and abs(row["counted"] - 1) > 0.01)
    lost = [row for row in rows if "ran all the time" in (row["reason"] or "")]
    rig.diag(f"multiplexed for {lasts:.1f} s: {len(lost)} not counted all the time, {sum(r['verdict'] == 'proved' for r in rows)} of "
             f"{len(rows)} proved, off by {100 * deviation(rows):.3f} % at most")
    rig.ok(taken and not wrong, "beside another program that counts no verdict is wrong", f"{taken} {wrong}")
    rig.ok(any(memory(row) for row in lost), "it says that the counters were shared", short(rows))


def clean_runs():
    """No false verdict in any of them, those on channels included."""
    counts, off, most = collections.Counter(), [], 0
    rig.traffic("real", "nt")
    for _ in range(CLEAN_RUNS):
        rows = verify(MINE.least)
        counts.update(row["verdict"] for row in rows)
        off += short(row for row in rows if row["verdict"] == "off")
        most = max(most, deviation(of_sockets(rows)))
    rig.diag(f"{CLEAN_RUNS} clean runs: {dict(counts)}, off by {100 * most:.3f} % at most")
    rig.ok(not off, f"{CLEAN_RUNS} clean runs: no verdict of {counts.total()} is wrong", off)
    rig.ok(counts["proved"] >= TOLD * counts.total(), "and most of them are proved", counts)


# What reads the report, and what says the same of this machine.
READERS = (["list", "--all", "-j"], ["topo", "-j"], ["topo"], ["explain", "*", "-j"], ["doctor", "-j"])


def leave_report():
    """For another machine: the report, and what is said here, with REPORT for its name. One of chosen metrics is not
    kept, so it is put where others are."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REPORT, KEPT)
    said = [(["--root", "REPORT", *argv], rig.run(["uncore", *argv], status=None).stdout) for argv in READERS]
    for more in ([], ["-j"]):
        said.append((["verify", "--show", "REPORT", *more],
                     rig.run(["uncore", "verify", "--show", REPORT, *more], status=None).stdout))
    (rig.SHARE / "report.json").write_text(json.dumps(said), encoding="utf-8")
    rig.ok(REPORT.stat().st_size > 0 and all(text for _, text in said), "a report for another machine", said)


def main():
    rig.traffic("real", "nt")
    proved("all is proved within 0.5 %", 0.005, more=["-o", REPORT])
    leave_report()
    rig.traffic("cache", CACHE)
    proved(f"with a cache of {CACHE} KiB, too", 0.005)
    rig.traffic("cache", 0)
    rig.traffic("rate", MINE.rate)
    rig.traffic("background", 1)
    proved("memory beside other traffic: within 1 %", 0.01, memory)
    rig.traffic("rate", 0)
    multiplexed()
    clean_runs()
    for each in MINE.faults[:MINE.short] if SHORT else MINE.faults:
        fault(*each)
    rig.traffic("real", "off")
    rig.done()


if rig.MODEL not in MODELS or rig.SOCKETS != 2:
    rig.skip("verify", "memory of this model does not count real traffic, or there is one socket")
    rig.done()
MINE = MODELS[rig.MODEL]
main()
