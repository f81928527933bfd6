#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the evaluator of formulas: random ones are written out, evaluated here from their tree,
and compared with what the program eval-formula says. Usage: check-formula.py EVAL-FORMULA [SEED]"""

import math
import random
import subprocess
import sys

CASES = 8000
MISTAKES = 2000
NAMES = ["a", "b", "reads", "writes_2", "_x", "minimum", "iff", "seconds_0", "else_", "max0",
         "memory_peaks"]
NUMBERS = ["0", "1", "2", "64", "0.5", ".25", "5.", "1e9", "1E-3", "3.0e+2", "1e300", "1e-300"]
COMPARISONS = ["<", ">", "<=", ">=", "==", "!="]

# ---- trees -----------------------------------------------------------------------------------
# (kind, operands...); the level at which the grammar has each kind, loosest first.

LEVELS = {"if": 0, "compare": 1, "+": 2, "-": 2, "*": 3, "/": 3, "sign": 4}
PRIMARY = 5


def leaf(rng):
    pick = rng.random()
    if pick < 0.35:
        return ("number", rng.choice(NUMBERS))
    if pick < 0.45:
        return ("seconds",)
    if pick < 0.55:
        return ("source_count", rng.choice(NAMES))
    return ("name", rng.choice(NAMES))


def tree(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return leaf(rng)
    kind = rng.choice(["+", "-", "*", "/", "/", "sign", "compare", "if", "if", "call"])
    operands = [tree(rng, depth - 1) for _ in range({"sign": 1, "if": 3}.get(kind, 2))]
    if kind == "sign":
        return ("sign", rng.choice("+-"), operands[0])
    if kind == "compare":
        return ("compare", rng.choice(COMPARISONS), *operands)
    if kind == "call":
        return ("call", rng.choice(["min", "max"]), *operands)
    return (kind, *operands)


# ---- text ------------------------------------------------------------------------------------


def tokens(node, level, rng):
    """The tokens of `node` where the grammar wants something of at least `level`."""
    kind = node[0]
    mine = LEVELS.get(kind, PRIMARY)
    if mine < level or rng.random() < 0.03:
        return ["(", *tokens(node, 0, rng), ")"]
    if kind in ("number", "name"):
        return [node[1]]
    if kind == "seconds":
        return [kind]
    if kind == "source_count":
        return ["source_count", "(", node[1], ")"]
    if kind == "sign":
        return [node[1], *tokens(node[2], PRIMARY, rng)]
    if kind == "call":
        return [node[1], "(", *tokens(node[2], 0, rng), ",", *tokens(node[3], 0, rng), ")"]
    if kind == "compare":
        return [*tokens(node[2], mine + 1, rng), node[1], *tokens(node[3], mine + 1, rng)]
    if kind == "if":
        return [
            *tokens(node[1], 1, rng),
            "if",
            *tokens(node[2], 0, rng),
            "else",
            *tokens(node[3], 0, rng),
        ]
    return [*tokens(node[1], mine, rng), kind, *tokens(node[2], mine + 1, rng)]


def is_word(char):
    return char.isalnum() or char in "_."


def write(parts, rng):
    """Joins tokens with random white space; returns the text and where each token begins."""
    text, starts = rng.choice(["", "", " "]), []
    for part in parts:
        if text and is_word(text[-1]) and is_word(part[0]):
            text += " "
        text += rng.choice(["", "", "", " ", "  ", "\t"])
        starts.append(len(text))
        text += part
    return text + rng.choice(["", "", " "]), starts


# ---- values ----------------------------------------------------------------------------------


def finite(value):
    return value if value is not None and math.isfinite(value) else None


def compute(kind, a, b):
    if kind == "/":
        return finite(a / b) if b != 0 else None
    if kind == "min":
        return a if a < b else b
    if kind == "max":
        return a if a > b else b
    results = {
        "+": lambda: finite(a + b),
        "-": lambda: finite(a - b),
        "*": lambda: finite(a * b),
        "<": lambda: float(a < b),
        ">": lambda: float(a > b),
        "<=": lambda: float(a <= b),
        ">=": lambda: float(a >= b),
        "==": lambda: float(a == b),
        "!=": lambda: float(a != b),
    }
    return results[kind]()


def value(node, inputs, seconds):
    """The value of a tree, or None. Branches that are not taken are not looked at."""
    kind = node[0]
    if kind == "number":
        return float(node[1])
    if kind == "seconds":
        return finite(seconds)
    if kind == "name":
        return finite(inputs[node[1]][0])
    if kind == "source_count":
        return finite(inputs[node[1]][1])
    if kind == "sign":
        inner = value(node[2], inputs, seconds)
        return -inner if inner is not None and node[1] == "-" else inner
    if kind == "if":
        condition = value(node[2], inputs, seconds)
        if condition is None:
            return None
        return value(node[1] if condition != 0 else node[3], inputs, seconds)
    operands = node[2:] if kind in ("compare", "call") else node[1:]
    a, b = (value(operand, inputs, seconds) for operand in operands)
    if a is None or b is None:
        return None
    return compute(node[1] if kind in ("compare", "call") else kind, a, b)


def has_event(node):
    if node[0] == "name":
        return True
    return any(has_event(part) for part in node[1:] if isinstance(part, tuple))


def is_ratio(node):
    if node[0] == "/" and has_event(node[2]):
        return True
    return any(is_ratio(part) for part in node[1:] if isinstance(part, tuple))


# ---- cases -----------------------------------------------------------------------------------


def random_inputs(rng):
    values = [None, 0.0, 1.0, -1.0, 3.0, 1e300, -1e-300, math.inf, math.nan]
    inputs = {}
    for name in NAMES:
        pick = rng.choice(values) if rng.random() < 0.3 else rng.uniform(-1e3, 1e12)
        inputs[name] = (pick, float(rng.choice([0, 1, 2, 8, 8])))
    return inputs


def line_of(text, inputs, seconds):
    values = ",".join(
        f"{name}={'none' if known is None else repr(known)}:{sources}"
        for name, (known, sources) in inputs.items()
    )
    return f"{text};{values};{seconds!r}"


def good_case(rng):
    node = tree(rng, rng.randint(0, 5))
    parts = tokens(node, 0, rng)
    text, _ = write(parts, rng)
    if len(text) > 4000:
        return good_case(rng)
    inputs = random_inputs(rng)
    seconds = rng.choice([1.0, 0.5, 0.001, 2.0, 0.0, math.nan])
    names = ",".join(dict.fromkeys(part for part in parts if part in NAMES))
    want = (value(node, inputs, seconds), int(is_ratio(node)), names)
    return line_of(text, inputs, seconds), want


def bad_case(rng):
    """A formula with one thing in it that fits nowhere: the place of the mistake is known."""
    parts = tokens(tree(rng, rng.randint(0, 4)), 0, rng)
    at = rng.randint(0, len(parts))
    wrong = rng.choice(["$", "@", "%", "A", "&", "[", "\x7f"])
    parts.insert(at, wrong)
    text, starts = write(parts, rng)
    if len(text) > 4000:
        return bad_case(rng)
    return line_of(text, random_inputs(rng), 1.0), ("error", starts[at])


def agrees(answer, want):
    fields = answer.split(" ")
    if want[0] == "error":
        return fields == ["error", str(want[1])]
    if fields[0] == "error" or fields[1:] != [str(want[1]), want[2]]:
        return False
    if want[0] is None or fields[0] == "none":
        return want[0] is None and fields[0] == "none"
    return math.isclose(float(fields[0]), want[0], rel_tol=1e-12, abs_tol=0.0)


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    cases = [good_case(rng) for _ in range(CASES)] + [bad_case(rng) for _ in range(MISTAKES)]
    run = subprocess.run(
        [sys.argv[1]],
        input="".join(line + "\n" for line, _ in cases),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = run.stdout.splitlines()
    wrong = [(c, a) for c, a in zip(cases, answers) if not agrees(a, c[1])]
    for (line, want), answer in wrong[:10]:
        print(f"{line}\n  should give {want}, gives '{answer}'", file=sys.stderr)
    none = sum(want[0] is None for _, want in cases)
    print(f"{len(cases)} formulas, {none} without a value, {len(wrong)} differ")
    # Too few of either kind would prove little.
    balanced = CASES / 5 < none < CASES * 4 / 5
    return 0 if not wrong and balanced and len(answers) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
