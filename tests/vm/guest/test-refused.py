#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a driver refuses, at the open or in silence: an error or `unavailable`, with a reason; never
a 0."""

import pathlib
import re

import behaviour
import rig

STEP = 1000
DATA = pathlib.Path(__file__).parents[3] / "data"
RULELESS = pathlib.Path("/tmp/ruleless")


def stat(events, *options, command=("traffic", "step", STEP)):
    """uncore stat -j over a step: the process and its rows."""
    done = rig.run(["uncore", *options, "stat", "-j", "-e", events, "--", *command], status=None)
    return done, [rig.json.loads(line) for line in done.stdout.splitlines()]


def exact(row):
    """Did the row count the step?"""
    return behaviour.counted(row, STEP * behaviour.weight(row["name"]))


def groups():
    """Groups as large as the box, and larger."""
    n = behaviour.MODEL.counters
    fits, large = behaviour.events(n), behaviour.events(n + 1)
    done, rows = stat("{" + ",".join(fits) + "}")
    rig.ok(done.returncode == 0 and len(rows) == n and all(map(exact, rows)), f"a group of {n} is counted", done)
    rig.ok(len({(row["enabled_ns"], row["running_ns"]) for row in rows}) == 1, "over one window", behaviour.short(rows))
    done, rows = stat("{" + ",".join(large) + "}")
    rig.ok(done.returncode == 2 and not rows and "does not fit" in done.stderr and ":W" in done.stderr,
           f"a group of {n + 1} is an error, with what mends it", done)
    behaviour.rotate_slowly([behaviour.pmu()])
    done, rows = stat("{" + ",".join(large) + "}:W")
    good = [row for row in rows if exact(row)]
    # One of two instances that never ran in so short a time makes a row partial with the coverage of the other; the
    # host may stop the guest where the interval begins or ends, which makes it suspect.
    guessed = [row for row in rows if not exact(row) and (
        row["quality"] == "scaled" and row["coverage"] < 1 or row["quality"] in ("partial", "suspect") and row["reason"])]
    never = [row for row in rows if row["quality"] == "unavailable" and row["value"] is None and row["reason"]]
    rig.ok(done.returncode == 0 and len(good + guessed + never) == n + 1 and guessed + never,
           "with :W it is split: scaled, or with a reason, or measured and exact", behaviour.short(rows))
    done, rows = stat("{" + f"{fits[0]},{behaviour.neighbour()}" + "}")
    rig.ok(done.returncode == 2 and done.stderr or len(rows) == 2 and all(map(exact, rows)),
           "a group over two PMUs: counted in both, or an error", done)
    rig.diag("a group over two PMUs: status", done.returncode, done.stderr.strip())


def refused_at_open():
    """A modifier that no uncore driver takes."""
    good = behaviour.events(1)[0]
    done, rows = stat(good + "u")
    rig.ok(done.returncode in (1, 2, 3) and not rows and "modifiers" in done.stderr,
           "refused alone: an error, with the reason", done)
    done, rows = stat(f"{good},{good}u")
    by_name = {row["name"]: row for row in rows}
    rig.ok(done.returncode == 0 and exact(by_name[good]),
           "what stands beside it is counted", done)
    bad = by_name[good + "u"]
    rig.ok(bad["quality"] == "unavailable" and bad["value"] is None and bad["reason"],
           "it is itself unavailable, with the reason", bad)


def without_rules(family):
    """Options to know a family of PMUs as it is, but not what it excludes: then the driver is asked."""
    RULELESS.mkdir(exist_ok=True)
    text, removed = re.subn(r"^rules:\n(?:(?: .*|#.*|)\n)*(?=\w)", "", (DATA / f"{family}.yaml").read_text(encoding="utf-8"),
                            flags=re.M)
    rig.ok(removed == 1, f"{family} has rules", text)
    (RULELESS / f"{family}.yaml").write_text(text, encoding="utf-8")
    return ["--data", RULELESS]


def refused_by_rule(pmu, both, plain, two):
    """What its family's rules exclude is an error before anything is opened."""
    for events, words in ((both, "exclude each other"), (f"{both},{plain}", "exclude each other"),
                          (",".join(two), "one device"), ("{" + ",".join(two) + "}", "one device"),
                          (f"{pmu}/event=0x2,src_bdf=0x100/", "without src_bdf_en")):
        done, rows = stat(events)
        rig.ok(done.returncode == 2 and not rows and pmu in done.stderr and words in done.stderr,
               f"refused by a rule: {events}", done)


def beside_refused(both, plain, asked):
    """The kernel goes on giving the refused event its turns, in which nothing is counted. Whether the
    one beside it has a turn before a short window ends depends on the moment: hence the pause."""
    done, rows = stat(f"{both},{plain}", *asked, command=["sh", "-c", f"sleep 0.1; traffic step {STEP}; sleep 0.1"])
    rig.ok(len(rows) == 2 and rows[0]["quality"] == "unavailable" and rows[0]["value"] is None,
           "beside another event it is unavailable, too", done)
    other = rows[1]
    rig.ok(exact(other) or other["coverage"] < 1 and other["quality"] in ("scaled", "partial") or
           other["quality"] == "unavailable" and other["value"] is None and other["reason"],
           "what the event beside it lacks is said", behaviour.short(rows))
    return [(exact(other) or other["quality"] in ("scaled", "partial"), "the event beside it has turns: exact, or scaled",
             behaviour.short(rows))]


def refused_in_silence():
    """A filter for a root port and one for a device on one event: the open succeeds, and the driver
    never counts."""
    pmu = "nvidia_pcie_pmu_0_rc_0"
    if pmu not in rig.pmus():
        rig.skip("refused in silence", f"no {pmu}: only its driver is known to do that")
        return
    both = f"{pmu}/event=0x2,src_rp_mask=0x1,src_bdf=0x100,src_bdf_en=0x1/"
    plain = f"{pmu}/event=0x2/"
    two = [f"{pmu}/event=0x2,src_bdf={bdf:#x},src_bdf_en=0x1/" for bdf in (0x100, 0x200)]
    refused_by_rule(pmu, both, plain, two)
    asked = without_rules("nvidia-t410-pcie")
    done, rows = stat(f"{pmu}/event=0x2,src_bdf=0x100/", *asked)
    rig.ok(len(rows) == 1 and rows[0]["count"] == 0 and rows[0]["quality"] == "measured",
           "a device without its enable bit: the driver counts nothing, as the rule says", done)
    counts = rig.perf(both, ["traffic", "step", STEP])
    rig.ok(counts[0].value is None, "perf: not counted", counts)
    done, rows = stat(both, *asked)
    rig.ok(len(rows) == 1 and rows[0]["quality"] == "unavailable" and rows[0]["value"] is None and
           "never ran" in rows[0]["reason"], "uncore: unavailable, never a 0", done)
    behaviour.by_timing(lambda: beside_refused(both, plain, asked))
    done, rows = stat("{" + f"{both},{plain}" + "}", *asked)
    rig.ok(done.returncode == 2 and "does not fit" in done.stderr or
           done.returncode == 0 and len(rows) == 2 and
           all(row["quality"] == "unavailable" and row["reason"] for row in rows),
           "a group that it leads is not counted, and says so", done)
    rig.diag("a group led by it: status", done.returncode, done.stderr.strip(), [r["quality"] for r in rows])
    done, rows = stat(",".join(two), *asked)
    rig.ok(done.returncode == 0 and len(rows) == 2 and
           all(exact(row) or row["quality"] in ("scaled", "partial", "suspect", "unavailable") for row in rows) and
           not all(map(exact, rows)), "two devices behind one root complex share it: not both are measured", done)
    done, rows = stat("{" + ",".join(two) + "}", *asked)
    rig.ok(done.returncode == 2 and "does not fit" in done.stderr, "as a group they are an error", done)


def main():
    groups()
    refused_at_open()
    refused_in_silence()
    rig.done()


main()
