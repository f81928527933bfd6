#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of machines, uncore-snapshot(1), read and written without uncore:

  snapshot.py pack DIRECTORY FILE       a directory with sys/ and proc/ into a file
  snapshot.py unpack FILE DIRECTORY     and back

What a snapshot says cannot be read becomes an empty file without permission."""

import contextlib
import errno
import os
import pathlib
import re
import sys

FIRST_LINE = "uncore snapshot 1"
ROW = 16


class Link(str):
    """The target of a link."""


class Refused(str):
    """The name of the error that reading gives."""


DIRECTORY, UNREAD = object(), object()


def is_pci(path):
    """What make-pci invents."""
    return path.startswith(("sys/bus/pci/", "sys/devices/pci"))


def order(path):
    """As the library prints: all below a directory follows it."""
    return os.fsencode(path).replace(b"/", b"\1")


def plain(name):
    """A name that a snapshot can have."""
    if not re.fullmatch(r"[!-\[\]-~]+", name):
        raise ValueError(f"'{name}' has spaces, backslashes or characters that are not ASCII")
    return name


def escape(data):
    """A backslash, bytes that are no ASCII text, and blanks where they would be lost."""
    data = re.sub(rb"\\", rb"\\\\", data)
    return re.sub(rb"[ \t]\Z|[^\t\x20-\x7e]", lambda m: b"\\x%02x" % m[0][0], data).decode("ascii")


def unescape(text):
    """The bytes, and whether a newline follows."""
    if "\\" not in text:
        return text.encode(), True
    parts = re.findall(r"\\\\|\\x[0-9a-f]{2}|\\$|[^\\]+", text)
    if "".join(parts) != text:
        raise ValueError(f"a backslash is followed by neither another nor xNN: {text}")
    newline = not (parts and parts[-1] == "\\")
    data = b"".join(b"\\" if p == "\\\\" else bytes([int(p[2:], 16)]) if p[0] == "\\" else p.encode()
                    for p in (parts if newline else parts[:-1]))
    return data, newline


def rows(data):
    """Lines of hexadecimal numbers; rows of zeros between others are left out."""
    for at in range(0, len(data), ROW):
        row = data[at:at + ROW]
        if any(row) or at + ROW >= len(data):
            yield f"\t{at:04x}  " + " ".join(f"{byte:02x}" for byte in row) + "\n"


def contents(data):
    """What follows the path of a file."""
    if b"\0" in data:
        return ": hex\n" + "".join(rows(data))
    lines = data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data)
    texts = [escape(line.removesuffix(b"\n")) + ("\n" if line.endswith(b"\n") else "\\\n")
             for line in lines or [b""]]
    return " = " + texts[0] if len(texts) == 1 else ":\n\t" + "\t".join(texts)


class Snapshot(dict):
    """Paths, each with bytes, a Link, a Refused, DIRECTORY or UNREAD."""

    comment = ""

    def put(self, path, data):
        """A file with this text or these bytes."""
        self[str(path)] = data if isinstance(data, bytes) else data.encode("ascii")

    def text(self):
        """As it is written to a file."""
        out = [FIRST_LINE + "\n"] + [f"# {line}\n" for line in self.comment.splitlines()]
        for path in sorted(self, key=order):
            value = self[path]
            out.append(plain(path))
            if value is DIRECTORY:
                out.append("/\n")
            elif value is UNREAD:
                out.append(" ?\n")
            elif isinstance(value, Refused):
                out.append(f" ! {value}\n")
            elif isinstance(value, Link):
                out.append(f" -> {plain(value)}\n")
            else:
                out.append(contents(value))
        return "".join(out)

    def write(self, file):
        """Replaces the file."""
        pathlib.Path(file).write_text(self.text(), encoding="ascii")

    def below(self, top):
        """What is below a directory: its path from there, and its contents."""
        return {path.removeprefix(top + "/"): value for path, value in self.items()
                if path.startswith(top + "/")}

    def copy_below(self, old, new):
        """The directory `old` once more as `new`."""
        for path, value in self.below(old).items():
            self[f"{new}/{path}"] = value


def parse(text):
    """The snapshot in a text."""
    lines = text.split("\n")
    snapshot, comment, i = Snapshot(), [], 1
    if lines[0] != FIRST_LINE:
        raise ValueError(f"the first line is not '{FIRST_LINE}'")
    while i < len(lines):
        line, start = lines[i], i
        i += 1
        if not line or line.startswith("#"):
            comment += [line[2:]] if line and not snapshot else []
            continue
        path, _, rest = line.partition(" ")
        block = path.endswith(":") and rest in ("", "hex")
        while block and i < len(lines) and lines[i].startswith("\t"):
            i += 1
        path = path.removesuffix(":") if block else path.rstrip("/")
        if block and rest:
            data = bytearray()
            for row in lines[start + 1:i]:
                offset, _, numbers = row[1:].partition("  ")
                data = data.ljust(int(offset, 16), b"\0") + bytes.fromhex(numbers)
            snapshot[path] = bytes(data)
        elif block or rest.startswith("= "):
            parts = [unescape(t) for t in ([t[1:] for t in lines[start + 1:i]] if block else [rest[2:]])]
            snapshot[path] = b"".join(data + (b"\n" if newline else b"") for data, newline in parts)
        elif rest.startswith("-> "):
            snapshot[path] = Link(rest[3:])
        elif rest.startswith("! "):
            snapshot[path] = Refused(rest[2:])
        else:
            snapshot[path] = UNREAD if rest == "?" else DIRECTORY
    snapshot.comment = "\n".join(comment)
    return snapshot


def read(file):
    """The snapshot in a file."""
    return parse(pathlib.Path(file).read_text(encoding="ascii"))


def pack(top):
    """All below a directory."""
    snapshot = Snapshot()
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, top)
            if os.path.islink(full):
                snapshot[path] = Link(os.readlink(full))
            elif name in folders:
                if not os.listdir(full):
                    snapshot[path] = DIRECTORY
            else:
                try:
                    snapshot[path] = pathlib.Path(full).read_bytes()
                except OSError as error:
                    snapshot[path] = Refused(errno.errorcode[error.errno])
    return snapshot


def unpack(snapshot, top):
    """Writes directories, files and links below a directory."""
    made = set()
    for path, value in snapshot.items():
        full = os.path.join(top, path)
        folder = full if value is DIRECTORY else os.path.dirname(full)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        if isinstance(value, Link):
            os.symlink(value, full)
        elif value is not DIRECTORY:
            with open(full, "wb") as file:
                file.write(value if isinstance(value, bytes) else b"")
            if isinstance(value, Refused):
                os.chmod(full, 0)


@contextlib.contextmanager
def directory(path):
    """The directory of a machine; of a file one that is removed again."""
    if os.path.isdir(path):
        yield pathlib.Path(path)
        return
    import tempfile  # takes as long as all else that is imported, and few need it
    with tempfile.TemporaryDirectory() as top:
        unpack(read(path), top)
        yield pathlib.Path(top)


def main():
    """The command."""
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    if sys.argv[1] == "pack":
        pack(sys.argv[2]).write(sys.argv[3])
    else:
        unpack(read(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
