#!/usr/bin/env python3
"""Each function of the capture library's table is called, and the record of the call has exactly what it should have. The test
program says it, call by call: tests/support/mpi/every_function/."""

import collections
import sys
import unittest

from harness import PROGRAMS, SOURCE, WholeSystemTest, mpirun

sys.path.insert(0, str(SOURCE / "capture/generate"))
from generate_wrappers import PLACES, Function, add_meaning, read_table  # pylint: disable=wrong-import-position,import-error

LIBRARIES = [library for library in ("mpich", "openmpi") if (PROGRAMS / f"every_function.{library}").exists()]
NOT_CALLED = SOURCE / "tests/support/mpi/every_function/not_called.tsv"
RANKS = 4
STARTED = {"mpich": (), "openmpi": ("child", "multiple")}  # The worlds that the program starts, in this order.
# The columns of a record that are compared, with their values if the program does not name them.
DEFAULTS = {"peer": None, "bytes": 0, "tag": None, "comm": None, "request": None, "result": 0, "number": None, "stage": None,
            "success": None, "posted_bytes": None, "received_bytes": None, "any_source": 0, "any_tag": 0, "operation": None,
            "in_place": 0}
WORDS = ("stage", "operation")
FIRST_COMMS = {"world": 0, "self": 1}
RECORDS = f"""SELECT rank, begin_ns, 'call' AS row, calls, function, {', '.join(DEFAULTS)} FROM event WHERE world = {{world}}
              UNION ALL SELECT rank, begin_ns, 'part', calls, '-', {', '.join(DEFAULTS)} FROM completion
              WHERE world = {{world}} AND kind <> 'mpi'"""


def table():
    """Name -> the function and the libraries that have it."""
    functions, libraries = {}, {}
    for _, line, cells in read_table(SOURCE / "capture/prototypes.tsv", (4,)):
        functions[cells[0]] = Function(line)
        libraries[cells[0]] = cells[1].split(",")
    add_meaning(functions, SOURCE / "capture/meaning.tsv")
    return {name: (function, libraries[name]) for name, function in functions.items()}


def present_in(library):
    return {name for name, (_, libraries) in table().items() if library in libraries}


def not_called():
    """Function -> the libraries in which it is not called."""
    return {name: cells[1].split(",") for _, _, cells in read_table(NOT_CALLED, (3,)) for name in cells[0].split()}


class Truth:
    """What a rank of the program has said: its calls, and what their records must have."""

    def __init__(self, text):
        self.rows, self.calls = [], collections.Counter()
        counts = collections.Counter()
        for line in text.splitlines():
            row, function, *pairs = line.split()
            columns = dict(DEFAULTS, row=row, function=function, calls=int(row == "call"))
            if row == "call":
                self.calls[function] += 1
            if pairs == ["counted=1"]:
                continue
            for name, value in (pair.split("=") for pair in pairs):
                columns[name] = value if name in (*WORDS, "comm", "number") else int(value)
            how = columns["number"]
            if how is not None:
                place = ("comm",) if how == "collective" else ("comm", "peer", "tag")
                channel = (how, *(columns[name] for name in place))
                columns["number"] = counts[channel]
                counts[channel] += 1
            self.rows.append(columns)


class EveryFunctionTest(WholeSystemTest):
    def assert_rows(self, truth, records, rank, comms):
        """The record has these rows in this order. `comms` has the ids of communicators, by their names."""
        expected, found, requests = [], [], {}
        for want, record in zip(truth.rows, records):
            have = {name: record[name] for name in ("row", "function", "calls", *DEFAULTS)}
            want = dict(want, comm=self.value_of(want["comm"], have["comm"], comms),
                        request=self.value_of(want["request"], have["request"], requests))
            expected.append(want)
            found.append(have)
        wrong = [self.sentence(want, have) for want, have in zip(expected, found) if want != have]
        self.assertEqual(wrong[:20], [], f"rank {rank}: {len(wrong)} of {len(expected)} rows")
        self.assertEqual(len(records), len(truth.rows), f"rank {rank}")

    @staticmethod
    def value_of(name, found, values):
        """The value for which a name stands. It is what the record has where the name is first used, and no other name has it."""
        if name is None:
            return None
        if found is not None and found not in values.values():
            values.setdefault(name, found)
        return values.get(name, "another value")

    @staticmethod
    def sentence(want, have):
        if (want["row"], want["function"]) != (have["row"], have["function"]):
            return f"{have['row']} {have['function']} where {want['row']} {want['function']} is expected"
        wrong = [f"{name} is {have[name]}, not {want[name]}" for name in want if want[name] != have[name]]
        return f"{want['row']} {want['function']}: {', '.join(wrong)}"

    def assert_record(self, store, truths, world=0):
        """Rows of each rank, and calls of each function. Returns the functions that were called."""
        records = collections.defaultdict(list)
        for row in sorted(store.rows(RECORDS.format(world=world)), key=lambda row: row["begin_ns"]):
            records[row["rank"]].append(row)
        comms, called = dict(FIRST_COMMS), collections.Counter()
        for rank, truth in enumerate(truths):
            self.assert_rows(truth, records[rank], rank, comms)
            called += truth.calls
        counted = store.rows(f"SELECT function, sum(calls) AS calls FROM function_total WHERE world = {world} GROUP BY function")
        counts = {row["function"]: row["calls"] for row in counted}
        wrong = [f"{name}: {counts.get(name, 0)}, not {called[name]}" for name in sorted({*counts, *called})
                 if counts.get(name, 0) != called[name]]
        self.assertEqual(wrong, [], "calls of functions")
        return set(called)

    def run_program(self, library, how, started=(), program="every_function"):
        """Returns the functions that the program and the worlds that it starts have called."""
        store = self.run_job(mpirun(library, RANKS, program, how), "--sample", "none", "--detail", "trace", "--overwrite")
        self.assert_adds_up(store)
        called = set()
        for world, name in enumerate((how, *started)):
            said = sorted(self.folder.glob(f"said.{name}.*"))
            called |= self.assert_record(store, [Truth(path.read_text()) for path in said], world)
            for path in said:
                path.unlink()
        return called

    def test_every_function_is_recorded_with_what_it_means(self):
        for library in LIBRARIES:
            with self.subTest(library):
                called = self.run_program(library, "world")
                by_profiling_names = self.run_program(library, "threads", program="every_function_pmpi")
                self.assertEqual(by_profiling_names - called, {"MPI_Init_thread"})
                called |= self.run_program(library, "dynamic", STARTED[library])
                if library == "mpich":
                    called |= self.run_program(library, "sessions")
                left_out = {function for function, libraries in not_called().items() if library in libraries}
                self.assertEqual(present_in(library) - called, left_out, "functions that are called by no test")
                print(f"{library}: {len(called)} functions are called, {len(left_out)} are not")

    def test_every_collective_tells_the_agent_where_it_waits(self):
        functions = {name: function for name, (function, _) in table().items()}
        shapes = {f.shape for f in functions.values() if f.function_class == "collective" and f.mode == "-"}
        self.assertEqual(shapes - set(PLACES), set())


if __name__ == "__main__":
    unittest.main()
