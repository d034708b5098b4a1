#!/usr/bin/env python3
"""Typing errors: one sentence that begins with xylem: names the error, and nothing is started or overwritten."""

import re
import unittest

from harness import WholeSystemTest, mpirun


class CommandLine(WholeSystemTest):
    def refused(self, *words):
        """The sentence with which xylem refuses these words; exit code 2 and no store."""
        done = self.xylem(*words)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"\Axylem: [^\n]+\n\Z")
        self.assertEqual(list(self.folder.glob("*")), [], "something was made")
        return done.stderr

    def test_a_switch_that_is_false_or_nothing_overwrites_no_store(self):
        first = self.xylem("run", "--store", "x.db", "--quiet", "--", *mpirun("mpich", 1, "behave", "exit", 0))
        self.assertEqual(first.returncode, 0, first.stderr)
        before = (self.folder / "x.db").read_bytes()
        for value, said in (("false", "x.db"), ("banana", "--overwrite: 'banana' is neither true nor false")):
            done = self.xylem("run", "--store", "x.db", f"--overwrite={value}", "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual((self.folder / "x.db").read_bytes(), before)
        done = self.xylem("run", "--store", "x.db", "--overwrite=true", "--quiet=false", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no MPI process has registered", done.stderr, "--quiet=false was taken for --quiet")

    def test_a_mistyped_option_is_no_command(self):
        self.assertIn("--stor is not an option of xylem run", self.refused("run", "--stor", "x", "--", "true"))
        self.assertIn("--stor is not an option", self.refused("run", "--stor", "x", "true"))
        self.assertIn("-n is not an option", self.refused("run", "-n", "4", "./app"))
        self.assertIn("--env-fil is not an option of xylem exec", self.refused("exec", "--env-fil", "x", "--", "true"))

    def test_dashes_within_a_command_are_the_commands(self):
        done = self.xylem("run", "--quiet", "sh", "-c", 'echo "$0 $1"', "--", "word")
        self.assertEqual((done.returncode, done.stdout), (0, "-- word\n"), done.stderr)
        done = self.xylem("run", "--quiet", "--", "sh", "-c", 'echo "$0 $1"', "--", "word")
        self.assertEqual((done.returncode, done.stdout), (0, "-- word\n"), done.stderr)

    def test_the_wrong_word_is_named(self):
        self.assertIn("'fnord' is not a verb of xylem; the verbs are run, serve, exec, attach, place, query, report, "
                      "top, tree, view",
                      self.refused("fnord"))
        self.assertIn("a verb is missing", self.refused())
        self.assertIn("--fnord is not an option of xylem", self.refused("--fnord", "run"))
        for verb in ("query", "report", "tree", "view"):
            self.assertIn(f"{verb}: FILE is required", self.refused(verb))
            self.assertIn(f"{verb}: not expected: '--fnord'", self.refused(verb, "--fnord", "x.db"))
        self.assertIn("report: not expected: 'y'", self.refused("report", "x.db", "y"))
        self.assertIn("--csv excludes --json", self.refused("query", "x.db", "--csv", "--json"))
        self.assertIn("--until-pid = self", self.refused("serve", "--until-pid", "self"))
        self.assertIn("run: --store", self.refused("run", "--store"))

    def test_place_prints_a_topology_that_is_read_back(self):
        words = ["place", "--hosts", "localhost", "--ranks", "4", "--comm-processes", "2", "--front-end", "localhost"]
        done = self.xylem(*words)
        self.assertEqual((done.returncode, done.stdout), (0, "localhost:0 => localhost:1 localhost:2 ;\n"), done.stderr)
        (self.folder / "x.topo").write_text(done.stdout)
        done = self.xylem("place", "--hosts", "localhost", "--topology", "x.topo", "--front-end", "localhost")
        self.assertEqual((done.returncode, done.stdout), (0, (self.folder / "x.topo").read_text()), done.stderr)
        (self.folder / "x.topo").unlink()
        self.assertIn("--hosts: host list:", self.refused("place", "--hosts", "a["))
        self.assertIn("no hosts are named", self.refused("place"))
        self.assertIn("--explain excludes --json", self.refused("place", "--hosts", "a", "--explain", "--json"))

    def test_help_names_what_the_code_takes(self):
        text = " ".join(self.xylem("run", "--help").stdout.split())
        for shape in re.findall(r"[a-z]+:[A-Z]+\w*", text):
            self.assertIn(shape.split(":")[0], ("kary", "balanced", "binomial"))
        for word in ("binomial:ORDER", "MPI_Improbe"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
