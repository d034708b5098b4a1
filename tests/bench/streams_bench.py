#!/usr/bin/env python3
"""What a stream of a run costs, beside the same stream in a tool's own tree.

streams_bench.py --build BUILD [--waves N] [--leaves N,N,...] [--below SHAPE:LEAVES] [--pairs N]

LEAVES programs on this host send WAVES waves of one number each, as fast as they are taken, all below the front
end, and end when the last is acknowledged. Run: the stream has the aggregation sum, or none, and blocks; what is
acknowledged is in the run's file. Tool: the same programs with sum in a tree whose front end receives the waves
and keeps nothing. Runs and tools take turns; each figure is the median.

Last come so many leaves below communication processes, a tree of that shape. A run has those where it has agents:
beside the programs an MPI job sleeps, a rank for each leaf on a pretended host of its own.

waves/s are whole waves, of all leaves; "of all" counts each leaf's; CPU is that of the front end, in microseconds
for each leaf's wave; bytes are those of the file for each whole wave, without what a run without waves takes.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import measuring


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
    def __init__(self, build, folder, harness):
        self.harness = harness
        self.xylem, self.tool = build / "bin/xylem", build / "tests/tool_process"
        self.comm_process = build / "libexec/xylem/xylem-commproc"
        self.folder = folder
        self.environment = harness.environment()

    def sleepers(self, shape, leaves):
        """An MPI job for communication processes to be beside, and its end; nothing where there shall be none."""
        if shape == "flat":
            return "", ""
        library = next(mpi for mpi in ("openmpi", "mpich") if (self.harness.PROGRAMS / f"paced.{mpi}").exists())
        job = " ".join(self.harness.mpirun(library, leaves, "paced", "idle", 3600))
        go = self.folder / "go"
        return f"{job} &\njob=$!\nuntil [ -e {go} ]; do sleep 0.1; done\n", "kill $job\nwait\n"

    def go_on_when_the_tree_stands(self, store):
        from emulated_cluster import LiveStore  # Where the harness is.
        live = LiveStore(store)
        self.harness.wait_until(lambda: live.value("SELECT count(*) FROM node WHERE role = 'comm_process'") and not
                                live.value("SELECT count(*) FROM node WHERE state <> 'attached'"),
                                "the tree stands", 90)
        (self.folder / "go").touch()

    def run(self, section, leaves, waves, shape="flat"):
        """Seconds, processor time of the front end, bytes of the file."""
        store, said = self.folder / "run.db", self.folder / "said"
        store.unlink(missing_ok=True)
        (self.folder / "streams.toml").write_text(f'[stream.work]\nwhen_full = "block"\n{section}')
        job = self.folder / "job.sh"
        one = f"{self.tool} flood work {waves} >> {said} &\n" if waves else ""
        begin, end = self.sleepers(shape, leaves)
        floods = "".join(f"{one}own=\"$own $!\"\n" for _ in range(leaves)) if waves else ""
        job.write_text(f"#!/bin/sh\n: > {said}\n{begin}{floods}[ -z \"$own\" ] || wait $own\n{end}")
        job.chmod(0o700)
        (self.folder / "go").unlink(missing_ok=True)
        hosts = [] if shape == "flat" else ["--test-size", str(leaves)]
        process = subprocess.Popen([self.xylem, "run", "--topology", shape, *hosts, "--overwrite", "--store", store,
                                    "--config", self.folder / "streams.toml", "--", job], env=self.environment,
                                   stderr=subprocess.PIPE, text=True)
        if hosts:
            try:
                self.go_on_when_the_tree_stands(store)
            except BaseException:
                process.terminate()
                raise
        front_end, cpu = None, 0
        while process.poll() is None:
            front_end = front_end or front_end_below(process.pid)
            cpu = max(cpu, cpu_seconds(front_end))
            time.sleep(0.02)  # How old the last figure may be.
        if process.returncode != 0:
            raise SystemExit(process.stderr.read())
        took = [float(line.split()[0]) for line in said.read_text().splitlines()]
        assert len(took) == (leaves if waves else 0), said.read_text()
        through = self.harness.Store(store).value(
            "SELECT count(*) FROM node JOIN node AS parent ON parent.id = node.parent "
            "WHERE node.role = 'program' AND parent.role = 'comm_process'")
        assert through == (len(took) if hosts else 0), f"{through} programs were below communication processes"
        return max(took, default=0), cpu, store.stat().st_size

    def own_tree(self, leaves, waves, shape):
        done = subprocess.run([self.tool, "count", str(leaves), str(waves), self.comm_process, shape],
                              env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        return map(float, done.stdout.splitlines()[-1].split())

    def rows(self, leaves, waves, pairs, shape="flat"):
        empty = self.run("", leaves, 0, shape)
        rows = {"run, sum": [], "run, none": [], "tool, sum": []}
        for _ in range(pairs):
            rows["run, sum"].append(self.run('aggregation = "sum"\n', leaves, waves, shape))
            rows["tool, sum"].append((*self.own_tree(leaves, waves, shape), 0))
            rows["run, none"].append(self.run("", leaves, waves, shape))
        for name, all_of_it in rows.items():
            took, cpu, size = (statistics.median(column) for column in zip(*all_of_it))
            cpu -= empty[1] if size else 0
            file = f"{(size - empty[2]) / waves:6.0f}" if size else "     -"
            print(f"{leaves:6} {shape:8} {name:12} {waves / took:9.0f} {leaves * waves / took:10.0f} "
                  f"{1e6 * cpu / (leaves * waves):7.1f} {file}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="of the preset release")
    parser.add_argument("--waves", type=int, default=100_000, help="of all leaves together, each a part of it [100000]")
    parser.add_argument("--leaves", default="1,4,16")
    parser.add_argument("--below", default="kary:4:16", metavar="SHAPE:LEAVES", help="[kary:4:16]; empty: none")
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xylem-streams-bench-") as folder:
        bench = Bench(given.build.resolve(), pathlib.Path(folder), measuring.harness_of(given.build))
        print(f"{'leaves':>6} {'shape':8} {'':12} {'waves/s':>9} {'of all, /s':>10} {'CPU us':>7} {'bytes':>6}")
        for leaves in map(int, given.leaves.split(",")):
            bench.rows(leaves, given.waves // leaves, given.pairs)
        if given.below:
            shape, _, leaves = given.below.rpartition(":")
            bench.rows(int(leaves), given.waves // int(leaves), given.pairs, shape)


if __name__ == "__main__":
    main()
