#!/usr/bin/env python3
"""The API of tool builders stands alone: headers, both ways of finding it, and every example, installed and built."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["XYLEM_BUILD"])

EXAMPLES = {
    "integer_sum": "1 times the ids of 16 leaves: 136\n"
                   "2 times the ids of 16 leaves: 272\n"
                   "3 times the ids of 16 leaves: 408\n",
    "histogram": "from -inf ms: 64\nfrom    1 ms: 576\nfrom   10 ms: 5760\nfrom  100 ms: 9600\n",
    "custom_filter": "the longest word of 16 leaves: cambium\n",
    "scatter": "16 leaves: 9592 primes below 100000\n4 of them alone: 9592\n",
    "stack_classes": "14 leaves (1-4,7-16) at main;solve;MPI_Barrier\n"
                     " 1 leaves (6) at main;solve;MPI_Recv\n"
                     " 1 leaves (5) at main;solve;compute\n",
    "two_streams": "100 means of 16 leaves are right\n32 lines came as they were\n",
}


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def processes_of(folder):
    """Command lines of living processes whose program lies in a folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if os.readlink(entry / "exe").startswith(str(folder)):
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            pass  # It has ended, or is not ours to look at.
    return found


class InstalledApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = tempfile.TemporaryDirectory(prefix="xylem-api-")
        cls.folder = pathlib.Path(cls.own.name)
        cls.prefix = cls.folder / "prefix"
        # The folder has another name each time. With these variables ccache finds what it compiled in an earlier one.
        cls.compiler = dict(os.environ)
        if shutil.which("ccache"):
            cls.compiler |= {"CCACHE_BASEDIR": str(cls.folder), "CCACHE_NOHASHDIR": "1",
                             "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.own.cleanup()

    def tearDown(self):
        self.assert_all_end()

    def assert_all_end(self):
        """The tree's processes end because the tree is closed: long before they would give up looking for it (60 s)."""
        deadline = time.monotonic() + 30
        while left := processes_of(self.folder):
            self.assertLess(time.monotonic(), deadline, f"processes are left: {left}")
            time.sleep(0.05)

    def build(self, source, name, *more):
        run("cmake", "-S", source, "-B", self.folder / name, f"-DCMAKE_PREFIX_PATH={self.prefix}", *more, env=self.compiler)
        run("cmake", "--build", self.folder / name, "-j", "2", env=self.compiler)
        return self.folder / name

    def test_every_public_header_compiles_alone_and_brings_no_third_party(self):
        headers = sorted((self.prefix / "include").rglob("*.h"))
        self.assertIn(self.prefix / "include/xylem/frontend/tree.h", headers)
        for header in headers:
            with self.subTest(header=header.name):
                source = self.folder / "one.cc"
                source.write_text(f"#include <{header.relative_to(self.prefix / 'include')}>\n")
                read = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
                                       "-Werror", "-M", f"-I{self.prefix}/include", str(source)],
                                      capture_output=True, text=True, timeout=600)
                self.assertEqual(read.returncode, 0, read.stderr)
                for foreign in ("/boost/", "/capnp/", "/kj/", "/openssl/", "/spdlog/", "/fmt/", "sqlite3.h"):
                    self.assertNotIn(foreign, read.stdout)

    def test_a_project_finds_it_by_cmake(self):
        built = self.build(SOURCE / "tests/install/outside", "outside", "-DCMAKE_CXX_FLAGS=-I" +
                           str(SOURCE / "tests/install/outside"))
        said = run(built / "outside").split()
        self.assertEqual(said, [f"{self.prefix}/libexec/xylem/xylem-commproc", "42"])
        self.assertTrue(os.access(said[0], os.X_OK))

    def test_a_project_finds_it_by_cmake_after_the_package_was_moved(self):
        moved = self.folder / "moved"
        run("cp", "-a", self.prefix, moved)
        run("cmake", "-S", SOURCE / "tests/install/outside", "-B", self.folder / "outside_moved",
            f"-DCMAKE_PREFIX_PATH={moved}", "-DCMAKE_CXX_FLAGS=-I" + str(SOURCE / "tests/install/outside"))
        run("cmake", "--build", self.folder / "outside_moved")
        said = run(self.folder / "outside_moved/outside").split()
        self.assertEqual(said, [f"{moved}/libexec/xylem/xylem-commproc", "42"])

    def test_a_project_finds_it_by_pkg_config(self):
        path = {**os.environ, "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}
        flags = run("pkg-config", "--cflags", "--libs", "xylem", env=path).split()
        program = self.folder / "by_pkg_config"
        source = SOURCE / "tests/install/outside"
        run("g++", "-std=c++20", source / "outside.cc", f"-I{source}", *flags, "-o", program)
        self.assertEqual(run(program).split(), [f"{self.prefix}/libexec/xylem/xylem-commproc", "42"])

    def test_a_packagers_staged_installation_is_whole_and_builds_a_tool_by_pkg_config(self):
        stage = self.folder / "stage"
        run("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": str(stage)})

        def files(folder):
            return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}

        self.assertEqual(files(stage / "usr"), files(self.prefix))
        self.assertEqual([path.name for path in stage.iterdir()], ["usr"])
        for wanted in ("share/man/man1/xylem.1", "share/man/man3/xylem_backend_leaf.3", "bin/xylem",
                       "libexec/xylem/xylem-commproc", "lib/pkgconfig/xylem.pc"):
            self.assertIn(wanted, files(self.prefix))
        flags = run("pkg-config", "--cflags", "--libs", "xylem",
                    env={**os.environ, "PKG_CONFIG_PATH": f"{stage}/usr/lib/pkgconfig"}).split()
        commproc = stage / "usr/libexec/xylem/xylem-commproc"
        program = self.folder / "integer_sum"
        run("g++", "-std=c++20", f'-DXYLEM_COMM_PROCESS="{commproc}"', SOURCE / "examples/integer_sum.cc", *flags, "-o",
            program)
        self.assertEqual(run(program), EXAMPLES["integer_sum"])

    def build_examples(self):
        return self.build(SOURCE / "examples", "examples", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")

    def test_a_simulation_is_recorded_as_a_job_is(self):
        simulator = self.build_examples() / "ring_simulator"
        xylem, store = self.prefix / "bin/xylem", self.folder / "ring.db"
        ranks, rounds = 48, 700
        said = run(xylem, "run", "--detail", "trace", "--store", store, "--", simulator, ranks, rounds)
        head, end = said.strip().rsplit(" calls in ", 1)
        self.assertEqual(head, f"{ranks} ranks, {rounds} rounds: {3 * ranks * rounds}")
        nanoseconds = end.removesuffix(" ns")

        def ask(sql):
            return run(xylem, "query", store, sql, "--csv").splitlines()[1:]

        calls = 3 * ranks * rounds
        self.assertEqual(ask("SELECT count(*), sum(captured), sum(stored), sum(lost), min(complete) FROM account"),
                         [f"{ranks},{calls},{calls},0,1"])
        self.assertEqual(ask("SELECT count(*), sum(stored_events), min(complete) FROM account_event"),
                         [f"{ranks},{calls},1"])
        self.assertEqual(ask("SELECT function, class, sum(calls), count(*) FROM function_total GROUP BY 1 ORDER BY 1"),
                         [f"{name},{kind},{ranks * rounds},{ranks}" for name, kind in (
                             ("MPI_Allreduce", "collective"), ("MPI_Recv", "point_to_point"),
                             ("MPI_Send", "point_to_point"))])
        self.assertEqual(ask("SELECT count(*), min(begin_ns) >= 0, max(end_ns), count(DISTINCT rank) FROM event"),
                         [f"{calls},1,{nanoseconds},{ranks}"])
        self.assertEqual(ask("SELECT sum(calls), max(end_ns) >= " + nanoseconds + " FROM profile_window"), [f"{calls},1"])
        self.assertEqual(ask("SELECT source, destination, messages, bytes FROM comm_matrix ORDER BY source"),
                         [f"{rank},{(rank + 1) % ranks},{rounds},{rounds * 8192}" for rank in range(ranks)])
        # What single events add up to is what was counted of them.
        self.assertEqual(ask("SELECT (SELECT sum(end_ns - begin_ns) FROM event) = (SELECT sum(time_ns) FROM"
                             " function_total), (SELECT sum(end_ns - begin_ns) FROM event WHERE function = 'MPI_Recv') ="
                             " (SELECT sum(time_ns) FROM wait_matrix)"), ["1,1"])
        self.assertEqual(ask("SELECT DISTINCT clock, ended FROM rank"), ["simulated,1"])
        report = run(xylem, "report", store)
        self.assertIn(f"{ranks} of {ranks} ranks; times are simulated", report)
        self.assertIn(f"{calls:,} calls captured, {calls:,} stored, 0 lost; {ranks} of {ranks} ranks complete", report)

    def test_what_ranks_of_a_run_compute_is_summed_up_in_its_file(self):
        energy = self.build_examples() / "energy"
        if not energy.exists():
            self.skipTest("no MPI for C++ programs")
        xylem, store, config = self.prefix / "bin/xylem", self.folder / "energy.db", self.folder / "energy.toml"
        config.write_text('[stream.energy]\naggregation = "sum"\n')
        # An Open MPI that makes the same folder in /tmp as another one at the same moment fails.
        root = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "TMPDIR": str(self.folder)}
        run(xylem, "run", "--config", config, "--store", store, "--", "mpirun", "-n", 2, energy, 200, env=root)

        def ask(sql):
            return run(xylem, "query", store, sql, "--csv").splitlines()[1:]

        self.assertEqual(ask("SELECT count(*), min(leaves), max(wave) FROM stream_value"), ["200,2,199"])
        # Two springs of energy 1/2, by a method that keeps it.
        self.assertEqual(ask("SELECT count(*) FROM stream_value WHERE abs(json_extract(fields, '$.\"1\"') - 1) < 0.01"),
                         ["200"])
        self.assertEqual(ask("SELECT stored, lost, complete FROM stream_account"), ["200,0,1"] * 2)
        self.assertEqual(ask("SELECT stored, lost, complete FROM account"), ["204,0,1"] * 2)  # Beside their calls.
        alone = subprocess.run(["mpirun", "-n", "2", energy, "200"], capture_output=True, text=True, timeout=60,
                               env=root)
        self.assertEqual((alone.returncode, alone.stdout), (0, "200 steps\n"), "it needs no xylem")
        self.assertIn("energy: not recorded from here on: no tree to join", alone.stderr)

    def test_the_benchmark_of_trees_is_a_tool_like_others(self):
        built = self.build(SOURCE / "tests/bench/tree", "bench_tree", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        rows = run(built / "bench_tree", "start", "latency", "memory", "--leaves", 4, "--shape", "balanced:1x1")
        self.assertEqual([row.split()[0] for row in rows.splitlines()],
                         ["4", "start", "latency", "memory", "memory"])

    def test_every_example_prints_what_it_should(self):
        built = self.build_examples()
        listed = {path.stem for path in (SOURCE / "examples").glob("*.cc")} - {"longest_word", "ring_simulator", "energy"}
        self.assertEqual(listed, set(EXAMPLES))
        for name, expected in EXAMPLES.items():
            with self.subTest(example=name):
                self.assertEqual(run(built / name), expected)
                self.assert_all_end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
