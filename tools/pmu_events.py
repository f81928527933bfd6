# SPDX-License-Identifier: MIT
"""The vendors' events and metrics as perf knows them: the JSON of tools/perf/pmu-events in Linux,
read with perf's own jevents.py, intel_metrics.py and amd_metrics.py.

  pmu_events.Source(directory).model("sapphirerapids").events["unc_m_cas_count.rd"]"""

import contextlib
import csv
import dataclasses
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types

CACHE = pathlib.Path(
    os.environ.get("UNCORE_VM_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "uncore-vm")
)


@dataclasses.dataclass
class Event:
    """unit: perf's name of the PMU, without its number; terms: as perf parses them."""

    name: str
    unit: str
    terms: str


@dataclasses.dataclass
class Metric:
    name: str
    formula: str
    scale: str


class Model:
    """The uncore events of a directory by name in small letters, and all of its metrics."""

    def __init__(self, directory, jevents, generated):
        self.name, self.events, self.metrics = directory.name, {}, {}
        for path in sorted(directory.glob("**/*.json")):
            entries = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(entries, list):
                continue  # names of groups of metrics
            for entry in entries:
                self._add(entry, jevents)
        for entry in generated:
            self._add(entry, jevents)

    def _add(self, entry, jevents):
        if "MetricExpr" in entry:
            name = entry["MetricName"]
            self.metrics[name] = Metric(name, entry["MetricExpr"], entry.get("ScaleUnit", ""))
        elif entry.get("Unit", "cpu").startswith("cpu") or "EventName" not in entry:
            return  # events of cores
        else:
            parsed = jevents.JsonEvent(entry)
            terms = re.sub(r",period=\d+", "", parsed.event)
            self.events[parsed.name] = Event(entry["EventName"], parsed.pmu, terms)


class Source:
    """tools/perf/pmu-events of one version of Linux."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.version = self.directory.name.removeprefix("pmu-events-")

    @functools.cached_property
    def jevents(self):
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(self.directory))  # its metric.py
        spec = importlib.util.spec_from_file_location("jevents", self.directory / "jevents.py")
        module = importlib.util.module_from_spec(spec)
        with contextlib.redirect_stdout(io.StringIO()):
            spec.loader.exec_module(module)
        for key in ("metric", "common_metrics"):
            sys.modules.pop(key, None)
        sys.path.pop(0)
        # Formulas are not perf's to parse here.
        module.metric = types.SimpleNamespace(ParsePerfJson=lambda _: types.SimpleNamespace(Simplify=str))
        return module

    def models(self):
        """[(name, regular expression of CPUID)]: the first that matches is taken."""
        with open(self.directory / "arch/x86/mapfile.csv", encoding="ascii") as file:
            return [(row[2], row[0]) for row in csv.reader(file) if len(row) > 3 and row[3] == "core"]

    def model(self, name):
        """sapphirerapids, arm64/arm/cmn"""
        path = name if "/" in name else f"x86/{name}"
        return Model(self.directory / "arch" / path, self.jevents, self._generated(name))

    def _generated(self, name):
        """What perf's scripts make of a model; 6.1 has none."""
        tool = self.directory / ("amd_metrics.py" if name.startswith("amd") else "intel_metrics.py")
        if not tool.exists() or "/" in name:
            return []
        run = subprocess.run(
            [sys.executable, "-B", tool, name, self.directory / "arch"],
            capture_output=True, text=True, check=True, timeout=600,
        )
        return json.loads(run.stdout)


def sources():
    """Those in the cache, oldest first; tests/judge/prepare puts them there."""
    found = CACHE.glob("pmu-events-*")
    return [Source(path) for path in sorted(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])]


def matches(name, unit):
    """Whether a PMU of the machine is one of `unit`, by perf's rule: it may end in a number, which
    is hexadecimal when it has many digits."""
    unit = "[0-9]*_".join(map(re.escape, unit.split(",")))  # hisi_sicl,cpa: hisi_sicl1_cpa0
    return re.fullmatch(rf"(uncore_)?{unit}(_?[0-9]+|_[0-9a-f]{{3,}})?", name) is not None
