# SPDX-License-Identifier: MIT
"""What the tests inside a guest share: traffic, PMUs of sysfs, perf and uncore, TAP, table of results.

A test is a program tests/vm/guest/test-NAME.py that prints TAP and ends with rig.done():

    import rig
    counts = rig.perf("uncore_pcu/event=1/", ["traffic", "step", "1000"])
    rows = rig.uncore("uncore_pcu/event=1/", ["traffic", "step", "1000"])
    rig.ok(counts[0].value == rows[0]["count"], "perf and uncore agree", f"{counts} {rows}")
    rig.done()

`events` is always one list for -e. `place` says what a row is summed over: "all" (the machine),
"socket", or "each" (PMU and CPU). Only Python's standard library may be used."""

import collections
import csv
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

MODEL = os.environ.get("RIG_MODEL", "")
SOCKETS = int(os.environ.get("RIG_SOCKETS", "1"))
CPUS = int(os.environ.get("RIG_CPUS", "1"))
KERNEL = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
SHARE = pathlib.Path(os.environ.get("RIG_SHARE", "/rig/share"))
DEVICES = pathlib.Path("/sys/bus/event_source/devices")
TIME_LIMIT = 300  # seconds for one command: many times what it takes on a busy host

# perf reads its own tables of a CPU's events for each PMU, which takes seconds in an emulated machine
# and adds nothing here: of this CPU it has none.
if os.uname().machine == "x86_64":
    os.environ.setdefault("PERF_CPUID", "GenuineIntel-6-0-0")

# PMUs that are not outside the cores, or that are of the kernel's making: no traffic reaches them.
LEFT_OUT = set("breakpoint cpu cpu_atom cpu_core dwc_rootport intel_bts intel_pt kprobe msr power "
               "software tracepoint uprobe ibs_fetch ibs_op iommu smmuv3 cstate_core cstate_pkg "
               "faults".split())
# The driver registers three channels for each memory controller of Ice Lake, of which two exist. The third reads 0, and
# uncore leaves it out (data/intel-imc.yaml).
if MODEL == "icx":
    LEFT_OUT |= {f"uncore_imc_{3 * controller + 2}" for controller in range(4)}
LEFT_OUT_STEMS = ("armv8", "amd_iommu", "arm_spe", "cs_etm", "hisi_ptt")


# ---- TAP ------------------------------------------------------------------------------------------

_tests = {"run": 0, "failed": 0}


def diag(*text):
    """Lines of explanation."""
    for line in " ".join(str(t) for t in text).splitlines():
        print("# " + line, flush=True)


def ok(good, name, why=""):
    """One test. `why` is printed when it failed. Returns whether it passed."""
    _tests["run"] += 1
    _tests["failed"] += not good
    name = str(name).replace("#", "")
    print(f"{'ok' if good else 'not ok'} {_tests['run']} - {name}", flush=True)
    if not good:
        diag(why)
    return bool(good)


def skip(name, why):
    """One test that cannot be done here."""
    _tests["run"] += 1
    print(f"ok {_tests['run']} - {name} # SKIP {why}", flush=True)


def done():
    """The plan, and the program's end. A program that ends without it has failed."""
    print(f"1..{_tests['run']}", flush=True)
    sys.exit(1 if _tests["failed"] or not _tests["run"] else 0)


# ---- programs -------------------------------------------------------------------------------------


class Failed(Exception):
    """A command that ended with a status other than 0, or too late."""


def run(argv, status=0, timeout=TIME_LIMIT, **more):
    """Runs a command; its subprocess.CompletedProcess. `status` None: any will do."""
    argv = [str(a) for a in argv]
    try:
        done_process = subprocess.run(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, timeout=timeout, check=False, **more)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"{argv}: not ended after {timeout} s") from e
    if status is not None and done_process.returncode != status:
        raise Failed(f"{argv}: status {done_process.returncode}\n{done_process.stdout}{done_process.stderr}")
    return done_process


def traffic(word, *numbers):
    """The traffic program: traffic("step", 1000), traffic("rate", 0), traffic("clock") -> int."""
    text = run(["traffic", word, *numbers]).stdout.strip()
    return int(text) if text else None


# ---- what sysfs has -------------------------------------------------------------------------------


def cpu_list(text):
    """The kernel's "0-3,8" as a list of numbers."""
    cpus = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def socket_of(cpu):
    """The socket, from 0 on; firmware may give packages higher numbers. A CPU that is offline has none: None."""
    packages = {path.parts[5]: int(path.read_text(encoding="ascii"))
                for path in pathlib.Path("/sys/devices/system/cpu").glob("cpu*/topology/physical_package_id")}
    package = packages.get(f"cpu{cpu}")
    return package if package is None or package < 8 else sorted(set(packages.values())).index(package)


def sockets():
    """All sockets of CPUs that are online, in order."""
    online = pathlib.Path("/sys/devices/system/cpu/online").read_text(encoding="ascii")
    return sorted({socket_of(cpu) for cpu in cpu_list(online)})


class Pmu:
    """A PMU: name, type, cpus and their sockets; fields {name: [(word, first bit, last bit)]};
    aliases {name: terms as text}, scales {alias: factor as text}, units {alias: text}."""

    def __init__(self, path):
        self.path = path
        self.name = path.name
        self.type = int(self.read("type"))
        self.cpus = cpu_list(self.read("cpumask", ""))
        self.sockets = sorted({socket_of(cpu) for cpu in self.cpus})
        self.fields = {f.name: _field(f.read_text(encoding="ascii")) for f in self._files("format")}
        self.aliases, self.scales, self.units = {}, {}, {}
        for f in self._files("events"):
            name, _, suffix = f.name.partition(".")
            text = f.read_text(encoding="ascii").strip()
            table = {"": self.aliases, "scale": self.scales, "unit": self.units}.get(suffix)
            if table is not None:
                table[name] = text

    def _files(self, directory):
        path = self.path / directory
        return sorted(path.iterdir()) if path.is_dir() else []

    def read(self, name, otherwise=None):
        """The text of a file of the PMU."""
        path = self.path / name
        if otherwise is not None and not path.exists():
            return otherwise
        return path.read_text(encoding="ascii").strip()

    def encode(self, terms):
        """The four configuration words of "event=0x35,umask=8" or of an alias among the terms."""
        words = [0, 0, 0, 0]
        for term in filter(None, terms.split(",")):
            name, _, value = term.partition("=")
            if not value and name in self.aliases:
                words = [w | v for w, v in zip(words, self.encode(self.aliases[name]))]
            elif name in ("config", "config1", "config2", "config3"):
                words[int(name[6:] or 0)] = int(value, 0)
            elif name not in ("name", "cpu"):
                self.set_field(words, name, int(value, 0) if value else 1)
        return words

    def set_field(self, words, name, value):
        """Spreads a value over the bits of a field, as in /sys: lowest first."""
        if name not in self.fields:
            raise KeyError(f"{self.name} has no term {name}")
        for word, first, last in self.fields[name]:
            mask = (1 << (last - first + 1)) - 1
            words[word] = words[word] & ~(mask << first) | (value & mask) << first
            value >>= last - first + 1

    def width(self, name):
        """How many bits a field has."""
        return sum(last - first + 1 for _, first, last in self.fields[name])


def _field(text):
    """ "config1:0-7,21" as [(1, 0, 7), (1, 21, 21)]."""
    word, _, ranges = text.strip().partition(":")
    pieces = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        pieces.append((int(word[6:] or 0), int(first), int(last or first)))
    return pieces


def pmus():
    """{name: Pmu} of all PMUs that the kernel has and that are counted here; see LEFT_OUT."""
    names = sorted(p.name for p in DEVICES.iterdir())
    return {name: Pmu(DEVICES / name) for name in names if not is_left_out(name)}


def is_left_out(name):
    """True for PMUs that no traffic reaches."""
    return name in LEFT_OUT or name.startswith(LEFT_OUT_STEMS)


class Msr:
    """The model-specific registers of a CPU: msr[0xd04]."""

    def __init__(self, cpu):
        self.fd = os.open(f"/dev/cpu/{cpu}/msr", os.O_RDWR)

    def close(self):
        """Lets the registers go."""
        os.close(self.fd)

    def __getitem__(self, msr):
        return struct.unpack("<Q", os.pread(self.fd, 8, msr))[0]

    def __setitem__(self, msr, value):
        os.pwrite(self.fd, struct.pack("<Q", value), msr)


# ---- perf and uncore ------------------------------------------------------------------------------

_PERF_PLACE = {"all": ["-a"], "socket": ["-a", "--per-socket"], "each": ["-a", "-A", "--no-merge"]}
_UNCORE_PLACE = {"all": [], "socket": ["--per-socket"], "each": ["-A"]}

# One line of perf: `value` is None when it was not counted, `share` the per cent of time running.
Count = collections.namedtuple("Count", "name socket cpu value unit running_ns share text")


def perf_argv(events, output, place="all", more=()):
    """perf stat's arguments up to the command."""
    return ["perf", "stat", "-j", "-o", str(output), *_PERF_PLACE[place], *more, "-e", events]


def uncore_argv(events, output, place="all", more=(), what="-e"):
    """uncore stat's arguments up to the command. `what`: -M for metrics."""
    return ["uncore", "stat", "-j", "-o", str(output), *_UNCORE_PLACE[place], *more, what, events]


def report_argv(recording, place, interval):
    """uncore report's arguments for the intervals of a recording."""
    return ["uncore", "report", str(recording), "-j", *_UNCORE_PLACE[place], "-I", interval]


def perf_counts(path):
    """perf's output file as a list of Count."""
    counts = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(re.sub(r"(?<=[:, ])(-?nan|inf)(?=[,}])", "null", line))
        if "counter-value" not in row:
            continue
        text = str(row["counter-value"])
        value = float(text) if re.fullmatch(r"-?[0-9.]+", text) else None
        place = str(row.get("socket", ""))
        cpu = str(row.get("cpu", row.get("core", "")))
        counts.append(Count(row["event"], int(place[1:]) if place else None,
                            int(re.sub(r"\D", "", cpu)) if cpu else None, value, row.get("unit", ""),
                            int(row.get("event-runtime", 0)), float(row.get("pcnt-running", 0)), text))
    return counts


def uncore_rows(path):
    """uncore's rows of JSON as dictionaries, see uncore-stat(1)."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def perf(events, command, place="all", more=()):
    """Counts while a command runs; a list of Count."""
    output = _output("perf")
    run([*perf_argv(events, output, place, more), "--", *command])
    return perf_counts(output)


def uncore(events, command, place="all", more=(), what="-e"):
    """Counts while a command runs; a list of rows."""
    output = _output("uncore")
    run([*uncore_argv(events, output, place, more, what), "--", *command])
    return uncore_rows(output)


def both(perf_events, uncore_events, command, place="all", outside="perf", perf_place=None, what="-e"):
    """Counts with perf and with uncore around the same command: (list of Count, list of rows).
    `outside`: whose window is around the other's. With traffic that only steps both are exact."""
    outputs = {"perf": _output("perf"), "uncore": _output("uncore")}
    argv = {"perf": perf_argv(perf_events, outputs["perf"], perf_place or place),
            "uncore": uncore_argv(uncore_events, outputs["uncore"], place, what=what)}
    inside = "uncore" if outside == "perf" else "perf"
    run([*argv[outside], "--", *argv[inside], "--", *command])
    return perf_counts(outputs["perf"]), uncore_rows(outputs["uncore"])


def _output(who):
    path = pathlib.Path(f"/tmp/rig-{os.getpid()}-{who}")
    path.unlink(missing_ok=True)
    return path


def rows_of_csv(text):
    """uncore stat --csv as dictionaries of text."""
    return list(csv.DictReader(text.splitlines()))


# ---- the table of results -------------------------------------------------------------------------


def number(value):
    """A value as it stands in the table: whole numbers without a fraction."""
    if value is None:
        return "-"
    return str(int(value)) if value == int(value) else f"{value:.10g}"


def record(pmu, event, perf_value, uncore_value, truth, verdict):
    """One comparison for the table: a line of test-NAME.tsv. `verdict`: "exact", or what differs."""
    cells = [MODEL, str(SOCKETS), pmu, event, number(perf_value), number(uncore_value), number(truth), verdict]
    with open(SHARE / f"{pathlib.Path(sys.argv[0]).stem}.tsv", "a", encoding="utf-8") as file:
        file.write("\t".join(cell.replace("\t", " ") for cell in cells) + "\n")
