# SPDX-License-Identifier: MIT
"""Groups of resctrl in a guest, and processes in them that move a known number of bytes (see pmon/rdt.c). Shared by
test-resctrl.py and test-who.py.

    groups.mount()
    a = groups.Group("a")
    move = groups.Move("store", 0, (0, 2), 16, 4)  # 16 MiB on node 0, four times, by CPUs 0 and 2 in turn
    groups.bash(a.runs(move) + " & wait")
    a.counts() == groups.moved([move])  # {(event, domain): bytes}

A domain is a last-level cache, "0", or with several nodes behind it one of them, "0_node_1"."""

import collections
import errno
import os
import pathlib
import subprocess
import time

import rig

TOP = pathlib.Path("/sys/fs/resctrl")
INFO = TOP / "info/L3_MON"
EVENTS = ("mbm_total_bytes", "mbm_local_bytes")
MIB = 1 << 20
LIMBO = 10  # seconds: many times what the kernel waits between two looks at the RMIDs that nobody has any more


def mount():
    """Mounts resctrl. False: this guest's CPU has no monitoring."""
    if os.path.ismount(TOP):
        return True
    return subprocess.run(["mount", "-t", "resctrl", "resctrl", TOP], check=False, capture_output=True).returncode == 0


# ---- where CPUs and their caches are --------------------------------------------------------------


def cache_of(cpu):
    """The number that the kernel gives to the last-level cache of a CPU, and resctrl to its files."""
    text = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/cache/index3/id").read_text(encoding="ascii")
    return int(text)


def node_of(cpu):
    """The NUMA node of a CPU."""
    return next(int(path.name[4:]) for path in pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}").glob("node*"))


SNC = rig.MODEL == "snc"
NODES = sorted({node_of(cpu) for cpu in range(rig.CPUS)})


def domain_of(cpu):
    """What a CPU is counted in."""
    return f"{cache_of(cpu)}_node_{node_of(cpu)}" if SNC else str(cache_of(cpu))


DOMAINS = sorted({domain_of(cpu) for cpu in range(rig.CPUS)})


def cpus_of(socket):
    """The CPUs of a socket; the last socket's if there are not as many."""
    each = rig.CPUS // rig.SOCKETS
    first = min(socket, rig.SOCKETS - 1) * each
    return list(range(first, first + each))


def node(number):
    """A node; the last one if there are not as many."""
    return min(number, len(NODES) - 1)


# ---- what is moved --------------------------------------------------------------------------------


class Move(collections.namedtuple("Move", "operation node cpus mib times", defaults=(1,))):
    """What a process moves: `times` times `mib`, by the CPUs in turn."""

    def command(self):
        """For a shell."""
        cpus = ",".join(map(str, self.cpus))
        return f"stream {self.operation} {self.node} {cpus} {self.mib} {self.times} >/dev/null"

    def bytes(self):
        """All of it: {(event, domain): bytes}."""
        counts = collections.Counter()
        for i in range(self.times):
            cpu = self.cpus[i % len(self.cpus)]
            counts["mbm_total_bytes", domain_of(cpu)] += self.mib * MIB
            if node_of(cpu) == self.node:
                counts["mbm_local_bytes", domain_of(cpu)] += self.mib * MIB
        return counts


def moved(moves):
    """{(event, domain): bytes} of several, with 0 where nothing is moved."""
    total = collections.Counter()
    for move in moves:
        total.update(move.bytes())
    return {(event, domain): total[event, domain] for event in EVENTS for domain in DOMAINS}


def bash(text):
    """Runs it; its parts may be in groups."""
    return rig.run(["bash", "-c", text])


# ---- groups ---------------------------------------------------------------------------------------


class Group:
    """A monitoring group, which is made. "" is the root, which exists. The kernel gives an RMID to another group when the
    caches have none of its lines, and looks every second; `wait` for it."""

    def __init__(self, name, wait=True):
        self.name = name
        self.path = TOP / "mon_groups" / name if name else TOP
        end = time.monotonic() + LIMBO
        while name and not self._made(wait and time.monotonic() < end):
            time.sleep(0.1)

    def _made(self, wait):
        try:
            self.path.mkdir()
        except OSError as error:
            if not wait or error.errno != errno.EBUSY:
                raise
            return False
        return True

    def role(self):
        """What uncore calls it."""
        return f"/{self.name}"

    def remove(self):
        """Its tasks go back to the root; its RMID is free when the caches have none of its lines."""
        self.path.rmdir()

    def tasks(self):
        """The threads in it."""
        return [int(word) for word in (self.path / "tasks").read_text(encoding="ascii").split()]

    def takes(self):
        """For a shell: what it runs from now on is in the group."""
        return f"echo $BASHPID >{self.path}/tasks"

    def runs(self, *moves):
        """For a shell: moves, one after the other, by a process in the group."""
        return f"({self.takes()} && {' && '.join(move.command() for move in moves)})"

    def read(self, event, domain):
        """What a file has: a number, or one of the kernel's words."""
        cache, _, part = domain.partition("_node_")
        path = self.path / f"mon_data/mon_L3_{int(cache):02}" / (f"mon_sub_L3_{int(part):02}" if part else ".")
        text = (path / event).read_text(encoding="ascii").strip()
        return int(text) if text.isdigit() else text

    def counts(self):
        """{(event, domain): bytes}"""
        return {(event, domain): self.read(event, domain) for event in EVENTS for domain in DOMAINS}

    def occupancy(self, domain):
        """Bytes."""
        return self.read("llc_occupancy", domain)


def difference(after, before):
    """Of counts; a word stays one."""
    return {key: after[key] - before[key] if isinstance(after[key], int) and isinstance(before[key], int) else after[key]
            for key in after}


def rmids():
    """How many there are; the root has one."""
    return int((INFO / "num_rmids").read_text(encoding="ascii"))


def fill(stem, least=0):
    """Makes groups until only so many RMIDs are left."""
    there = len(list((TOP / "mon_groups").iterdir()))
    return [Group(f"{stem}{i}") for i in range(rmids() - 1 - there - least)]


def moves_of_flush():
    """So much by every CPU that no cache has a line of any group any more."""
    return [Move("load", node_of(cpu), (cpu,), 33) for cpu in range(rig.CPUS)]


def flush():
    """Does it, in no group."""
    bash(" && ".join(move.command() for move in moves_of_flush()))


def clean():
    """Removes all groups that there are, and their lines from the caches."""
    for path in (TOP / "mon_groups").iterdir():
        path.rmdir()
    flush()


# ---- uncore ---------------------------------------------------------------------------------------


def of_uncore(command, events=EVENTS):
    """uncore --resctrl stat around a command: rows by group, event and domain: {(role, event, domain): row}."""
    output = pathlib.Path(f"/tmp/groups-{os.getpid()}")
    terms = ",".join(f"resctrl_*/{event}/" for event in events)
    rig.run(["uncore", "--resctrl", "stat", "-j", "-A", "-o", output, "-e", terms, "--", "bash", "-c", command])
    rows = {}
    for row in rig.uncore_rows(output):
        rows[row["role"], row["name"].split("/")[1], row["pmu"].partition("_l3_")[2]] = row
    return rows
