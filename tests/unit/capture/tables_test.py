#!/usr/bin/env python3
"""Claims about capture/prototypes.tsv and meaning.tsv. Ends with 77 when nothing can be checked."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CAPTURE = pathlib.Path(__file__).resolve().parents[3] / "capture"
PYTHON_WITH_CLANG = "/usr/bin/python3"  # Where Debian's python3-clang-14 installs to.
LIBRARIES = {"mpich": "/usr/lib/x86_64-linux-gnu/libmpich.so.12",
             "openmpi": "/usr/lib/x86_64-linux-gnu/libmpi.so.40"}

# Exported, but in no header that a C program includes: <mpi-ext.h> of Open MPI declares these.
EXPORTED_ONLY = {f"MPIX_{c}_init" for c in (
    "Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv "
    "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw "
    "Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv").split()}
# Declared, but exported by the Fortran library only.
DECLARED_ONLY = {"MPI_Status_c2f08", "MPI_Status_f082c", "MPI_Status_f082f", "MPI_Status_f2f08"}


def rows():
    lines = (CAPTURE / "prototypes.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def exported(library, prefix):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout
    return {line.split()[-1] for line in listing.splitlines() if line.split()[-1].startswith(prefix)}


class Tables(unittest.TestCase):
    def test_the_committed_table_is_what_the_headers_say(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "prototypes.tsv")
            done = subprocess.run([PYTHON_WITH_CLANG, CAPTURE / "generate/extract_prototypes.py",
                                   "--output", made], capture_output=True, text=True, check=False)
            if done.returncode == 77:
                self.skipTest(done.stdout)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(made.read_text(), (CAPTURE / "prototypes.tsv").read_text())

    def test_every_exported_function_is_in_the_table(self):
        libraries = [path for path in LIBRARIES.values() if pathlib.Path(path).exists()]
        if len(libraries) < 2 or not shutil.which("nm"):
            self.skipTest("not both MPI libraries are installed")
        profiled = {name[1:] for path in libraries for name in exported(path, "PMPI")}
        table = {row[0] for row in rows()}
        self.assertEqual(profiled - table, EXPORTED_ONLY)
        self.assertEqual(table - profiled, DECLARED_ONLY)

    def test_a_meaning_that_does_not_fit_is_refused_with_a_sentence(self):
        wrong = {"MPI_Nothing\tother\t-\t-\n": "no function MPI_Nothing",
                 "MPI_Send\tnone\t-\t-\n": "no class none",
                 "MPI_Send\tother\tthrow\t-\n": "no shape throw",
                 "MPI_Send\tother\trecv\t-\n": "has no argument status, which its shape recv needs",
                 "MPI_Send\tother\n": "meaning.tsv:1: 2 columns"}
        for line, sentence in wrong.items():
            with self.subTest(sentence), tempfile.TemporaryDirectory() as folder:
                meaning = pathlib.Path(folder, "meaning.tsv")
                meaning.write_text(line)
                done = subprocess.run([sys.executable, CAPTURE / "generate/generate_wrappers.py",
                                       CAPTURE / "prototypes.tsv", meaning, folder],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(sentence, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_every_function_has_a_wrapper(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, CAPTURE / "generate/generate_wrappers.py",
                            CAPTURE / "prototypes.tsv", CAPTURE / "meaning.tsv", folder], check=True)
            text = "".join(p.read_text() for p in pathlib.Path(folder).glob("*wrappers_*.cc"))
            text += (CAPTURE / "core/life_wrappers.cc").read_text()
            wrapped = set(re.findall(r"XYLEM_WRAPPER (?:Word|double) (\w+)\(", text))
            wrapped |= set(re.findall(r"XYLEM_WRAPPER_OF_MANY\((\w+),", text))
            self.assertEqual({name for name, *_ in rows()} - wrapped, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
