#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the command lines of documents on a simulated machine: documents.py UNCORE LEAST FILE...

They are the lines of code blocks that begin with "uncore", and what is in backquotes and begins with it. Each runs in a
folder with the files that it names, and gets Ctrl-C after a second. It must not fail, and not be a wrong usage; on the
simulated Sapphire Rapids something may be unavailable (3), and `verify` has nothing to prove. Lines with a placeholder, such as FILE, are left out. At least
LEAST lines must be found."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^(?:    |)((?:sudo )?uncore(?: .*)?)$", re.M)
INLINE = re.compile(r"(?<!`)`((?:sudo )?uncore [^`]*)`")
PLACEHOLDER = re.compile(r"(?<![\w$*])[A-Z]{3,}(?!\w)|\.\.\.")
ELSEWHERE = {"demo-block", "regs:block/block.yaml"}  # worked-example.bats
NO_PROOF = "verify needs the counters of this machine"
# Commands that read recordings have the machine in them; a line may name one, too.
WRAPPER = """#!/bin/sh
case " $* " in *' --source '* | *' --root '* | ' report '* | ' diff '*) ;; *) set -- --source sim:spr,step=1s "$@" ;; esac
case " $* " in *' serve '*) set -- "$@" --listen 127.0.0.1:0 ;; esac
exec timeout --preserve-status -k 20 -s INT "$SECONDS_TO_RUN" "$UNCORE_REAL" "$@"
"""
INTERRUPTED = 130  # before it could count: the machine is busy


def command_lines(path):
    """(line number, command)"""
    text = path.read_text(encoding="utf-8")
    for pattern in (BLOCK, INLINE):
        for found in pattern.finditer(text):
            command = re.sub(r"\s+", " ", re.sub(r" +#.*", "", found[1].removeprefix("sudo "))).strip()
            words = command.split()
            if not PLACEHOLDER.search(command) and not ELSEWHERE & set(words):
                yield text.count("\n", 0, found.start(1)) + 1, command


def prepare(directory, uncore):
    """The files that documents name."""
    (directory / "bin").mkdir()
    for name, script in (("uncore", WRAPPER), ("program", "#!/bin/sh\n"), ("logger", "#!/bin/sh\n")):
        (directory / "bin" / name).write_text(script)
        (directory / "bin" / name).chmod(0o755)
    for name in ("day", "night", "before", "after"):
        subprocess.run([uncore, "--source", "sim:spr", "record", "-I", "20ms", "--duration", "200ms", "-o", f"{name}.uncore"],
                       cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ("machine", "acme-box"):
        subprocess.run([uncore, "snapshot", f"{name}.txt"], cwd=directory, check=True, stderr=subprocess.DEVNULL)


def run(directory, uncore, number, command):
    own = directory / f"run{number}"  # each may write the same file
    own.mkdir()
    for path in directory.glob("*.*"):
        (own / path.name).symlink_to(path)
    (own / "program").symlink_to(directory / "bin/program")
    environment = dict(os.environ, PATH=f"{directory}/bin:{os.environ['PATH']}", UNCORE_REAL=uncore, LC_ALL="C.UTF-8")
    status = INTERRUPTED
    # What a document writes is new to the reader.
    command = re.sub(r"(-o|record|snapshot) (\w+)\.(uncore|txt)", r"\1 new-\2.\3", command)
    for seconds in (1, 4, 16):
        if status == INTERRUPTED:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=own, text=True, check=False,
                                  env=dict(environment, SECONDS_TO_RUN=str(seconds)), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            status = INTERRUPTED if "before counting began" in done.stderr else done.returncode
    return status, (done.stderr.strip() or "no message").splitlines()[-1]


def main():
    uncore, least, files = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    lines = {}
    for path in map(pathlib.Path, files):
        for number, command in command_lines(path):
            lines.setdefault(command, f"{path}:{number}")
    bad = len(lines) < least
    with tempfile.TemporaryDirectory() as made:
        directory = pathlib.Path(made)
        prepare(directory, uncore)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = pool.map(lambda item: run(directory, uncore, *item), enumerate(lines))
            for (command, where), (status, message) in zip(lines.items(), results):
                if status not in (0, 3) and NO_PROOF not in message:
                    bad = True
                    print(f"{where}: exit status {status}: {command}\n    {message}")
    print(f"{len(lines)} command lines")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
