# SPDX-License-Identifier: MIT
"""check-inputs METRICS: does the arithmetic of each row of a metric on standard input again, from its inputs and the formula that
`uncore list metrics -j` shows: the value must come out."""

import json
import re
import sys

FUNCTIONS = {"min": min, "max": max}


def evaluate(formula, values, counters, seconds):
    """A formula is an expression of Python, too, but for dots in names, and source_count(NAME)."""
    formula = re.sub(r"source_count\(([^)]*)\)", lambda m: repr(float(counters[m[1].strip()])), formula)
    for number, name in enumerate(sorted(values, key=len, reverse=True)):
        formula = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", f"v[{number}]", formula)
    v = [values[name] for name in sorted(values, key=len, reverse=True)]
    return eval(formula, {"__builtins__": {}}, {**FUNCTIONS, "v": v, "seconds": seconds})


def check(row, metric):
    inputs = list(row["inputs"])
    over = inputs.pop()["value"] if not inputs[-1]["counters"] and inputs[-1]["value"] else 1
    values = {i["name"]: i["value"] for i in inputs}
    counters = {i["name"]: i["counters"] for i in inputs}
    if row["value"] is None or None in values.values():
        return False
    for i in inputs:
        assert i["enabled_ns"] >= i["running_ns"] > 0 and i["counters"], i
    seconds = sum(i["enabled_ns"] for i in inputs) / sum(counters.values()) / 1e9
    value = evaluate(metric["formula"], values, counters, seconds) / over
    assert abs(value - row["value"]) <= 1e-9 * abs(value), f"{row}: {value}"
    return True


def main(metrics):
    with open(metrics, encoding="utf-8") as file:
        metrics = {(m["family"], m["name"]): m for m in json.load(file)["metrics"]}
    done = sum(check(row, metrics[row["family"], row["name"]]) for row in map(json.loads, sys.stdin))
    print(f"{done} values are those of their inputs")
    assert done


main(*sys.argv[1:])
