#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore verify` with the guest's disk, whose bytes I/O stacks and caches count: its root port and socket are proved
where they are right, the share of the caches is what was set, and each planted fault is named."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import rig

DISK = "vda"
PORT, DEVICE = "0000:00:03.0", "0000:01:00.0"
SECONDS = 10
TRIES = 3  # a host that stops the guest within a round makes a number that verify does not judge
FOUND = 0.6
STACKS = {("pcie.inbound.write.bandwidth", "file-read"), ("pcie.inbound.read.bandwidth", "file-write")}
CACHES = {("pcie.inbound.write.llc.bandwidth", "file-read"), ("pcie.inbound.read.llc.bandwidth", "file-write")}
# Caches of Skylake have one filter for all opcodes: in a pass one direction is counted, or none.
UNKNOWN = {"skx": {(*row, None) for row in CACHES}, "icx": set()}
# What is planted, the fault's name, a part of the sentence, and whether that row is off.
FAULTS = {
    "skx": (
        ("at 1 0", "other port", f"the data of {DEVICE} are counted at root port 0000:17:00.0",
         lambda row: row["port"]),
        ("faults stacks, scale 0 0 500", "half", "half of it is counted", lambda row: ".llc." not in row["name"]),
        ("faults stacks, turn on", "directions swapped", "writes of devices are counted as reads of devices",
         lambda row: ".llc." not in row["name"]),
        ("faults stacks, scale all all 250", "units", "units of 4 bytes are taken for bytes",
         lambda row: ".llc." not in row["name"]),
    ),
    "icx": (
        ("faults stacks, swap on", "other socket", f"the data of {DEVICE} are counted at socket 1",
         lambda row: ".llc." not in row["name"]),
        ("faults slices, scale all all 2000", "double", "counted twice", lambda row: ".llc." in row["name"]),
    ),
}


def verify(*options):
    """Verdicts, and the process."""
    seconds = SECONDS * len(options) // 2
    done = rig.run(["uncore", "verify", "-M", "pcie.*", "--time", f"{seconds}s", "-j", *options], status=None)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def key(row):
    return row["name"], row["direction"], row["port"]


def short(rows):
    return [(*key(row), row["counted"], row["error"], row["share"], row["verdict"], row["reason"]) for row in rows]


def plant(words):
    """Begins anew, and sets faults."""
    rig.traffic("real", "nt")
    rig.traffic("found", int(FOUND * 1000))
    for setting in filter(None, words.split(", ")):
        rig.traffic(*setting.split())


def clean(*options, directions):
    """Counts are bytes: proved within 0.5 %, and what the caches had is what was set."""
    model = rig.MODEL
    wanted = {(*row, port) for row in STACKS for port in (None, PORT)} | {(*row, None) for row in CACHES}
    wanted = {row for row in wanted - UNKNOWN[model] if row[1] in directions}
    for _ in range(TRIES):
        plant("")
        rows, done = verify(*options)
        proved = {key(row): row for row in rows if row["verdict"] == "proved"}
        bad = [row for row in rows if row["verdict"] == "off" or abs((row["counted"] or 1) - 1) > 0.005]
        bad += [row for row in proved.values() if ".llc." in row["name"] and abs((row["share"] or 0) - FOUND) > 0.005]
        if proved.keys() - UNKNOWN[model] == wanted and not bad:
            break
    rig.ok(proved.keys() - UNKNOWN[model] == wanted and not bad and all(row["device"] == DEVICE for row in rows),
           f"{' and '.join(directions)}: what the disk moves is proved within 0.5 %",
           f"{done.returncode} {proved.keys() ^ wanted} {short(rows)} {done.stderr}")
    others = {key(row) for row in rows} - wanted
    rig.ok(others == {row for row in UNKNOWN[model] if row[1] in directions} or not directions,
           "what cannot be told is what the hardware cannot", f"{others} {short(rows)}")
    return done


def fault(words, name, sentence, where):
    """Named where it is, and nowhere else."""
    for _ in range(TRIES):
        plant(words)
        rows, done = verify("--read", f"/dev/{DISK}")
        off = [row for row in rows if row["verdict"] == "off"]
        told = [row for row in rows if where(row) and key(row) not in UNKNOWN[rig.MODEL]]
        good = off and {key(row) for row in off} == {key(row) for row in told}
        if good and all(row["fault"] == name for row in off) and any(sentence in row["reason"] for row in off):
            break
    rig.ok(good and done.returncode == 1 and all(row["fault"] == name for row in off), f"{words}: {name}",
           f"{done.returncode} {short(rows)} {done.stderr}")
    rig.ok(any(sentence in row["reason"] for row in off), f"{words}: {sentence}", short(rows))


@contextlib.contextmanager
def followed():
    """What the disk moves is counted."""
    with subprocess.Popen(["traffic", "disk", DISK], stdout=subprocess.PIPE, text=True) as watcher:
        try:
            rig.ok(watcher.stdout.readline() == "following\n", "the disk is followed")
            yield
        finally:
            watcher.kill()


def with_file_system():
    """Reads the file system's own files, and writes one."""
    where = pathlib.Path("/tmp/disk")
    where.mkdir()
    rig.run(["mkfs.ext4", "-q", "-F", f"/dev/{DISK}"])
    rig.run(["mount", f"/dev/{DISK}", where])
    file = where / "file"
    file.write_bytes(os.urandom(8 << 20))
    done = clean("--read", file, "--write", where, directions=("file-read", "file-write"))
    rig.ok(f"it is on {DISK}: device {DEVICE}, root port {PORT}, socket 0" in done.stderr, "the place is printed first",
           done.stderr)
    rig.ok({path.name for path in where.iterdir()} == {"file", "lost+found"}, "nothing else is in the directory",
           list(where.iterdir()))
    rig.run(["umount", where])


def main():
    if rig.MODEL not in FAULTS or rig.SOCKETS != 2 or not pathlib.Path(f"/sys/block/{DISK}").exists():
        rig.skip("verify of devices", "this model has no disk that is counted, or one socket")
        rig.done()
    with followed():
        clean("--read", f"/dev/{DISK}", directions=("file-read",))
        for each in FAULTS[rig.MODEL]:
            fault(*each)
        if shutil.which("mkfs.ext4"):
            with_file_system()
        else:
            rig.skip("files on the disk", "there is no mkfs.ext4")
    rig.traffic("real", "off")
    rig.done()


main()
