#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes embedded.c: data files, simulations, register blocks and machine trees as C strings
(lib/machine/embedded.h)."""

import argparse
import os
import sys

TREE_PARTS = ("proc/cpuinfo", "proc/sys", "sys/bus/event_source", "sys/bus/pci",
              "sys/devices/system/cpu", "sys/devices/system/node",
              "usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids")
LEFT_OUT = {"cache", "power"}


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


def contents(path):
    """Of a file; the text of a link."""
    if os.path.islink(path):
        return os.fsencode(os.readlink(path))
    with open(path, "rb") as f:
        return f.read()


def entry(name, path):
    data = contents(path)
    return "\t{%s,\n%s, %d},\n" % (escape(os.fsencode(name)), escape(data), len(data))


def array(declaration, files):
    """`files`: (name, path) pairs. C has no empty arrays, so an empty list gets one empty entry."""
    rows = [entry(name, path) for name, path in sorted(files, key=lambda f: os.fsencode(f[0]))]
    return declaration + " = {\n" + ("".join(rows) or "\t{0}\n") + "};\n"


def count(name, n):
    return f"const size_t {name}_count = {n};\n"


def named(paths):
    return [(os.path.basename(p), p) for p in paths]


def walk(top, inputs):
    """The tree's files as (name, path), links to directories with a slash behind the name; adds files
    and directories to `inputs`."""
    found = []
    for part in TREE_PARTS:
        start = os.path.join(top, part)
        if os.path.isfile(start):
            found.append((part, start))
        for folder, folders, files in os.walk(start, followlinks=True):
            folders[:] = sorted(set(folders) - LEFT_OUT)
            inputs.append(folder)  # its time changes when a file comes or goes
            if os.path.islink(folder):
                found.append((os.path.relpath(folder, top) + "/", folder))
            found += [(os.path.relpath(os.path.join(folder, f), top), os.path.join(folder, f))
                      for f in files if f not in LEFT_OUT]
    if not found:
        sys.exit(f"{top}: no files of a machine below it")
    inputs += [path for _, path in found]
    return found


def embed(args, inputs):
    text = ["/* SPDX-License-Identifier: MIT */\n/* Made by tools/embed.py. */\n",
            '#include "machine/embedded.h"\n\n',
            array("const struct unc_file unc_embedded_data[]", named(args.data)),
            count("unc_embedded_data", len(args.data)),
            array("const struct unc_file unc_embedded_sims[]", named(args.sim)),
            count("unc_embedded_sims", len(args.sim)),
            array("const struct unc_file unc_embedded_blocks[]", named(args.block)),
            count("unc_embedded_blocks", len(args.block))]
    rows = []
    for i, (name, top) in enumerate(sorted(args.tree)):
        files = walk(top, inputs)
        text.append(array(f"static const struct unc_file tree_{i}[]", files))
        rows.append(f'\t{{"{name}", tree_{i}, {len(files)}}},\n')
    text.append("const struct unc_tree unc_embedded_trees[] = {\n"
                + ("".join(rows) or "\t{0}\n") + "};\n")
    text.append(count("unc_embedded_trees", len(rows)))
    return "".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("--data", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--sim", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--block", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--tree", nargs=2, action="append", default=[], metavar=("NAME", "DIR"))
    args = parser.parse_args()
    inputs = args.data + args.sim + args.block
    text = embed(args, inputs)
    with open(args.output, "w", encoding="ascii") as f:
        f.write(text)
    with open(args.depfile, "w", encoding="utf-8") as f:
        escaped = (path.replace(" ", "\\ ").replace("#", "\\#") for path in inputs)
        f.write(args.output + ": " + " \\\n  ".join(escaped) + "\n")


if __name__ == "__main__":
    main()
