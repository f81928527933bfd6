# SPDX-License-Identifier: MIT
"""What the tests of behaviour share: the box of each model that they count on, what its events must
count, and an uncore that runs in the background while the traffic is changed."""

import collections
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import rig
import truth

# box: a PMU whose counters take any of `terms`, {socket} for models that have a name for each;
# neighbour: an event of another box on the same CPUs, which the tests leave to itself; module: the
# driver; controls: the MSR of the first counter's control register; moves: an event of a PMU that is
# counted once for each socket, when the box is not.
Model = collections.namedtuple("Model", "box terms counters width neighbour module controls moves",
                               defaults=[0, None])

_UMASKS = "event=0x3,umask={:#x}"

_MODELS = {
    "ivt": Model("uncore_cbox_0", _UMASKS, 4, 44, "uncore_cbox_1/event=0x3/", "intel_uncore", 0xD10),
    "skx": Model("uncore_cha_0", _UMASKS, 4, 48, "uncore_cha_1/event=0x3/", "intel_uncore", 0xE01),
    "icx": Model("uncore_cha_0", _UMASKS, 4, 48, "uncore_cha_1/event=0x3/", "intel_uncore"),
    "spr": Model("uncore_cha_0", _UMASKS, 4, 48, "uncore_cha_1/event=0x3/", "intel_uncore"),
    "amd": Model("amd_l3", _UMASKS, 6, 48, "amd_df/event=0x7,umask=0x8/", "amd_uncore",
                 moves="amd_df/event=0x3,umask=0x1/"),
    "t410": Model("nvidia_ucf_pmu_{socket}", "event={:#x}", 6, 64,
                  "nvidia_pcie_pmu_{socket}_rc_0/event=0x1/", "nvidia_cspmu"),
    "grace": Model("nvidia_scf_pmu_{socket}", "event={:#x}", 6, 64,
                   "nvidia_pcie_pmu_{socket}/event=0x1/", "nvidia_cspmu"),
}

MODEL = _MODELS.get(rig.MODEL)
if not MODEL:
    rig.skip("behaviour", f"no box of model {rig.MODEL} is known to these tests")
    rig.done()


def pmu(socket=0):
    """The name of the box."""
    return MODEL.box.format(socket=socket)


def events(count, socket=0):
    """`count` different events of the box, any of which can be counted by any counter."""
    return [f"{pmu(socket)}/{MODEL.terms.format(n + 1)}/" for n in range(count)]


def moving(socket):
    """An event of a box that is counted from one CPU of the socket, and moves when that one goes."""
    return MODEL.moves or events(1, socket)[0]


def neighbour(socket=0):
    """An event of another box, counted from the same CPUs."""
    return MODEL.neighbour.format(socket=socket)


def weight(event, socket=None, cpu=None):
    """What an event must count per tick: on one socket or CPU, or summed over the machine."""
    name, terms, _ = event.split("/")
    box = rig.Pmu(rig.DEVICES / name)
    model = truth.model(rig.MODEL)
    return sum(model.weight(name, box.encode(terms), at) for at in box.cpus
               if socket in (None, rig.socket_of(at)) and cpu in (None, at))


def rotate_slowly(names):
    """Fewer rotations of a shared PMU: each costs far more here than on real hardware."""
    for name in names:
        (rig.DEVICES / name / "perf_event_mux_interval_ms").write_text("20", encoding="ascii")


DRIVERS = pathlib.Path("/rig/drivers")


def busybox(*argv):
    """A command of busybox; its process."""
    return rig.run(["/rig/busybox", *argv], status=None)


def load(name):
    """Loads a module that the guest was started with."""
    for path in DRIVERS.glob("*.ko"):
        if path.stem.partition("-")[2].replace("-", "_") == name:
            return busybox("insmod", path)
    raise rig.Failed(f"no module {name} in {DRIVERS}")


def is_loaded(name):
    """Is the module there?"""
    return any(line.split()[0] == name for line in open("/proc/modules", encoding="ascii"))


def within(value, truth, share):
    """Is `value` no further from `truth` than `share` of it?"""
    return value is not None and abs(value - truth) <= share * abs(truth)


def counted(row, truth):
    """Is this exactly what was counted? In a guest that the host stops, counters may be enabled later
    than the window begins, or be read late: such a row is partial or suspect, with its reason."""
    return row["count"] == truth and row["coverage"] == 1 and (row["quality"] == "measured" or late(row))


def late(row):
    """Does its reason say that it was enabled or read late?"""
    return any(row["quality"] == quality and why in row["reason"] for quality, why in
               (("partial", "was counted for"), ("suspect", "it was not read when the interval")))


def short(rows):
    """Rows for a message: what matters of each, of the last ones."""
    keys = ("time", "name", "socket", "cpu", "value", "count", "quality", "coverage", "interval", "enabled_ns", "reason")
    return "\n".join(" ".join(f"{key}={row[key]}" for key in keys if row[key] is not None)
                     for row in rows[-12:])


def by_timing(attempt, times=3):
    """Checks of what depends on timing: attempt() gives a list of (good, name, why). A guest that the
    host stops at the wrong moment is tried again; what is not right by then is wrong. Nothing that
    must be exact belongs here."""
    for left in reversed(range(times)):
        checks = attempt()
        if all(good for good, _, _ in checks) or not left:
            break
        rig.diag("again, after:", *[f"{name}: {why}" for good, name, why in checks if not good])
    for check in checks:
        rig.ok(*check)


class Running:
    """An uncore that prints intervals. After the `with` block it has ended: .intervals, a list of
    rows for each, .total, the rows of --summary, .status and .errors."""

    def __init__(self, event_list, place="all", interval="20ms", tag="", more=()):
        self.output = pathlib.Path(f"/tmp/running-{os.getpid()}{tag}")
        self.output.unlink(missing_ok=True)
        self.argv = rig.uncore_argv(event_list, self.output, place, ["-I", interval, "--summary", *more])
        self.intervals, self.total, self.status, self.errors = [], [], None, ""
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.wait_rows()
        return self

    def wait_rows(self, good=None):
        """Until a window that begins after now is over: everything before is then in what is printed. With
        `good`, until the last row is, too."""
        deadline = time.monotonic() + rig.TIME_LIMIT
        for _ in range(2):
            seen = self._last()
            while self._last() == seen:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise rig.Failed(f"{self.argv}: no further interval: {self.process.poll()}")
                time.sleep(0.01)
        while good and not good(self._rows()[-1]):
            if time.monotonic() > deadline:
                raise rig.Failed(f"{self.argv}: still {short(self._rows()[-1:])}")
            time.sleep(0.05)

    def _last(self):
        """The end of the last window that is printed."""
        if not self.output.exists():
            return None
        text = self.output.read_bytes()[-4096:]
        times = re.findall(rb'"time": *([0-9.e+-]+),[^\n]*\n', text)
        return times[-1] if times else None

    def _rows(self):
        text = self.output.read_text(encoding="utf-8")
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def stop(self, how=signal.SIGINT):
        """Ends it and waits."""
        if self.status is None:
            self.process.send_signal(how)
            self.errors = self.process.communicate(timeout=rig.TIME_LIMIT)[1]
            self.status = self.process.returncode

    def __exit__(self, *exception):
        self.stop()
        windows = {}
        for row in self._rows():
            if row["total"]:
                self.total.append(row)
            else:
                windows.setdefault(row["time"], []).append(row)
        self.intervals = list(windows.values())

    def rows_of(self, **what):
        """The rows of all intervals that have these values, in order of time."""
        return [row for rows in self.intervals for row in rows if all(row[k] == v for k, v in what.items())]


class Served:
    """`uncore serve` of an event, by its sums since the start."""

    def __init__(self, event):
        self.socket, self.event, self.process, self.seen = pathlib.Path("/tmp/serve"), event, None, []

    def __enter__(self):
        self.process = subprocess.Popen(["uncore", "serve", "-I", "50ms", "-e", self.event, "--user", "root", "--listen",
                                         f"unix:{self.socket}"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_intervals(2)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(rig.TIME_LIMIT)

    def scrape(self):
        """Samples by name and labels."""
        text = b""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            while piece := client.recv(65536):
                text += piece
        lines = text.decode().partition("\r\n\r\n")[2].splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def wait_intervals(self, more):
        """Until so many further intervals have ended. Returns the sum of the event."""
        deadline, first = time.monotonic() + rig.TIME_LIMIT, None
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "uncore serve has ended"
            samples = self.scrape() if self.socket.exists() else {}
            number = samples.get("uncore_intervals_total")
            first = number if first is None else first
            if first is not None and number >= first + more:
                self.seen.append(sum(v for k, v in samples.items() if k.startswith("uncore_events_total{")))
                return self.seen[-1]
            time.sleep(0.05)
        raise AssertionError("no interval of uncore serve")


class Recorded(Running):
    """The same of `uncore record`: the intervals are those that `uncore report` shows."""

    @staticmethod
    def possible():
        """The command for another architecture is built without SQLite, which `record` needs."""
        return rig.run(["uncore", "record", "--help"], status=None).returncode == 0

    def __init__(self, event_list, place="all", interval="10ms"):
        super().__init__(event_list, place, interval, "recorded")
        self.recording = self.output.with_suffix(".uncore")
        self.recording.unlink(missing_ok=True)
        words = self.argv[self.argv.index(str(self.output)) + 1:]
        words.remove("--summary")
        self.argv = ["uncore", "record", "-o", str(self.recording), *words]
        self.shown, self.said = rig.report_argv(self.recording, place, interval), ""

    def _rows(self):
        total = ["--summary"] if self.status is not None else []
        done = subprocess.run([*self.shown, *total], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=rig.TIME_LIMIT)
        self.output.write_text(done.stdout, encoding="utf-8")
        self.said = done.stderr
        return super()._rows()

    def _last(self):
        self._rows()
        return super()._last()
