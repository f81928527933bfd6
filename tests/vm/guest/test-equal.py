#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf, uncore and the truth must say the same number, for what the guest's own sysfs offers.

The traffic is idle and steps once while perf counts around uncore, or uncore around perf: so both
windows hold the same ticks. Many events are counted in one command, as many as the boxes have room
for twice. What a box can count only once (a fixed counter, say) is counted by one after the other."""

import dataclasses
import fnmatch
import itertools
import json
import re

import rig
import truth

MODEL = truth.model(rig.MODEL)
ALL_PMUS = rig.pmus()
PMUS = {name: pmu for name, pmu in ALL_PMUS.items() if not MODEL.broken(name)}
MOST = 64  # comparisons in one command
PAUSES = (0, 0.5, 2)  # seconds after a step
PLACES = ("all", "socket", "each")


@dataclasses.dataclass
class Member:
    """One event as uncore gets it. `form` is what perf gets as PMU, `terms` what both get."""

    what: str  # the heading under which it is reported
    text: str
    form: str
    terms: str
    pmus: list
    more: str = ""  # terms for uncore only
    cpus: list = None  # where it is counted; None: wherever the PMU is
    perf: dict = dataclasses.field(default_factory=dict)  # {place: value}, what perf said
    rows: dict = dataclasses.field(default_factory=dict)

    def words(self, name):
        """The configuration words on one PMU."""
        return PMUS[name].encode(self.terms)

    def counters(self):
        """(PMU, CPU, counts per tick) of each counter behind it."""
        for name in self.pmus:
            for cpu in PMUS[name].cpus:
                if self.cpus is None or cpu in self.cpus:
                    yield name, cpu, MODEL.weight(name, self.words(name), cpu)

    def truth(self, place):
        """{place: counts per tick}; a place is None, a socket, or (PMU, CPU)."""
        sums = {}
        for name, cpu, weight in self.counters():
            key = {"all": None, "socket": rig.socket_of(cpu), "each": (name, cpu)}[place]
            sums[key] = sums.get(key, 0) + weight
        return sums

    def scale(self):
        """(factor, unit) of an alias: the kernel's; (None, "") without."""
        pmu = PMUS[self.pmus[0]]
        alias = self.terms.split(",")[0]
        if alias not in pmu.scales:
            return None, ""
        return float(pmu.scales[alias]), pmu.units.get(alias, "")


def event(what, form, terms, pmus, more="", cpus=None, text=None):
    """A Member."""
    inside = ",".join(filter(None, [terms, more]))
    return Member(what, text or f"{form}/{inside}/", form, terms, pmus, more, cpus)


# ---- rounds: what is counted in one command --------------------------------------------------------


class Round:
    """Events counted by one command. `twice`: by perf and uncore at once."""

    def __init__(self, twice):
        self.twice = twice
        self.items = []  # lists of members; more than one: a group
        self.boxes = {}  # {PMU: [words]}
        self.texts = set()

    def take(self, item):
        """Adds an item if there is room for it; whether there was."""
        if self.items and sum(map(len, self.items)) + len(item) > MOST:
            return False
        if any(m.text in self.texts for m in item):
            return False
        if self.items and self.items[0][0].cpus != item[0].cpus:
            return False
        boxes = {}
        for member in item:
            for name in member.pmus:
                boxes.setdefault(name, []).append(member.words(name))
        if not all(self.fits(name, self.boxes.get(name, []) + new) for name, new in boxes.items()):
            return False
        for name, new in boxes.items():
            self.boxes.setdefault(name, []).extend(new)
        self.items.append(item)
        self.texts.update(m.text for m in item)
        return True

    def fits(self, name, words):
        """Whether a box can count all these at once."""
        users = 2 if self.twice else 1
        choices = [c for c in (MODEL.choice(name, w) for w in words) if c is not None]
        if len(choices) > 1 or any(c < users for c in choices):
            return False
        if len({s for s in (MODEL.shared(name, w) for w in words) if s is not None}) > 1:
            return False
        room = MODEL.room(name)
        return room is None or len(words) * users <= room

    def members(self):
        """All its events."""
        return [m for item in self.items for m in item]


def rounds_of(items):
    """Packs items into as few commands as a simple way finds."""
    rounds = []
    for item in items:
        if any(r.take(item) for r in rounds):
            continue
        for twice in (True, False):
            new = Round(twice)
            if new.take(item):
                rounds.append(new)
                break
        else:
            rig.ok(False, f"there is room to count {[m.text for m in item]}")
    return rounds


def listed(items, text_of):
    """The list for -e."""
    texts = []
    for item in items:
        inside = ",".join(text_of(m) for m in item)
        texts.append("{" + inside + "}" if len(item) > 1 else inside)
    return ",".join(texts)


def perf_list(items, place, numbers):
    """The list for perf, each event with a name of its own. PMU by PMU where places are not summed,
    and for groups: those of perf 6.1 do not hold across the PMUs of a wildcard."""
    texts = []
    for item in items:
        pmus = item[0].pmus
        if len(pmus) == 1 or (place != "each" and len(item) == 1):
            texts.append(listed([item], lambda m: f"{m.form}/{m.terms},name=m{numbers[id(m)]}/"))
            continue
        for i, pmu in enumerate(pmus):
            texts.append(listed([item], lambda m, i=i, p=pmu: f"{p}/{m.terms},name=m{numbers[id(m)]}.{i}/"))
    return ",".join(texts)


def count(a_round, place, outside, ticks):
    """Counts a round; ([Count], [row]). To start many counters takes time, and beside a short step
    that is so much that uncore rightly calls a sum partial. Then there is another with more time."""
    for pause in PAUSES:
        counts, rows = count_once(a_round, place, outside, ticks, pause)
        if all(row["quality"] != "partial" for row in rows):
            break
    return counts, rows


def count_once(a_round, place, outside, ticks, pause):
    """Counts a round. `pause`: seconds after the step."""
    numbers = {id(m): i for i, m in enumerate(a_round.members())}
    for_perf = perf_list(a_round.items, place, numbers)
    for_uncore = listed(a_round.items, lambda m: m.text)
    step = ["traffic", "step", str(ticks)]
    if pause:
        step = ["sh", "-c", f"{' '.join(step)}; sleep {pause}"]
    cpus = a_round.items[0][0].cpus
    more = ["-C", ",".join(map(str, cpus))] if cpus else []
    if a_round.twice and not more:
        return rig.both(for_perf, for_uncore, step, place, outside)
    return rig.perf(for_perf, step, place, more), rig.uncore(for_uncore, step, place)


# ---- judging ---------------------------------------------------------------------------------------

compared = {}  # {PMU: comparisons}
verdicts = {}  # {heading: [(text, verdict)]}


def perf_values(member, number, counts, place):
    """{place: value} of what perf said; a value is None when it did not count all the time. Each
    PMU that perf was given by itself is there once in each place, or its value is None."""
    values, seen = {}, set()
    for c in counts:
        name, _, index = c.name.partition(".")
        if name != f"m{number}":
            continue
        pmu = member.pmus[int(index or 0)]
        key = {"all": None, "socket": c.socket, "each": (pmu, c.cpu)}[place]
        if place == "socket" and c.value is None and c.socket not in map(rig.socket_of, PMUS[pmu].cpus):
            continue  # perf has a line for each socket, whether the PMU is there or not
        sound = c.value is not None and c.share == 100 and (key, index) not in seen
        seen.add((key, index))
        before = values.get(key, 0)
        values[key] = before + c.value if sound and before is not None else None
    return values


def uncore_values(member, rows, place):
    """{place: row}; two rows for one place are a fault."""
    mine = {}
    for row in rows:
        if row["name"] != member.text:
            continue
        key = {"all": None, "socket": row["socket"], "each": (row["pmu"], row["cpu"])}[place]
        mine[key] = row if key not in mine else {"quality": "two rows for one place", "value": None}
    return mine


def near(value, expected):
    """Equal but for the six digits that perf prints, and a float's last bits."""
    return value is not None and abs(value - expected) <= 1e-6 + abs(expected) * 1e-14


def judge(member, perf_value, row, expected):
    """(what uncore said, verdict)"""
    factor, unit = member.scale()
    if row is None:
        return None, "uncore has no row"
    wanted = "suspect" if any(MODEL.suspect(name, member.words(name)) for name in member.pmus) else "measured"
    late = row["quality"] == "suspect" and "it was not read when the interval" in row["reason"]
    equal = row["quality"] == "suspect" and "have equal counts" in row["reason"] and any(
        MODEL.may_be_suspect(name, member.words(name)) for name in member.pmus)
    if (row["quality"] != wanted and not late and not equal) or row["coverage"] != 1 or row["enabled_ns"] != row["running_ns"]:
        return row["value"], f"uncore: {row['quality']} {row.get('coverage')} {row.get('reason')}"
    if row["unit"] != unit:
        return row["value"], f"uncore's unit is '{row['unit']}' and not '{unit}'"
    if not near(row["value"], row["count"] * (factor or 1)):
        return row["value"], f"uncore's value is not its count, {row['count']}"
    true_value = expected * (factor or 1)
    ours = row["count"] == expected and near(row["value"], true_value)
    theirs = near(perf_value, true_value) if factor else perf_value == expected
    if ours and theirs:
        return row["value"], "exact"
    if perf_value is None:
        return row["value"], "perf did not count all the time"
    if near(row["value"], perf_value):
        return row["value"], "perf and uncore differ from the truth"
    return row["value"], "perf differs" if ours else "uncore differs" if theirs else "all differ"


def compare(a_round, place, ticks, counts, rows):
    """Compares a round's events, and puts them into the table."""
    known = {m.text for m in a_round.members()}
    strange = {row["name"] for row in rows} - known
    if strange:
        rig.ok(False, "uncore has rows for nothing but what was asked", f"{strange}")
    for number, member in enumerate(a_round.members()):
        theirs = perf_values(member, number, counts, place)
        ours = uncore_values(member, rows, place)
        expected = member.truth(place)
        for key in expected.keys() | theirs.keys() | ours.keys():
            conclude(member, key, theirs.get(key), ours.get(key), expected.get(key), ticks)


def place_name(key):
    """A place for people."""
    if isinstance(key, tuple):
        return f" on {key[0]}, CPU {key[1]}"
    return "" if key is None else f" on socket {key}"


def conclude(member, key, perf_value, row, per_tick, ticks):
    """One comparison."""
    if per_tick is None:
        value, verdict, shown = row and row["value"], "a place that does not have it", None
    else:
        value, verdict = judge(member, perf_value, row, per_tick * ticks)
        shown = per_tick * ticks * (member.scale()[0] or 1)
    name = member.text + place_name(key)
    pmu = key[0] if isinstance(key, tuple) else member.form
    rig.record(pmu, name, perf_value, value, shown, verdict)
    verdicts.setdefault(member.what, []).append((name, verdict, perf_value, value, shown))
    for p in [key[0]] if isinstance(key, tuple) else member.pmus:
        compared[p] = compared.get(p, 0) + 1


# ---- what to compare -------------------------------------------------------------------------------


def kinds():
    """{kind: [PMU names]} of those that the model makes count."""
    found = {}
    for name in PMUS:
        kind = MODEL.kind(name)
        if kind not in MODEL.ROOM:
            rig.ok(False, f"truth.py knows {name}")
        else:
            found.setdefault(kind, []).append(name)
    missing = set(MODEL.ROOM) - set(map(MODEL.kind, ALL_PMUS))
    rig.ok(not missing, "every kind of PMU that the model has is here", missing)
    for names in found.values():
        names.sort(key=lambda n: [int(x) for x in re.findall(r"\d+", n)])
    return found


def stem(name):
    """A name without its last number."""
    return re.sub(r"_\d+$", "", name)


def alike(name):
    """All PMUs that a name without its number means; only itself when some of them are broken."""
    all_alike = [p for p in ALL_PMUS if re.fullmatch(re.escape(stem(name)) + r"(_\d+)?", p)]
    return all_alike if all(p in PMUS for p in all_alike) else [name]


def aliases_of(kind, names):
    """Every alias on the first PMU; some on the others, and on all together in each form."""
    first = PMUS[names[0]]
    for alias in first.aliases:
        yield [event(f"{kind}: aliases", names[0], alias, [names[0]])]
    handful = list(first.aliases)[:2]
    for name in names[1:]:
        for alias in handful:
            yield [event(f"{kind}: aliases on every PMU", name, alias, [name])]
    if len(alike(names[0])) > 1:
        for alias in handful:
            yield [event(f"{kind}: aliases by wildcard", stem(names[0]), alias, alike(names[0]))]
        all_with = [p for p in PMUS if handful[0] in PMUS[p].aliases] if handful else []
        if handful and set(all_with) == set(alike(names[0])) and not first.scales.get(handful[0]):
            yield [event(f"{kind}: alias alone", stem(names[0]), handful[0], all_with, text=handful[0])]


def forms(what, name, terms):
    """The ways to name all PMUs of a kind."""
    base, pmus = stem(name), alike(name)
    yield [event(what, base, terms, pmus)]
    patterns = [base + "_*", base[:-1] + "[" + base[-1] + "]_?"]
    if base.startswith("uncore_"):
        patterns += [base[7:], base[7:] + "_[0-9]"]
        yield [event(what, name, terms, [name], text=f"{name[7:]}/{terms}/")]
    for pattern in patterns:
        members = [p for p in PMUS if fnmatch.fnmatch(p, pattern) or fnmatch.fnmatch(p, "uncore_" + pattern)]
        if "*" not in pattern and "[" not in pattern:
            members = pmus
        if members == pmus:
            yield [event(what, base, terms, pmus, text=f"{pattern}/{terms}/")]


def patterns_of(field, width):
    """Values for a field: several bits set, the highest among them; the highest alone."""
    if field == "event":
        return [0xA6 & ((1 << width) - 1), 0x5A & ((1 << width) - 1)]
    if width == 1:
        return [1]
    top = 1 << (width - 1)
    return [top | int("01" * 32, 2) & (top - 1), top]


def with_terms(base, **fields):
    """Terms with some replaced or added."""
    terms = dict(t.partition("=")[::2] for t in base.split(",") if t)
    terms.update({k: f"{v:#x}" for k, v in fields.items()})
    return ",".join(f"{k}={v}" for k, v in terms.items())


def raw_of(kind, names):
    """Events by terms: every field, thresholds, whole words; a plain event on every PMU. The PMUs of
    a kind are alike, so they take turns: then more fits into one command."""
    base, pmu = MODEL.base(names[0]), PMUS[names[0]]
    texts = []
    for field in pmu.fields:
        special = MODEL.terms(names[0], field)
        # Rules of the families refuse edges without a threshold.
        also = {"thresh": 1} if field == "edge" and "thresh" in pmu.fields else {}
        texts += special or [with_terms(base, **also, **{field: v}) for v in patterns_of(field, pmu.width(field))]
    if {"umask", "thresh", "edge"} <= pmu.fields.keys():
        texts += [f"event=0x0,umask=0x12,{more}" for more in
                  ("thresh=0x5", "thresh=0x14", "thresh=0x5,edge=1", "thresh=0x14,edge=1")]
    if {"umask", "thresh", "inv"} <= pmu.fields.keys():
        texts += [f"event=0x0,umask=0x12,inv=1,thresh={t}" for t in ("0x5", "0x14")]
    if kind in MODEL.HAS_FIXED:
        texts.append("event=0xff")
    turns = itertools.cycle(names)
    for terms in dict.fromkeys(texts):
        name = next(turns)
        yield [event(f"{kind}: raw terms", name, terms, [name])]
    for terms, form in zip(texts[1:: max(len(texts) // 4, 1)], ("#x", "d", "#x", "d")):
        name = next(turns)
        yield [event(f"{kind}: whole words", name, as_words(pmu.encode(terms), form), [name])]
    for other in names:
        yield [event(f"{kind}: an event on every PMU", other, base, [other])]
    if len(alike(names[0])) > 1:
        yield from forms(f"{kind}: raw by wildcard", names[0], base)


def as_words(words, form):
    """config=..., and those of the others that are not 0."""
    return ",".join(f"config{i or ''}={w:{form}}" for i, w in enumerate(words) if w or not i)


def groups_of(kind, names):
    """Two events in braces, on one PMU and on all."""
    first = MODEL.base(names[0])
    pmu = PMUS[names[0]]
    other = next((t for t in (MODEL.terms(names[0], "event") or []) if t != first), None)
    if other is None:
        other = with_terms(first, event=(pmu.encode(first)[0] & 0xFF) + 1)
    what = f"{kind}: groups"
    yield [event(what, names[0], t, [names[0]]) for t in (first, other)]
    if pmu.aliases and len(pmu.aliases) > 1:
        yield [event(what, names[0], t, [names[0]]) for t in list(pmu.aliases)[-2:]]
    if len(alike(names[0])) > 1:
        yield [event(what, stem(names[0]), t, alike(names[0])) for t in (first, other)]


def cpus_of(kind, names):
    """cpu=: one of several CPUs that a PMU is counted from."""
    pmu = PMUS[names[0]]
    if len(pmu.cpus) > 1:
        for cpu in pmu.cpus:
            yield [event(f"{kind}: cpu=", names[0], MODEL.base(names[0]), [names[0]], f"cpu={cpu}", [cpu])]


def catalogue():
    """Every event behind a metric of this machine, on all PMUs of its family."""
    machine = json.loads(rig.run(["uncore", "list", "-j"]).stdout)
    here = {}
    for pmu in machine["pmus"]:
        if pmu["family"] and pmu["name"] in PMUS:
            here.setdefault(pmu["family"], []).append(pmu["name"])
    if not here:
        rig.skip("events of the catalogue", "no family of the catalogue has a PMU here")
        return
    explained = json.loads(rig.run(["uncore", "explain", "-j", "*"]).stdout)["metrics"]
    seen = set()
    for metric in explained:
        for e in metric["events"]:
            family = metric["family"]
            if family in here and e["terms"] and (family, e["name"]) not in seen and e["pmu"]:
                seen.add((family, e["name"]))
                yield from catalogue_event(family, e, here[family])


def catalogue_event(family, e, names):
    """One event on every group of PMUs that one name means."""
    own = [f"{w:#x}" for w in PMUS[e["pmu"]].encode(e["terms"])]
    if own != e["config"]:
        rig.ok(False, f"{family}: {e['name']} is encoded right", f"{e['terms']}: {e['config']} and not {own}")
    done = set()
    for name in names:
        pmus = alike(name)
        if name not in done and name in PMUS:
            done.update(pmus)
            yield [event(f"{family}: events of the catalogue", stem(name) if len(pmus) > 1 else name, e["terms"], pmus)]


def report():
    """A TAP line for each heading, and for each PMU."""
    for what, results in verdicts.items():
        bad = [f"{name}: {verdict}; perf {p} uncore {u} truth {t}"
               for name, verdict, p, u, t in results if verdict != "exact"]
        rig.ok(not bad, f"{what}: {len(results)} compared", "\n".join(bad))
    for name in PMUS:
        rig.ok(compared.get(name), f"{name} is compared ({compared.get(name, 0)} times)")
    for name in ALL_PMUS.keys() - PMUS.keys():
        rig.skip(f"{name} is compared", MODEL.broken(name))
    left = [p.name for p in rig.DEVICES.iterdir() if rig.is_left_out(p.name)]
    rig.diag("left out:", " ".join(sorted(left)))


def main():
    """All comparisons."""
    rig.traffic("rate", 0)
    rig.ok(PMUS, "there are PMUs to compare")
    items = list(catalogue())
    for kind, names in kinds().items():
        for part in (aliases_of, raw_of, groups_of, cpus_of):
            items += part(kind, names)
    rounds = rounds_of(items)
    rig.diag(f"{sum(map(len, items))} events in {len(rounds)} rounds,",
             f"{sum(not r.twice for r in rounds)} of them by one after the other")
    for n, a_round in enumerate(rounds):
        place, outside, ticks = PLACES[n % len(PLACES)], ("perf", "uncore")[n // 3 % 2], 1000 + 7 * n
        try:
            counts, rows = count(a_round, place, outside, ticks)
        except (rig.Failed, ValueError) as e:
            rig.ok(False, f"round {n} is counted", e)
            continue
        compare(a_round, place, ticks, counts, rows)
    report()
    rig.done()


if __name__ == "__main__":
    main()
