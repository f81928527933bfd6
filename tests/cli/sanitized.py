#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the command lines that the suites have noted once each, with sanitizers: sanitized.py PREFIX

For each suite there is a file PREFIX*, written by tests/cli/uncore.c; they are removed at the end. A command line
passes when no sanitizer reports anything and no signal ends it; its output is not looked at. Exit status
77 when there is nothing to run.

Command lines in sanitized-covered.txt are left out: they reach no branch that the others do not. With
UNCORE_SANITIZE=all they run, too. With UNCORE_COVERAGE nothing runs and the files stay, for tools/sanitized-lines,
which writes that list."""

import concurrent.futures
import hashlib
import os
import pathlib
import signal
import subprocess
import sys

UNCORE = os.environ.get("UNCORE_BUILT")
SECONDS = 2  # then it is asked to end, as the suites do with what runs until a signal
REPORTS = ("Sanitizer", "runtime error:")
ROOTS = ("UNCORE_BUILD_ROOT", "UNCORE_SOURCE_ROOT")  # the first may lie in the second
COVERED = pathlib.Path(__file__).with_name("sanitized-covered.txt")


def command_lines(files):
    """(directory, arguments) of each noted command line, once."""
    found = {}
    for file in files:
        words = file.read_bytes().split(b"\0")[:-1]
        while words:
            end = 2 + int(words[0])
            found.setdefault((words[1], tuple(words[2:end])))
            words = words[end:]
    return list(found)


def key(line):
    """A command line in sanitized-covered.txt: a hash of directory and arguments below the sources and the build."""
    where, args = line
    text = b"\0".join((where, *args))
    for root in ROOTS:
        text = text.replace(os.fsencode(os.environ[root]), root.encode())
    return hashlib.sha256(text).hexdigest()[:8]


def signal_to(run, number):
    try:
        os.killpg(run.pid, number)
    except ProcessLookupError:
        pass


def finding(line, command=UNCORE, env=None):
    """What is wrong with a command line, None when nothing is."""
    where, args = line
    with subprocess.Popen([command, *args], cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, start_new_session=True, env=env) as run:
        try:
            said = run.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired:
            signal_to(run, signal.SIGTERM)
            try:
                said = run.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                signal_to(run, signal.SIGKILL)
                return "does not end after SIGTERM"
    said = said.decode(errors="replace")
    if any(report in said for report in REPORTS):
        return said
    if run.returncode < 0 and run.returncode != -signal.SIGTERM:
        return f"ended by signal {-run.returncode}: {said}"
    return None


def main():
    prefix = pathlib.Path(sys.argv[1])
    files = sorted(prefix.parent.glob(prefix.name + "*"))
    lines = command_lines(files)
    if "UNCORE_COVERAGE" in os.environ:
        sys.exit(77)
    if not lines:
        print("no command line was noted: run the cli suites first")
        sys.exit(77)
    everything = os.environ.get("UNCORE_SANITIZE") == "all"
    covered = set() if everything else set(COVERED.read_text().split("\n\n")[1].split())
    noted = len(lines)
    lines = [line for line in lines if key(line) not in covered]
    with concurrent.futures.ThreadPoolExecutor(4 * os.cpu_count()) as pool:
        findings = list(pool.map(finding, lines))
    bad = [(line, what) for line, what in zip(lines, findings) if what]
    for (where, args), what in bad:
        print(f"in {os.fsdecode(where)}: uncore {' '.join(map(os.fsdecode, args))}\n{what}\n")
    print(f"{len(lines)} of {noted} command lines, {len(bad)} with a finding")
    if bad:
        sys.exit(1)
    for file in files:
        file.unlink()


if __name__ == "__main__":
    main()
