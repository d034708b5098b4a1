#!/usr/bin/env python3
"""The man page and --help name the same verbs and options."""

import re
import subprocess
import unittest

from harness import SOURCE, XYLEM

VERBS = ["run", "serve", "exec", "query", "report", "tree"]


class ManPage(unittest.TestCase):
    def help_of(self, *words):
        return subprocess.run([XYLEM, *words, "--help"], capture_output=True, text=True, check=True).stdout

    def test_names_every_option_and_no_other(self):
        page = (SOURCE / "docs/man/xylem.1").read_text().replace("\\-", "-")
        described = set(re.findall(r"--[a-z][a-z-]+", page)) - {"--host"}
        offered = set()
        for verb in VERBS:
            self.assertIn(f"xylem {verb}", page)
            offered |= set(re.findall(r"--[a-z][a-z-]+", self.help_of(verb).split("\n\n", 1)[1]))
        offered.discard("--help")
        self.assertEqual(sorted(described), sorted(offered))


if __name__ == "__main__":
    unittest.main(verbosity=2)
