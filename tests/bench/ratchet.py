#!/usr/bin/env python3
"""Fails when the number of instructions of a cheap benchmark differs from ratchet.txt by more than the factor 1.5.

Instructions are counted by callgrind, as one iteration of each benchmark executes them in user space: the same number on
a busy machine as on a quiet one, where times of the same program differ by more than the bound. What makes each
instruction slower (a cache, a lock, a call of the system) is not seen here; the benchmarks themselves show it.

    ratchet.py --build build/dev             compares (ctest: ratchet)
    ratchet.py --build build/dev --renew     writes ratchet.txt anew, after a change that is meant
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMMITTED = pathlib.Path(__file__).with_name("ratchet.txt")
PROGRAMS = ["bench_chunk", "bench_collector", "bench_waves"]
# Rows that only show a floor. Their instructions are not counted, so they do not run.
FLOORS = "^(copy/|pack_raw/|CopyArray$)"
BOUND = 1.5
PROFILE = re.compile(r"^desc: Trigger: Client Request: instructions (?P<row>\S+) (?P<iterations>\d+)$.*"
                     r"^summary: (?P<count>\d+)$", re.MULTILINE | re.DOTALL)


def profiled(program, folder):
    """Runs a benchmark under callgrind; the texts of its profiles."""
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={folder}/profile",
               program, f"--benchmark_filter=-{FLOORS}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode != 0 or "ERROR OCCURRED" in ran.stdout:
        sys.exit(f"ratchet: {program} under valgrind ends with {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
    return [path.read_text() for path in folder.glob("profile.*")]


def counted(build):
    """{row: instructions of an iteration}."""
    rows = {}
    for name in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="xylem-test-") as folder:
            for text in profiled(f"{build}/tests/{name}", pathlib.Path(folder)):
                if found := PROFILE.search(text):
                    rows[f"{name} | {found['row']}"] = int(found["count"]) / int(found["iterations"])
    return rows


def committed():
    lines = (line for line in COMMITTED.read_text().splitlines() if not line.startswith("#"))
    return {row.strip(): float(count) for row, _, count in (line.rpartition("|") for line in lines)}


def renew(rows):
    head = ("# Instructions of an iteration of the cheap benchmarks in a development build: program | row | instructions.\n"
            "# Written by ratchet.py --renew.\n")
    COMMITTED.write_text(head + "".join(f"{row} | {count:.0f}\n" for row, count in sorted(rows.items())))


def surprises(rows):
    """A sentence for each row out of its bounds. Fewer instructions are a benchmark that does nothing, or a gain to keep."""
    bounds = committed()
    if rows.keys() != bounds.keys():
        sys.exit(f"ratchet: rows of {COMMITTED.name} and of the benchmarks differ: "
                 f"{sorted(rows.keys() ^ bounds.keys())}; --renew writes them anew")
    return [f"{row}: {rows[row]:.0f} instructions instead of {bounds[row]:.0f}; if that is meant, --renew commits it"
            for row in sorted(rows) if not bounds[row] / BOUND <= rows[row] <= BOUND * bounds[row]]


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--build", required=True)
    words.add_argument("--renew", action="store_true")
    given = words.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("ratchet: valgrind is not installed; scripts/install-packages build installs it")
    rows = counted(given.build)
    if given.renew:
        renew(rows)
        return 0
    for sentence in (sentences := surprises(rows)):
        print(sentence)
    if not sentences:
        print(f"{len(rows)} counts within {BOUND} x of {COMMITTED.name}")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
