#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore who` on groups that count what each task moves: bytes by process and by cgroup, what is left as "other", and the sum
by the memory controllers; more busy processes than RMIDs; and what it leaves behind: nothing, however it ends, and other
people's groups as they were.

  UNCORE_CLEAN_RUNS   how many short runs must leave no group, 5"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import groups
import rig
from groups import MIB, TOP, Group, cpus_of, node

FIRST, LAST = cpus_of(0), cpus_of(1)
CLEAN_RUNS = int(os.environ.get("UNCORE_CLEAN_RUNS") or 5)
MOVED, LOCAL, CONTROLLERS = "group.memory.bandwidth", "group.memory.local.bandwidth", "memory.bandwidth"
LINE = 64  # bytes
EXACT, SUM = 0.01, 0.02  # of the share of each in all the bytes; of all of them together
OTHER = "other"  # the role of what is left
OUTPUT = pathlib.Path("/tmp/who.jsonl")
CGROUPS = pathlib.Path("/tmp/cgroup")
BUSY, LARGE = 40, 5
EQUAL = 0.1  # a load has moved a MiB when it says so, and may be stopped in between
LONGEST = 4 * rig.TIME_LIMIT  # of 14 intervals beside 40 busy processes, when the host is busy, too
MOST_CALLS = 2500  # an interval, with 32 groups on two caches and 120 processes
BEGIN = 2  # seconds from when it has opened all counts until it has read them, even on a busy host
TRIES = 5
LONG = 40  # seconds, of which nothing is moved in most
FEW = 6  # groups where more would only take time: an emulated machine reads a few hundred files in a second
LEFT = 8  # RMIDs, the root's and the one that stays free included

# ---- loads ----------------------------------------------------------------------------------------


class Load:
    """A process of stream, perhaps in a cgroup. With `wait` it is a little busy, and moves all it has to when it is told to.
    Otherwise it moves a MiB every `ms` milliseconds, before which it is busy for some more."""

    def __init__(self, operation, its_node, cpus, mib=1, times=1, **more):
        self.moves = groups.Move(operation, its_node, cpus, mib, times)
        self.log = pathlib.Path(f"/tmp/load-{time.monotonic_ns()}")
        self.waits = not more.get("ms")
        where = f"{operation} {its_node} {','.join(map(str, cpus))} {mib}"
        command = f"stream wait {where} {times}" if self.waits else f"stream {where} 1000000 {more['ms']} {more.get('busy', 0)}"
        self.process = shell(f"exec {command} >{self.log}", more.get("cgroup"))

    def label(self):
        """What uncore calls it."""
        return f"stream ({self.process.pid})"

    def ready(self):
        """Whether it may be told to begin, or moves."""
        if not self.waits:
            return self.log.exists() and self.log.read_text(encoding="ascii").count("\n") > 2
        caught = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").partition("SigCgt:")[2].split()
        return bool(int(caught[0], 16) >> (signal.SIGUSR1 - 1) & 1)

    def go(self):
        """It moves, and then sleeps."""
        self.process.send_signal(signal.SIGUSR1)

    def moved(self):
        """Whether it has."""
        return self.log.stat().st_size > 0

    def between(self, begin_ns, end_ns):
        """The bytes that it says it has moved in that time."""
        said = [tuple(map(int, line.split())) for line in self.log.read_text(encoding="ascii").splitlines()]
        first, last = (max((lines for at, lines in said if at <= when), default=0) for when in (begin_ns, end_ns))
        return LINE * (last - first)

    def end(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()


class Parent:
    """A shell that is busy, and then starts processes one after the other, each of which moves something."""

    def __init__(self, moves, cgroup):
        self.moves = moves
        self.flag = pathlib.Path(f"/tmp/parent-{time.monotonic_ns()}")
        count = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
        parts = " && ".join(move.command() for move in moves)
        text = f"until [ -e {self.flag} ]; do {count}; sleep 0.02; done; {parts} && echo >>{self.flag}; sleep 1000"
        self.process = shell(text, cgroup)

    def label(self):
        """What uncore calls it."""
        return f"sh ({self.process.pid})"

    def ready(self):
        """It is as soon as it runs."""
        return self.process.poll() is None

    def go(self):
        """It starts them."""
        self.flag.touch()

    def moved(self):
        """Whether all have ended."""
        return self.flag.stat().st_size > 0

    def end(self):
        """Ends it, and what it sleeps by."""
        subprocess.run(["pkill", "-P", str(self.process.pid)], check=False)
        self.process.kill()
        self.process.wait()


def shell(text, cgroup):
    """A process in a cgroup, if one is said."""
    join = f"echo $$ >{CGROUPS}/{cgroup}/cgroup.procs && " if cgroup else ""
    return subprocess.Popen(["sh", "-c", join + text], stderr=subprocess.DEVNULL)  # pylint: disable=consider-using-with


def until(good, what):
    """Waits until a function says so."""
    end = time.monotonic() + rig.TIME_LIMIT
    while not good():
        if time.monotonic() > end:
            raise rig.Failed(f"not within {rig.TIME_LIMIT} s: {what}")
        time.sleep(0.05)


def truth_of(loads, event="mbm_total_bytes"):
    """The bytes of all of them."""
    moves = [move for load in loads for move in (load.moves if isinstance(load, Parent) else [load.moves])]
    return sum(n for (its, _), n in groups.moved(moves).items() if its == event)


# ---- uncore who -----------------------------------------------------------------------------------


class Interval:
    """The rows of one interval, those of the whole machine."""

    def __init__(self, rows):
        self.rows = [row for row in rows if row["socket"] is None]
        self.seconds = rows[0]["interval"]
        self.end_ns = rows[0]["monotonic_ns"]
        self.begin_ns = self.end_ns - self.seconds * 1e9

    def row(self, name, role):
        """The row of a metric and a group, or None."""
        return next((row for row in self.rows if row["name"] == name and row["role"] == role), None)

    def by_label(self, name=MOVED):
        """{label: row} of the groups that had somebody."""
        return {row["names"]: row for row in self.rows
                if row["name"] == name and row["role"] not in (OTHER, "/") and row["names"]}

    def bytes(self, row):
        """What a row of a group says was moved: its counts if it has them, which know no time."""
        if row is None or row["value"] is None:
            return 0
        inputs = row.get("inputs") or []
        exact = row["name"].startswith("group.") and len(inputs) == 1
        return inputs[0]["count"] if exact else row["value"] * self.seconds

    def sum(self, name):
        """Of all rows of a metric."""
        return sum(self.bytes(row) for row in self.rows if row["name"] == name)


def who(*options):
    """Runs it to its end: a list of Interval."""
    rig.run(["uncore", "who", "-j", "-o", OUTPUT, *options], timeout=LONGEST)
    return intervals(OUTPUT)


def intervals(path):
    """What it has printed."""
    by_time = {}
    for row in rig.uncore_rows(path):
        by_time.setdefault(row["time"], []).append(row)
    return [Interval(rows) for rows in by_time.values()]


def left():
    """Groups of uncore that exist."""
    return sorted(path.name for path in (TOP / "mon_groups").iterdir() if path.name.startswith("uncore-"))


def holders():
    """{task: group} of all groups of uncore."""
    held = {}
    for name in left():
        try:
            text = (TOP / "mon_groups" / name / "tasks").read_text(encoding="ascii")
            held.update({int(task): name for task in text.split()})
        except FileNotFoundError:
            pass
    return held


def begun(path, *options):
    """Starts it in the background."""
    path.unlink(missing_ok=True)
    return subprocess.Popen(  # pylint: disable=consider-using-with
        ["uncore", "who", "-j", "-o", path, *map(str, options)], stderr=subprocess.PIPE, text=True)


def opened(pid):
    """How many counts of groups a process has open."""
    count = 0
    for path in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        try:
            count += "/mon_data/" in os.readlink(path)
        except FileNotFoundError:
            pass
    return count


def counting(path, tasks, *options):
    """Starts one long interval: it counts, and has these tasks in groups. It has looked for busy processes for a short time
    before, in which a busy host may have let none run: then once more."""
    for _ in range(TRIES):
        process = begun(path, "-I", "1000s", *options)
        until(lambda p=process: p.poll() is not None or opened(p.pid), "counts that are open")
        before = -1
        while before != opened(process.pid):
            before = opened(process.pid)
            time.sleep(BEGIN)
        if set(tasks) <= set(holders()):
            return process
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=rig.TIME_LIMIT)
    raise rig.Failed(f"{tasks} are not in groups")


def stop(process, path):
    """Ends it by SIGINT: its one interval, of which that is the end."""
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=rig.TIME_LIMIT)[1]
    seen = intervals(path)
    if process.returncode or len(seen) != 1:
        raise rig.Failed(f"uncore who: status {process.returncode}, {len(seen)} intervals: {errors}")
    return seen[0]


def over(loads, *options, placed=None):
    """One interval in which the loads move all they have to, from when their processes are in groups on. A rate is over
    the time between the readings of its own counter: the interval is so long that this is the interval, nearly."""
    until(lambda: all(load.ready() for load in loads), "loads that are ready")
    tasks = [load.process.pid for load in (loads if placed is None else placed)]
    process = counting(OUTPUT, tasks, "--groups", FEW, *options)
    for load in loads:
        load.go()
    until(lambda: all(load.moved() for load in loads), "loads that have moved")
    time.sleep(LONG)
    return stop(process, OUTPUT)


# ---- bytes ----------------------------------------------------------------------------------------


def near(said, truth, most, name, more=""):
    """Whether a sum is what it should be."""
    off = 100 * (said / truth - 1) if truth else 0.0 if said < MIB / 10 else 100.0
    rig.ok(abs(off) <= 100 * most, f"{name} within {100 * most:.0f} %", more)
    rig.diag(f"{name}: {said / MIB:.2f} MiB, moved {truth / MIB:.2f}: {off:+.2f} %")


def judged(seen, loads, labels, what):
    """Of each label the share of its loads, and of all the bytes those of the loads and of the controllers."""
    every, truth = seen.sum(MOVED), truth_of(loads)
    for label, its in labels.items():
        row = seen.by_label().get(label)
        if row is None:
            rig.ok(False, f"{what}: {label} is there", sorted(seen.by_label()))
            continue
        near(truth * seen.bytes(row) / every, truth_of(its), EXACT, f"{what}: {label}", row)
        near(truth * seen.bytes(seen.by_label(LOCAL)[label]) / every, truth_of(its, "mbm_local_bytes"), EXACT,
             f"{what}: {label}, local")
    near(every, truth, SUM, f"{what}: groups and other")
    near(every, seen.sum(CONTROLLERS), SUM, f"{what}: groups and other by the memory controllers")
    rig.ok(not left(), f"{what}: no group is left", left())


def four():
    """In two cgroups; one goes from socket to socket, and one starts others."""
    return [Load("store", 0, FIRST[:1], 96, 2, cgroup="one"), Load("load", node(1), FIRST[-1:], 48, 2, cgroup="one"),
            Load("load", node(1), (FIRST[0], LAST[0]), 16, 8, cgroup="two"),
            Parent([groups.Move("load", 0, LAST[-1:], 32, 2), groups.Move("store", 0, FIRST[:1], 24)], "two")]


def assigned():
    """One group: with five counters, of which the default group has two, there is no more (ABMC)."""
    loads = [Load("store", 0, FIRST[:1], 96, 2)]
    judged(over(loads), loads, {load.label(): [load] for load in loads}, "assigned")
    for load in loads:
        load.end()


def bytes_by_whom():
    """Four processes in two cgroups, by process and by cgroup."""
    subprocess.run(["mount", "-t", "cgroup2", "cgroup", CGROUPS], check=True)
    for name in ("one", "two"):
        (CGROUPS / name).mkdir()
    for what in ("process", "cgroup"):
        loads = four()
        seen = over(loads, "--by", what)
        labels = {"/one": loads[:2], "/two": loads[2:]} if what == "cgroup" else {load.label(): [load] for load in loads}
        judged(seen, loads, labels, what)
        if what == "process":
            row = seen.by_label()[loads[-1].label()]
            rig.ok("started" in str(row["reason"]), "process: the one that starts others says so", row)
        for load in loads:
            load.end()


# ---- more than fit --------------------------------------------------------------------------------


def in_order(named, truth):
    """Whether no load has moved more than one that is named before it, or than the last of the named ones. On a busy host
    loads that should move different amounts may move the same."""
    return len(named) == LARGE and all(truth[other] <= (1 + EQUAL) * truth[label] for i, label in enumerate(named)
                                       for other in truth if other not in named[:i])


def many():
    """40 busy processes on 8 RMIDs: those that move most are named, in order, and what has no group is a number."""
    more = groups.fill("other", LEFT - 1)
    loads = [Load(("load", "store")[i % 2], node(i % 2), (i % rig.CPUS,), ms=ms)
             for i, ms in enumerate((50, 67, 90, 125, 170))]
    loads += [Load("load", 0, (i % rig.CPUS,), ms=1000, busy=20) for i in range(BUSY - LARGE)]
    until(lambda: all(load.ready() for load in loads), "loads that move")
    seen = who("-I", "1s", "-n", 14)
    last, sums = seen[-4:], {}
    for interval in last:
        for label, row in interval.by_label().items():
            sums[label] = sums.get(label, 0) + interval.bytes(row)
    named = sorted(sums, key=lambda label: -sums[label])
    rig.diag("of the last four intervals:", ", ".join(f"{label} {sums[label] / MIB:.1f} MiB" for label in named[:8]))
    truth = {load.label(): load.between(last[0].begin_ns, last[-1].end_ns) for load in loads}
    rig.ok(in_order(named[:LARGE], truth), f"{BUSY} processes, {LEFT} RMIDs: the {LARGE} that move most, in order",
           f"{named} {truth}")
    rig.diag("they have moved:", ", ".join(f"{label} {truth.get(label, 0) / MIB:.1f} MiB" for label in named[:8]))
    rests = [interval.row(MOVED, OTHER) for interval in last]  # one that was read late is suspect
    reasons = [row["reason"] for row in rests if row and row["quality"] == "partial"]
    rig.ok(reasons and "had no group" in reasons[0], "other is partial, and says why", rests)
    rig.diag(*reasons[:1])
    rig.diag("groups and other by the memory controllers: "  # rates over a second, while the host may stop the guest
             f"{sum(i.sum(MOVED) for i in seen) / sum(i.sum(CONTROLLERS) for i in seen):.4f}")
    rig.ok(not left(), "no group is left", left())
    for load in loads:
        load.end()
    for group in more:
        group.remove()
    groups.flush()


# ---- what is left ---------------------------------------------------------------------------------


def printing(*options):
    """Starts it in the background: it has printed an interval."""
    process = begun(OUTPUT, "-I", "500ms", "--groups", FEW, *options)
    until(lambda: process.poll() is not None or (OUTPUT.exists() and OUTPUT.stat().st_size), "an interval")
    return process


def ends():
    """Each way out that can be caught, and SIGKILL with the next run, or --clean."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = printing()
        rig.ok(left(), f"{number.name}: it has groups", left())
        process.send_signal(number)
        process.communicate(timeout=rig.TIME_LIMIT)
        rig.ok(not left(), f"{number.name}: and then none", left())
    rig.run(["bash", "-c", f"uncore who -j -I 500ms --groups {FEW} | head -n 1"], status=None)
    time.sleep(2)
    rig.ok(not left(), "a pipe that nobody reads: none", left())
    for clean in (["uncore", "who", "-I", "500ms", "-n", "1", "--groups", "2"], ["uncore", "who", "--clean"]):
        process = printing()
        process.kill()
        process.communicate()
        there = left()
        done = rig.run(clean, status=None)
        rig.ok(there and done.returncode == 0 and not left(), f"SIGKILL, and {' '.join(clean)}: none",
               f"{there} {left()} {done.returncode} {done.stderr}")
    process = printing()
    there = left()
    cleaned = rig.run(["uncore", "who", "--clean"])
    rig.ok(there and left() == there, "--clean while another one runs: its groups stay", f"{there} {left()} {cleaned.stdout}")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=rig.TIME_LIMIT)
    failed = [i for i in range(CLEAN_RUNS)
              if rig.run(["uncore", "who", "-I", "200ms", "-n", "1", "--groups", FEW], status=None).returncode or left()]
    rig.ok(not failed, f"{CLEAN_RUNS} runs leave no group", f"{failed} {left()}")


def two():
    """Two of them at once: each with its own groups; who came first has the tasks, and the other says where they are."""
    load, second = Load("store", 0, FIRST[:1], 64, 2), OUTPUT.with_suffix(".second")
    until(load.ready, "a load that is ready")
    first = counting(OUTPUT, [load.process.pid], "--groups", 3)
    holder = holders()[load.process.pid]
    other = counting(second, [], "--groups", 3)
    load.go()
    until(load.moved, "a load that has moved")
    time.sleep(LONG)
    its, seen = stop(other, second), stop(first, OUTPUT)
    load.end()
    rig.ok(not left(), "two at once: both end well, and leave no group", left())
    near(seen.bytes(seen.by_label().get(load.label())), truth_of([load]), SUM, "two at once: the first one's row")
    near(its.bytes(its.row(MOVED, f"/{holder}")), truth_of([load]), SUM,
         "two at once: the second one's row of the first one's group",
         [(row["role"], row["names"], row["value"]) for row in its.rows if row["name"] == MOVED])
    near(its.sum(MOVED), truth_of([load]), SUM, "two at once: all of the second one")


def kept():
    """What others have set: each file but the counts."""
    files = [path for path in TOP.rglob("*") if path.is_file() and not any(
        part in ("mon_data", "last_cmd_status") or part.startswith("uncore-") for part in path.parts)]
    texts = {}
    for path in files:
        try:
            texts[str(path)] = path.read_bytes()
        except OSError as error:
            texts[str(path)] = error.errno
    texts.pop(str(TOP / "tasks"))
    return texts


def others():
    """Groups that somebody else has made are counted under their names, and stay byte for byte."""
    theirs, load = Group("theirs"), Load("store", 0, FIRST[:1], 96, 2)
    until(load.ready, "a load that is ready")
    (theirs.path / "tasks").write_text(str(load.process.pid), encoding="ascii")
    before = kept()
    seen = over([load], placed=[])
    changed = {path: (before.get(path), text) for path, text in kept().items() if before.get(path) != text}
    rig.ok(not changed and before[str(theirs.path / "tasks")].split() == [str(load.process.pid).encode()],
           "somebody's group: untouched", changed)
    near(seen.bytes(seen.row(MOVED, "/theirs")), truth_of([load]), SUM, "somebody's group: under its name")
    near(seen.sum(MOVED), truth_of([load]), SUM, "somebody's group: all groups and other")
    load.end()
    theirs.remove()


# ---- cost -----------------------------------------------------------------------------------------


def used(count):
    """System calls and milliseconds of a CPU of so many intervals, all of it included."""
    rig.run(["perf", "stat", "-x,", "-o", "/tmp/used", "-e", "raw_syscalls:sys_enter,task-clock", "--",
             "uncore", "who", "-j", "-o", OUTPUT, "-I", "1s", "-n", count])
    lines = pathlib.Path("/tmp/used").read_text(encoding="ascii").splitlines()
    return [float(line.split(",")[0]) for line in lines if "sys_enter" in line or "task-clock" in line]


def cost():
    """Of 32 groups: what an interval takes. Emulated CPUs are many times slower; the system calls are the same."""
    loads = [Load("load", 0, (i % rig.CPUS,), ms=1000) for i in range(32)]
    until(lambda: all(load.ready() for load in loads), "loads that move")
    used(1)
    few, many_more = used(4), used(14)
    calls, ms = ((many_more[i] - few[i]) / 10 for i in range(2))
    processes = sum(path.name.isdigit() for path in pathlib.Path("/proc").iterdir())
    last = intervals(OUTPUT)[-1]
    rig.diag(f"cost: {len(last.by_label())} groups with tasks, {processes} processes: {calls:.0f} system calls and "
             f"{ms:.1f} ms of a CPU an interval (emulated)")
    rig.diag(f"cost: {few[0] - 4 * calls:.0f} system calls and {few[1] - 4 * ms:.0f} ms at the beginning and the end")
    rig.ok(0 < calls < MOST_CALLS, f"cost: fewer than {MOST_CALLS} system calls an interval", [few, many_more])
    for load in loads:
        load.end()


def main():
    """All of it, or the parts that are named."""
    CGROUPS.mkdir(exist_ok=True)
    rig.traffic("real", "nt")
    rig.traffic("rate", 1000)  # a PMU whose clock stands still is taken for one that does not count
    groups.flush()
    all_parts = [assigned, ends] if rig.MODEL == "abmc" else [bytes_by_whom, many, others, two, ends, cost]
    for part in [globals()[name] for name in sys.argv[1:]] or all_parts:
        part()
    rig.traffic("rate", 0)
    rig.traffic("real", "off")
    rig.done()


if rig.run(["uncore", "who", "--help"], status=None).returncode:
    rig.skip("uncore who", "this uncore has no such command")
    rig.done()
if rig.MODEL not in ("icx", "snc", "amd", "abmc") or not groups.mount():
    rig.skip("uncore who", "the CPU of this model has no monitoring of its caches")
    rig.done()
main()
