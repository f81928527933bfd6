#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Links of Sapphire Rapids. Since Linux 6.11 the PMU of every link uses the registers of link 0. uncore recognises
this by the kernel's version, and with an older version, as distributions have the change in older kernels, by equal
counts. Linux 6.1 uses the registers of each link, and nothing is suspect."""

import contextlib
import pathlib

import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = {name: pmu for name, pmu in rig.pmus().items() if name.startswith("uncore_upi_")}
TERMS = "event=0x2,umask=0xf"
EVENT = f"uncore_upi/{TERMS}/"
METRIC = "intel-upi/link.out.bandwidth"
TICKS = 1009
RELEASE = pathlib.Path("/proc/sys/kernel/osrelease")


@contextlib.contextmanager
def release(text):
    """Another version in /proc, as a distribution has the change in an older kernel."""
    other = pathlib.Path("/tmp/osrelease")
    other.write_text(text + "\n", encoding="ascii")
    rig.run(["mount", "--bind", other, RELEASE])
    try:
        yield
    finally:
        rig.run(["umount", RELEASE])


def link(name, number=None):
    """Counts of a link's own registers over a step, or of another link's, on each CPU."""
    own = name if number is None else f"uncore_upi_{number}"
    return {(name, cpu): MODEL.weight(own, pmu.encode(TERMS), cpu) * TICKS
            for pmu in [PMUS[name]] for cpu in pmu.cpus}


def step(place, what="-e", events=EVENT):
    """Rows of a step."""
    return rig.uncore(events, ["traffic", "step", TICKS], place, what=what)


def all_suspect(rows, reason):
    """All rows are suspect, for this reason."""
    return bool(rows) and all(row["quality"] == "suspect" and reason in row["reason"] for row in rows)


def test_bug():
    """The kernel has the bug."""
    expected = {key: count for name in PMUS for key, count in link(name, 0).items()}
    rows = step("each")
    rig.ok({(r["pmu"], r["cpu"]): r["count"] for r in rows} == expected, "every link counts link 0", rows)
    rig.ok(all_suspect(rows, "a bug of kernel"), "suspect by the kernel's version", rows)
    with release("6.6.13-older"):
        for place in ("each", "socket", "all"):
            rows = step(place)
            rig.ok(all_suspect(rows, "have equal counts"), f"suspect by equal counts: {place}", rows)
        rows = step("socket", what="-M", events=METRIC)
        rig.ok(all_suspect(rows, "have equal counts"), f"suspect by equal counts: {METRIC}", rows)


def test_no_bug():
    """The kernel does not have it."""
    expected = {key: count for name in PMUS for key, count in link(name).items()}
    rows = step("each")
    rig.ok({(r["pmu"], r["cpu"]): r["count"] for r in rows} == expected, "every link counts its own", rows)
    for place, rows in (("each", rows), ("socket", step("socket")), ("all", step("all", what="-M", events=METRIC))):
        rig.ok(rows and all(r["quality"] == "measured" for r in rows), f"nothing is suspect: {place}", rows)


def main():
    """The model's links."""
    if rig.MODEL != "spr":
        rig.skip("links that count another one's", "the driver of this machine goes to each link")
    elif MODEL.LINK_0:
        test_bug()
    else:
        test_no_bug()
    rig.done()


if __name__ == "__main__":
    main()
