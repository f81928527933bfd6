#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python module against the command, the header and its own page: test-module.py COMMAND HEADER PAGE

UNCORE_LIBRARY is the library, and PYTHONPATH has the module."""

import contextlib
import ctypes
import gc
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import uncore
from uncore import abi

try:
    import pandas
except ImportError:
    pandas = None

COMMAND, HEADER, PAGE = sys.argv[1:4]
IBS_FILE = os.path.join(os.path.dirname(__file__), "..", "cli", "ibs_file.py")
SPR = "sim:spr,step=1s"


def command_rows(*arguments):
    """The rows of stat -j."""
    run = subprocess.run([COMMAND, *arguments, "-j"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def as_printed(value):
    """JSON has 15 digits."""
    return float(f"{value:.15g}") if isinstance(value, float) else value


class Rows(unittest.TestCase):
    """What the module counts is what `stat -j` prints."""

    def same(self, source, options, *metrics, **selected):
        """Compares two intervals."""
        words = [f"--metrics={pattern}" for pattern in metrics] + options
        expected = command_rows("--source", source, "stat", "-I", "10ms", "--interval-count", "2", *words)
        with uncore.monitor(*metrics, source=source, **selected) as monitor:
            rows = [(sample, row) for sample in monitor.every(0.01, count=2) for row in sample]
        self.assertGreater(len(rows), 0)
        self.assertEqual(len(rows), len(expected), (source, options))
        for (sample, row), line in zip(rows, expected):
            if line["kind"] == "metric":
                row.count = row.enabled_ns = row.running_ns = None
            members = {name: as_printed(value) for name, value in vars(row).items()
                       if name not in ("place", "seconds", "amount", "rate", "weight", "at_port")}
            if row.amount is not None and row.unit == "B/s":  # its counters have the same time
                self.assertAlmostEqual(row.amount, row.value * row.seconds, delta=1e-9 * row.amount)
            self.assertEqual(members, {name: line[name] for name in members}, (source, options))
            self.assertEqual(sample.seconds, line["interval"])
            self.assertEqual(sample.end_wall_ns, line["wall_ns"])
            self.assertEqual((sample.source, sample.simulated), (line["source"], line["simulated"]))

    def test_metrics(self):
        for name in "spr", "zen4", "t410", "ivt", "hip09":
            source = f"sim:{name},step=1s"
            self.same(source, [])
            self.same(source, [], "*")
            self.same(source, ["--per-socket"], "memory.*", level="socket")
            self.same(source, ["-A"], "memory.*", level="instance")
            self.same(source, ["--per-channel"], "memory.*", level="channel")

    def test_ports_and_filters(self):
        self.same(SPR, ["--per-port"], "pcie.*", level="port")
        self.same(SPR, ["--per-port", "--device=nvme0"], "pcie.inbound.*.bandwidth", level="port",
                  filters={"device": "nvme0"})

    def test_events(self):
        self.same(SPR, ["-e", "UNC_M_CAS_COUNT.RD,uncore_imc/clockticks/"],
                  events=["UNC_M_CAS_COUNT.RD", "uncore_imc/clockticks/"])
        with uncore.monitor(events="uncore_imc/clockticks/", source=SPR) as monitor:
            first, second = monitor.every(0.01, count=2)
            self.assertEqual(monitor.total().rows[0].count, first.rows[0].count + second.rows[0].count)
            self.assertEqual(second.rows[0].rate, second.rows[0].value)  # of one second

    def test_places_are_those_of_the_tables(self):
        options = ["--metrics=memory.bandwidth", "--metrics=pcie.inbound.read.bandwidth", "-I", "10ms"]
        for level, option in ("machine", []), ("socket", ["--per-socket"]), ("channel", ["--per-channel"]), \
                ("port", ["--per-port"]), ("instance", ["-A"]), ("node", ["--per-node"]):
            text = subprocess.run([COMMAND, "--source", SPR, "stat", "--interval-count", "1", *options, *option],
                                  stdout=subprocess.PIPE, check=True, text=True).stdout
            cells = [tuple(re.split("  +", line.strip()))[2:4] for line in text.splitlines()]
            with uncore.monitor("memory.bandwidth", "pcie.inbound.read.bandwidth", level=level, source=SPR) as monitor:
                for row in next(monitor.every(0.01)):
                    self.assertIn((row.name, row.place), cells, text)

    def test_rounds(self):
        for name in "spr", "grace":
            expected = command_rows("--source", f"sim:{name},step=1s", "stat", "--metrics=*", "--timeout", "10ms")
            with uncore.monitor("*", source=f"sim:{name},step=1s", rounds=True) as monitor:
                sample = monitor.once(0.01)
                self.assertGreater(max(counter.round for counter in monitor.counters), 0)
            self.assertTrue(all(row.quality != "scaled" for row in sample))
            # The command prints round after round.
            self.assertEqual(sorted((row.family, row.name, as_printed(row.value) or -1) for row in sample),
                             sorted((line["family"], line["name"], line["value"] or -1) for line in expected))
            with uncore.monitor("*", source=f"sim:{name},step=1s") as monitor:
                self.assertEqual([row.name for row in sample], [row.name for row in monitor.once(0.01)])

    def test_frame(self):
        with uncore.monitor("memory.*", level=["machine", "channel"], source=SPR) as monitor:
            sample = next(monitor.every(0.01))
        if not pandas:
            self.skipTest("there is no pandas here")
        frame = sample.frame()
        self.assertEqual(len(frame), len(sample))
        self.assertTrue(frame.simulated.all())
        self.assertEqual(set(frame.time.map(str)), {"1970-01-01 00:00:01+00:00"})
        for row, (_, line) in zip(sample, frame.iterrows()):
            for name, value in vars(row).items():
                self.assertEqual(None if pandas.isna(line[name]) else line[name], value, name)


class Latency(unittest.TestCase):
    """A recording is what `latency --ibs --input -j` prints."""

    def test_recording(self):
        with tempfile.TemporaryDirectory() as directory, uncore.Machine(source=SPR) as machine:
            recording = os.path.join(directory, "perf.data")
            subprocess.run([sys.executable, IBS_FILE, recording, "genoa"], check=True)
            for least in 0, 300:
                expected, = command_rows("latency", "--ibs", "--input", recording, f"--min-latency={least}"
                                         if least else "--ibs")
                with uncore.Latency(machine, recording, least) as latency:
                    latency.measure(0.01)
                    rows, counts = latency.rows, latency.counts
                self.assertGreater(len(rows), 2)
                self.assertEqual([(row.source, row.samples, as_printed(row.mean), row.p50, row.p99, row.quality)
                                  for row in rows],
                                 [(line["name"], line["samples"], line["mean"], line["p50"], line["p99"],
                                   line["quality"]) for line in expected["rows"]])
                self.assertEqual([sum(row.bins) for row in rows], [row.samples for row in rows])
                self.assertEqual((counts.samples, counts.used, counts.lost, counts.coverage),
                                 (expected["ops"], expected["used"], expected["lost"], None))
                latency.close()

    def test_errors(self):
        with uncore.Machine(source=SPR) as machine:
            with self.assertRaisesRegex(uncore.Error, "nonexistent"):
                uncore.Latency(machine, "/nonexistent")


class Machine(unittest.TestCase):
    """What the module knows of the machine is what the command lists."""

    def test_lists(self):
        def listed(*words):
            return json.loads(subprocess.run([COMMAND, "--source", SPR, *words, "-j"], stdout=subprocess.PIPE,
                                             check=True).stdout)
        with uncore.Machine(source=SPR) as machine:
            for words, members, found in (
                    (["list", "pmus"], ("name", "type", "family"), machine.pmus),
                    (["list", "metrics", "--all"], ("name", "unit", "family", "title"), machine.metrics)):
                lines = next(value for value in listed(*words).values() if isinstance(value, list))
                self.assertEqual(sorted(tuple(getattr(each, name) for name in members) for each in found),
                                 sorted(tuple(line[name] for name in members) for line in lines))
            self.assertEqual((machine.source, machine.simulated, machine.sockets), (SPR, True, [0]))
            self.assertTrue(all(cpu.socket == 0 and cpu.online for cpu in machine.cpus))
            self.assertIn("nvme0", [device.names for device in machine.devices])
            self.assertTrue({f.verdict for f in machine.findings} <= {"ok", "denied", "missing", "note"})

    def test_errors_have_the_sentence_of_the_library(self):
        for words, call in (
                (["--source", "sim:nope", "topo"], lambda: uncore.Machine(source="sim:nope")),
                (["--root", "/nonexistent", "topo"], lambda: uncore.Machine(root="/nonexistent")),
                (["--source", SPR, "stat", "-M", "memorx"], lambda: uncore.monitor("memorx", source=SPR)),
                (["--source", SPR, "stat", "-e", "x/y/"], lambda: uncore.monitor(events="x/y/", source=SPR)),
                (["--source", SPR, "stat", "--from=x"], lambda: uncore.monitor(filters={"from": "x"}, source=SPR))):
            run = subprocess.run([COMMAND, *words], stderr=subprocess.PIPE, check=False, text=True)
            with self.assertRaises(uncore.Error) as raised:
                call()
            self.assertIn(str(raised.exception), run.stderr)
            self.assertGreater(raised.exception.errno, 0)
        with self.assertRaisesRegex(ValueError, "levels: machine, socket"):
            uncore.monitor(level="box", source=SPR)
        self.assertEqual(len(uncore.monitor("memory.bandwidth", source=SPR).counters), 24)  # reads, writes and the clock of eight channels

    def test_wrong_arguments(self):
        for wrong in (None, ["memory.bandwidth"], 1):
            with self.assertRaisesRegex(TypeError, "is not a text"):
                uncore.monitor(wrong, source="sim:spr")
        with uncore.monitor("memory.bandwidth", source="sim:spr") as monitor, self.assertRaises(ValueError):
            next(monitor.every(0))

    def test_examples_of_the_page(self):
        with open(PAGE, encoding="utf-8") as page:
            examples = re.findall(r"```python\n(.*?)```\n```\n(.*?)```", page.read(), re.S)
        self.assertGreater(len(examples), 3)
        names = {}
        for code, expected in examples:
            if "import pandas" in code and not pandas:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code.replace("every(1.0", "every(0.01"), names)  # pylint: disable=exec-used
            self.assertEqual(printed.getvalue(), expected)


class Lifetime(unittest.TestCase):
    """Objects are freed once, in any order, in any thread, and only in the process that made them."""

    def test_opening_and_closing_often_keeps_nothing(self):
        class Mallinfo2(ctypes.Structure):
            _fields_ = [(name, ctypes.c_size_t) for name in "abcdefghij"]

        def count():
            with uncore.monitor("memory.*", source=SPR) as monitor:
                return len(monitor.read())

        def repeat(times, how):
            for _ in range(times):
                how()
            gc.collect()
            return libc.mallinfo2().h, len(os.listdir("/proc/self/fd"))

        def fail():
            with self.assertRaises(uncore.Error):
                uncore.monitor("memorx", source=SPR)

        def collected():
            uncore.monitor("memory.bandwidth", source=SPR).start()

        libc = ctypes.CDLL(None)
        if not hasattr(libc, "mallinfo2"):
            self.skipTest("this C library has no mallinfo2()")
        libc.mallinfo2.restype = Mallinfo2
        for how in count, fail, collected:
            before, files = repeat(20, how)
            after, files_after = repeat(40, how)
            # The smallest object of the library has more than 32 bytes.
            self.assertLess(after - before, 40 * 32, how.__name__)
            self.assertEqual(files, files_after, how.__name__)

    def test_collector_frees_cycles_in_any_order(self):
        for reverse in False, True:
            machine = uncore.Machine(source=SPR)
            parts = [machine, machine.monitor("memory.bandwidth")]
            freed = []
            for kind in "", "monitor_":
                original = getattr(uncore._lib, f"uncore_{kind}free")  # pylint: disable=protected-access
                for part in parts:
                    for each in part._objects:  # pylint: disable=protected-access
                        if each._free is original:  # pylint: disable=protected-access
                            each._free = lambda p, f=original, k=kind: (freed.append(k), f(p))
            parts[0].other, parts[1].other = parts[1], parts[0]
            if reverse:
                parts.reverse()
            del machine, part, each, parts
            gc.collect()
            self.assertEqual(freed, ["monitor_", ""])

    def test_closed(self):
        with uncore.monitor("memory.bandwidth", source=SPR) as monitor:
            pass
        monitor.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            monitor.read()

    def test_nothing_is_printed_at_the_end_of_a_program(self):
        code = f"import uncore, sys; m = uncore.monitor(source={SPR!r}); m.start(); x = [m]; x.append(x)\n" \
               "assert 'pandas' not in sys.modules"
        run = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=True, text=True)
        self.assertEqual(run.stderr, "")

    def test_child_process_frees_nothing(self):
        with uncore.monitor("memory.bandwidth", source=SPR) as monitor:
            pid = os.fork()
            if pid == 0:
                try:
                    monitor.read()
                except ValueError as error:
                    monitor.close()
                    own = uncore.monitor("memory.bandwidth", source=SPR)
                    own.start()
                    os._exit(len(own.read()) + 1 if "fork" in str(error) else 1)
                os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 2)
            self.assertEqual(len(monitor.read()), 1)


class Threads(unittest.TestCase):
    """Waiting blocks no other thread, and threads may share a machine."""

    def test_others_run_while_one_waits(self):
        with uncore.monitor("memory.bandwidth", source=SPR) as monitor:
            waiting = threading.Thread(target=lambda: list(monitor.every(3600.0)))
            waiting.start()
            while not waiting.is_alive():
                time.sleep(0.001)
            self.assertEqual(len(monitor.read()), 1)
            monitor.close()  # ends the wait
            waiting.join()

    def test_threads_share_a_machine(self):
        with uncore.Machine(source=SPR) as machine:
            results = []

            def count():
                with machine.monitor("memory.*") as monitor:
                    results.extend(len(monitor.read()) for _ in range(20))

            threads = [threading.Thread(target=count) for _ in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        self.assertEqual(len(results), 160)
        self.assertEqual(len(set(results)), 1)

    def test_intervals_do_not_drift(self):
        with uncore.monitor("memory.bandwidth", source="sim:spr") as monitor:
            begin = time.monotonic()
            samples = []
            for sample in monitor.every(0.05, count=4):
                samples.append(sample)
                time.sleep(0.12)  # the caller's own work: two multiples pass
        for i, sample in enumerate(samples):
            self.assertGreaterEqual(sample.end_ns / 1e9 - begin, 0.05 + 0.15 * i)
        self.assertEqual([a.end_ns for a in samples[:-1]], [b.begin_ns for b in samples[1:]])


class Declarations(unittest.TestCase):
    """The declarations made from the header are what cffi, which is a parser of C, makes of it."""

    @classmethod
    def setUpClass(cls):
        try:
            import cffi  # pylint: disable=import-outside-toplevel
        except ImportError as error:
            raise unittest.SkipTest("there is no cffi here") from error
        cls.ffi = cffi.FFI()
        with open(HEADER, encoding="utf-8") as header:
            text = re.sub(r"#ifdef __cplusplus.*?#endif", "", header.read(), flags=re.S)
        cls.ffi.cdef(re.sub(r"^#(include|if|endif|define UNCORE_H).*", "", text, flags=re.M))

    def words(self, kind):
        """A type of cffi or of ctypes in the same words."""
        if isinstance(kind, self.ffi.CType):
            if kind.kind == "pointer":
                return "*" + self.words(kind.item)
            if kind.kind == "function":
                return "*char"
            if kind.kind == "array":
                return f"[{kind.length}]" + self.words(kind.item)
            return {"struct": kind.cname.replace("struct ", ""), "enum": "int"}.get(
                kind.kind, {"unsigned int": "unsigned", "_Bool": "bool"}.get(kind.cname, kind.cname))
        if kind is None:
            return "void"
        if issubclass(kind, ctypes.Array):
            return f"[{kind._length_}]" + self.words(kind._type_)
        if kind is ctypes.c_char_p:
            return "*char"
        if kind is ctypes.c_void_p:
            return "*char"  # one that the caller frees, or any pointer
        if issubclass(kind, ctypes._Pointer):  # pylint: disable=protected-access
            return "*" + self.words(kind._type_)
        if issubclass(kind, ctypes.Structure):
            return kind.__name__
        names = {ctypes.c_int: "int", ctypes.c_uint: "unsigned", ctypes.c_bool: "bool", ctypes.c_double: "double"}
        sizes = {ctypes.c_size_t: "size_t", ctypes.c_uint64: "uint64_t", ctypes.c_uint32: "uint32_t"}
        return names.get(kind) or sizes[kind]

    def same(self, ours, theirs, where):
        """size_t and uint64_t are one type of ctypes, and so are unsigned and uint32_t, and pointers to anything."""
        synonyms = {"size_t": "uint64_t", "uint32_t": "unsigned", "void": "char"}
        self.assertEqual(*(re.sub(r"\w+", lambda word: synonyms.get(word[0], word[0]), self.words(kind))
                           for kind in (ours, theirs)), where)

    def test_structs(self):
        count = 0
        for name in self.ffi.list_types()[1]:
            theirs, ours = self.ffi.typeof("struct " + name), getattr(abi, name)
            if theirs.fields is None:
                self.assertFalse(hasattr(ours, "_fields_"), name)
                continue
            count += 1
            self.assertEqual([member for member, _ in ours._fields_], [member for member, _ in theirs.fields])
            self.assertEqual(ctypes.sizeof(ours), self.ffi.sizeof(theirs), name)
            for (member, kind), (_, field) in zip(ours._fields_, theirs.fields):
                self.assertEqual(getattr(ours, member).offset, field.offset, f"{name}.{member}")
                self.same(kind, field.type, f"{name}.{member}")
        self.assertGreater(count, 10)

    def test_functions_and_constants(self):
        constants = self.ffi._parser._int_constants  # pylint: disable=protected-access
        functions = [name.split()[1] for name in self.ffi._parser._declarations  # pylint: disable=protected-access
                     if name.startswith("function ")]
        self.assertEqual(sorted(functions), sorted(abi.FUNCTIONS))
        lib = self.ffi.dlopen(os.environ["UNCORE_LIBRARY"])
        for name, (result, arguments) in abi.FUNCTIONS.items():
            theirs = self.ffi.typeof(getattr(lib, name))
            self.assertEqual(len(arguments), len(theirs.args), name)
            for ours, other in zip([result, *arguments], [theirs.result, *theirs.args]):
                self.same(ours, other, name)
        self.assertGreater(len(constants), 10)
        self.assertEqual({name: getattr(abi, name) for name in constants}, constants)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
