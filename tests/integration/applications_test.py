#!/usr/bin/env python3
"""Real applications run as without xylem: the same output and exit code, an exact account."""

import json
import re
import shutil
import subprocess
import unittest

from harness import DEADLINE, OPEN_MPI, WholeSystemTest, environment


def without_figures(text):
    """Times, rates and shares differ from run to run, and with them the columns that hold them."""
    return re.sub(r"[\s#]+", " ", re.sub(r"-?\d+(\.\d+)?%?", "#", text))


MELT = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 50
run 200
"""


NETWORK = """
[network]
latency_ns = 1300
overhead_ns = 500
gap_ns = 300
gap_per_byte_ns = 0.4
overhead_per_byte_ns = 0
eager_bytes = 16384
"""


class Applications(WholeSystemTest):
    def succeed(self, *command):
        done = self.xylem(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def both(self, command):
        """Runs it plain and under xylem; returns both results and the store."""
        plain = subprocess.run(command, env=environment(), cwd=self.folder, capture_output=True, text=True,
                               timeout=DEADLINE)
        store = self.run_job(command, "--detail", "trace", expect=plain.returncode, cwd=self.folder, timeout=DEADLINE)
        return plain, self.done, store

    def assert_replayed(self, store, *also):
        """`xylem predict` replays the run, without messages that nobody receives; other formats of its program say the same."""
        target = self.folder / "target.toml"
        target.write_text(NETWORK)
        predict = lambda source, *options: json.loads(
            self.succeed("predict", source, "--target", target, "--json", *options).stdout)
        files = {option: self.folder / f"program{option}" for option in also}
        files = {option: path.with_suffix(".goal") if "goal" in option else path for option, path in files.items()}
        found = predict(store.path, *[word for pair in files.items() for word in pair])
        self.assertEqual(found["unreceived"], 0)
        self.assertGreaterEqual(found["messages"], store.value("SELECT count(*) FROM message"))
        for file in files.values():
            again = predict(file)
            self.assertEqual([again[key] for key in ("makespan_ns", "ranks", "messages")],
                             [found[key] for key in ("makespan_ns", "ranks", "messages")])

    def assert_complete(self, store, ranks):
        account = store.account()
        self.assertEqual([line["rank"] for line in account], list(range(ranks)))
        for line in account:
            self.assertEqual((line["captured"], line["lost"], line["complete"]), (line["stored"], 0, 1), line)
        self.assert_nothing_left()

    @unittest.skipUnless(shutil.which("lmp"), "lammps is not installed")
    def test_lammps(self):
        (self.folder / "in.melt").write_text(MELT)
        plain, watched, store = self.both([*OPEN_MPI, "-n", "4", "lmp", "-in", "in.melt"])
        self.assertEqual(plain.returncode, 0, plain.stdout)
        # The physics is the same to the last digit: it does not depend on time.
        thermo = lambda text: [line for line in text.splitlines() if re.match(r"^ +\d+ +[\d.-]+ ", line)]
        self.assertGreaterEqual(len(thermo(plain.stdout)), 5)
        self.assertEqual(thermo(watched.stdout), thermo(plain.stdout))
        self.assertEqual(without_figures(watched.stdout), without_figures(plain.stdout))
        self.assert_complete(store, 4)
        self.assertGreater(self.assert_operations_complete(store), 1000)
        # Each message and each collective is matched once.
        self.assertEqual([dict(row) for row in store.rows("SELECT * FROM unmatched")], [])
        self.assert_replayed(store, "--write-goal", "--write-ti")

    @unittest.skipUnless(shutil.which("hpcc"), "hpcc is not installed")
    def test_hpl(self):
        example = open("/usr/share/doc/hpcc/examples/_hpccinf.txt").read().splitlines()
        example[5] = "500          Ns"
        (self.folder / "hpccinf.txt").write_text("\n".join(example) + "\n")
        plain, watched, store = self.both([*OPEN_MPI, "-n", "4", "hpcc"])
        self.assertEqual(plain.returncode, 0, plain.stdout + plain.stderr)
        self.assertEqual(watched.stdout, plain.stdout)
        report = (self.folder / "hpccoutf.txt").read_text()
        self.assertIn("HPL_N=500", report)
        self.assertIn("Success=1", report)
        self.assert_complete(store, 4)
        self.assertGreater(self.assert_operations_complete(store), 1000)
        # Each message and each collective is matched once.
        self.assertEqual([dict(row) for row in store.rows("SELECT * FROM unmatched")], [])
        # Its dependencies are more than a time-independent trace can say.
        self.assert_replayed(store, "--write-goal")


if __name__ == "__main__":
    unittest.main(verbosity=2)
