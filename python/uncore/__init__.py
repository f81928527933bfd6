# SPDX-License-Identifier: MIT
"""Counters outside the CPU cores, as quantities with a unit, a place and a quality.

    import uncore

    with uncore.monitor("memory.*", level="socket", source="sim:spr") as m:
        for sample in m.every(1.0, count=3):
            for row in sample:
                print(row.name, row.place, row.value, row.unit, row.quality)

A value that is not known is None, never 0. Numbers are in SI units without prefix: bytes, seconds, hertz, ratio.
A failed call of the library raises `Error` with the library's sentence. Objects are freed at the end of `with`, by
close(), or when Python collects them. All functions may be called from any thread; calls of several threads follow
one another. While `Monitor.every` waits, other threads run. After os.fork() the child needs objects of its own.

libuncore(3) and uncore.h describe the library; names and meanings of members are those of its structs.
"""

import ctypes
import dataclasses
import datetime
import math
import os
import threading
import time
import types
from typing import List, Optional

from uncore import abi as _abi

__all__ = ["Error", "Latency", "Machine", "Monitor", "Row", "Sample", "monitor", "version"]


class Error(OSError):
    """A call of the library failed: `errno`, and as the text the library's sentence."""

    def __str__(self):
        return self.strerror


# ---- the library -----------------------------------------------------------------------------------------------


def _load():
    library = ctypes.CDLL(os.environ.get("UNCORE_LIBRARY", _abi.LIBRARY))
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_lib = _load()

# One at a time, as the library demands of the objects of one machine. There is one lock for all machines because
# the garbage collector may free an object of any machine in a thread that holds the lock of another.
_lock = threading.RLock()


def _renew_lock():
    global _lock  # pylint: disable=global-statement
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


class _Object:
    """An object that the library made. It is freed after the last object that was made from it: the collector may
    give them up in any order. A child process must not free it: reader threads do not survive fork()."""

    def __init__(self, kind, parent=None, how="new", arguments=()):
        prefix = f"uncore_{kind}_" if kind else "uncore_"
        self._free = getattr(_lib, prefix + "free")
        self._pointer = self._free.argtypes[0]()
        self._parent, self._users, self._process = parent, 1, os.getpid()
        with _lock:
            make = getattr(_lib, prefix + how)
            machine = [parent.pointer] if len(make.argtypes) > 1 else []
            err = make(ctypes.byref(self._pointer), *machine, *arguments)
            if err:
                self._users = 0
                raise Error(-err, _text(_lib.uncore_error(*machine)) if machine else os.strerror(-err))
            if parent:
                parent.use()

    @property
    def pointer(self):
        """For calls of the library, under the lock."""
        if not self._users:
            raise ValueError("this object of uncore is closed")
        if self._process != os.getpid():
            raise ValueError("this object of uncore belongs to the parent process: make another one after fork()")
        return self._pointer

    def use(self):
        """One more user."""
        self._users += 1

    def drop(self):
        """One user less."""
        with _lock:
            self._users -= 1
            if self._users or self._process != os.getpid():
                return
            self._free(self._pointer)
            if self._parent:
                self._parent.drop()


class _Owner:
    """Has objects of the library, in the order in which they were made, and drops them once."""

    _objects = ()

    def _make(self, *how):
        made = _Object(*how)
        self._objects += (made,)
        return made

    def close(self):
        """Frees what the library made for it. Further calls have no effect."""
        with _lock:
            objects, self._objects = self._objects, ()
            for each in reversed(objects):
                each.drop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def _encoded(text):
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not a text: the name of a metric or event, or a pattern")
    return text.encode()


def _text(value):
    return value.decode("utf-8", "backslashreplace") if value is not None else None


def _plain(value, kind=None):
    """A value of the library as one of Python; `kind` is its ctypes type. Unknown: None."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if kind is ctypes.c_int:
        return None if value == -1 else value
    if isinstance(value, ctypes.Array):
        return tuple(value)
    if isinstance(value, ctypes.Structure):
        return types.SimpleNamespace(**_members(value))
    if value is None or isinstance(value, int):
        return value
    if not value:  # a NULL pointer
        return None
    if isinstance(value.contents, _abi.uncore_pmu):
        return _text(_lib.uncore_pmu_name(value))
    if isinstance(value.contents, _abi.uncore_device):
        return _text(value.contents.address)
    return types.SimpleNamespace(**_members(value.contents))


def _members(struct):
    return {name: _plain(getattr(struct, name), kind) for name, kind in struct._fields_}


def _facts(kind, pointer):
    """All that functions uncore_KIND_NAME(pointer) return, by NAME: of types that are opaque."""
    return types.SimpleNamespace(**{
        name[len(f"uncore_{kind}_"):]: _plain(getattr(_lib, name)(pointer), result)
        for name, (result, arguments) in _abi.FUNCTIONS.items()
        if name.startswith(f"uncore_{kind}_") and arguments == [type(pointer)] and not name.endswith("_count")
    })


def version() -> str:
    """The library's version."""
    return _text(_lib.uncore_version())


# ---- the machine -----------------------------------------------------------------------------------------------


class Machine(_Owner):
    """One machine: its CPUs and PMUs, and the metrics of the catalogue.

    source  where counts come from: "kernel", "resctrl", "sim:NAME", "regs:NAME"; uncore_set_source()
    root    the directory or the snapshot file below which /sys and /proc are read
    data    a directory of data files, or several
    """

    def __init__(self, source: Optional[str] = None, root=None, data=()):
        self._machine = self._make("")
        if root is not None:
            self._call("set_root", os.fsencode(root))
        if source is not None:
            self._call("set_source", os.fsencode(source))
        for directory in [data] if isinstance(data, (str, os.PathLike)) else data:
            self._call("add_data", os.fsencode(directory))
        self._call("scan")

    def _call(self, name, *arguments, of=None):
        """A function that returns a negative errno: its other results."""
        with _lock:
            result = getattr(_lib, "uncore_" + name)((of or self._machine).pointer, *arguments)
            if result < 0:
                raise Error(-result, _text(_lib.uncore_error(self._machine.pointer)))
            return result

    def _all(self, kind):
        """A list: uncore_KIND_count(), uncore_KIND_at()."""
        with _lock:
            machine = self._machine.pointer
            at = getattr(_lib, f"uncore_{kind}_at")
            found = [at(machine, i) for i in range(getattr(_lib, f"uncore_{kind}_count")(machine))]
            if found and not isinstance(found[0], int):
                opaque = not hasattr(found[0].contents, "_fields_")
                found = [_facts(kind, each) if opaque else _plain(each.contents) for each in found]
            self._call("check")
            return found

    @property
    def source(self) -> str:
        """The source as it was set."""
        with _lock:
            return _text(_lib.uncore_source(self._machine.pointer))

    @property
    def simulated(self) -> bool:
        """Whether values are invented: what prints them must say so."""
        with _lock:
            return _lib.uncore_is_simulated(self._machine.pointer)

    @property
    def cpu_model(self) -> str:
        """"intel/6/143"."""
        with _lock:
            return _text(_lib.uncore_cpu_model(self._machine.pointer))

    @property
    def sockets(self) -> List[int]:
        """Sockets of online CPUs."""
        return self._all("socket")

    @property
    def cpus(self) -> list:
        """CPUs with the members of struct uncore_cpu."""
        return self._all("cpu")

    @property
    def pmus(self) -> list:
        """PMUs: name, family, instance ..., as the functions uncore_pmu_*() return them."""
        return self._all("pmu")

    @property
    def metrics(self) -> list:
        """Metrics: name, title, unit, family ..., as the functions uncore_metric_*() return them. Those with `missing`
        cannot be counted here."""
        return self._all("metric")

    @property
    def devices(self) -> list:
        """PCI devices with the members of struct uncore_device."""
        return self._all("device")

    @property
    def findings(self) -> list:
        """Which counters can be used, and how to fix others, with the members of struct uncore_finding. Verdicts:
        "ok", "denied", "missing", "note"."""
        with _lock:
            self._call("diagnose")
            found = self._all("finding")
        for each in found:
            known = _abi.uncore_verdict[:each.verdict + 1][-1]  # a later library may have further ones, after "note"
            each.verdict = known[len("UNCORE_VERDICT_"):].lower()
        return found

    def monitor(self, *metrics, **options) -> "Monitor":
        """Counts this machine, see `Monitor`."""
        return Monitor(self, *metrics, **options)


# ---- rows ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    """A value, with the members of struct uncore_row."""

    name: str  # of the metric, or the event
    family: Optional[str]  # None: an event
    unit: str
    filter: Optional[str]
    place: str  # "socket 0, channel 3"; its parts:
    socket: Optional[int]
    node: Optional[int]
    cpu: Optional[int]
    pmu: Optional[str]
    port: Optional[str]
    role: Optional[str]
    channel: Optional[int]
    device: Optional[str]  # of a device that counts itself: its PCI function
    value: Optional[float]
    low: Optional[float]
    high: Optional[float]
    ceiling: Optional[float]
    rate: Optional[float]  # of an event: value per second
    instances: int
    coverage: Optional[float]
    seconds: Optional[float]
    amount: Optional[float]  # of a sum per second: what was counted in these
    count: int  # of an event, and both times
    enabled_ns: int
    running_ns: int
    quality: str  # "measured", "scaled", "sampled", "partial", "suspect" or "unavailable"
    reason: Optional[str]  # why the quality is not better
    weight: Optional[float]  # of a quotient: what it is divided by


def _place(place):
    """The words that uncore(1) has for a place."""
    if place.port:
        return f"port {_plain(place.port)}"
    if place.channel >= 0 and place.socket >= 0:
        words = {"channel": "channel", "subchannel": "sub-channel", "controller": "controller"}
        word = words.get(_text(_lib.uncore_pmu_place(place.pmu))) or _text(_lib.uncore_pmu_instance(place.pmu))
        return f"socket {place.socket}, {word} {place.channel}"
    if place.pmu:
        several = place.cpu >= 0 and _lib.uncore_pmu_cpu_count(place.pmu) > 1
        return _plain(place.pmu) + (f", CPU {place.cpu}" if several else "")
    for word, number in ("CPU", place.cpu), ("node", place.node), ("socket", place.socket):
        if number >= 0:
            return f"{word} {number}"
    return "all"


def _row(row):
    members = _members(row)
    del members["number"], members["extra"]  # of the latter this module asks for none
    for part in "query", "place", "counted":
        members.update(vars(members.pop(part)))
    # For programs that print tables of several metrics, and of groups, which this module does not make.
    for name in "at_port", "cell", "of_device", "tasks":
        del members[name]
    members["quality"] = _text(_lib.uncore_quality_name(row.quality))
    return Row(place=_place(row.place.contents), **members)


@dataclasses.dataclass
class Sample:
    """The rows of one interval: `for row in sample`."""

    rows: List[Row]
    begin_ns: int  # CLOCK_MONOTONIC
    end_ns: int
    begin_wall_ns: int  # CLOCK_REALTIME
    end_wall_ns: int
    source: str
    simulated: bool

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    @property
    def seconds(self) -> float:
        """The length of the interval."""
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def time(self) -> datetime.datetime:
        """The end of the interval, in UTC."""
        return datetime.datetime.fromtimestamp(self.end_wall_ns / 1e9, datetime.timezone.utc)

    def frame(self):
        """The rows as a pandas.DataFrame: a column for each member of `Row`, before them `time` and `interval`, behind
        them `source` and `simulated`. pandas.concat() joins the frames of several samples."""
        import pandas  # pylint: disable=import-outside-toplevel

        kinds = {float: "float64", int: "Int64"}
        members = {member.name: member.type for member in dataclasses.fields(Row)}
        frame = pandas.DataFrame([vars(row) for row in self.rows], columns=list(members))
        frame = frame.astype({name: kinds[kind] for name in members for kind in kinds
                              if members[name] in (kind, Optional[kind])})
        frame.insert(0, "time", pandas.Timestamp(self.end_wall_ns, unit="ns", tz="UTC"))
        frame.insert(1, "interval", self.seconds)
        return frame.assign(source=self.source, simulated=self.simulated)


# ---- counting --------------------------------------------------------------------------------------------------

LEVELS = {name[len("UNCORE_LEVEL_"):].lower(): getattr(_abi, name) for name in _abi.uncore_level}


class Monitor(_Owner):
    """Counts metrics and events of a machine.

    metrics  names or shell patterns: "memory.*", "intel-imc/memory.bandwidth"; nothing: the headline metrics
    events   events in perf's syntax, "uncore_imc/cas_count_read/", or a list of them
    level    what one row covers: "machine", "socket", "node", "instance", "port", "channel", "part"; or several
    filters  {"from": "cpu", "device": "nvme0"}; uncore_monitor_set_filter() has the kinds
    rounds   True: metrics for which the PMUs have too few counters at once are counted one after another, see once()
    cheap    True: devices are counted in the way that costs least, with bounds; for programs that count all the time

    Counting starts with start(), which `with` and every() call.
    """

    def __init__(self, machine: Machine, *metrics, events=(), level="machine", filters=None, rounds=False, cheap=False):
        self._of, self._started, self._closing = machine, False, threading.Event()
        with _lock:
            self._monitor = self._make("monitor", machine._machine)
            self._sample = self._make("sample")
        for i, name in enumerate([level] if isinstance(level, str) else level):
            if name not in LEVELS:
                raise ValueError(f"unknown level '{name}'; levels: {', '.join(LEVELS)}")
            self._call("add_level" if i else "set_level", LEVELS[name])
        for kind, value in (filters or {}).items():
            self._call("set_filter", kind.encode(), str(value).encode())
        if rounds:
            self._call("set_rounds")
        if cheap:
            self._call("set_cheap")
        for pattern in metrics or (() if events else self._headline()):
            self._call("add_metrics", _encoded(pattern))
        for event in [events] if isinstance(events, str) else events:
            self._call("add_events", _encoded(event))
        self._call("plan")

    def _call(self, name, *arguments):
        return self._of._call("monitor_" + name, *arguments, of=self._monitor)

    def _headline(self):
        first = sorted((m for m in self._of.metrics if m.headline and not m.missing), key=lambda m: m.headline)
        return [f"{m.family}/{m.name}" for m in first] or ["*"]

    @property
    def notes(self) -> List[str]:
        """Remarks that are not errors: a group was split, a PMU was left out."""
        with _lock:
            monitor = self._monitor.pointer
            return [_text(_lib.uncore_monitor_note_at(monitor, i))
                    for i in range(_lib.uncore_monitor_note_count(monitor))]

    @property
    def counters(self) -> list:
        """The plan, with the members of struct uncore_counter."""
        with _lock:
            monitor = self._monitor.pointer
            return [_plain(_lib.uncore_monitor_counter_at(monitor, i).contents)
                    for i in range(_lib.uncore_monitor_counter_count(monitor))]

    def start(self) -> None:
        """Opens and starts the counters."""
        with _lock:
            self._call("open")
            self._call("start")
            self._started = True

    def stop(self) -> None:
        """Stops counting for good; one more read() gives the last interval."""
        self._call("stop")

    def read(self) -> Sample:
        """The rows of the time since the previous reading."""
        return self._fill("read")

    def total(self) -> Sample:
        """The rows of the whole time up to the latest reading."""
        return self._fill("total")

    def _fill(self, how):
        with _lock:
            sample = self._sample.pointer
            self._call(how, sample)
            rows = [_row(_lib.uncore_sample_row(sample, i).contents)
                    for i in range(_lib.uncore_sample_count(sample))]
            times = {name: getattr(_lib, "uncore_sample_" + name)(sample)
                     for name in ("begin_ns", "end_ns", "begin_wall_ns", "end_wall_ns")}
            return Sample(rows, source=self._of.source, simulated=self._of.simulated, **times)

    def once(self, seconds: float) -> Sample:
        """The rows of one interval; with `rounds` of one interval for each round, and `begin_ns` is that of the first."""
        rows, first, more = [], None, True
        while more:
            if not self._started:
                self.start()
            self._closing.wait(seconds)
            with _lock:
                sample = self.read()
                numbers = [_lib.uncore_sample_row(self._sample.pointer, i).contents.number for i in range(len(sample))]
                more = self._call("next_round") > 0
                self._started = not more
            rows += zip(numbers, sample)
            first = first or sample
        ordered = [row for _, row in sorted(rows, key=lambda each: each[0])]
        return dataclasses.replace(sample, rows=ordered, begin_ns=first.begin_ns, begin_wall_ns=first.begin_wall_ns)

    def every(self, seconds: float, count: Optional[int] = None):
        """Yields a `Sample` at each multiple of `seconds` from now on: `count` of them, or until close(), which
        another thread may call. The time of the caller's own work is part of the interval; multiples that have passed
        meanwhile are left out."""
        if not seconds > 0:
            raise ValueError(f"an interval of {seconds} seconds")
        if not self._started:
            self.start()
        begin, ticks = time.monotonic(), 0
        while count is None or count > 0:
            ticks = max(ticks, math.floor((time.monotonic() - begin) / seconds)) + 1
            if self._closing.wait(max(0, begin + ticks * seconds - time.monotonic())):
                return
            yield self.read()
            count = None if count is None else count - 1

    def __enter__(self):
        self.start()
        return self

    def close(self):
        if self._objects:
            self._closing.set()
        super().close()


class Latency(_Owner):
    """Latencies of loads that AMD CPUs (IBS) or Arm CPUs (SPE) sampled, as `uncore latency --ibs` has them: of this
    machine, or of a recording of perf.

    least  only latencies of so many core clocks or more
    """

    def __init__(self, machine: Machine, recording=None, least=0):
        self._of = machine
        path = [] if recording is None else [os.fsencode(recording)]
        self._latency = self._make("latency", machine._machine, "open_file" if path else "open", (*path, least))

    def measure(self, seconds: float) -> None:
        """Samples for so long, and adds that to `rows` and `counts`. A recording has them already."""
        self._call("start")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(max(0, min(0.1, end - time.monotonic())))
            self._call("collect")

    def clear(self) -> None:
        """Empties `rows` and `counts`."""
        with _lock:
            _lib.uncore_latency_clear(self._latency.pointer)

    def _call(self, name):
        return self._of._call("latency_" + name, of=self._latency)

    @property
    def rows(self) -> list:
        """Sources of data with the members of struct uncore_latency_row, from near to far."""
        with _lock:
            latency = self._latency.pointer
            found = []
            for i in range(_lib.uncore_latency_count(latency)):
                row = _lib.uncore_latency_at(latency, i).contents
                found.append(types.SimpleNamespace(**{name: _plain(getattr(row, name)) for name, _ in row._fields_
                                                      if name != "bins"}))
                found[-1].bins = tuple(row.bins[:_abi.UNCORE_LATENCY_BINS])
                found[-1].quality = _text(_lib.uncore_quality_name(row.quality))
            return found

    @property
    def counts(self):
        """The members of struct uncore_latency_counts."""
        with _lock:
            return _plain(_lib.uncore_latency_total(self._latency.pointer).contents)


def monitor(*metrics, source=None, root=None, data=(), **options) -> Monitor:
    """Counts a machine of its own: `Machine` describes source, root and data, `Monitor` the others."""
    with Machine(source, root, data) as machine:
        return Monitor(machine, *metrics, **options)
