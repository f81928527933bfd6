#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore latency --ibs --by KEY` on a recording of known tasks, worked out anew; and the same recording by perf
where there is one:  check-keys.py LIBRARY FUNCTION

LIBRARY is a file whose symbols are found, with FUNCTION among them."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

import ibs_file
from rows import Wrong, check

FILE = "keys.data"
FROM = {None: (1, 3, 8), "memory": (3, 8), "local": (3,), "remote": (3,), "cxl": (8,), "cache": (1,)}
KEYS = {
    "process": lambda t: (t["pid"], t["process"]),
    "thread": lambda t: (t["pid"], t["tid"], t["thread"]),
    "symbol": lambda t: (t["process"], t["object"], t["symbol"] or t["place"]),
    "address": lambda t: (t["pid"], t["process"], t["page"]),
}
SHOWN = {
    "process": lambda k: (k["pid"], k["process"]),
    "thread": lambda k: (k["pid"], k["tid"], k["process"]),
    "symbol": lambda k: (k["process"], k["object"], k["symbol"] or int(k["offset"], 16)),
    "address": lambda k: (k["pid"], k["process"], int(k["page"], 16)),
}


def place_of(library, function):
    """The function's place in the file, as binutils say."""
    text = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    address = int(re.search(rf"^(\w+) [tT] {function}$", text, re.M).group(1), 16)
    text = subprocess.run(["readelf", "-lW", library], capture_output=True, text=True, check=True).stdout
    for offset, start, size in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", text):
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            return address - int(start, 16) + int(offset, 16)
    raise Wrong(f"{function} is not loaded")


def chosen(truth, word):
    """The loads that --from leaves."""
    return [t for t in truth if t["source"] in FROM[word]
            and (word not in ("local", "remote") or t["remote"] == (word == "remote"))]


def ours(by, word, *options):
    """What the command prints."""
    argv = [os.environ["UNCORE"], "latency", "--ibs", "--input", FILE, "-j", "--by", by, *options]
    argv += ["--from", word] if word else []
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    check(run.returncode == 0 and not run.stderr, f"{argv}: {run.stderr}")
    return json.loads(run.stdout)


def check_numbers(name, key, loads):
    check(key["samples"] == len(loads), f"{name}: {key['samples']} samples, not {len(loads)}")
    mean = sum(t["latency"] for t in loads) / len(loads)
    check(abs(key["mean"] - mean) < 1e-9 * mean, f"{name}: mean {key['mean']}, not {mean}")
    exact = sorted(t["latency"] for t in loads)[-(-len(loads) * 99 // 100) - 1]
    check(exact <= key["p99"] <= exact * 9 / 8, f"{name}: 99 % at {key['p99']}, exact {exact}")
    for kind, source, remote in (("local", 3, 0), ("remote", 3, 1)):
        count = sum(t["source"] == source and t["remote"] == remote for t in loads)
        check(key[kind] == count, f"{name}: {key[kind]} {kind}, not {count}")
    count = sum(t["source"] == 8 for t in loads)
    check(key["cxl"] == count, f"{name}: {key['cxl']} of CXL, not {count}")
    check(key["quality"] == "sampled", f"{name}: {key['quality']}")


def check_key(by, word, truth):
    """Every key, and no others; then those that --top leaves."""
    loads = collections.defaultdict(list)
    for t in chosen(truth, word):
        loads[KEYS[by](t)].append(t)
    shown = ours(by, word, "--top", "1000")
    check(shown["by"] == by and shown["from"] == word, f"{by}, {word}: what was asked")
    check(shown["memory"] == len(chosen(truth, "memory")), f"{by}, {word}: {shown['memory']} from memory")
    check(shown["used"] == len(chosen(truth, word)), f"{by}, {word}: {shown['used']} used")
    found = {SHOWN[by](k): k for k in shown["keys"]}
    check(found.keys() == loads.keys(), f"{by}, {word}: {found.keys() ^ loads.keys()}")
    for name, of in loads.items():
        check_numbers(f"{by}, {word}, {name}", found[name], of)
    samples = [k["samples"] for k in shown["keys"]]
    check(samples == sorted(samples, reverse=True), f"{by}, {word}: not sorted")
    first, *rest = ours(by, word, "--top", "1")["keys"]
    check(first["samples"] == samples[0], f"{by}, {word}: the first")
    if len(samples) > 1:
        check(len(rest) == 1 and rest[0]["rest"] is True, f"{by}, {word}: no rest")
        name = SHOWN[by](first)
        check_numbers(f"{by}, {word}, rest", rest[0], [t for k, of in loads.items() if k != name for t in of])


def check_perf(truth, function):
    """What perf makes of the names and mappings."""
    run = subprocess.run(["perf", "script", "-i", FILE, "-F", "comm,pid,tid,ip,sym,dso"], capture_output=True,
                         text=True, check=False, env={**os.environ, "LC_ALL": "C"}, timeout=100)
    lines = re.findall(r"^ *(\w+) +(\d+)/(\d+) +([0-9a-f]+) (\S+) \((.*)\)$", run.stdout, re.M)
    if not lines:
        return "perf shows no samples"
    threads = collections.Counter((int(pid), int(tid), name) for name, pid, tid, *_ in lines)
    expected = collections.Counter((t["pid"], t["tid"], t["thread"]) for t in truth)
    check(threads == expected, f"threads: {threads} to perf, {expected} to us")
    objects = collections.Counter("[kernel]" if o.startswith("[kernel") else o for *_, o in lines)
    expected = collections.Counter(t["object"] for t in truth)
    check(objects == expected, f"objects: {objects} to perf, {expected} to us")
    symbols = sum(symbol == function for *_, symbol, _ in lines)
    check(symbols == sum(t["symbol"] == function for t in truth), f"symbols: {symbols} to perf")
    return f"{len(lines)} samples as perf has them"


def main():
    library, function = sys.argv[1:]
    status = os.stat(library)
    place = place_of(library, function)
    records, truth = ibs_file.tasks(library, status.st_ino, place)
    for t in truth:
        t["symbol"] = function if t["object"] == library else None
    ibs_file.perf_data(FILE, "genoa", records, ibs_file.WITH_TASKS, (ibs_file.SOFTWARE,))
    for by in KEYS:
        for word in FROM:
            check_key(by, word, truth)
    # By the file's inode and time: a file that is another one has no symbols.
    os.utime(FILE, (1, 1))
    shown = ours("symbol", None)
    check("not the ones that were mapped" in shown["note"], f"note {shown['note']}")
    check(not any(k["symbol"] for k in shown["keys"]), "symbols of another file")
    os.utime(FILE)
    print(f"{len(truth)} loads; {check_perf(truth, function) if shutil.which('perf') else 'no perf here'}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"check-keys {' '.join(sys.argv[1:])}: {wrong}")
