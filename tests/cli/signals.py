#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends signals to `uncore stat` as terminals and service managers do, and checks what it leaves.

  signals.py intervals INT|TERM|HUP the interval under way is ended and printed; status 0
  signals.py window INT|TERM|HUP    so is the only one
  signals.py command INT|TERM       sent to uncore alone: handed on, the command's status is ours
  signals.py programmed NAME        ends counting when registers are programmed: they are put back
  signals.py released NAME          the same with a command, which the signal kills
  signals.py terminal               Ctrl-C goes to all; the command decides what it does
  signals.py ignored                SIGINT ignored by the shell, as for every `&` of a script
  signals.py delay                  Ctrl-C before counting has begun
  signals.py stalled                Ctrl-C when the reader of the pipe has stopped reading"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import rows
from rows import check

STAT = [os.environ["UNCORE"], "--source", "sim:t410", "stat", "-j"]
STAT += ["-e", "nvidia_ucf_pmu_0/mem_bytes_rd/"]
LIMIT = 20  # seconds that nothing here may take

# A counter that is programmed, and a freeze bit; nothing in the file moves by itself.
BLOCK = """block: test
title: A block that is programmed
instance: unit
evidence: none
pmu: test_{unit}
space: mmio
access: 32
size: 16
map: {file: '%s'}
window: freeze
control:
  ctl:
    offset: 0x0
    fields:
      freeze: {bits: 0, use: freeze}
counter_control:
  fields:
    en: {bits: 22, use: enable}
    ev_sel: {bits: 0-7, use: event}
counters:
  ctr: {title: c, offset: 0x8, control: 0x4, width: 32}
"""
PRESET = bytes.fromhex("00000000 5a000000 78563412 11223344")


def start(*args, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*STAT, *args], **{**pipes, **options})


def end(process, status):
    """What it still wrote; the status must be `status`."""
    out, err = process.communicate(timeout=LIMIT)
    text = err.decode()
    check("Sanitizer" not in text and "runtime error" not in text, text)
    check(process.returncode == status, f"status {process.returncode} and not {status}: {text}")
    return out.decode(), text


def intervals(name):
    process = start("-I", "100")
    first = [process.stdout.readline() for _ in range(3)]
    time.sleep(0.03)
    process.send_signal(getattr(signal, "SIG" + name))
    out, err = end(process, 0)
    found = rows.json_rows(b"".join(first).decode() + out)
    check(not err or "late by more than half an interval" in err, f"a word on standard error: {err}")
    check(len(found) >= 4, f"the interval under way was not printed: {len(found)} rows")
    check(0 < found[-1]["interval"] < 0.099, f"the last interval was not cut short: {found[-1]}")
    lengths = sum(row["interval"] for row in found)
    check(abs(lengths - found[-1]["time"]) < 1e-6, f"lost time: {lengths} {found[-1]['time']}")


def window(name):
    process = start()
    time.sleep(0.4)
    process.send_signal(getattr(signal, "SIG" + name))
    found = rows.json_rows(end(process, 0)[0])
    check(len(found) == 1 and 0 < found[0]["interval"] < 5, f"one window: {found}")


def command(name):
    number = getattr(signal, "SIG" + name)
    process = start("--", "sh", "-c", "echo here >&2; exec sleep 10")
    check(process.stderr.readline() == b"here\n", "the command did not start")
    time.sleep(0.1)
    begin = time.monotonic()
    process.send_signal(number)
    found = rows.json_rows(end(process, 128 + number)[0])
    check(time.monotonic() - begin < 5, "the command was not ended")
    check(len(found) == 1, f"one window: {found}")


def program(name, status, *command):
    """Registers as they were found, whatever ends counting."""
    number = int(name) if name.isdecimal() else getattr(signal, "SIG" + name)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "map")
        with open(path, "wb") as file:
            file.write(PRESET)
        with open(os.path.join(directory, "block.yaml"), "w", encoding="ascii") as file:
            file.write(BLOCK % path)
        args = [STAT[0], "--source", f"regs:{file.name}", "--program", "stat", "-j", "-I", "20"]
        process = subprocess.Popen(
            [*args, "-e", "test_0/event=0x21/", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Python and shells leave some of them ignored.
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        )
        first = process.stdout.readline()
        with open(path, "rb") as file:
            check(file.read()[4:8] == bytes.fromhex("21004000"), "nothing was programmed")
        process.send_signal(number)
        rows.json_rows(first.decode() + end(process, status(number))[0])
        with open(path, "rb") as file:
            left = file.read()
        check(left == PRESET, f"{name}: left as {left.hex(' ', 4)}, found {PRESET.hex(' ', 4)}")


def programmed(name):
    program(name, lambda number: 0)


def released(name):
    program(name, lambda number: 128 + number, "--", "sleep", "10")


def terminal():
    script = "trap 'exit 7' INT; echo here >&2; sleep 2 >/dev/null 2>&1 & wait"
    process = start("--", "sh", "-c", script, start_new_session=True)
    check(process.stderr.readline() == b"here\n", "the command did not start")
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    check(len(rows.json_rows(end(process, 7)[0])) == 1, "one window")


def ignored():
    process = start("-I", "50", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rows.json_rows(first.decode() + end(process, 0)[0])


def delay():
    process = start("-D", "10000")
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    check(not out, f"nothing was counted: {out!r}")
    check(b"nothing was counted" in err, f"that is not said: {err!r}")


def stalled():
    process = start("-I", "1", "--per-socket")
    # A pipe takes 64 KiB, about 200 rows.
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=LIMIT)
    out = process.stdout.read().decode()
    check(process.returncode == 1, f"status {process.returncode}: data was lost")
    check(b"stopped reading" in process.stderr.read(), "that data was lost is not said")
    rows.json_rows(out[: out.rindex("\n") + 1])


def main():
    commands = [intervals, window, command, programmed, released, terminal, ignored, delay, stalled]
    try:
        {c.__name__: c for c in commands}[sys.argv[1]](*sys.argv[2:])
    except (rows.Wrong, subprocess.TimeoutExpired) as wrong:
        sys.exit(f"signals {' '.join(sys.argv[1:])}: {wrong}")


if __name__ == "__main__":
    main()
