#!/usr/bin/env python3
"""Regions that a program names: visits, times and time in MPI are what the program itself has measured, with profile and trace,
while it runs too, from C, C++ and Fortran; and the two calls do nothing without xylem."""

import subprocess
import unittest

from harness import BUILD, DEADLINE, Store, WholeSystemTest, environment, mpirun, wait_until

SOURCE = BUILD.parent.parent / "capture/region"
RANKS = 2
SECOND = 10**9
UNCOUNTED = "(visits not counted)"  # Those of regions that are too deep.
LATE_NS = 2 * SECOND + SECOND // 2  # The agent tells the sums once a second.
SUMS = "SELECT region, visits, time_ns, max_ns, mpi_ns FROM region_total WHERE rank = {}"
SPANS = """SELECT region, count(*) AS visits, sum(end_ns - begin_ns) AS time_ns, max(end_ns - begin_ns) AS max_ns
           FROM region WHERE rank = {} GROUP BY region"""
# The time in calls inside each visit, by the events.
CALLS = """SELECT r.region, sum(e.end_ns - e.begin_ns) AS mpi_ns FROM region r
           JOIN event e ON e.rank = r.rank AND e.thread = r.thread AND e.begin_ns >= r.begin_ns AND e.end_ns <= r.end_ns
           WHERE r.rank = {} GROUP BY r.region"""
# Visits of a thread lie inside each other: none begins in another one and ends after it.
CROSSING = """SELECT count(*) FROM region a JOIN region b ON a.rank = b.rank AND a.thread = b.thread AND b.begin_ns > a.begin_ns
              AND b.begin_ns < a.end_ns AND b.end_ns > a.end_ns WHERE a.depth >= 0 AND b.depth >= 0"""
ROUND_NS = 2_000  # Times of events are converted from ticks, those of regions are measured in nanoseconds.

C_PROGRAM = r"""
#include <mpi.h>
#include "region.h"
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  xylem_region_begin("c");
  MPI_Barrier(MPI_COMM_WORLD);
  xylem_region_end();
  MPI_Finalize();
  return 0;
}
"""
CXX_PROGRAM = r"""
#include <mpi.h>
#include "region.h"
static void work() {
  const xylem::Region region("c++");
  MPI_Barrier(MPI_COMM_WORLD);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) work();
  MPI_Finalize();
}
"""
FORTRAN_PROGRAM = r"""
program main
  use mpi
  use xylem_region
  implicit none
  integer :: e
  call MPI_Init(e)
  call xylem_region_begin("fortran")
  call MPI_Barrier(MPI_COMM_WORLD, e)
  call xylem_region_begin("inner " // "part  ")
  call xylem_region_end()
  call xylem_region_end()
  call MPI_Pcontrol(2)
  call MPI_Finalize(e)
end program
"""


class RegionsTest(WholeSystemTest):
    def said(self, rank):
        """Region -> visits, time inside, time around, time in MPI, as the program says."""
        found = {}
        for line in (self.folder / f"said.{rank}").read_text().splitlines():
            name, *numbers = line.split("|")
            found[name] = tuple(map(int, numbers))
        return found

    def assert_between(self, rank, name, found, truth):
        _, inside, around, mpi = truth
        self.assertLessEqual(inside, found["time_ns"] + ROUND_NS * found["visits"], (rank, name))
        self.assertLessEqual(found["time_ns"], around + ROUND_NS * found["visits"], (rank, name))
        self.assertLessEqual(found["max_ns"], found["time_ns"], (rank, name))
        if "mpi_ns" in found.keys():
            # A thread may be interrupted between its clock and the call.
            self.assertLessEqual(found["mpi_ns"], mpi + mpi // 100 + around - inside + ROUND_NS, (rank, name))
            self.assertGreaterEqual(found["mpi_ns"], mpi * 0.6 - ROUND_NS, (rank, name))

    def assert_sums(self, store):
        for rank in range(RANKS):
            truth = self.said(rank)
            rows = {row["region"]: row for row in store.rows(SUMS.format(rank))}
            self.assertEqual(set(rows), {*truth, "n" * 200, "late" if rank == 1 else "last", UNCOUNTED})
            for name, expected in truth.items():
                self.assertEqual(rows[name]["visits"], expected[0], (rank, name))
                self.assert_between(rank, name, rows[name], expected)
            self.assertEqual(rows[UNCOUNTED]["visits"], 40 - 32)

    def assert_spans(self, store):
        for rank in range(RANKS):
            sums = {row["region"]: row for row in store.rows(SUMS.format(rank))}
            spans = {row["region"]: row for row in store.rows(SPANS.format(rank))}
            calls = {row["region"]: row["mpi_ns"] for row in store.rows(CALLS.format(rank))}
            self.assertEqual(set(spans), set(sums) - {UNCOUNTED})
            for name, found in spans.items():
                total = sums[name]
                self.assertEqual(found["visits"], total["visits"], (rank, name))
                self.assertAlmostEqual(found["time_ns"], total["time_ns"], delta=total["time_ns"] // 500 + ROUND_NS * found["visits"])
                # Both count the same calls, but the sums convert all of them with one rate.
                self.assertAlmostEqual(calls.get(name, 0), total["mpi_ns"], delta=total["mpi_ns"] // 500 + ROUND_NS * found["visits"])
        self.assertEqual(store.value(CROSSING), 0)
        self.assertEqual(store.value("SELECT count(*) FROM region WHERE begin_ns IS NULL OR end_ns IS NULL"), 0)
        lines = store.rows("SELECT DISTINCT c.line FROM region r JOIN callsite c ON c.id = r.callsite WHERE r.region = 'last'")
        source = (SOURCE.parent.parent / "tests/support/mpi/regions.c").read_text().splitlines()
        self.assertIn('"last"', source[lines[0]["line"] - 1])

    def test_sums_and_visits_are_those_of_the_program(self):
        for library, detail in (("mpich", "trace"), ("openmpi", "profile")):
            with self.subTest(library, detail=detail):
                store = self.run_job(mpirun(library, RANKS, "regions", self.folder / "said", 0.1), "--overwrite", "--detail", detail,
                                     "--sample", "none")
                self.assert_adds_up(store)
                self.assert_sums(store)
                self.assertEqual([dict(row) for row in store.rows("SELECT * FROM unmatched WHERE reason NOT LIKE '%no trace%'")], [])
                if detail == "trace":
                    self.assert_spans(store)
                # Regions are no calls: they are in no sum of MPI.
                self.assertEqual(store.value("SELECT count(*) FROM function_total WHERE function NOT LIKE 'MPI%'"), 0)
                report = self.xylem("report", store.path).stdout
                self.assertRegex(report, r"Regions, all ranks\n(.*\n)* +outer +2 +22 ")

    def test_a_region_counts_while_the_program_is_in_it(self):
        store = Store(self.folder / "run.db")
        job = self.start("run", "--store", store.path, "--", *mpirun("mpich", RANKS, "regions", self.folder / "said", 6))

        def is_open():
            try:
                return store.rows("SELECT 1 FROM region_total WHERE region = 'last' AND time_ns > 2000000000")
            except AssertionError:  # The file is not there yet.
                return False

        wait_until(is_open, "the region of the waiting rank counts")
        begun = store.value("SELECT min(begin_ns) FROM under_way WHERE function = 'MPI_Recv'")
        newest = store.value("SELECT max(end_ns) FROM profile_window")
        last = store.rows("SELECT * FROM region_total WHERE region = 'last'")[0]
        late = store.rows("SELECT * FROM region_total WHERE region = 'late'")[0]
        self.assertLess(abs(newest - begun - last["time_ns"]), LATE_NS)
        self.assertGreater(last["mpi_ns"], 0.95 * last["time_ns"])
        self.assertEqual((last["visits"], late["visits"], late["mpi_ns"]), (1, 1, 0))
        self.assertGreater(late["time_ns"], SECOND)
        _, errors = job.communicate(timeout=DEADLINE)
        self.assertEqual(job.returncode, 0, errors)
        self.assertGreaterEqual(store.value("SELECT time_ns FROM region_total WHERE region = 'late'"), 6 * SECOND)

    def build(self, library, compiler, name, text, *flags):
        source, program = self.folder / name, self.folder / f"{name}.{library}"
        source.write_text(text)
        command = [f"{compiler}.{library}", "-g", f"-I{SOURCE}", *flags, source, "-o", program]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment(), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return program

    def test_each_language_has_its_calls_which_do_nothing_without_xylem(self):
        for library in ("mpich", "openmpi"):
            programs = {
                self.build(library, "mpicc", "one.c", C_PROGRAM, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"): [("c", 1)],
                self.build(library, "mpicxx", "two.cc", CXX_PROGRAM, "-Wall", "-Werror"): [("c++", 3)],
                self.build(library, "mpifort", "three.f90", FORTRAN_PROGRAM, "-Wall", SOURCE / "xylem_region.f90"):
                    [("MPI_Pcontrol(2)", 1), ("fortran", 1), ("inner part", 1)],
            }
            for program, expected in programs.items():
                with self.subTest(library, program=program.name):
                    command = [*mpirun(library, RANKS, "busy")[:-1], program]
                    alone = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=DEADLINE, check=False)
                    self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (0, "", ""))
                    store = self.run_job(command, "--overwrite")
                    rows = store.rows("SELECT region, sum(visits) AS visits FROM region_total GROUP BY region ORDER BY region")
                    self.assertEqual([(row["region"], row["visits"]) for row in rows], [(name, RANKS * visits) for name, visits in expected])


if __name__ == "__main__":
    unittest.main()
