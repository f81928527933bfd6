#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPUs that go offline and come back while counting: the driver moves its counters to another CPU of
the socket without a gap; without one, uncore says what is missing, and never invents a 0."""

import pathlib
import time

import behaviour
import rig

STEP = 1000
TAKEN = set()


def can_go(cpu):
    """CPU 0 of x86 cannot be taken offline."""
    return pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/online").exists()


def switch(cpu, online):
    """Takes a CPU offline or brings it back."""
    pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/online").write_text(str(int(online)), encoding="ascii")
    (TAKEN.discard if online else TAKEN.add)(cpu)


def counted_from(socket):
    """CPUs that the box is counted from now."""
    return rig.Pmu(rig.DEVICES / behaviour.moving(socket).split("/")[0]).cpus


def find_socket():
    """(socket, its CPUs, the one that counts) of a socket that can go altogether, but the first."""
    for socket in reversed(rig.sockets()):
        cpus = [cpu for cpu in range(rig.CPUS) if rig.socket_of(cpu) == socket]
        counting = [cpu for cpu in counted_from(socket) if cpu in cpus]
        if len(cpus) > 1 and counting and can_go(counting[0]):
            return socket, cpus, counting[0]
    return None


def steady(socket, cpu, event, per_tick):
    """The CPU that counts goes and comes back under a steady rate; the driver moves what is counted
    to the next one. A box of another socket is the clock. Two at once:
    Linux 6.2 to 7.2 (at least) moves only the first group of a PMU and lets the others die, so each
    must count on or say that it does not."""
    first = rig.sockets()[0]
    other = behaviour.neighbour(first)
    other_weight = behaviour.weight(other, first)
    rig.traffic("rate", 1000000)
    with behaviour.Running(f"{event},{other}", "each", "50ms", "a") as a, \
            behaviour.Running(f"{event},{other}", "each", "50ms", "b") as b:
        for online in (False, True):
            begin = time.monotonic()
            switch(cpu, online)
            time.sleep(max(0.1, 5 * (time.monotonic() - begin)))  # what the move takes is little of the whole
    rig.traffic("rate", 0)
    on = 0
    for running in (a, b):
        rows = [row for row in running.total if row["name"] == event and row["socket"] == socket]
        clock = [row for row in running.total if row["name"] == other and row["socket"] == first]
        ticks = clock[0]["count"] / other_weight
        lost = 1 - rows[0]["count"] / per_tick / ticks
        on += lost < 0.15  # the move itself takes some 50 ms; one that died and was opened again lacks more
        rig.ok(rows[0]["quality"] == "partial" and rows[0]["reason"] or
               rows[0]["quality"] == "measured" and abs(lost) < 0.06,  # uncore calls 95 % of the time the whole
               "counted across the moves, or partial with a reason", f"{lost} {behaviour.short(rows)}")
        rig.ok(behaviour.within(rows[0]["rate"] / per_tick, clock[0]["rate"] / other_weight, 0.02),
               "the rate is right for the time that was counted", f"{behaviour.short(rows)} {clock}")
        rig.diag(f"{100 * lost:.2f} % of {rows[0]['interval']:.2f} s not counted: {rows[0]['quality']}",
                 rows[0]["reason"])
    rig.ok(on >= 1, "the first counts on", on)
    now = counted_from(socket)
    rig.ok(cpu not in now, f"CPU {cpu} went, and the driver counts from another", now)
    rows = [row for row in rig.uncore(event, ["traffic", "step", STEP], "each") if row["socket"] == socket]
    rig.ok(len(rows) == 1 and behaviour.counted(rows[0], STEP * per_tick),
           "uncore started after that counts", behaviour.short(rows))


def not_counted(rows):
    """Measured rows whose counter was enabled for less than the interval. A busy guest reads a counter late,
    and then the interval before or after has what this one lacks."""
    def is_short(part):
        return sum(row["enabled_ns"] or 0 for row in part) < 0.9e9 * sum(row["interval"] for row in part) - 5e6

    return [row for n, row in enumerate(rows) if row["quality"] == "measured" and is_short(rows[n:n + 1])
            and is_short(rows[max(n - 1, 0):n + 1]) and is_short(rows[n:n + 2])]


def all_off(socket, cpus, event, per_tick):
    """The whole socket goes: its rows become unavailable, the sum over sockets partial. When its CPUs
    are back it is counted again."""
    with behaviour.Running(event, "each", "50ms") as running, \
            behaviour.Running(event, "all", "50ms", "all") as summed:
        for phase in ("on", "off", "back"):
            if phase != "on":
                for cpu in cpus:
                    switch(cpu, phase == "back")
                time.sleep(0.3)
                running.wait_rows()
            rig.traffic("step", STEP)
            running.wait_rows()
            summed.wait_rows()
            if phase == "off":
                started_without(socket, event)
    rows = running.rows_of(socket=socket)
    got = sum(row["count"] or 0 for row in rows)
    gone = [row for row in rows if row["quality"] == "unavailable"]
    bad = not_counted(rows)
    rig.ok(gone and all(row["value"] is None and row["reason"] for row in gone),
           "a socket that went: its rows are unavailable, with a reason", behaviour.short(rows))
    rig.ok(not bad, "never a 0 that was not counted", behaviour.short(bad))
    rig.ok(got == 2 * STEP * per_tick and rows[-1]["quality"] != "unavailable",
           "counted before it went and after it came back", f"{got} {2 * STEP * per_tick} {behaviour.short(rows)}")
    total = [row for row in running.total if row["socket"] == socket]
    rig.ok(total[0]["quality"] == "partial" and total[0]["count"] == got and total[0]["reason"],
           "the total is partial", behaviour.short(total))
    if summed.total[0]["instances"] > 1:
        some = [row for row in summed.rows_of() if "missing" in (row["reason"] or "")]
        rig.ok(some and all(row["quality"] == "partial" for row in some), "the sum over sockets is partial",
               behaviour.short(summed.rows_of()))
        rig.ok(summed.total[0]["quality"] == "partial", "and so is its total", behaviour.short(summed.total))
    else:
        rig.skip("the sum over sockets is partial", "each PMU of this model is on one socket only")
    rows = rig.uncore(event, ["traffic", "step", STEP], "each")
    back = [row for row in rows if row["socket"] == socket]
    rig.ok(len(back) == 1 and behaviour.counted(back[0], STEP * per_tick),
           "an uncore started when the CPUs are back counts all", behaviour.short(rows))


def started_without(socket, event):
    """uncore begins while the socket is away."""
    done = rig.run(["uncore", "stat", "-j", "-A", "-e", event, "--", "traffic", "step", str(STEP)], status=None)
    rows = [rig.json.loads(line) for line in done.stdout.splitlines()]
    good = done.returncode == 0 and rows and all(
        behaviour.counted(row, STEP * behaviour.weight(event, cpu=row["cpu"])) for row in rows)
    refused = done.returncode == 3 and not rows and "cpumask is empty" in done.stderr
    rig.ok((good or refused) and not [row for row in rows if row["socket"] == socket],
           "started without the socket it counts what is there, or says that nothing is", f"{done}")
    rig.diag("status", done.returncode, done.stderr.strip())


def recorded_off(socket, cpus, event, per_tick):
    """The same while it is recorded: the report has the gap, with a reason, and what was counted around it."""
    if not behaviour.Recorded.possible():
        rig.skip("record: the gap is in its report", "this uncore was built without `record`")
        return
    with behaviour.Recorded(event, "each") as recorded:
        for phase in ("on", "off", "back"):
            if phase != "on":
                for cpu in cpus:
                    switch(cpu, phase == "back")
                time.sleep(0.3)
                recorded.wait_rows()
            rig.traffic("step", STEP)
            recorded.wait_rows()
    rows = recorded.rows_of(socket=socket)
    gone = [row for row in rows if row["quality"] == "unavailable"]
    rig.ok(gone and all(row["value"] is None and row["reason"] for row in gone),
           "record: the gap is in its report, with a reason", behaviour.short(rows))
    total = [row for row in recorded.total if row["socket"] == socket]
    got = sum(row["count"] or 0 for row in rows)
    rig.ok(len(total) == 1 and got == total[0]["count"] == 2 * STEP * per_tick and total[0]["quality"] == "partial",
           "and what was counted before and after it", f"{got} {2 * STEP * per_tick} {behaviour.short(total)}")


def main():
    found = find_socket() if len(rig.sockets()) > 1 else None
    if not found:
        rig.skip("hotplug", "it takes a second socket (-s 2), all of whose CPUs can go offline")
        rig.done()
    socket, cpus, cpu = found
    event = behaviour.moving(socket)
    per_tick = behaviour.weight(event, socket)
    try:
        steady(socket, cpu, event, per_tick)
        all_off(socket, cpus, event, per_tick)
        recorded_off(socket, cpus, event, per_tick)
    finally:
        for taken in list(TAKEN):
            switch(taken, True)
    rig.done()


main()
