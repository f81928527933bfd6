#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may count: levels of perf_event_paranoid and capabilities, as another user. perf is the judge
of what the kernel allows; uncore has the documented status, and a sentence that is true."""

import pathlib

import behaviour
import rig

LEVEL = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
STEP = 1000
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def as_user(capability, argv):
    """Runs a command as an ordinary user, with one capability or none."""
    caps = [f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}"] if capability else []
    return rig.run([*NOBODY, *caps, *argv], status=None)


def one_level(level, capability, event, per_tick):
    """uncore and, where it is up to the kernel's distributor, perf at this level."""
    LEVEL.write_text(str(level), encoding="ascii")
    who = f"level {level}, {capability or 'no capability'}"
    counted = ["-e", event, "--", "traffic", "step", STEP]
    may = level <= 0 or capability
    if may and level >= 3:
        perf = as_user(capability, ["perf", "stat", "-a", "-x,", *counted])
        may = f"{STEP * per_tick}," in perf.stderr
    uncore = as_user(capability, ["uncore", "stat", "-j", *counted])
    if may:
        row = rig.json.loads(uncore.stdout or "{}")
        rig.ok(uncore.returncode == 0 and row["count"] == STEP * per_tick, f"{who}: counts", uncore)
    else:
        rig.ok(uncore.returncode == 4 and not uncore.stdout, f"{who}: status 4, no row", uncore)
        wanted = ["no permission", f"perf_event_paranoid is {level}", "CAP_SYS_ADMIN" if capability else "CAP_"]
        rig.ok(all(text in uncore.stderr for text in wanted), f"{who}: says what is lacking", uncore.stderr)
    if level in (0, 2, 3):
        diagnosis(capability, who, may)


def diagnosis(capability, who, may):
    """What uncore doctor says about it."""
    doctor = as_user(capability, ["uncore", "doctor", "-j"])
    findings = rig.json.loads(doctor.stdout)["findings"]
    verdict, = [f["verdict"] for f in findings if f["subject"] == "permission"]
    missing = any(f["verdict"] == "missing" for f in findings)
    # Whether a capability is enough above level 2 is up to the distributor: doctor cannot know.
    wanted = ["ok"] if may else ["denied", "note"] if capability else ["denied"]
    rig.ok(verdict in wanted, f"{who}: uncore doctor's verdict", doctor.stdout)
    rig.ok(doctor.returncode == (3 if missing else 4 if verdict == "denied" else 0),
           f"{who}: status of uncore doctor", doctor)


def looking_needs_nothing():
    """What only looks works for everybody."""
    done = as_user(None, ["uncore", "stat", "--dry-run", "-e", behaviour.events(1)[0]])
    rig.ok(done.returncode == 0 and done.stdout, "uncore stat --dry-run needs no permission", done)
    done = as_user(None, ["uncore"])
    rig.ok("permission" in done.stdout + done.stderr and done.returncode == 4, "uncore alone says it and ends with 4",
           done)


def main():
    before = LEVEL.read_text(encoding="ascii")
    event = behaviour.events(1)[0]
    per_tick = behaviour.weight(event)
    try:
        for level in (-1, 0, 1, 2, 3):
            one_level(level, None, event, per_tick)
        looking_needs_nothing()
        for level in (2, 3):
            one_level(level, "perfmon", event, per_tick)
        one_level(3, "sys_admin", event, per_tick)
    finally:
        LEVEL.write_text(before, encoding="ascii")
    rig.done()


main()
