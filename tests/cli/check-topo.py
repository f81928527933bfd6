#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore topo --json` (standard input) must agree with the files of a tree: check-topo.py TREE

Works out sockets, devices, what is above each device and what its link carries, and checks that
every reference leads somewhere."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "machines"))
import rows
import snapshot
from rows import check

# GT/s: share of the bits that is data.
ENCODINGS = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130}


def text_of(path):
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def number_of(path):
    text = text_of(path)
    return None if text is None else int(text, 0)


def cpus_of(text):
    cpus = []
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def compare(where, what, theirs, ours):
    check(theirs == ours, f"{where}: {what} is {theirs!r}, and the tree has {ours!r}")


def sockets_of(tree):
    system, found = tree / "sys/devices/system", {}
    for cpu in cpus_of(text_of(system / "cpu/online")):
        package = number_of(system / f"cpu/cpu{cpu}/topology/physical_package_id")
        found.setdefault(package, []).append(cpu)
    # Packages with numbers of firmware tables are numbered in the order of their CPUs.
    return found if max(found) < 8 else dict(enumerate(found.values()))


def parents_of(directories):
    """The device above each one: the directory that holds its own in /sys/devices."""
    above = {address: directory.resolve().parent.name for address, directory in directories.items()}
    return {address: name if name in directories else None for address, name in above.items()}


def check_link(where, link, directory):
    speed, width = text_of(directory / "current_link_speed"), number_of(directory / "current_link_width")
    if link is None or link["speed"] is None:
        check(not width or speed is None or not speed[0].isdigit(), f"{where}: a link that is missing")
        return
    compare(where, "speed", link["speed"], float(speed.split()[0]))
    compare(where, "width", link["width"], width or None)  # 0: no link
    share = ENCODINGS.get(link["speed"])
    if share and width:
        carries = link["speed"] * 1e9 * share * width / 8
        check(abs(link["rate"] - carries) < 1, f"{where}: carries {carries}: {link}")


def check_device(device, directory, parents):
    where = device["address"]
    for key in ("vendor", "device", "class"):
        compare(where, key, int(device[key], 16), number_of(directory / key))
    compare(where, "parent", device["parent"], parents[where])
    driver = [line[7:] for line in (text_of(directory / "uevent") or "").split("\n")
              if line.startswith("DRIVER=")]
    compare(where, "driver", device["driver"], driver[0] if driver else None)
    for name in device["names"]:
        check(any(directory.glob(f"*/{name}")) or any(directory.glob(f"*/*/{name}")),
              f"{where}: {name} is not below it")
    node = number_of(directory / "numa_node")
    compare(where, "node", device["node"], node if node is not None and node >= 0 else None)
    check_link(where, device["link"], directory)
    above = where
    while parents[above]:
        above = parents[above]
    check(device["root_port"] in (None, above), f"{where}: the root port is {device['root_port']}")


def check_tree(tree, topo):
    directory = tree / "sys/bus/pci/devices"
    found = {p.name: p for p in directory.iterdir()} if directory.is_dir() else {}
    listed = [d["address"] for d in topo["devices"]]
    check(sorted(listed) == sorted(found), f"devices differ: {set(listed) ^ set(found)}")
    parents = parents_of(found)
    for device in topo["devices"]:
        check_device(device, found[device["address"]], parents)
    sockets = {s["id"]: s["cpus"] for s in topo["sockets"]}
    compare("topo", "sockets", sockets, sockets_of(tree))
    pmus = {p.name for p in (tree / "sys/bus/event_source/devices").iterdir()}
    for port in topo["root_ports"]:
        check(port["address"] in found and port["socket"] in (None, *sockets), f"root port: {port}")
        check((port["pmus"] == []) == (port["unknown"] is not None), f"PMUs or a reason: {port}")
        check(set(port["pmus"]) <= pmus, f"a PMU that is not there: {port}")
        compare(port["address"], "segment", port["segment"], int(port["address"].split(":")[0], 16))
    for link in topo["links"]:
        check((link["peer"] is None) == (link["unknown"] is not None), f"a peer or a reason: {link}")
    for counted in topo["links"] + topo["memory"]:
        check(counted["pmu"] in pmus and counted["socket"] in (None, *sockets), f"{counted}")
    print(f"{len(listed)} devices, {len(topo['root_ports'])} root ports")


def main():
    try:
        with snapshot.directory(sys.argv[1]) as tree:
            topo = rows.json_value(sys.stdin.read())
            compare("topo", "schema", topo["schema"], rows.SCHEMA)
            compare("topo", "simulated", topo["simulated"], False)
            check_tree(tree, topo)
    except rows.Wrong as wrong:
        sys.exit(f"check-topo {sys.argv[1]}: {wrong}")


if __name__ == "__main__":
    main()
