#!/usr/bin/env python3
"""Fails when a cheap benchmark has become half as slow again as ratchet.txt says.

What is compared is a ratio, figure to floor, both measured in the same run: the least figure of some rounds
over the least floor of the same rounds, so that neither a slow nor a busy machine counts. Rounds go on until every
ratio is within its bound, at most --rounds of them.

    ratchet.py --build build/dev             compares (ctest: ratchet)
    ratchet.py --build build/dev --renew     writes ratchet.txt anew: on a quiet machine, after a change that is meant
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

COMMITTED = pathlib.Path(__file__).with_name("ratchet.txt")
BOUND = 1.5
# A round of all takes some seconds: enough repetitions come from the rounds.
SHORT = "--benchmark_min_time=0.01"
ROW = re.compile(r"^(?P<name>\S.*?) +floor=(?P<floor>[\d.]+) figure=(?P<figure>[\d.]+) ratio=\S+ bar=\S+ ns/")


def printed_rows(program):
    """{name: (floor, figure)} of a benchmark that prints both."""
    said = subprocess.run([program, SHORT], check=True, capture_output=True, text=True).stdout
    found = (ROW.match(line) for line in said.splitlines())
    return {row["name"]: (float(row["floor"]), float(row["figure"])) for row in found if row}


def rows_over(floor_name):
    """A reader of a benchmark's rows, each over the row of that name."""

    def read(program):
        said = subprocess.run([program, SHORT, "--benchmark_format=json"], check=True, capture_output=True, text=True)
        times = {row["name"]: row["cpu_time"] for row in json.loads(said.stdout)["benchmarks"]}
        floor = times.pop(floor_name)
        return {name: (floor, time) for name, time in times.items()}

    return read


PROGRAMS = {"bench_chunk": printed_rows, "bench_collector": printed_rows, "bench_waves": rows_over("CopyArray")}


class Least:
    """The least floor and the least figure of each row so far."""

    def __init__(self, build):
        self.programs = {name: str(pathlib.Path(build) / "tests" / name) for name in PROGRAMS}
        self.floors, self.figures = {}, {}

    def measure(self):
        for program, read in PROGRAMS.items():
            for name, (floor, figure) in read(self.programs[program]).items():
                row = f"{program} | {name}"
                self.floors[row] = min(floor, self.floors.get(row, floor))
                self.figures[row] = min(figure, self.figures.get(row, figure))

    def ratios(self):
        return {row: figure / self.floors[row] for row, figure in self.figures.items()}


def committed():
    lines = (line for line in COMMITTED.read_text().splitlines() if not line.startswith("#"))
    return {row.strip(): float(ratio) for row, _, ratio in (line.rpartition("|") for line in lines)}


def renew(least, rounds):
    for _ in range(rounds):
        least.measure()
    head = ("# Ratios of the cheap benchmarks in a development build, figure to floor: program | row | ratio.\n"
            "# Written by ratchet.py --renew.\n")
    rows = (f"{row} | {ratio:.3g}\n" for row, ratio in sorted(least.ratios().items()))
    COMMITTED.write_text(head + "".join(rows))


def too_slow(least, rounds):
    """Rows that are over their bound after all rounds: [(row, ratio, bound)]."""
    bounds = {row: BOUND * ratio for row, ratio in committed().items()}
    over = []
    for _ in range(rounds):
        least.measure()
        ratios = least.ratios()
        if ratios.keys() != bounds.keys():
            sys.exit(f"ratchet: rows of {COMMITTED.name} and of the benchmarks differ: "
                     f"{sorted(ratios.keys() ^ bounds.keys())}; --renew writes them anew")
        over = [(row, ratios[row], bounds[row]) for row in sorted(bounds) if ratios[row] > bounds[row]]
        if not over:
            break
    return over


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--build", required=True)
    words.add_argument("--rounds", type=int, default=8)
    words.add_argument("--renew", action="store_true")
    given = words.parse_args()
    least = Least(given.build)
    if given.renew:
        renew(least, given.rounds)
        return 0
    over = too_slow(least, given.rounds)
    for row, ratio, bound in over:
        print(f"{row}: {ratio:.3g} times its floor, more than {BOUND} x the committed {bound / BOUND:.3g}")
    if not over:
        print(f"{len(least.figures)} ratios within {BOUND} x of {COMMITTED.name}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
