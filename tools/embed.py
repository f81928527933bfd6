#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes embedded.c: data files, simulations, register blocks and snapshots of machines as C strings
(lib/machine/embedded.h)."""

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


def array(name, files):
    """`files`: (name, bytes) pairs. C has no empty arrays, so an empty list gets one empty entry."""
    rows = [entry(*file) for file in sorted(files, key=lambda f: os.fsencode(f[0]))]
    return (f"const struct unc_file {name}[] = {{\n" + ("".join(rows) or "\t{0}\n") + "};\n"
            f"const size_t {name}_count = {len(files)};\n")


def named(paths):
    return [(os.path.basename(p), pathlib.Path(p).read_bytes()) for p in paths]


def embed(args):
    return "".join((
        "/* SPDX-License-Identifier: MIT */\n/* Made by tools/embed.py. */\n",
        '#include "machine/embedded.h"\n\n',
        array("unc_embedded_data", named(args.data)),
        array("unc_embedded_sims", named(args.sim)),
        array("unc_embedded_blocks", named(args.block)),
        array("unc_embedded_machines", [(name, pathlib.Path(p).read_bytes()) for name, p in args.machine])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("--data", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--sim", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--block", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--machine", nargs=2, action="append", default=[], metavar=("NAME", "PATH"))
    args = parser.parse_args()
    text = embed(args)
    with open(args.output, "w", encoding="ascii") as f:
        f.write(text)


if __name__ == "__main__":
    main()
