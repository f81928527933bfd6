#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""In a guest that can see that it is one (tests/vm/run -H) Intel's driver does not start: uncore says
why nothing is here. Not for other boots, so not one of test-*.py:

    tests/vm/run -H -m ivt tests/vm/guest/hypervisor.py"""

import pathlib
import sys

sys.path.insert(0, "/rig/tree/tests/vm/guest")  # the runner gives the guest a copy of this file
import rig  # noqa: E402 pylint: disable=wrong-import-position


def main():
    if "intel_uncore" not in pathlib.Path("/proc/modules").read_text(encoding="ascii") and rig.pmus():
        rig.skip("hypervisor", "the drivers of this model start in a guest, too")
        rig.done()
    left = [name for name in rig.pmus() if name.startswith(("uncore_", "amd_"))]
    rig.ok(not left, "the drivers stay out of the guest", left)
    done = rig.run(["uncore", "doctor", "-j"], status=None)
    findings = rig.json.loads(done.stdout)["findings"]
    missing = [f for f in findings if f["verdict"] == "missing"]
    rig.ok(done.returncode == 3, "uncore doctor ends with 3", done)
    rig.ok(missing and all("guest of QEMU" in f["why"] and f["fix"].startswith("run uncore on the host") for f in missing),
           "each finding names the hypervisor, and the host as what mends it", findings)
    done = rig.run(["uncore", "doctor"], status=None)
    rig.ok(done.returncode == 3 and "guest of QEMU" in done.stdout, "uncore doctor says it in words", done)
    done = rig.run(["uncore", "mem"], status=None)
    rig.ok(done.returncode == 3 and not done.stdout, "uncore mem ends with 3", done)
    rig.ok("guest of QEMU" in done.stderr and "run uncore on the host" in done.stderr, "uncore mem says why", done)
    done = rig.run(["uncore", "stat", "-e", "uncore_imc_0/event=0x4/", "--", "true"], status=None)
    rig.ok(done.returncode == 3 and "guest of QEMU" in done.stderr, "uncore stat says why", done)
    done = rig.run(["uncore"], status=None)
    rig.ok("QEMU" in done.stdout, "uncore alone names the hypervisor", done)
    rig.diag("uncore alone ends with", done.returncode)
    hypervisor = rig.json.loads(rig.run(["uncore", "list", "--json"]).stdout)["machine"]["hypervisor"]
    rig.ok(hypervisor and "QEMU" in hypervisor, "uncore list --json names it", hypervisor)
    rig.done()


main()
