#!/usr/bin/env python3
"""The record names the line of each call: in programs that are generated with calls on known lines, in C, C++ and Fortran, position
independent or not, in shared objects that are linked or loaded, stripped, and killed."""

import json
import pathlib
import random
import re
import signal
import subprocess
import unittest

from harness import WholeSystemTest, mpirun, random_seed

CALLS = 200
RANKS = 2
KINDS = ("moving", "fixed", "linked", "loaded")
FORTRAN = ("mpif.h", "use mpi", "use mpi_f08")
# MPI, compiler, endings of the sources of main() and work(), and the kinds of programs.
LANGUAGES = {"c": [("mpich", "mpicc.mpich", "c", "c", KINDS)], "c++": [("openmpi", "mpicxx.openmpi", "cc", "cc", KINDS)]} | {
    # The programs of both MPIs together are all kinds.
    language: [("mpich", "mpif90.mpich", "c", "f90", (KINDS[number], KINDS[3])),
               ("openmpi", "mpif90.openmpi", "c", "f90", tuple(KINDS[:3][n] for n in range(3) if n != number))]
    for number, language in enumerate(FORTRAN)}
EVENTS = """SELECT e.function, c.file, c.line, c.function AS caller, c.object, c.offset FROM event e
            LEFT JOIN callsite c ON c.id = e.callsite WHERE e.rank = {} ORDER BY e.begin_ns"""
# Each is a statement that calls one function. Its result is used, so that no call is a jump.
STATEMENTS = {
    "MPI_Comm_rank": "errors += MPI_Comm_rank(MPI_COMM_WORLD, &number);",
    "MPI_Comm_size": "errors += MPI_Comm_size(MPI_COMM_SELF, &number);",
    "MPI_Barrier": "errors += MPI_Barrier(MPI_COMM_WORLD);",
    "MPI_Bcast": "errors += MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);",
    "MPI_Allreduce": "errors += MPI_Allreduce(&one, &sum, 1, MPI_INT,\n  MPI_SUM,\n  MPI_COMM_WORLD);",
    "MPI_Sendrecv": "errors += MPI_Sendrecv(&one, 1, MPI_INT, 0, 3,\n  &sum, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);",
    "MPI_Iprobe": "errors += MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &number, MPI_STATUS_IGNORE);",
}
FORTRAN_STATEMENTS = {
    "MPI_Comm_rank": "call MPI_Comm_rank(MPI_COMM_WORLD, number, e)",
    "MPI_Comm_size": "call MPI_Comm_size(MPI_COMM_SELF, number, e)",
    "MPI_Barrier": "call MPI_Barrier(MPI_COMM_WORLD, e)",
    "MPI_Bcast": "call MPI_Bcast(number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)",
    "MPI_Allreduce": "call MPI_Allreduce(one, total, 1, MPI_INTEGER, &\n  MPI_SUM, &\n  MPI_COMM_WORLD, e)",
    "MPI_Sendrecv": "call MPI_Sendrecv(one, 1, MPI_INTEGER, 0, 3, &\n"
                    "  total, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, e)",
    "MPI_Iprobe": "call MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE, e)",
    "MPI_Gatherv": "call MPI_Gatherv(one, 1, MPI_INTEGER, total, counts, places, MPI_INTEGER, 0, MPI_COMM_SELF, e)",
}
MAIN = """
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <signal.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C"
#endif
int work(void);
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 3) rename(argv[1], argv[2]);  /* Another program takes the place of this one. */
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef LOADED
  void* library = dlopen(LOADED, RTLD_NOW);
  int (*run)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "work");
  int errors = run == NULL ? 1 : run();
#else
  int errors = work();
#endif
  if (argc == 2) {
    /* The first to die takes the other with it, so they meet: outside of MPI, where no call is cut. */
    alarm(60);
    if (mkdir(argv[1], 0700) != 0) rmdir(argv[1]);
    while (access(argv[1], F_OK) == 0) usleep(100);
    raise(SIGKILL);
  }
  MPI_Finalize();
  return errors;
}
"""


class Source:
    """A file with the function work(), and what it calls: function, line, and name of the calling function."""

    def __init__(self, rng, language):
        self.lines, self.calls = [], []
        self.add("#include <mpi.h>")
        self.add("static int number, one = 1, sum;")
        names, statements = [], 0
        while statements < CALLS:
            names.append(f"part_{len(names)}")
            self.begin(rng, language, names[-1])
            for _ in range(rng.randint(1, 12)):
                self.call(rng, names[-1])
                statements += 1
            self.add("  return errors;")
            self.add("}")
        if language == "c++":
            self.add('extern "C"')
        self.add("int work(void) {")
        self.add("  volatile int errors = 0;  // Else the last call may be a jump.")
        for name in names:
            self.add(f"  errors += {name}();")
        self.add("  return errors;")
        self.add("}")

    def add(self, text):
        self.lines += text.split("\n")

    def begin(self, rng, language, name):
        kinds = ["static int", "static inline int", "__attribute__((noinline)) static int",
                 "__attribute__((always_inline)) static inline int"]
        if language == "c++":
            kinds += ["inline int", "template <typename Number = int> static Number"]
        self.add(f"{rng.choice(kinds)} {name}({'' if language == 'c++' else 'void'}) {{")
        self.add("  volatile int errors = 0;  // Else the last call may be a jump.")

    def call(self, rng, caller):
        for _ in range(rng.randint(0, 3)):
            self.add(rng.choice(["", "  /* MPI_Barrier(MPI_COMM_WORLD); */", "  one = 1;"]))
        function = rng.choice(sorted(STATEMENTS))
        self.calls.append((function, len(self.lines) + 1, caller))
        self.add("  " + STATEMENTS[function])

    def text(self):
        return "\n".join(self.lines) + "\n"


class FortranSource:
    """The same in Fortran."""

    def __init__(self, rng, language):
        self.lines, self.calls = [], []
        self.add("module parts")
        self.use(language)
        self.add("  integer :: number, one = 1, total, counts(1) = 1, places(1) = 0\n  logical :: flag\ncontains")
        names, statements = [], 0
        while statements < CALLS:
            names.append(f"part_{len(names)}")
            statements += self.part(rng, names[-1])
        self.add("integer(c_int) function work() bind(c)\n  use iso_c_binding, only: c_int\n  integer :: errors")
        self.add("  errors = 0")
        inner = f"part_{len(names)}"
        for name in [*names, inner]:
            self.add(f"  call {name}(errors)")
        self.add("  work = errors\ncontains")  # An internal procedure.
        self.part(rng, inner)
        self.add("end function\nend module")

    def add(self, text):
        self.lines += text.split("\n")

    def part(self, rng, name):
        """Adds a procedure; returns the number of its calls."""
        self.add(f"subroutine {name}(errors)\n  integer, intent(inout) :: errors\n  integer :: e")
        calls = rng.randint(1, 12)
        for _ in range(calls):
            self.call(rng, name)
        self.add("end subroutine")
        return calls

    def use(self, language):
        self.add("  implicit none\n  include 'mpif.h'" if language == "mpif.h" else f"  {language}\n  implicit none")

    def call(self, rng, caller):
        for _ in range(rng.randint(0, 3)):
            self.add(rng.choice(["", "  ! call MPI_Barrier(MPI_COMM_WORLD, e)", "  one = 1"]))
        function = rng.choice(sorted(FORTRAN_STATEMENTS))
        self.add("  " + FORTRAN_STATEMENTS[function])
        # Where a statement has several lines, gfortran's debugging information has the last.
        self.calls.append((function, len(self.lines), caller))
        self.add("  errors = errors + e")  # So that no call is a jump.

    def text(self):
        return "\n".join(self.lines) + "\n"


def name_in(function):
    """The name that Source gave a function; C++ has parameters and a result around it."""
    found = re.search(r"part_\d+", function or "")
    return found and found[0]


def calls_in_work(store, rank):
    # Without the calls of main(), and of a library of Open MPI for C++, which calls MPI_Initialized before MPI_Init.
    return [row for row in store.rows(EVENTS.format(rank))
            if row["function"] not in ("MPI_Init", "MPI_Initialized", "MPI_Finalize") and row["caller"] != "main"]


class CallSitesTest(WholeSystemTest):
    def setUp(self):
        super().setUp()
        seed = random_seed()
        print("seed", seed)
        self.rng = random.Random(seed)

    def build(self, language, how, variant=0):
        """Returns the program, and what it calls."""
        mpi, compiler, main_ending, ending, _ = LANGUAGES[language][variant]
        source = (FortranSource if language in FORTRAN else Source)(self.rng, language)
        main, work = self.folder / f"main.{main_ending}", self.folder / f"work.{ending}"
        main.write_text(MAIN)
        work.write_text(source.text())
        program, library = self.folder / f"program-{how}.{mpi}", self.folder / f"libwork-{how}.so"

        def run(*words):
            # Two functions with equal code stay two.
            subprocess.run([compiler, "-g", "-O2", "-fno-ipa-icf", *words], check=True, cwd=self.folder)
        if how in ("linked", "loaded"):
            run("-shared", "-fPIC", work, "-o", library)
        if how == "linked":
            run(main, library, f"-Wl,-rpath,{self.folder}", "-o", program)
        elif how == "loaded":
            run(f'-DLOADED="{library}"', main, "-ldl", "-o", program)
        else:
            run(*(["-no-pie", "-fno-pie"] if how == "fixed" else ["-pie", "-fPIE"]), main, work, "-o", program)
        return program, work, source.calls

    def run_program(self, program, *arguments, expect=0):
        """The program's name ends with that of its MPI."""
        command = mpirun(program.suffix[1:], RANKS, program.with_suffix(""), *arguments)
        return self.run_job(command, "--overwrite", "--detail", "trace", "--sample", "none", expect=expect)

    def assert_lines(self, store, work, calls):
        for rank in range(RANKS):
            found = calls_in_work(store, rank)
            self.assertEqual([(row["function"], row["line"], name_in(row["caller"])) for row in found], calls, f"rank {rank}")
            self.assertEqual({row["file"] for row in found}, {str(work)})
        self.assert_totals(store)

    def assert_totals(self, store):
        """The sums by call site are the sums by function, which windows carry."""
        sums = "SELECT world, rank, function, sum(calls) AS calls, sum(bytes) AS bytes FROM {} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        self.assertEqual(store.rows(sums.format("callsite_total")), store.rows(sums.format("function_total")))
        self.assertEqual(store.rows("SELECT * FROM event WHERE callsite IS NULL AND function <> 'MPI_Initialized'"), [])

    def test_the_line_is_right_in_every_kind_of_program(self):
        kinds = [(language, variant, how) for language, variants in LANGUAGES.items() for variant, of in enumerate(variants)
                 for how in of[-1]]
        for language, variant, how in kinds:
            with self.subTest(language=language, variant=variant, how=how):
                program, work, calls = self.build(language, how, variant)
                store = self.run_program(program)
                self.assert_adds_up(store)
                self.assert_lines(store, work, calls)
                print(f"{language}, {program.name}: {len(calls)} of {len(calls)} lines of each of {RANKS} ranks")

    def test_a_stripped_program_gives_what_addr2line_needs(self):
        program, work, calls = self.build("c", "moving")
        whole = self.folder / "whole"
        whole.write_bytes(program.read_bytes())
        subprocess.run(["strip", program], check=True)
        store = self.run_program(program)
        for rank in range(RANKS):
            rows = [row for row in calls_in_work(store, rank)][1:]  # Without the MPI_Barrier of main().
            self.assertEqual({(row["line"], row["object"]) for row in rows}, {(None, str(program))})
            lines = subprocess.run(["addr2line", "-e", whole, *(hex(row["offset"]) for row in rows)], check=True,
                                   capture_output=True, text=True).stdout.split("\n")[:-1]
            found = [(row["function"], f"{work}:{line}") for row, (_, line, _) in zip(rows, calls)]
            self.assertEqual([(row["function"], line.split(" ")[0]) for row, line in zip(rows, lines)], found)
        self.assertIn("program-moving.mpich+0x", self.xylem("report", store.path).stdout)

    def test_the_lines_of_a_killed_program_are_known(self):
        program, work, calls = self.build("c", "linked")
        store = self.run_program(program, self.folder / "meeting", expect=signal.SIGKILL)
        self.assert_lines(store, work, calls)

    def test_lines_are_found_later_where_the_program_is(self):
        program, _, calls = self.build("c", "moving")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        kept = elsewhere / program.name
        kept.write_bytes(program.read_bytes())
        subprocess.run(["strip", program], check=True)
        store = self.run_program(program)
        done = self.xylem("lines", store.path, "--path", f"{self.folder}={elsewhere}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        sites = store.value("SELECT count(*) FROM callsite")
        self.assertEqual(done.stdout, f"{sites} of {sites} call sites have a line\n")
        found = [(row["function"], row["line"], row["caller"]) for row in calls_in_work(store, 0)]
        self.assertEqual(found, calls)

    def test_a_program_that_replaces_it_meanwhile_gives_no_lines(self):
        program, _, calls = self.build("c", "fixed")
        other = self.folder / "other"
        other.write_bytes(pathlib.Path("/bin/true").read_bytes())
        built = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
        store = self.run_program(program, other, program)
        self.assertFalse(other.exists(), "no rank has replaced the program")
        sites = store.rows("SELECT DISTINCT build_id, object, line, function FROM callsite")
        self.assertEqual(sites, [{"build_id": re.search("Build ID: ([0-9a-f]+)", built)[1], "object": str(program), "line": None,
                                  "function": None}])
        self.assertGreaterEqual(store.value("SELECT count(*) FROM callsite"), len(calls))

    def test_the_report_names_the_lines_with_the_most_time(self):
        program, _, calls = self.build("c", "moving")
        store = self.run_program(program)
        report = self.xylem("report", "--json", store.path)
        self.assertEqual(report.returncode, 0, report.stderr)
        lines = {(function, f"work.c:{line}", caller) for function, line, caller in calls}
        sites = [site for site in json.loads(report.stdout)["call_sites"] if site["caller"] != "main"]
        self.assertTrue(sites)
        self.assertLessEqual({(site["function"], site["place"], site["caller"]) for site in sites}, lines)


if __name__ == "__main__":
    unittest.main()
