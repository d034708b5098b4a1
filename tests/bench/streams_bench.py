#!/usr/bin/env python3
"""What a stream of a run costs, beside the same stream in a tool's own tree.

streams_bench.py --build BUILD [--waves N] [--leaves N,N,...] [--pairs N]

LEAVES programs on this host send WAVES waves of one number each, as fast as they are taken, all below the front
end, and end when the last is acknowledged. Run: the stream has the aggregation sum, or none, and blocks; what is
acknowledged is in the run's file. Tool: the same programs with sum in a tree whose front end receives the waves
and keeps nothing. Runs and tools take turns; each figure is the median.

waves/s are whole waves, of all leaves; CPU is that of the front end, in microseconds for each leaf's wave; bytes
are those of the file for each whole wave, without what a run without waves takes.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time


def cpu_seconds(pid):
    """Processor time of a process, or nothing when it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0


def front_end_below(pid):
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", "xylem-frontend"], capture_output=True, text=True)
    return int(found.stdout.split()[0]) if found.stdout else None


class Bench:
    def __init__(self, build, folder):
        self.xylem, self.tool = build / "bin/xylem", build / "tests/tool_process"
        self.comm_process = build / "libexec/xylem/xylem-commproc"
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("XYLEM_")}

    def run(self, section, leaves, waves):
        """Seconds, processor time of the front end, bytes of the file."""
        store, said = self.folder / "run.db", self.folder / "said"
        store.unlink(missing_ok=True)
        (self.folder / "streams.toml").write_text(f'[stream.work]\nwhen_full = "block"\n{section}')
        job = self.folder / "job.sh"
        one = f"{self.tool} flood work {waves} >> {said} &\n" if waves else ""
        job.write_text(f"#!/bin/sh\n: > {said}\n{one * leaves}wait\n")
        job.chmod(0o700)
        process = subprocess.Popen([self.xylem, "run", "--topology", "flat", "--overwrite", "--store", store, "--config",
                                    self.folder / "streams.toml", "--", job], env=self.environment,
                                   stderr=subprocess.PIPE, text=True)
        front_end, cpu = None, 0
        while process.poll() is None:
            front_end = front_end or front_end_below(process.pid)
            cpu = max(cpu, cpu_seconds(front_end))
            time.sleep(0.02)  # How old the last figure may be.
        if process.returncode != 0:
            raise SystemExit(process.stderr.read())
        took = [float(line.split()[0]) for line in said.read_text().splitlines()]
        assert len(took) == (leaves if waves else 0), said.read_text()
        return max(took, default=0), cpu, store.stat().st_size

    def own_tree(self, leaves, waves):
        done = subprocess.run([self.tool, "count", str(leaves), str(waves), self.comm_process], env=self.environment,
                              stdout=subprocess.PIPE, text=True, check=True)
        return map(float, done.stdout.splitlines()[-1].split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="of the preset release")
    parser.add_argument("--waves", type=int, default=100_000, help="of all leaves together, each a part of it [100000]")
    parser.add_argument("--leaves", default="1,4,16")
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xylem-streams-bench-") as folder:
        bench = Bench(given.build.resolve(), pathlib.Path(folder))
        empty = bench.run("", 1, 0)
        print(f"{'leaves':>6} {'':12} {'waves/s':>9} {'a leaf, /s':>10} {'CPU us':>7} {'bytes':>6}")
        for leaves in map(int, given.leaves.split(",")):
            waves = given.waves // leaves
            rows = {"run, sum": [], "run, none": [], "tool, sum": []}
            for _ in range(given.pairs):
                rows["run, sum"].append(bench.run('aggregation = "sum"\n', leaves, waves))
                rows["tool, sum"].append((*bench.own_tree(leaves, waves), 0))
                rows["run, none"].append(bench.run("", leaves, waves))
            for name, all_of_it in rows.items():
                took, cpu, size = (statistics.median(column) for column in zip(*all_of_it))
                cpu -= empty[1] if size else 0
                file = f"{(size - empty[2]) / waves:6.0f}" if size else "     -"
                print(f"{leaves:6} {name:12} {waves / took:9.0f} {leaves * waves / took:10.0f} "
                      f"{1e6 * cpu / (leaves * waves):7.1f} {file}", flush=True)


if __name__ == "__main__":
    main()
