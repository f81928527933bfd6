# SPDX-License-Identifier: MIT
"""Machines for the judges: those of tests/machines as directories, and the same with other CPU models."""

import dataclasses
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEVICES = "sys/bus/event_source/devices"

# Name here: directory of perf's tables, machine that has the PMUs; of x86, family, model and stepping.
MODELS = {
    "ivt": ("ivytown", "intel-ivt-1socket", 6, 0x3E, 4),
    "hsx": ("haswellx", "intel-bdx-1socket", 6, 0x3F, 2),
    "bdx": ("broadwellx", "intel-bdx-1socket", 6, 0x4F, 1),
    "skx": ("skylakex", "intel-skx-1socket", 6, 0x55, 4),
    "clx": ("cascadelakex", "intel-skx-1socket", 6, 0x55, 7),
    "snr": ("snowridgex", "intel-icx-1socket", 6, 0x86, 4),
    "icx": ("icelakex", "intel-icx-1socket", 6, 0x6A, 6),
    "spr": ("sapphirerapids", "intel-spr-1socket", 6, 0x8F, 8),
    "emr": ("emeraldrapids", "intel-spr-1socket", 6, 0xCF, 2),
    "gnr": ("graniterapids", "intel-gnr-1socket", 6, 0xAD, 1),
    "srf": ("sierraforest", "intel-gnr-1socket", 6, 0xAF, 3),
    "grr": ("grandridge", "intel-gnr-1socket", 6, 0xB6, 0),
    "cwf": ("clearwaterforest", "intel-gnr-1socket", 6, 0xDD, 0),
    "zen1": ("amdzen1", "amd-zen3-1socket", 23, 1, 2),
    "zen2": ("amdzen2", "amd-zen3-1socket", 23, 0x31, 0),
    "zen3": ("amdzen3", "amd-zen3-1socket", 25, 1, 1),
    "zen4": ("amdzen4", "amd-zen4-1socket", 25, 0x11, 1),
    "zen5": ("amdzen5", "amd-zen5-1socket", 26, 2, 1),
    "cmn": ("arm64/arm/cmn", "arm-neoverse-cmn"),
    "yitian": ("arm64/thead/yitian710", "alibaba-yitian710"),
    "hip09": ("arm64/hisilicon/hip09", "hisilicon-hip09"),
    "imx8mm": ("arm64/freescale/imx8mm", "nxp-imx8mm"),
    "imx8mn": ("arm64/freescale/imx8mn", "nxp-imx8mn"),
    "imx8mp": ("arm64/freescale/imx8mp", "nxp-imx8mp"),
    "imx93": ("arm64/freescale/imx93", "nxp-imx93"),
    "imx95": ("arm64/freescale/imx95", "nxp-imx95"),
}

# PMUs of the kernel's that guests lack, with their events in the order of their codes.
POWER = {
    "power": ["none", "energy-cores", "energy-pkg", "energy-ram", "energy-gpu", "energy-psys"],
    "cstate_pkg": ["c2-residency", "c3-residency", "c6-residency", "c7-residency"],
}


def make(directory):
    """{name: directory} of all MODELS."""
    tools = ROOT / "tests/machines"
    made, trees = pathlib.Path(directory, "made"), {}
    made.mkdir()
    subprocess.run([sys.executable, "-B", tools / "make-intel", made], check=True)
    for name, (_, machine, *cpu) in MODELS.items():
        file = next(d / f"{machine}.txt" for d in (tools, made) if (d / f"{machine}.txt").exists())
        trees[name] = pathlib.Path(directory, name)
        subprocess.run([sys.executable, "-B", tools / "snapshot.py", "unpack", file, trees[name]], check=True)
        if cpu:
            set_cpu(trees[name] / "proc/cpuinfo", cpu)
            for pmu, events in POWER.items():
                write_pmu(trees[name] / DEVICES / pmu, events)
    return trees


def set_cpu(info, numbers):
    text = info.read_text(encoding="utf-8")
    for key, value in zip(("cpu family", "model", "stepping"), numbers):
        text = re.sub(rf"^({key}\s*:).*$", rf"\1 {value}", text, flags=re.M)
    info.write_text(text, encoding="utf-8")


def write_pmu(directory, events):
    """A PMU of the kernel's that no guest has."""
    for folder in ("events", "format"):
        (directory / folder).mkdir(parents=True)
    files = {"type": "4000", "cpumask": "0", "format/event": "config:0-7"}
    for i, event in enumerate(events):
        files[f"events/{event}"] = f"event={i:#04x}"
        if event.startswith("energy"):
            files |= {f"events/{event}.scale": str(2**-32), f"events/{event}.unit": "Joules"}
    for file, text in files.items():
        (directory / file).write_text(f"{text}\n", encoding="ascii")


@dataclasses.dataclass
class Pmu:
    """formats: {term: (word, bits, lowest first)}; cpus: on how many it counts."""

    name: str
    formats: dict
    aliases: dict
    cpus: int

    def encode(self, terms):
        """The four configuration words of a text, or KeyError for a term or a value that the PMU cannot have."""
        words = [0, 0, 0, 0]
        for term in terms.split(","):
            key, _, value = term.partition("=")
            if key == "name":
                continue
            if key in self.aliases and not value:
                words = [a | b for a, b in zip(words, self.encode(self.aliases[key]))]
                continue
            value = int(value, 0) if value else 1
            word, bits = self.formats[key]
            if value >> len(bits):
                raise KeyError(f"{key}={value:#x}, which is too wide")
            for i, bit in enumerate(bits):
                words[word] = words[word] & ~(1 << bit) | (value >> i & 1) << bit
        return tuple(words)


def cpu_list(text):
    found = []
    for piece in text.strip().split(",") if text.strip() else []:
        first, _, last = piece.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _texts(directory):
    return {f.name: f.read_text(encoding="ascii").strip() for f in directory.iterdir()} if directory.is_dir() else {}


def pmus(tree):
    """{name: Pmu}"""
    found = {}
    for directory in sorted((tree / DEVICES).iterdir()):
        formats = {f"config{i or ''}": (i, range(64)) for i in range(4)}
        for name, text in _texts(directory / "format").items():
            word, _, ranges = text.partition(":")
            formats[name] = (int(word.removeprefix("config") or 0), cpu_list(ranges or "0-63"))
        mask = directory / "cpumask"
        cpus = len(cpu_list(mask.read_text(encoding="ascii"))) if mask.exists() else 1
        found[directory.name] = Pmu(directory.name, formats, _texts(directory / "events"), cpus)
    return found
