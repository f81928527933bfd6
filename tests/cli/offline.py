#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts sockets and CPUs of two-socket machines offline, as the kernel and its drivers do, and compares all rows of the
other socket with those of before: offline.py UNCORE DIRECTORY [MACHINE...]

Machines with one socket are made into two as the drivers would show them. Prints a line for each machine and change,
with the number of rows, root ports, devices and links that were compared, and how many moved: they are missing, have
another value, quality or place, or are of a CPU or PMU of another socket.

What the kernel does: drivers/base/topology.c removes topology/ of a CPU that goes offline (POWER kept it); a node's list
has CPUs online only, its links stay; uncore_event_cpu_offline() of arch/x86/events/intel/uncore.c and amd_uncore's
choose another CPU of the die, and none if there is none; so does arm_cspmu_cpu_teardown() of
drivers/perf/arm_cspmu/arm_cspmu.c among its associated CPUs, and hisi_uncore_pmu_offline_cpu()."""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "machines"))
import snapshot  # noqa: E402

ROOT = pathlib.Path(os.environ["UNCORE_SOURCE_ROOT"])
CPUS, NODES = "sys/devices/system/cpu", "sys/devices/system/node"
PMUS, PCI = "sys/bus/event_source/devices", ("sys/bus/pci/", "sys/devices/pci")
EACH = 4    # CPUs of a socket
# PMUs of which each die or socket has one; others are read by any CPU.
OF_DIES = re.compile(r"uncore_(?!cxl)|amd_(df|l3|umc)|power$|cstate_pkg")
MACHINES = {
    "icx": "intel-icx-1socket", "ivt": "intel-ivt-1socket", "skx": "intel-skx-1socket", "spr": "intel-spr-1socket",
    "zen3": "amd-zen3-1socket", "zen4": "amd-zen4-1socket", "zen5": "amd-zen5-1socket",
    "grace": "nvidia-grace-1socket", "hip08": "hisilicon-hip08",
    "t410": "nvidia-t410-2socket",
}
LEVELS = ["--per-socket", "--no-merge", "--per-node", "--per-port"]


def is_x86(name):
    return name[:3] in ("icx", "ivt", "skx", "spr", "zen")


def text_of(tree, path):
    return tree[path].decode().strip()


def put_list(tree, path, cpus):
    tree.put(path, ",".join(map(str, cpus)) + "\n")


# ---- two sockets of one ----

def second_pmu(tree, name):
    """The PMU of the second socket, where each has its own: its name has the socket's number; amd_uncore numbers memory
    controllers over both (arch/x86/events/amd/uncore.c, amd_uncore_umc_ctx_init())."""
    other = re.sub(r"amd_umc_(\d+)", lambda m: f"amd_umc_{int(m[1]) + 100}", name)
    other = re.sub(r"_pmu_0$", "_pmu_1", re.sub(r"_s([ci])cl(\d+)", lambda m: f"_s{m[1]}cl{int(m[2]) + 4}", other))
    if other == name:
        return
    tree.copy_below(f"{PMUS}/{name}", f"{PMUS}/{other}")
    tree.put(f"{PMUS}/{other}/type", f"{int(text_of(tree, f'{PMUS}/{name}/type')) + 200}\n")
    put_list(tree, f"{PMUS}/{other}/cpumask", [EACH])
    if f"{PMUS}/{other}/associated_cpus" in tree:
        tree.put(f"{PMUS}/{other}/associated_cpus", "4-7\n")


def second_pci(tree):
    """The same root buses in other segments, on node 1; those that a driver makes (VMD) stay alone."""
    segment = re.compile(r"(?<![0-9a-f])0(0[0-3][0-9a-f]):(?=[0-9a-f]{2}\b)")
    for path in [p for p in tree if p.startswith(PCI) and "10000:" not in p and not p.endswith("/numa_node")]:
        value = tree[path]
        other = segment.sub(r"4\1:", path)
        if isinstance(value, snapshot.Link):
            value = snapshot.Link(segment.sub(r"4\1:", value))
        elif path.endswith("/config") and len(value) > 0x3f4:
            # The register that names the package (Intel's pcm, get_cpu_bus()).
            value = value[:0x3f4] + bytes([value[0x3f4] & 0xf0 | 1]) + value[0x3f5:]
        if other != path:
            tree[other] = value
        if path.endswith("/class"):
            tree.put(path.replace("/class", "/numa_node"), "0\n")
            tree.put(other.replace("/class", "/numa_node"), "1\n")


def double(tree, x86):
    first = int(text_of(tree, f"{CPUS}/cpu0/topology/physical_package_id"))
    for cpu in range(EACH, 2 * EACH):
        tree.copy_below(f"{CPUS}/cpu{cpu - EACH}", f"{CPUS}/cpu{cpu}")
        tree.put(f"{CPUS}/cpu{cpu}/topology/physical_package_id", f"{first + 1}\n")
    for name in ("online", "present", "possible"):
        tree.put(f"{CPUS}/{name}", "0-7\n")
    for name in sorted({path.split("/")[4] for path in tree if path.startswith(PMUS + "/")}):
        mask = f"{PMUS}/{name}/cpumask"
        if not x86 or name.startswith("amd_umc_"):
            second_pmu(tree, name)
        elif OF_DIES.match(name) and mask in tree:
            cpus = [int(c) for c in text_of(tree, mask).split(",")]
            put_list(tree, mask, cpus + [c + EACH for c in cpus])
        if f"{PMUS}/{name}/die0" in tree:
            tree.put(f"{PMUS}/{name}/die1", "40" + text_of(tree, f"{PMUS}/{name}/die0")[2:] + "\n")
        if name.startswith("uncore_upi_"):
            tree.put(f"{PMUS}/{name}/die0", f"{name[7:]},die_1\n")
            tree.put(f"{PMUS}/{name}/die1", f"{name[7:]},die_0\n")
    second_pci(tree)


def complete(tree):
    """Nodes as the kernel has them, which made machines may lack."""
    for node in range(2):
        tree.put(f"{NODES}/node{node}/cpulist", f"{node * EACH}-{node * EACH + EACH - 1}\n")
        tree.put(f"{NODES}/node{node}/distance", "10 21\n" if node == 0 else "21 10\n")
        for cpu in range(node * EACH, node * EACH + EACH):
            tree.put(f"{NODES}/node{node}/cpu{cpu}/online", "1\n")


# ---- changes ----

def packages(tree, numbers):
    for cpu in range(2 * EACH):
        tree.put(f"{CPUS}/cpu{cpu}/topology/physical_package_id", f"{numbers[cpu // EACH]}\n")


def high(tree):
    packages(tree, (36, 2364))


def swapped(tree):
    packages(tree, (1, 0))
    for path in [p for p in tree if p.startswith(PCI) and p.endswith("/config") and len(tree[p]) > 0x3f4]:
        value = tree[path]
        tree[path] = value[:0x3f4] + bytes([value[0x3f4] ^ 1]) + value[0x3f5:]


def hole(tree):
    """Node 2 instead of 1. NVIDIA's driver takes the socket in a PMU's name from the node (nvidia_cspmu.c,
    nv_cspmu_format_name())."""
    for path in [p for p in tree if p.startswith(f"{NODES}/node1/")]:
        tree[path.replace("node1", "node2")] = tree.pop(path)
    for path in [p for p in tree if p.endswith("/numa_node") and tree[p] == b"1\n"]:
        tree.put(path, "2\n")
    for path in [p for p in tree if re.search(r"/nvidia_\w*_pmu_1[_/]", p)]:
        tree[re.sub("_pmu_1", "_pmu_2", path)] = tree.pop(path)


def second_readers(tree):
    """The drivers have chosen other CPUs of the same dies."""
    by = {0: 1, EACH: EACH + 1}  # the second core complex has CPU 2
    for path in [p for p in tree if p.startswith(PMUS) and p.endswith("/cpumask")]:
        put_list(tree, path, [by.get(c, c) for c in map(int, filter(None, text_of(tree, path).split(",")))])


def offline(tree, cpus, keeps_topology=False):
    online = [c for c in range(2 * EACH) if c not in cpus]
    put_list(tree, f"{CPUS}/online", online)
    for cpu in cpus:
        tree.put(f"{CPUS}/cpu{cpu}/online", "0\n")
        for path in [p for p in tree if re.match(rf"{CPUS}/cpu{cpu}/(topology|cache)/", p)]:
            if not keeps_topology:
                del tree[path]
    for path in [p for p in tree if re.fullmatch(NODES + r"/node\d+/cpulist", p)]:
        node = path.removesuffix("/cpulist")
        put_list(tree, path, [c for c in online if f"{node}/cpu{c}/online" in tree])
    for path in [p for p in tree if p.startswith(PMUS) and p.endswith("/cpumask")]:
        mask = [int(c) for c in text_of(tree, path).split(",") if c]
        left = [c for c in mask if c in online]
        of_dies = OF_DIES.match(path.split("/")[4]) or path.replace("cpumask", "associated_cpus") in tree
        put_list(tree, path, left if left or of_dies or not mask else online[:1])


# ---- what uncore says ----

def spread(rates):
    """Gives all of a simulation's rates the same spread."""
    text = re.sub(r"^ +spread: .*\n", "", rates[0], flags=re.M)
    text = re.sub(r",? *spread: [0-9.]+", "", text)
    text = re.sub(r"^(  - )pmu: ", r"\1spread: 0.4\n    pmu: ", text, flags=re.M)
    return re.sub(r"^(  - \{)pmu: ", r"\1spread: 0.4, pmu: ", text, flags=re.M)


class Machine:
    """A simulated machine's rows and topology."""

    def __init__(self, uncore, directory, name, tree):
        rates = (ROOT / f"data/sim/{name}.yaml").read_text(encoding="ascii")
        # Each PMU and CPU has its own rates, so that a value shows where it was counted.
        rates = re.sub(r"^( *)(machine: ).*", r"\1\2./machine.txt", rates, count=1, flags=re.M)
        rates = re.sub(r"^rates:\n(.*?)(?=^[a-z]|\Z)", spread, rates, count=1, flags=re.M | re.S)
        rates = re.sub(r"(pmu: hisi_s[ci]cl)\d+", r"\1*", rates)
        if any("_pmu_2" in path for path in tree):
            rates = re.sub(r"(nvidia_\w*_pmu_)1", r"\g<1>2", rates)
        tree.write(directory / "machine.txt")
        (directory / "sim.yaml").write_text(rates, encoding="ascii")
        self.command = [uncore, "--source", f"sim:{directory}/sim.yaml,step=1s"]

    def run(self, *arguments):
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join([*self.command, *arguments])}: {done.returncode}: {done.stderr}")
        return done.stdout

    def facts(self, levels):
        """By place and name: the socket of each fact, the PMUs and CPUs that it is of, and what it says."""
        found = {}
        for level in levels:
            for line in self.run("stat", "-M", "*", level, "--json", "1ms", "1").splitlines():
                row = json.loads(line)
                key = (level, *(row[k] for k in ("name", "family", "socket", "node", "pmu", "port", "role", "channel")))
                found[key] = (row["socket"], row["cpu"],
                              tuple(row[k] for k in ("value", "quality", "ceiling", "low", "high")))
        topo = json.loads(self.run("topo", "--json"))
        for port in topo["root_ports"]:
            found["port", port["address"]] = (
                port["socket"], None, (*port["pmus"], port["socket"], port["index"], port["doubt"]))
        for device in topo["devices"]:
            found["device", device["address"]] = (device["socket"], None, (device["socket"], device["node"]))
        for link in topo["links"]:
            found["link", link["pmu"], link["socket"]] = (link["socket"], None, (link["peer"], link["role"]))
        return found


def compare(before, after, gone, sockets):
    """How many facts of sockets that stay were compared, and those that moved. `gone`: the socket that goes offline."""
    wrong, count = [], 0
    for key, (socket, _, says) in before.items():
        if socket is None or socket == gone or (says[0] is None and key[0] in LEVELS):
            continue
        count += 1
        if key not in after or after[key][2] != says:
            wrong.append(f"{key}: {says} was, {after.get(key, (0, 0, 'missing'))[2]} is")
    for key, (socket, cpu, says) in after.items():
        counted = key[0] in LEVELS and says[0] is not None
        if counted and (socket == gone and gone is not None or cpu is not None and sockets[cpu] != socket):
            wrong.append(f"{key}: {says} of CPU {cpu} is shown for socket {socket}")
        if key not in before and (counted or key[0] not in LEVELS):
            wrong.append(f"{key}: {says} is new")
        elif key[0] == "port" and gone is not None and before[key][0] == gone and says[:-3]:
            wrong.append(f"{key}: {says}, though its socket is offline")
    return count, wrong


def socket_numbers(facts):
    return sorted({socket for socket, _, _ in facts.values() if socket is not None})


def changes(name):
    """The name of a change, what is done before, the CPUs that go offline, and whether their topology/ stays."""
    sides = [list(range(EACH)), list(range(EACH, 2 * EACH))]
    for number, side in enumerate(sides):
        yield f"socket {number}", None, side, False
        yield f"socket {number}, packages 36 and 2364", high, side, False
        yield f"socket {number}, nodes 0 and 2", hole, side, False
        if is_x86(name):
            yield f"socket {number}, packages 1 and 0", swapped, side, False
        else:
            yield f"socket {number}, topology/ stays", None, side, True
    yield "CPUs 0 and 4", second_readers, [0, EACH], False


def check(uncore, directory, name):
    total = [0, 0]
    base = snapshot.read(ROOT / f"tests/machines/{MACHINES[name]}.txt")
    if name != "t410":
        double(base, is_x86(name))
    complete(base)
    base.put("proc/sys/kernel/osrelease", "6.1.0\n")
    known = {}
    for what, change, cpus, keeps in changes(name):
        levels = LEVELS if change is None else LEVELS[1:2]
        tree = snapshot.Snapshot(base)
        if change:
            change(tree)
        if change not in known:
            known[change] = Machine(uncore, directory, name, tree).facts(levels)
        before = known[change]
        numbers = socket_numbers(before)
        # Sockets have the numbers of packages below 8, else those of their order.
        if "packages 1 and 0" in what:
            numbers.reverse()
        sockets = [numbers[cpu // EACH] for cpu in range(2 * EACH)]
        offline(tree, cpus, keeps)
        after = Machine(uncore, directory, name, tree).facts(levels)
        count, wrong = compare(before, after, sockets[cpus[0]] if len(cpus) == EACH else None, sockets)
        print(f"# {name}, {what} offline: {count} compared, {len(wrong)} moved")
        for line in wrong[:int(os.environ.get("UNCORE_MOVED", "3"))]:
            print(f"#   {line}")
        if len(numbers) != 2 or count < 5:
            sys.exit(f"{name}: {len(numbers)} sockets, {count} rows")
        total = [total[0] + count, total[1] + len(wrong)]
    return total


def main():
    uncore, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    totals = [check(uncore, directory, name) for name in sys.argv[3:] or MACHINES]
    compared, moved = (sum(t[i] for t in totals) for i in (0, 1))
    print(f"# {len(totals)} machines: {compared} compared, {moved} moved")
    sys.exit(moved > 0)


main()
