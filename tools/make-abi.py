#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the ctypes declarations of a public header: make-abi.py uncore.h LIBRARY >abi.py

The header is plain C: constants, enums, structs without bit fields, and prototypes. A pointer to a function is a
plain one. LIBRARY is what the module loads,
a name or a path. `tests/python/test-module.py` compares the result with what cffi makes of the same header."""

import re
import sys

TYPES = {
    "bool": "c_bool",
    "int": "c_int",
    "unsigned": "c_uint",
    "double": "c_double",
    "size_t": "c_size_t",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
}
# Strings: borrowed ones are read at once, one that the caller frees must stay a pointer.
STRINGS = {"const char*": "c_char_p", "const char**": "POINTER(c_char_p)", "char**": "POINTER(c_void_p)"}

DECLARATION = re.compile(
    r"#define\s+(?P<constant>\w+)\s+(?P<number>\d+)\b"
    r"|enum\s+(?P<enum>\w+)\s*\{(?P<values>[^}]*)\}\s*;"
    r"|struct\s+(?P<struct>\w+)\s*(?:\{(?P<members>[^}]*)\})?\s*;"
    r"|(?P<result>[a-z][\w ]*?[\s*]+)(?P<function>uncore_\w+)\s*\((?P<parameters>[^)]*)\)\s*;"
)


def of_type(text):
    """The ctypes name of a C type: "const struct uncore_row *"."""
    stars = text.count("*")
    words = [word for word in text.replace("*", " ").split() if word != "const"]
    if words[0] == "char":
        return STRINGS[("const " if "const" in text else "") + "char" + "*" * stars]
    if words == ["void"]:
        return "c_void_p" if stars else "None"
    name = "c_int" if words[0] == "enum" else words[1] if words[0] == "struct" else TYPES[" ".join(words)]
    return "POINTER(" * stars + name + ")" * stars


def numbers_of(values):
    """The numbers of an enum's names, each one more than the one before unless it is given."""
    numbers, number = {}, 0
    for value in filter(None, map(str.strip, values.split(","))):
        name, _, given = value.partition("=")
        number = int(given) if given else number
        numbers[name.strip()] = number
        number += 1
    return numbers


def of_variable(text):
    """(name, ctypes name) of "const char *name" or "uint64_t config[WORDS]"."""
    kind, name, room = re.fullmatch(r"(.*?)(\w+)(\[\w+\])?", text.strip(), re.S).groups()
    return name, of_type(kind) + (f" * {room[1:-1]}" if room else "")


def members_of(text):
    """Members by "type a, b;": the type belongs to each name, the stars to one of them."""
    for line in filter(str.strip, text.split(";")):
        first, *others = line.split(",")
        kind = re.match(r"\s*(.*?)[\s*]*\w+\s*(?:\[\w+\])?\s*$", first, re.S).group(1)
        yield of_variable(first)
        for other in others:
            yield of_variable(f"{kind} {other}")


def declarations(header):
    """The lines of the module, in the order of the header."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header, flags=re.S)
    text = re.sub(r"\w+\s*\(\*(\w+)\)\([^)]*\)", r"void *\1", text)  # pointers to functions
    declared = set()
    for found in DECLARATION.finditer(text):
        if found["constant"]:
            yield f"{found['constant']} = {found['number']}"
        elif found["enum"]:
            numbers = numbers_of(found["values"])
            yield f"{found['enum']} = {list(numbers)!r}"
            yield from (f"{name} = {number}" for name, number in numbers.items())
        elif found["struct"]:
            if found["struct"] not in declared:
                yield f"class {found['struct']}(Structure): pass"
            declared.add(found["struct"])
            if found["members"]:
                yield f"{found['struct']}._fields_ = ["
                yield from (f'    ("{name}", {kind}),' for name, kind in members_of(found["members"]))
                yield "]"
        else:
            parameters = [p for p in found["parameters"].split(",") if p.strip() != "void"]
            kinds = ", ".join(of_variable(parameter)[1] for parameter in parameters)
            yield f"FUNCTIONS[\"{found['function']}\"] = ({of_type(found['result'])}, [{kinds}])"


def main():
    with open(sys.argv[1], encoding="utf-8") as header:
        lines = list(declarations(header.read()))
    print('# SPDX-License-Identifier: MIT\n"""Made from uncore.h by make-abi.py."""')
    print("# pylint: skip-file\nfrom ctypes import *\n")
    print(f"LIBRARY = {sys.argv[2]!r}\nFUNCTIONS = {{}}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
