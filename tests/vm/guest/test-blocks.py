#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The register block intel-ivt-cbo, with the kernel's driver unloaded: the boxes of both sockets count the
truth, and so does perf with the driver loaded again; freezing after N events; without --program nothing
is written; and however uncore ends, all registers are as they were."""

import json
import pathlib
import signal
import subprocess
import time

import behaviour
import rig
import truth

STEP = 1000
BOXES = 15
COUNTERS = 4
BLOCK = ["--source", "regs:intel-ivt-cbo"]
PROGRAM = [*BLOCK, "--program"]
OBEY, ENABLE = 3 << 16, 1 << 22
WIDTH = 44
CONTROLS = [0x04, 0x10, 0x11, 0x12, 0x13, 0x14, 0x1A]  # of a box: box control, counters' controls, filters
VALUES = [0x16, 0x17, 0x18, 0x19]  # its counters
RUNNING = (14, 3, 0x29 | 0x2 << 8)  # a counter of somebody else that counts: box, number, event

# What is counted at once: a box has four counters and one filter.
ROUNDS = [
    ["event=0x11,umask=0x3", "event=0x0", "event=0x3,umask=0x2", "event=0x29"],
    ["event=0x36,umask=0x43,filter_opc=0x182,filter_nid=0x3",
     "event=0x35,umask=0x43,filter_opc=0x182,filter_nid=0x3", "event=0x3,umask=0xff", "event=0x3,thresh=5"],
    ["event=0x34,umask=0x11,filter_state=0x2d", "event=0x3,umask=0x8,edge=1,thresh=1", "event=0xff,umask=0x1"],
    ["event=0x29,umask=0x2,tid_en=1,filter_tid=0x15", "event=0x3,umask=0x80"],
    # Its filter is asked for by nobody: what somebody left in the register must not count.
    ["event=0x35,umask=0x1", "event=0x34,umask=0x3"],
    # The counter that takes the first must be given up to the last.
    ["event=0x3,umask=0x1", "event=0x4,umask=0x1", "event=0x1b,umask=0x1", "event=0x1c,umask=0x1"],
    ["event=0x36,umask=0x3,filter_opc=0x1a5,filter_c6=1,filter_nc=1,filter_isoc=1",
     "event=0x35,umask=0x21,filter_opc=0x1a5,filter_c6=1,filter_nc=1,filter_isoc=1"],
]

MODEL = truth.model("ivt")
CPU_OF = {rig.socket_of(cpu): cpu for cpu in reversed(range(rig.CPUS))}
MSRS = {}
FORMAT = []  # uncore_cbox_0: its terms, as the driver told them


def weight(box, terms, socket):
    """What a box counts per tick."""
    return MODEL.weight(f"uncore_cbox_{box}", FORMAT[0].encode(terms), CPU_OF[socket])


def stat(*arguments):
    """uncore stat with the block, its process."""
    return rig.run(["uncore", *PROGRAM, "stat", "-j", *arguments], status=None)


def counts(events, command, more=()):
    """{(terms, PMU, socket): row} of what uncore counts with the block."""
    rows = rig.uncore(events, command, "each", [*PROGRAM, *more])
    return {(row["name"].split("/")[1], row["pmu"], row["socket"]): row for row in rows}


# ---- the state of the registers --------------------------------------------------------------------


def address(box, register):
    """The number of an MSR."""
    return 0xD00 + 0x20 * box + register


def leave_something():
    """What somebody left behind: all registers have a value, and one counter counts."""
    for msr in MSRS.values():
        for box in range(BOXES):
            msr[address(box, 0x04)] = OBEY if box % 2 else 0
            msr[address(box, 0x14)] = 0x2A0000 + 0x20 * box + 5
            msr[address(box, 0x1A)] = 0xE1200000 + box
            for n in range(COUNTERS):
                msr[address(box, 0x10 + n)] = 0x77 + n | (0x10 + box) << 8 | 3 << 24
                msr[address(box, 0x16 + n)] = 1000 * box + n
        box, number, event = RUNNING
        msr[address(box, 0x10 + number)] = event | ENABLE


def clean():
    """All boxes as after a reset."""
    for msr in MSRS.values():
        for box in range(BOXES):
            msr[address(box, 0x04)] = 3
            msr[address(box, 0x14)] = msr[address(box, 0x1A)] = 0


def registers():
    """{(socket, MSR): value} of all boxes. Bits 17:16 of a box's control must be written as 1, also when it
    is put back."""
    return {(socket, address(box, register)): msr[address(box, register)] | (register == 0x04 and OBEY)
            for socket, msr in MSRS.items() for box in range(BOXES) for register in CONTROLS + VALUES}


def difference(before):
    """What is not as before, as text; nobody's traffic may have passed."""
    after = registers()
    return " ".join(f"{socket}:{msr:#x}: {before[socket, msr]:#x} {after[socket, msr]:#x}"
                    for socket, msr in before if before[socket, msr] != after[socket, msr])


def controls_differ(before):
    """The same of control registers only: while counters of somebody else count."""
    counters = {address(box, register) for box in range(BOXES) for register in VALUES}
    now = registers()
    return [f"{msr:#x}" for (socket, msr), value in before.items()
            if msr not in counters and now[socket, msr] != value]


# ---- counting --------------------------------------------------------------------------------------


def all_boxes(results):
    """Every box of both sockets, several events at once."""
    for terms in ROUNDS:
        leave_something()
        found = counts(",".join(f"uncore_cbox/{t}/" for t in terms), ["traffic", "step", STEP])
        wrong = []
        for t in terms:
            for box in range(BOXES):
                for socket in MSRS:
                    row = found.get((t, f"uncore_cbox_{box}", socket))
                    expected = STEP * weight(box, t, socket)
                    results[t, box, socket] = row["count"] if row else None
                    if not row or not behaviour.counted(row, expected):
                        wrong.append(f"{box} {socket} {t}: {expected} and not {row}")
        rig.ok(not wrong and len(found) == len(terms) * BOXES * len(MSRS),
               f"{BOXES} boxes on {len(MSRS)} sockets count the truth: {' '.join(terms)}", "\n".join(wrong[:5]))


def while_it_counts():
    """Beside what is asked for only what the manual demands is written."""
    leave_something()
    before = registers()
    with behaviour.Running("uncore_cbox_4/event=0x11,umask=0x3/", more=PROGRAM):
        during = registers()
    good = all(during[s, address(4, 0x04)] == OBEY and during[s, address(4, 0x10)] == 0x11 | 3 << 8 | ENABLE
               for s in MSRS)
    others = [hex(msr) for (s, msr) in before if before[s, msr] != during[s, msr] and msr >> 5 != address(4, 0) >> 5]
    rig.ok(good and not others, "the box is programmed as its manual says, and no other", others)
    reserved = [hex(during[s, address(4, 0x10)]) for s in MSRS if during[s, address(4, 0x10)] & 0xB10000]
    rig.ok(not reserved, "reserved bits of the control register are 0", reserved)


def with_perf(results):
    """The driver is there again, and perf counts the same events."""
    done = behaviour.load("intel_uncore")
    deadline = time.monotonic() + rig.TIME_LIMIT
    while "uncore_cbox_0" not in rig.pmus() and time.monotonic() < deadline:
        time.sleep(0.05)
    have = [box for box in range(BOXES) if f"uncore_cbox_{box}" in rig.pmus()]
    rig.ok(done.returncode == 0 and have, "the driver is loaded again", done)
    perf = {}
    for terms in ROUNDS:
        for count in rig.perf(",".join(f"uncore_cbox_{box}/{t}/" for t in terms for box in have),
                              ["traffic", "step", STEP], "each"):
            name, t = count.name.split("/")[:2]
            perf[t, int(name.rpartition("_")[2]), rig.socket_of(count.cpu)] = count.value
    wrong = 0
    for (t, box, socket), ours in results.items():
        theirs, expected = perf.get((t, box, socket)), STEP * weight(box, t, socket)
        same = ours == expected and (theirs == expected or box not in have)
        wrong += not same
        rig.record(f"uncore_cbox_{box}", f"regs: {t}", theirs, ours, expected,
                   "exact" if same else f"socket {socket}: they differ")
    rig.ok(len(perf) == sum(map(len, ROUNDS)) * len(have) * len(MSRS) and not wrong,
           f"perf, uncore and truth agree: {len(perf)} counters of perf, {len(results)} of uncore", perf)


# ---- freezing after N events -----------------------------------------------------------------------


def freeze():
    """A box stands still after N events, and with it those of its socket."""
    event, other = "event=0x11,umask=0x3", "event=0x3"
    most = max(weight(3, event, socket) for socket in MSRS)
    n = 10 * most
    ticks = {socket: n // weight(3, event, socket) for socket in MSRS}
    found = counts(f"uncore_cbox_3/{event},after={n}/,uncore_cbox_3/{other}/,uncore_cbox_5/{event}/",
                   ["traffic", "step", STEP])
    values = {key: row["count"] for key, row in found.items()}
    rig.ok(all(values[f"{event},after={n}", "uncore_cbox_3", s] == n for s in MSRS), f"it stops at N, {n}", values)
    rig.ok(all(values[other, "uncore_cbox_3", s] == ticks[s] * weight(3, other, s) for s in MSRS),
           "at this moment the other counters of the box stop", values)
    rig.ok(all(values[event, "uncore_cbox_5", s] == ticks[s] * weight(5, event, s) for s in MSRS),
           "and those of the other boxes of the socket", values)
    odd = n - most // 2 - 1
    found = counts(f"uncore_cbox_3/{event},after={odd}/", ["traffic", "step", STEP])
    expected = {s: -(-odd // weight(3, event, s)) * weight(3, event, s) for s in MSRS}
    rig.ok(all(found[f"{event},after={odd}", "uncore_cbox_3", s]["count"] == expected[s] for s in MSRS),
           "what happens in the same cycle as the Nth is counted with it", f"{expected} {found}")
    found = counts(f"uncore_cbox_3/{event},after={n}/", ["traffic", "step", 9])
    rig.ok(all(found[f"{event},after={n}", "uncore_cbox_3", s]["count"] == 9 * weight(3, event, s) for s in MSRS),
           "with fewer events it counts to the end", found)


def freeze_under_way():
    """With traffic that never stops, as in life: N events are N, from the start on."""
    event = "event=0x11,umask=0x3"
    most = max(weight(3, event, socket) for socket in MSRS)
    rig.traffic("rate", 1000)
    found = counts(f"uncore_cbox_3/{event},after={10 * most}/", ["sleep", "1.5"])
    rig.traffic("rate", 0)
    got = {row["socket"]: row["count"] for row in found.values()}
    rig.ok(all(got[s] == 10 * most for s in MSRS), "under traffic it stops at N", f"{10 * most} {got}")


def all_stopped(pid):
    """All threads of a process that was sent SIGSTOP have left the kernel."""
    states = [path.read_text(encoding="ascii").rpartition(")")[2].split()[0]
              for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


def step_between_readings(running, boxes, ticks):
    """A step of traffic while uncore is stopped and has none of these boxes of socket 0 frozen for a reading: a
    frozen box would not count it. What the first tick did is undone if one of them did not count it."""
    places = [address(box, value) for box in boxes for value in VALUES]
    while True:
        running.process.send_signal(signal.SIGSTOP)
        while not all_stopped(running.process.pid):
            time.sleep(0.001)
        before = {place: MSRS[0][place] for place in places}
        rig.traffic("step", 1)
        moved = {place for place in places if MSRS[0][place] != before[place]}
        if {place >> 5 for place in moved} == {place >> 5 for place in places}:
            break
        for place in moved:
            MSRS[0][place] = before[place]
        running.process.send_signal(signal.SIGCONT)
        time.sleep(0.005)
    rig.traffic("step", ticks - 1)
    running.process.send_signal(signal.SIGCONT)


def freeze_in_intervals():
    """It stays so over many readings: nothing of what comes later is counted."""
    event, other, boxes = "event=0x11,umask=0x3", "event=0x3", (1, 3, 5)
    n = 10 * weight(3, event, 0)
    with behaviour.Running(f"uncore_cbox_3/{event},after={n}/," +
                           ",".join(f"uncore_cbox_{box}/{other}/" for box in boxes), "each", more=PROGRAM) as running:
        for step in (4, STEP):
            step_between_readings(running, boxes, step)
            running.wait_rows()
        rig.traffic("step", STEP)
        running.wait_rows()
    totals = {(row["name"].split("/")[1].split(",after")[0], row["pmu"]): row["count"]
              for row in running.total if row["socket"] == 0}
    rig.ok(totals[event, "uncore_cbox_3"] == n, "in intervals it stops at N, too", f"{n} {totals}")
    rig.ok(all(totals[other, f"uncore_cbox_{box}"] == 10 * weight(box, other, 0) for box in boxes),
           "and all of the socket stay so", totals)


def latencies_in_rounds():
    """Latencies of the TOR by source: event 0x36 is for counter 0 alone, so each has a round of its own."""
    names = {"memory.local.read.latency": 0x23, "memory.remote.read.latency": 0x83}
    rig.traffic("rate", 1000)
    done = stat("-M", ",".join(names), "1", "1")
    rig.traffic("rate", 0)
    rows = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    for name, umask in names.items():
        terms = f"umask={umask:#x},filter_opc=0x182"
        occupancy, inserts, cycles = (
            sum(weight(box, event, socket) for socket in MSRS for box in range(BOXES))
            for event in (f"event=0x36,{terms}", f"event=0x35,{terms}", "event=0x0"))
        expected = occupancy / inserts / (cycles / BOXES / len(MSRS) * 1000)
        row = rows.get(name, {})
        rig.ok(row.get("quality") == "measured" and abs(row["value"] / expected - 1) < 0.2,
               f"{name} is counted in its own round", f"{expected} {row} {done.stderr}")


# ---- nothing is written, or put back ---------------------------------------------------------------


def refused():
    """Beside the driver nothing is programmed."""
    writes = rig.traffic("writes")
    done = stat("-e", "uncore_cbox_0/event=0x3/", "--", "true")
    rig.ok(done.returncode != 0 and "rmmod intel_uncore" in done.stderr and "without --source" in done.stderr,
           "refused while the driver is loaded: names it, offers the kernel's counters", done)
    rig.ok(rig.traffic("writes") == writes, "and nothing is written")
    rows = rig.uncore("uncore_cbox_0/event=0x3/", ["traffic", "step", STEP])
    expected = STEP * sum(weight(0, "event=0x3", s) for s in MSRS)
    rig.ok(behaviour.counted(rows[0], expected), "which are right", behaviour.short(rows))


READ_ONLY = """block: my-cbo
title: counters as somebody else programmed them
instance: cache slice
evidence: this test
pmu: my_cbo_{n}
space: msr
count: 15
stride: 0x20
window: freeze
control: {box_ctl: {offset: 0xd04, ones: 16-17, fields: {frz: {bits: 8, access: WO, use: freeze}}}}
counters:
  ctr{n}: {title: counter {n}, offset: 0xd16, count: 4, width: 44}
"""


def read_only():
    """Without --program registers are only read."""
    leave_something()
    path = pathlib.Path("/tmp/my-cbo.yaml")
    path.write_text(READ_ONLY.replace("counter {n},", "'counter {n}',"), encoding="ascii")
    box, number, event = RUNNING
    before, writes = registers(), rig.traffic("writes")
    done = rig.run(["uncore", *BLOCK, "stat", "-e", "uncore_cbox_0/event=0x3/", "--", "true"], status=None)
    rig.ok(done.returncode == 4 and "--program" in done.stderr, "programmable counters need --program", done)
    for command in ("list", "doctor", "topo"):
        rig.run(["uncore", *BLOCK, command], status=None)
    rows = rig.uncore(f"my_cbo_{box}/ctr{number}/,my_cbo_0/ctr1/", ["traffic", "step", STEP], "each",
                      ["--source", f"regs:{path}"])
    expected = {s: STEP * MODEL.weight(f"uncore_cbox_{box}", [event, 0, 0, 0], CPU_OF[s]) for s in MSRS}
    good = all(row["count"] == (expected[row["socket"]] if f"ctr{number}" in row["name"] else 0) for row in rows)
    rig.ok(good and len(rows) == 2 * len(MSRS), "counters that somebody else programmed are read", behaviour.short(rows))
    after = rig.traffic("writes")
    rig.ok(after == writes and not controls_differ(before), "and no register is written", f"{writes} {after}")
    rows = rig.uncore(f"my_cbo_{box}/ctr{number}/", ["traffic", "step", STEP], "each",
                      ["--source", f"regs:{path}", "--program"])
    rig.ok(all(row["count"] == expected[row["socket"]] for row in rows) and rig.traffic("writes") > after,
           "with it they are frozen for reading, and count the same", behaviour.short(rows))
    rig.ok(not controls_differ(before), "and let go, with their control as before", controls_differ(before))


EVERY = ",".join(f"uncore_cbox/{t}/" for t in ROUNDS[1])


def ended_by(name, how, arguments, status):
    """uncore ends by a signal in the middle of a run."""
    leave_something()
    before = registers()
    with subprocess.Popen(["uncore", *PROGRAM, "stat", "-e", EVERY, *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + rig.TIME_LIMIT
        while not controls_differ(before) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        changed = len(controls_differ(before))
        process.send_signal(how)
        errors = process.communicate(timeout=rig.TIME_LIMIT)[1]
    # Each box of each socket: its control, four of its counters', its filters.
    rig.ok(changed >= len(MSRS) * BOXES * COUNTERS and process.returncode in status and not difference(before),
           f"{name}: all registers are as before", f"{changed} {process.returncode} {errors} {difference(before)}")


def ends():
    """Whatever ends it."""
    leave_something()
    before = registers()
    done = stat("-e", EVERY, "--", "true")
    rig.ok(done.returncode == 0 and not difference(before), "a normal end: all registers are as before", difference(before))
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ended_by(f"{how.name} in intervals", how, ["-I", "20"], [0])
        ended_by(f"{how.name} without", how, [], [0])
    ended_by("SIGTERM while a command runs", signal.SIGTERM, ["--", "sleep", "1000"], [143])
    box, number, _ = RUNNING
    at = address(box, 0x16 + number)
    start = {s: msr[at] for s, msr in MSRS.items()}
    rig.traffic("step", 10)
    rig.ok(all(msr[at] - start[s] == 10 * MODEL.weight(f"uncore_cbox_{box}", [RUNNING[2], 0, 0, 0], CPU_OF[s])
               for s, msr in MSRS.items()), "and the counter of somebody else counts again")


def ended_early():
    """SIGTERM at any moment: while it opens, too."""
    left = []
    moments = [0.02 * n for n in range(25)]
    leave_something()
    before = registers()
    for moment in moments:
        with subprocess.Popen(["uncore", *PROGRAM, "stat", "-e", EVERY, "-I", "20"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(moment)
            process.terminate()
            process.wait(rig.TIME_LIMIT)
        if difference(before):
            left.append(f"{moment}: {difference(before)}")
            leave_something()
    rig.ok(not left, f"SIGTERM at {len(moments)} moments from the start: all registers are as before", "\n".join(left[:3]))


def killed():
    """SIGKILL is the one end that leaves them, or nothing here could fail."""
    leave_something()
    before = registers()
    with behaviour.Running(EVERY, more=PROGRAM) as running:
        running.stop(signal.SIGKILL)
    rig.ok(difference(before), "after SIGKILL they are not: this test would see it")


def failing():
    """What cannot be counted leaves nothing behind."""
    cases = {
        "an unknown term": f"{EVERY},uncore_cbox/event=0x3,nonsense=1/",
        "an unknown PMU": f"{EVERY},uncore_nonsense/event=0x3/",
        "edge without a threshold": "uncore_cbox/event=0x3/,{uncore_cbox/event=0x3,edge=1/}",
        "another filter": f"{EVERY},uncore_cbox/event=0x34,umask=0x11,filter_state=1/",
        "more than there are counters": f"{EVERY},uncore_cbox/event=0x29/",
    }
    for name, events in cases.items():
        leave_something()
        before = registers()
        done = stat("-e", events, "--", "true")
        rig.ok(not difference(before) and (done.returncode or "unavailable" in done.stdout),
               f"{name}: refused, and all registers are as before", f"{difference(before)} {done}")


def without_msr():
    """The module that makes the MSRs readable is missing."""
    for msr in MSRS.values():
        msr.close()
    MSRS.clear()
    behaviour.busybox("rmmod", "intel_uncore")
    behaviour.busybox("rmmod", "msr")
    done = stat("-e", "uncore_cbox_0/event=0x3/", "--", "true")
    rig.ok(done.returncode == 3 and "modprobe msr" in done.stderr, "without the module msr: says which one", done)
    behaviour.load("msr")
    behaviour.load("intel_uncore")


def main():
    if rig.MODEL != "ivt":
        rig.skip("blocks", "the block is that of the E5 v2")
        rig.done()
    MSRS.update((socket, rig.Msr(cpu)) for socket, cpu in CPU_OF.items())
    FORMAT.append(rig.Pmu(rig.DEVICES / "uncore_cbox_0"))
    results = {}
    refused()
    rig.ok(behaviour.busybox("rmmod", "intel_uncore").returncode == 0, "the driver is unloaded")
    all_boxes(results)
    while_it_counts()
    freeze()
    freeze_under_way()
    freeze_in_intervals()
    latencies_in_rounds()
    read_only()
    ends()
    ended_early()
    killed()
    failing()
    clean()
    with_perf(results)
    without_msr()
    rig.done()


main()
