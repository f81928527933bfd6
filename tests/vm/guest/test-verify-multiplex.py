#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` on multiplexed counters while traffic is even: what is extrapolated is what was moved, and what counts
otherwise only there is off. A host that stops the guest makes traffic that is not even: then there is no verdict, and it is
tried again."""

import json
import os
import pty
import subprocess

import rig

SECONDS = 140
# An emulated CPU takes a hundredth of the kernel's usual turn of 4 ms to stop and start all counters, which count nothing
# meanwhile.
TURN_MS = 20
TRIES = 3
FAULT = 700  # thousandths that are counted: no share that is near the coverage
MODELS = ("skx",)
EXPECTED = {f"memory.{d}.bandwidth" for d in ("read", "write")}


def wait_for(text, fd):
    """What it shows on a terminal has this text."""
    seen = b""
    while text not in seen:
        seen = seen[-len(text):] + os.read(fd, 4096)


def multiplexed(scale=1000):
    """The rows of one run; from the multiplexed series on, counters count so many thousandths."""
    terminal, end = pty.openpty()
    argv = ["uncore", "verify", "--time", f"{SECONDS}s", "-j"]
    with subprocess.Popen(argv, text=True, stdout=subprocess.PIPE, stderr=end, env=os.environ | {"TERM": "vt100"}) as verify:
        wait_for(b"multiplexed", terminal)
        rig.traffic("scale", "all", "all", scale)
        text, _ = verify.communicate(timeout=rig.TIME_LIMIT)
    rig.traffic("scale", "all", "all", 1000)
    os.close(terminal)
    os.close(end)
    rows = [json.loads(line) for line in text.splitlines()]
    rows = [row for row in rows if row["coverage"] is not None]
    rig.diag([(row["name"], row["node"], row["counted"], row["error"], row["coverage"], row["rounds"], row["verdict"],
               row["reason"]) for row in rows] or text)
    return rows


def all_are(verdict, scale, sentence):
    """Each metric has that verdict at the first or a later try, and none ever has the opposite."""
    found, others, counted, coverage = set(), [], [], []
    for _ in range(TRIES):
        rows = multiplexed(scale)
        told = [row for row in rows if row["verdict"] != "cannot tell"]
        found |= {row["name"] for row in told if row["verdict"] == verdict and sentence in row["reason"]}
        others += [row["reason"] for row in told if row["verdict"] != verdict]
        counted += [row["counted"] for row in told]
        coverage += [row["coverage"] for row in rows]
        if found == EXPECTED:
            break
    rig.ok(found == EXPECTED and not others, f"{scale / 1000}: reads and writes are {verdict}", f"{found} {others}")
    rig.ok(coverage and all(0.1 < c < 0.9 for c in coverage), f"{scale / 1000}: counters took turns", coverage)
    rig.ok(counted and all(abs(c - scale / 1000) < 0.06 for c in counted), f"{scale / 1000}: that is counted", counted)


def main():
    for path in rig.DEVICES.glob("uncore_imc*/perf_event_mux_interval_ms"):
        path.write_text(str(TURN_MS), encoding="ascii")
    rig.traffic("real", "nt")
    all_are("proved", 1000, "agree within")
    all_are("off", FAULT, "of the counts without multiplexing")
    rig.traffic("real", "off")
    rig.done()


if rig.MODEL not in MODELS:
    rig.skip("verify multiplexed", "tried with one model")
    rig.done()
main()
