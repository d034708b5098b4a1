#!/usr/bin/env python3
"""An installation stands alone: installed into an empty prefix, it runs a job and answers."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import BUILD, DEADLINE, Own, Store, WholeSystemTest, environment, mpirun  # noqa: E402


class Install(WholeSystemTest):
    def test_an_installed_xylem_runs_a_job(self):
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)], check=True,
                       capture_output=True)
        self.assertTrue((prefix / "share/man/man1/xylem.1").exists())
        for script in ("bash-completion/completions/xylem", "zsh/site-functions/_xylem",
                       "fish/vendor_completions.d/xylem.fish"):
            self.assertIn("completion", (prefix / "share" / script).read_text())
        own = self.folder / "own"
        done = subprocess.run([str(prefix / "bin/xylem"), "run", "--store", "run.db", "--detail", "trace", "--sample",
                               "none", "--", *mpirun("mpich", 2, "count_calls", 20000, 1, 5, own)],
                              env=environment(), cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_exact(Store(self.folder / "run.db"), Own(own, 2))
        shell = subprocess.run(["sqlite3", "run.db", "-cmd", f".load {prefix}/lib/xylem/libxylem-sqlite.so",
                                "SELECT sum(calls) FROM event"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(shell.stdout.strip(), str(Own(own, 2).total()), shell.stderr)
        # The Python package finds the extension beside it.
        script = "import xylem; print(sum(event['calls'] for event in xylem.open('run.db').events()))"
        python = subprocess.run(["/usr/bin/python3", "-c", script], cwd=self.folder, capture_output=True, text=True,
                                env=environment(PYTHONPATH=str(prefix / "lib/xylem/python"), PATH="/usr/bin:/bin"))
        self.assertEqual(python.stdout.strip(), str(Own(own, 2).total()), python.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
