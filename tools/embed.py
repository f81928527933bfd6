#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes embedded.c: data files, simulations, register blocks, names of events and snapshots of machines as C strings
(lib/base/data-file.h); or, with --web, the files of a page."""

import argparse
import os
import pathlib


def escape(data):
    """The bytes as lines of one C string literal."""
    out = []
    for byte in data:
        char = chr(byte)
        if char in '"\\?':  # '?' because of trigraphs
            out.append("\\" + char)
        elif char == "\n":
            out.append('\\n"\n"')
        elif 0x20 <= byte < 0x7f:
            out.append(char)
        else:
            out.append("\\%03o" % byte)  # three digits: the next character cannot belong to it
    return '"' + "".join(out).removesuffix('"\n"') + '"'


def entry(name, data):
    return "\t{%s,\n%s, %d},\n" % (escape(os.fsencode(name)), escape(data), len(data))


def index_of(path):
    """Family, whether its PMUs are on CPUs that it does not name, name and identifier of its PMUs, CPU models, paths
    of its hardware, drivers and directories of devices, which data files have on lines of their own."""
    family, everywhere, pmus, cpus, paths, modules, devices, inside = None, False, [], [], [], [], [], None
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(": ")
        value = value.split(" #")[0].strip().strip("'\"")
        if key == "family":
            family = value
        elif key == "everywhere":
            everywhere = value == "true"
        elif inside == "pmus:" and key == "  - name":
            pmus.append([value, None, None])
        elif inside == "pmus:" and key == "    identifier":
            pmus[-1][1] = value
        elif inside == "models:" and line[:1] == " " and "/" in value:
            cpus += value.split()
        elif inside == "expect:" and key.lstrip(" -") == "path":
            paths.append(value)
        elif inside == "expect:" and key.lstrip(" -") == "module" and value not in modules:
            modules.append(value)
        elif inside == "devices:" and key.lstrip(" -") == "directories":
            devices.append(value)
        elif inside == "devices:" and key.lstrip(" -") == "module":
            devices[-1] = f"{value}:{devices[-1]}"
        if line and line[0] not in " #":
            inside = line
    if not family or not (pmus or devices):
        raise SystemExit(f"{path}: no 'family' or no list of 'pmus' or 'devices' to be indexed")
    return family, everywhere or not cpus, pmus, cpus, paths, modules, devices


def index(paths):
    text, rows = [], []
    for i, path in enumerate(sorted(paths, key=lambda p: os.fsencode(os.path.basename(p)))):
        family, everywhere, pmus, *words = index_of(path)
        patterns = ", ".join("{%s}" % ", ".join(escape(w.encode()) if w else "NULL" for w in p) for p in pmus)
        text.append(f"static const struct unc_pattern pmus_{i}[] = {{{patterns or '{0}'}}};\n")
        lists = ", ".join(escape(" ".join(each).encode()) for each in words)
        rows.append(f'\t{{"{family}", {int(everywhere)}, pmus_{i}, {len(pmus)}, {lists}}},\n')
    return "".join(text + ["const struct unc_index unc_embedded_index[] = {\n", *rows, "};\n"])


def array(name, files):
    """`files`: (name, bytes) pairs. C has no empty arrays, so an empty list gets one empty entry."""
    rows = [entry(*file) for file in sorted(files, key=lambda f: os.fsencode(f[0]))]
    return (f"const struct unc_file {name}[] = {{\n" + ("".join(rows) or "\t{0}\n") + "};\n"
            f"const size_t {name}_count = {len(files)};\n")


def named(paths):
    return [(os.path.basename(p), pathlib.Path(p).read_bytes()) for p in paths]


def families(paths):
    """Without comments, which take time to skip at each start; the numbers of lines stay."""
    return [(name, b"\n".join(b"" if line.lstrip().startswith(b"#") else line for line in data.split(b"\n")))
            for name, data in named(paths)]


def stems(paths):
    return [(pathlib.Path(p).stem, pathlib.Path(p).read_bytes()) for p in paths]


def embed(args):
    return "".join((
        "/* SPDX-License-Identifier: MIT */\n/* Made by tools/embed.py. */\n",
        '#include "base/data-file.h"\n\n',
        array("unc_embedded_data", families(args.data)),
        index(args.data),
        array("unc_embedded_sims", stems(args.sim)),
        array("unc_embedded_blocks", stems(args.block)),
        array("unc_embedded_names", stems(args.names)),
        array("unc_embedded_machines", [(name, pathlib.Path(p).read_bytes()) for name, p in args.machine])))


def web(paths):
    """Files of a page: web_page_js for page.js."""
    rows = [f"extern const char {name}[];\nconst char {name}[] = {escape(pathlib.Path(p).read_bytes())};\n"
            for p in paths for name in ["web_" + os.path.basename(p).replace(".", "_")]]
    return "/* SPDX-License-Identifier: MIT */\n/* Made by tools/embed.py. */\n" + "".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--data", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--sim", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--block", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--names", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--machine", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    parser.add_argument("--web", nargs="*", default=[], metavar="FILE")
    args = parser.parse_args()
    text = web(args.web) if args.web else embed(args)
    with open(args.output, "w", encoding="ascii") as f:
        f.write(text)


if __name__ == "__main__":
    main()
