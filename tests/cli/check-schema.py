# SPDX-License-Identifier: MIT
"""check-schema [FILE...]: JSON values of the files, or of standard input, against docs/uncore.schema.json, with the
words of JSON Schema that it uses. Another word is an error: it would not be checked."""

import json
import pathlib
import re
import sys

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs/uncore.schema.json").read_text(encoding="utf-8"))
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def errors(value, schema, where="$"):
    """Sentences on what is wrong."""
    found = []
    for word, rule in schema.items():
        if word == "$ref":
            found += errors(value, SCHEMA["$defs"][rule.split("/")[-1]], where)
        elif word == "anyOf":
            each = [errors(value, one, where) for one in rule]
            found += min(each, key=len) if all(each) else []
        elif word == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(is_type(value, name) for name in names):
                return [f"{where}: {value!r} is no {' or '.join(names)}"]
        elif word == "const" and value != rule or word == "enum" and value not in rule:
            found.append(f"{where}: {value!r} is not {rule}")
        elif word == "pattern" and not re.search(rule, value):
            found.append(f"{where}: {value!r} does not match {rule}")
        elif word in ("required", "properties", "additionalProperties", "items") and value is None:
            continue  # "type" says whether null is allowed
        elif word == "required":
            found += [f"{where}: {name} is missing" for name in rule if name not in value]
        elif word == "properties":
            for name in rule.keys() & value.keys():
                found += errors(value[name], rule[name], f"{where}.{name}")
        elif word == "additionalProperties":
            found += [f"{where}: {name} is unknown" for name in value if name not in schema["properties"]]
        elif word == "items":
            for i, item in enumerate(value):
                found += errors(item, rule, f"{where}[{i}]")
        elif word not in ("const", "enum", "pattern", "title", "description", "$schema", "$defs"):
            raise SystemExit(f"the schema has {word!r}, which is not checked")
    return found


def check(file, text):
    decoder, space, at, count = json.JSONDecoder(), re.compile(r"\s*"), 0, 0
    while (at := space.match(text, at).end()) < len(text):
        value, at = decoder.raw_decode(text, at)
        for sentence in errors(value, SCHEMA)[:5]:
            raise SystemExit(f"{file}: {sentence}")
        count += 1
    if not count:
        raise SystemExit(f"{file}: no JSON")


def main():
    for file in sys.argv[1:]:
        check(file, pathlib.Path(file).read_text(encoding="utf-8"))
    if not sys.argv[1:]:
        check("standard input", sys.stdin.read())


main()
