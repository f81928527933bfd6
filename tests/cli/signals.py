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

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import rows
from rows import check

STAT = [os.environ["UNCORE"], "--source", "sim:t410", "stat", "-j"]
STAT += ["-e", "nvidia_ucf_pmu_0/mem_bytes_rd/"]
LIMIT = 100  # seconds that nothing here may take
TRIES = 20

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


def start_until_signal(*args):
    """Started, and waiting: it blocks signals, to read them from a file, and sleeps."""
    process = start(*args)
    status = ""
    for _ in range(LIMIT * 50):
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
            status = file.read()
        blocked = int(re.search(r"^SigBlk:\s*(\w+)", status, re.M)[1], 16)
        if blocked >> (signal.SIGINT - 1) & 1 and "State:\tS" in status:
            time.sleep(0.1)
            return process
        time.sleep(0.02)
    raise rows.Wrong(f"does not wait for a signal: {status}")


def intervals(name):
    check(any(cut_short(name) for _ in range(TRIES)), "the last interval was never cut short")


def cut_short(name):
    """The last interval is; on a busy machine the signal may come after its end."""
    process = start("-I", "100")
    first = [process.stdout.readline() for _ in range(3)]
    time.sleep(0.03)
    process.send_signal(getattr(signal, "SIG" + name))
    out, err = end(process, 0)
    found = rows.json_rows(b"".join(first).decode() + out)
    check(not err or "late by more than half an interval" in err, f"a word on standard error: {err}")
    check(len(found) >= 4, f"the interval under way was not printed: {len(found)} rows")
    lengths = sum(row["interval"] for row in found)
    check(abs(lengths - found[-1]["time"]) < 1e-6, f"lost time: {lengths} {found[-1]['time']}")
    return 0 < found[-1]["interval"] < 0.099


def window(name):
    process = start_until_signal()
    process.send_signal(getattr(signal, "SIG" + name))
    found = rows.json_rows(end(process, 0)[0])
    check(len(found) == 1 and found[0]["interval"] > 0, f"one window: {found}")


def command(name):
    number = getattr(signal, "SIG" + name)
    process = start("--", "sh", "-c", "echo here >&2; exec sleep 300")
    check(process.stderr.readline() == b"here\n", "the command did not start")
    time.sleep(0.1)
    begin = time.monotonic()
    process.send_signal(number)
    found = rows.json_rows(end(process, 128 + number)[0])
    check(time.monotonic() - begin < LIMIT, "the command was not ended")
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
    program(name, lambda number: 128 + number, "--", "sleep", "300")


def terminal():
    script = "trap 'exit 7' INT; echo here >&2; sleep 20 >/dev/null 2>&1 & wait"
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
    process = start_until_signal("-D", "100000")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    check(not out, f"nothing was counted: {out!r}")
    check(b"nothing was counted" in err, f"that is not said: {err!r}")


def stalled():
    process = start("-I", "1ms", "--per-socket")
    # A pipe takes 16 pages, about 200 rows.
    held = [0]
    while held[-1] < 50000 or held[-1] != held[-2]:
        time.sleep(0.1)
        held.append(struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"1234"))[0])
    time.sleep(0.5)
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
