#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public header as the test of old programs needs it: header.py later|printers uncore.h

later     the header of a later release: each struct has a further member at its end
printers  C: a function for each struct that prints its members by their names, and the table `seen`"""

import re
import sys

STRUCT = re.compile(r"^struct (?P<name>uncore_\w+) \{\n(?P<members>.*?)^\};\n", re.M | re.S)
# Larger than any padding, and with the largest alignment that a member has.
ADDED = "\tdouble added_later[3];\n"
# They have no members in the header, or point to others of their kind.
NAMES = {"uncore_pmu": "uncore_pmu_name(s->{0})", "uncore_device": "s->{0}->address"}
FORMATS = {"bool": "d", "int": "d", "unsigned": "u", "double": ".17g", "size_t": "zu", "uint32_t": "u", "uint64_t": "lu"}


def plain(text):
    """The header without comments; pointers to functions and to bytes of the caller are left out."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"^\t(?:int|bool) \(\*\w+\)\([^;]*;\n|^\tvoid \*\w+;\n", "", text, flags=re.M)


def members_of(text):
    """(type, stars, name, number of elements) of each member."""
    for line in filter(str.strip, text.split(";")):
        kind, names = re.fullmatch(r"\s*((?:const |struct |enum )*\w+)\s+(.*?)\s*", line, re.S).groups()
        for name in names.split(","):
            stars, name, room = re.fullmatch(r"\s*(\**)(\w+)(?:\[(\w+)\])?\s*", name).groups()
            yield kind.replace("const ", ""), stars, name, room


def printer_of(struct, kind, stars, name, room):
    """The statement that prints a member."""
    path = f"{struct}.{name}"
    if kind == "char":
        return f'put_text("{path}", s->{name});'
    if kind.startswith("struct "):
        other = kind.split()[1]
        if other in NAMES:
            return f'put_text("{path}", s->{name} ? {NAMES[other].format(name)} : NULL);'
        return f"print_{other}({'' if stars else '&'}s->{name});"
    if stars:
        return f'put_text("{path}", s->{name} ? "an array" : NULL);'
    cast, form = ("(int)", "d") if kind.startswith("enum ") else ("", FORMATS[kind])
    if room:
        return f'for (int i = 0; i < {room}; i++)\n\t\tprintf("{path} = %{form}\\n", s->{name}[i]);'
    return f'printf("{path} = %{form}\\n", {cast}s->{name});'


def printers(header):
    structs = list(STRUCT.finditer(plain(header)))
    yield "/* Made from uncore.h by header.py. */\n#include <stdio.h>\n#include <uncore.h>\n"
    yield "enum { " + ", ".join(f"SEEN_{each['name']}" for each in structs) + ", STRUCTS };"
    yield "static struct {\n\tconst char *name;\n\tsize_t count;\n} seen[STRUCTS] = {"
    yield from (f'\t{{"{each["name"]}", 0}},' for each in structs)
    yield "};\n"
    yield ("static void put_text(const char *path, const char *text)\n"
           "{\n\tprintf(\"%s = %s\\n\", path, text ? text : \"NULL\");\n}\n")
    for each in structs:
        yield f"__attribute__((unused)) static void print_{each['name']}(const struct {each['name']} *s);"
    for each in structs:
        yield f"\nstatic void print_{each['name']}(const struct {each['name']} *s)\n{{"
        yield f"\tif (!s)\n\t\treturn;\n\tseen[SEEN_{each['name']}].count++;"
        yield from (f"\t{printer_of(each['name'], *member)}" for member in members_of(each["members"]))
        yield "}"


def main():
    what, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        header = file.read()
    if what == "later":
        print(STRUCT.sub(lambda found: found[0].replace("\n};\n", f"\n{ADDED}}};\n"), header), end="")
    else:
        print("\n".join(printers(header)))


if __name__ == "__main__":
    main()
