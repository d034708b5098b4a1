#!/usr/bin/env python3
"""Each program and each public header has a manual page; the pages and --help name the same verbs and options; the page
of faults names tests that are there."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from harness import BUILD, SOURCE, XYLEM


MAN = SOURCE / "docs/man"
OPTION = re.compile(r"--[a-z][a-z-]+")
# Sections of xylem.1 with the options of a verb. attach also has those of run, with the exceptions that the page names.
OPTIONS_OF = {"run": "OPTIONS OF RUN AND SERVE", "serve": "OPTIONS OF RUN AND SERVE", "attach": "OPTIONS OF ATTACH",
              "place": "OPTIONS OF PLACE"}


def sections_of(page):
    """{heading: text} of a page in docs/man, with plain hyphens."""
    parts = (MAN / page).read_text().replace("\\-", "-").split("\n.SH ")[1:]
    return {heading.strip('"'): text for heading, text in (part.split("\n", 1) for part in parts)}


def entries_of(section):
    """The words that the entries of a section's lists are about: the line after each .TP, without macros and quotes."""
    return [re.sub(r'^\.\w+ |"', "", line) for line in re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE)]


def options_among(entries):
    return {option for entry in entries for option in OPTION.findall(entry)}


def paragraphs_about(verb, description):
    """The paragraphs of DESCRIPTION from the one that begins with `xylem VERB` to the next that begins with another verb."""
    about, found = None, []
    for paragraph in description.split("\n.PP\n"):
        named = re.match(r"(?:\.B xylem|\.BI \"xylem) (\S+)", paragraph)
        about = named[1] if named else about
        if about == verb:
            found.append(paragraph)
    return "\n".join(found)


class ManPage(unittest.TestCase):
    def help_of(self, *words):
        return subprocess.run([XYLEM, *words, "--help"], capture_output=True, text=True, check=True).stdout

    def offered(self, *words):
        return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]+)", self.help_of(*words), re.MULTILINE))

    def described(self, verb, page):
        """The options that the page describes outside the synopsis of a verb."""
        text = paragraphs_about(verb, page["DESCRIPTION"])
        self.assertNotEqual(text, "", verb)
        options = set() if verb == "attach" else set(OPTION.findall(text))
        if verb in OPTIONS_OF:
            options |= options_among(entries_of(page[OPTIONS_OF[verb]]))
        if verb == "attach":
            excepted = OPTION.findall(re.search(r"options of run, except\n(.*)", text)[1])
            options |= options_among(entries_of(page[OPTIONS_OF["run"]])) - set(excepted)
        return options

    def test_names_every_option_and_no_other(self):
        page = sections_of("xylem.1")
        verbs = re.findall(r"^  (\w+)  ", self.help_of().split("Subcommands:")[1], re.MULTILINE)
        self.assertIn("run", verbs)
        for verb in verbs:
            with self.subTest(verb):
                offered = self.offered(verb) - {"--help"}
                self.assertEqual(sorted(self.described(verb, page)), sorted(offered))
                lines = re.findall(rf"^\\fBxylem {verb}\b.*$", page["SYNOPSIS"], re.MULTILINE)
                self.assertNotEqual(lines, [])
                self.assertLessEqual(set(OPTION.findall("".join(lines))), offered)

    def test_names_the_options_without_a_verb(self):
        page = sections_of("xylem.1")
        lines = re.findall(r"^\\fBxylem\\fR .*$", page["SYNOPSIS"], re.MULTILINE)
        self.assertEqual(set(OPTION.findall("".join(lines))), self.offered())
        self.assertLessEqual({f"xylem {option}" for option in self.offered()},
                             set(re.findall(r"xylem --\w+", page["DESCRIPTION"])))

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
        offered = subprocess.run([BUILD / "libexec/xylem/xylem-commproc", "--help"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertEqual(options_among(entries_of(sections_of("xylem-commproc.8")["OPTIONS"])),
                         set(OPTION.findall(offered)) - {"--help"})

    # This program reads its few words itself and has no --help.
    def test_names_every_option_and_condition_of_an_agent(self):
        entries = entries_of(sections_of("xylem-backend.8")["OPTIONS"])
        read = re.findall(r'== "(--[a-z-]+)"', (SOURCE / "cli/backend_main.cc").read_text())
        self.assertEqual(sorted(options_among(entries)), sorted(read))
        conditions = re.findall(r'name == "(\w+)"', (SOURCE / "backend/find/selection_text.cc").read_text())
        self.assertIn("match", conditions)
        described = [entry.split("=")[0] for entry in entries if re.match(r"\w+=", entry)]
        self.assertEqual(sorted(described), sorted(conditions))

    def test_each_program_says_its_exit_codes_and_its_variables(self):
        contract = re.findall(r'"(XYLEM_\w+)"', (SOURCE / "base/run_contract.h").read_text())
        self.assertIn("XYLEM_ADDRESS", contract)
        described = set()
        for page in MAN.iterdir():
            sections = sections_of(page.name)
            self.assertIn("EXIT STATUS", sections, page.name)
            for entry in entries_of(sections["ENVIRONMENT"]):
                described |= set(re.findall(r"XYLEM_\w+", entry))
        self.assertEqual(sorted(set(contract) - described), [])

    def test_has_the_exit_codes_of_the_programs(self):
        header = (SOURCE / "cli/exit_code.h").read_text()
        codes = re.findall(r"int kExit(\w+) = (\d+);", header)
        self.assertGreaterEqual(len(codes), 6)
        entries = entries_of(sections_of("xylem.1")["EXIT STATUS"])
        self.assertEqual(entries, [code + ("+ N" if name == "Signal" else "") for name, code in codes])

    def test_names_values_as_the_help_does(self):
        page = sections_of("xylem.1")
        for verb in ("run", "attach", "place"):
            text = self.help_of(verb)
            for entry in entries_of(page[OPTIONS_OF[verb]]):
                found = re.match(r"(--[a-z-]+) +(\S+)$", entry.strip())
                if found is None:
                    continue
                self.assertIn(f"  {found[1]} {found[2]} ", text.replace("\n", " "), verb)

    def test_names_the_installed_libraries_and_the_other_pages(self):
        page = sections_of("xylem.1")
        libraries = sorted(path.name for path in (BUILD / "lib/xylem").glob("*.so"))
        self.assertIn("libxylem-capture.so", libraries)
        files = " ".join(entries_of(page["FILES"]))
        self.assertEqual([name for name in libraries if f"/{name}" not in files], [])
        for path in MAN.iterdir():
            also = sections_of(path.name)["SEE ALSO"]
            others = {other.stem for other in MAN.iterdir()} - {path.stem}
            self.assertEqual({name for name in others if not re.search(rf"^\.BR {name} \(\d\)", also, re.MULTILINE)},
                             set(), path.name)

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
