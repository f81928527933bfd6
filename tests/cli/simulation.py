# SPDX-License-Identifier: MIT
"""What a simulation counts, worked out from its YAML alone: an integral taken by Gauss' rule
over the rate at each moment, where the library has closed forms."""

import fnmatch
import functools
import math
import re

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
WAVES = ("constant", "sine", "burst", "ramp")


# ---- the YAML, as far as the files in data/sim go ------------------------------------------


def _scalar(text):
    text = text.strip()
    if text[:1] == '"':
        return text[1 : text.index('"', 1)]
    return text.split(" #")[0].strip()


def _flow(text):
    """{a: 1, b: {c: 2}} as a dictionary; text begins behind the brace. Returns it and the rest."""
    found = {}
    while True:
        text = text.lstrip(" ,")
        if text[0] == "}":
            return found, text[1:]
        key, text = text.split(":", 1)
        text = text.lstrip()
        if text[0] == "{":
            found[key], text = _flow(text[1:])
        elif text[0] == '"':
            end = text.index('"', 1)
            found[key], text = text[1:end], text[end + 1 :]
        else:
            value = re.match(r"[^,}]*", text).group()
            found[key], text = value.strip(), text[len(value) :]


def _value(text):
    return _flow(text.strip()[1:])[0] if text.strip().startswith("{") else _scalar(text)


def load(path):
    """(seed, rates in the order of the file)."""
    seed, rates = 0, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if re.match(r"\s*(#|$)", line):
                continue
            if line.startswith("filters:"):  # of events without a rate of their own
                break
            if line.startswith("  - {"):
                rates.append(_value(line[4:]))
            elif line.startswith(("  - ", "    ")):
                if line.startswith("  - "):
                    rates.append({})
                key, text = line[4:].split(":", 1)
                rates[-1][key] = _value(text)
            elif line.startswith("seed:"):
                seed = int(_scalar(line[5:]))
    return seed, rates


# ---- rates ---------------------------------------------------------------------------------------


def matches(name, pattern):
    """As perf has it: the name, a glob, or the name without its number."""
    if any(c in pattern for c in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return re.fullmatch(re.escape(pattern) + r"(_?\d+)?", name) is not None


def rate_of(rates, pmu, event):
    """The first one that fits; None: there is none."""
    for rate in rates:
        if rate["event"] == event and matches(pmu, rate["pmu"]):
            return rate
    return None


def chance(seed, name, cpu):
    """A number from 0 to 1 that looks random: FNV-1a, then the finaliser of splitmix64."""
    mask = (1 << 64) - 1
    h = 0xCBF29CE484222325 ^ (seed & mask)
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & mask
    h = (h + 0x9E3779B97F4A7C15 * (cpu + 1)) & mask
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & mask
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & mask
    return ((h ^ (h >> 31)) >> 11) / (1 << 53)


def seconds_of(text):
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return float(number) * UNITS[unit]


def wave_of(rate):
    """(kind, numbers, period in seconds)."""
    kind = next(w for w in WAVES if w in rate)
    if kind == "constant":
        return kind, {"constant": float(rate[kind])}, math.inf
    numbers = {k: float(v) for k, v in rate[kind].items() if k != "period"}
    return kind, numbers, seconds_of(rate[kind]["period"])


def at_moment(kind, n, share):
    """The rate where `share` of the period is over."""
    if kind == "constant":
        return n["constant"]
    if kind == "sine":
        return n["mean"] + n["amplitude"] * math.sin(2 * math.pi * share)
    if kind == "burst":
        return n["high"] if share < n["duty"] else n["low"]
    return n["from"] + (n["to"] - n["from"]) * share


def gauss(f, a, b, pieces=32):
    """By three points in each piece: errors go with the sixth power of its width."""
    width = (b - a) / pieces
    apart = math.sqrt(0.6) * width / 2
    middles = [a + (i + 0.5) * width for i in range(pieces)]
    return sum(5 * f(m - apart) + 8 * f(m) + 5 * f(m + apart) for m in middles) * width / 18


def integral(wave, begin, end):
    """Counts between two times of the wave, piece by piece between the steps it makes."""
    kind, numbers, period = wave
    if kind == "constant":
        return numbers["constant"] * (end - begin)
    marks = (0.0, numbers.get("duty", 0.0))
    steps = {(k + m) * period for k in range(int(end / period) + 2) for m in marks}
    cuts = [begin, *sorted(s for s in steps if begin < s < end), end]
    total = 0.0
    for a, b in zip(cuts, cuts[1:]):
        # Just inside of the piece, whatever rounding does at its ends.
        middle = math.floor((a + b) / 2 / period)
        share = lambda t: min(max(t / period - middle, 0.0), 1.0)
        if kind == "burst":
            total += at_moment(kind, numbers, share((a + b) / 2)) * (b - a)
        else:
            total += gauss(lambda t: at_moment(kind, numbers, share(t)), a, b)
    return total


class Simulation:
    """A loaded file; counts() is what one counter shows."""

    def __init__(self, path):
        self.seed, self.rates = load(path)

    @functools.cache
    def counts(self, pmu, event, cpu, seconds):
        """Counts from the start to `seconds`, not yet cut to a whole number."""
        rate = rate_of(self.rates, pmu, event)
        wave = wave_of(rate)
        phase = 0.0
        if wave[0] != "constant":
            named = rate.get("phase", pmu)
            fixed = re.fullmatch(r"[\d.]+", named)
            phase = float(named) if fixed else chance(self.seed, named, cpu)
        begin = phase * wave[2] if wave[0] != "constant" else 0.0
        spread = float(rate.get("spread", 0))
        factor = 1 + spread * (2 * chance(~self.seed, pmu, cpu) - 1)
        running = float(rate.get("running", 1))
        return running * factor * integral(wave, begin, begin + seconds)
