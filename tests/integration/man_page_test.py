#!/usr/bin/env python3
"""The man page and --help name the same verbs and options; the page of faults names tests that are there."""

import re
import subprocess
import unittest

from harness import SOURCE, XYLEM


class ManPage(unittest.TestCase):
    def help_of(self, *words):
        return subprocess.run([XYLEM, *words, "--help"], capture_output=True, text=True, check=True).stdout

    def test_names_every_option_and_no_other(self):
        page = (SOURCE / "docs/man/xylem.1").read_text().replace("\\-", "-")
        verbs = re.findall(r"^  (\w+)  ", self.help_of().split("Subcommands:")[1], re.MULTILINE)
        self.assertIn("run", verbs)
        described = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--host"}
        offered = set()
        for verb in verbs:
            self.assertIn(f"xylem {verb}", page)
            offered |= set(re.findall(r"--[a-z][a-z-]+", self.help_of(verb).split("\n\n", 1)[1]))
        offered.discard("--help")
        self.assertEqual(sorted(described), sorted(offered))


class FaultsPage(unittest.TestCase):
    FILES = {"A": "launch", "B": "harmless_start", "C": "cluster", "D": "daily_faults", "E": "services", "F": "flow",
             "G": "gone",
             "H": "hostile", "K": "killed", "L": "late_init", "N": "links", "R": "streams", "S": "signals", "T": "attach",
             "U": "slurm", "V": "overlay", "X": "chaos_cluster", "Y": "given_up"}

    def test_each_test_it_names_is_there(self):
        named = 0
        for line in (SOURCE / "docs/faults.md").read_text().splitlines():
            cells = line.split("|")
            if len(cells) != 5 or cells[3].strip() in ("test", "---"):
                continue
            for letter, names in re.findall(r"\b([A-Z]) ((?:`\w+`(?:, )?)+)", cells[3]):
                text = (SOURCE / f"tests/integration/{self.FILES[letter]}_test.py").read_text()
                for name in re.findall(r"`(\w+)`", names):
                    self.assertIn(f"def test_{name}(", text, line)
                    named += 1
        self.assertGreater(named, 40)


if __name__ == "__main__":
    unittest.main(verbosity=2)
