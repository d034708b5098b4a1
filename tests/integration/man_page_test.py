#!/usr/bin/env python3
"""Each program and each public header has a manual page; the pages and --help name the same verbs and options; the page
of faults names tests that are there."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from harness import BUILD, SOURCE, XYLEM


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

    # The sentence that refuses a key names those that there are.
    def test_names_every_key_of_the_sections(self):
        page = (SOURCE / "docs/man/xylem.1").read_text()
        for section, heading in (("stream.s", "STREAMS"), ("service.s", "SERVICES"), ("alerts", "ALERTS"),
                                 ("fuzzy", "FUZZY PLACEMENT")):
            with self.subTest(section), tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(f"[{section}]\nno_such_key = 1\n")
                file.flush()
                said = subprocess.run([XYLEM, "run", "--config", file.name, "--print-config", "--", "true"],
                                      capture_output=True, text=True, check=False).stderr
                listed = re.search(r"(?:there are|has the keys|they are) (.*?)(?:, not .*)?$", said.strip())
                self.assertIsNotNone(listed, said)
                keys = [key.split(".")[0] for key in re.split(r", | and ", listed[1])]
                part = page.split(f".SH {heading}\n")[1].split("\n.SH")[0]
                described = re.findall(r"^\.BI \"?(\w+)(?: =|\.)", part, re.MULTILINE)
                self.assertEqual(sorted(described), sorted(keys))

    def test_each_program_has_a_page(self):
        programs = [*(BUILD / "bin").iterdir(), *(BUILD / "libexec/xylem").iterdir()]
        self.assertIn("xylem-commproc", [program.name for program in programs])
        for program in programs:
            section = 1 if program.parent.name == "bin" else 8
            self.assertTrue((SOURCE / f"docs/man/{program.name}.{section}").exists(), program)

    def test_names_every_option_of_a_communication_process(self):
        page = (SOURCE / "docs/man/xylem-commproc.8").read_text().replace("\\-", "-")
        offered = subprocess.run([BUILD / "libexec/xylem/xylem-commproc", "--help"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertEqual(set(re.findall(r"--[a-z][a-z-]+", page)),
                         set(re.findall(r"--[a-z][a-z-]+", offered)) - {"--help"})

    def test_each_public_header_has_a_page_and_no_page_has_a_fault(self):
        package = (SOURCE / "cmake/XylemPackage.cmake").read_text()
        headers = re.search(r"set\(XYLEM_PUBLIC_HEADERS([^)]+)\)", package)[1].split()
        self.assertIn("backend/leaf.h", headers)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["python3", SOURCE / "cmake/header_page.py", "0.1", folder, *headers], cwd=SOURCE, check=True)
            made = sorted(pathlib.Path(folder).iterdir())
            self.assertEqual([page.name for page in made],
                             sorted(f"xylem_{header[:-2].replace('/', '_')}.3" for header in headers))
            for page in [*(SOURCE / "docs/man").iterdir(), *made]:
                read = subprocess.run(["groff", "-man", "-k", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True)
                self.assertEqual((read.returncode, read.stderr), (0, ""), page.name)
            for page, header in zip(made, sorted(headers, key=lambda name: name[:-2].replace("/", "_"))):
                text = page.read_text()
                self.assertIn(f"#include <xylem/{header}>", text)
                self.assertNotIn("private:", text, header)


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
