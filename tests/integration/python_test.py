#!/usr/bin/env python3
"""The Python package `xylem` and its notebook: what they read is what `xylem query` says of the same run."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from harness import BUILD, SOURCE, WholeSystemTest, environment, mpirun, wait_until

PACKAGE = SOURCE / "python"
PYTHON = "/usr/bin/python3"  # Debian's, which has numpy and pandas, and can load SQLite's extensions.


class Python(WholeSystemTest):
    def traced(self):
        """A run with messages of all kinds, communicators with names, and three threads in each rank."""
        return self.run_job_once(mpirun("openmpi", 4, "messages", 1, 30, 3, 10), "--detail", "trace", name="traced.db")

    def python(self, script, *arguments, code=0, before=(), **more):
        """Runs a script as a user does: with the package, and with xylem in PATH. `before` is a command that runs it."""
        env = environment(PYTHONPATH=str(PACKAGE), PATH=f"{BUILD}/bin:{os.environ['PATH']}", **more)
        done = subprocess.run([*before, PYTHON, "-c", script, *map(str, arguments)], env=env, cwd=self.folder,
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def answer(self, script, *arguments, **how):
        return json.loads(self.python(f"import json, sys, xylem\n{script}", *arguments, **how).stdout)

    def refusal(self, script, *arguments, **how):
        """The last line of the error that ends the script."""
        return self.python(f"import sys, xylem\n{script}", *arguments, code=1, **how).stderr.splitlines()[-1]

    def test_each_table_has_the_rows_that_the_query_has(self):
        store = self.traced()
        tables = self.answer("""
with xylem.open(sys.argv[1]) as run:
    print(json.dumps({name: [run.table(name).columns, sum(1 for _ in run.table(name))] for name in run.tables()}))
""", store.path)
        self.assertLessEqual({"event", "completion", "message", "wait_state", "wait_coverage", "account", "communicator"}, tables.keys())
        for name, (columns, rows) in tables.items():
            with self.subTest(name):
                self.assertEqual(rows, store.value(f'SELECT count(*) FROM "{name}"'))
                self.assertEqual(columns, [row["name"] for row in store.rows(f'PRAGMA table_info("{name}")')])
        self.assertGreater(tables["event"][1], 1000)

    def test_events_are_those_of_the_query_in_the_order_of_time(self):
        store = self.traced()
        begin, end = store.rows("SELECT min(begin_ns) AS b, max(end_ns) AS e FROM event WHERE function != 'MPI_Finalize'")[0].values()
        third = (end - begin) // 3
        of_all = "SELECT * FROM event WHERE {} ORDER BY begin_ns"
        for given, where in (("", "1"), ("rank=2", "rank = 2"), ("world=0, rank=1, thread=1", "rank = 1 AND thread = 1"),
                             ("function='MPI_Isend'", "function = 'MPI_Isend'"), ("world=1", "world = 1"), ("rank=99", "rank = 99"),
                             (f"begin_ns={begin + third}, end_ns={end - third}",
                              f"end_ns > {begin + third} AND begin_ns < {end - third}")):
            with self.subTest(given):
                events = self.answer(f"print(json.dumps([dict(event) for event in xylem.open(sys.argv[1]).events({given})]))",
                                     store.path)
                begins = [event["begin_ns"] for event in events]
                self.assertEqual(begins, sorted(begins))
                every = lambda row: json.dumps(row, sort_keys=True)
                self.assertEqual(sorted(map(every, events)), sorted(map(every, store.rows(of_all.format(where)))))

    def test_arrays_and_frames_keep_integers_exact(self):
        store = self.traced()
        got = self.answer("""
import numpy, pandas
run = xylem.open(sys.argv[1])
arrays, frame = run.events().arrays(), run.events().frame()
none = run.events(rank=99).arrays()
mixed = run.query("SELECT 1 AS a, 'x' AS b, x'0102' AS c UNION ALL SELECT NULL, NULL, NULL UNION ALL SELECT 2.5, 'y', x'0304'")
mixed = mixed.arrays()
texts = run.query("SELECT 'x' AS a, x'01' AS b UNION ALL SELECT NULL, NULL").frame()
large = run.query("SELECT 9007199254740993 AS a UNION ALL SELECT NULL")
print(json.dumps({
    "types": {name: [str(array.dtype), isinstance(array, numpy.ma.MaskedArray)] for name, array in arrays.items()},
    "frame": {name: str(frame[name].dtype) for name in frame},
    "comms": sorted({int(comm) for comm in arrays["comm"].compressed()}),
    "comms_of_frame": sorted(int(comm) for comm in frame["comm"].dropna().unique()),
    "unknown_peers": [int(arrays["peer"].mask.sum()), int(frame["peer"].isna().sum())],
    "bytes": int(arrays["bytes"].sum()), "length": len(frame), "none": [len(array) for array in none.values()],
    "texts": [list(texts["a"]), [blob and str(blob) for blob in texts["b"]]],
    "large": int(large.frame()["a"][0]), "mixed": [mixed["a"].filled(-1).tolist(), mixed["b"].filled("-").tolist(), [str(blob) for blob in mixed["c"].filled(b"")]],
}))""", store.path)
        self.assertEqual(got["types"]["begin_ns"], ["int64", False])
        self.assertEqual(got["types"]["peer"], ["int64", True])
        self.assertEqual(got["types"]["function"], ["object", False])
        self.assertEqual(got["frame"]["begin_ns"], "int64")
        self.assertEqual(got["frame"]["peer"], "Int64")
        comms = [row["comm"] for row in store.rows("SELECT DISTINCT comm FROM event WHERE comm IS NOT NULL ORDER BY 1")]
        self.assertEqual(got["comms"], comms)
        self.assertEqual(got["comms_of_frame"], comms)
        self.assertEqual(got["unknown_peers"], [store.value("SELECT count(*) FROM event WHERE peer IS NULL")] * 2)
        self.assertEqual(got["bytes"], store.value("SELECT sum(bytes) FROM event"))
        self.assertEqual(got["length"], store.value("SELECT count(*) FROM event"))
        self.assertEqual(set(got["none"]), {0})
        self.assertEqual(got["texts"], [["x", None], [str(b"\1"), None]])
        self.assertEqual(got["large"], 9007199254740993)  # No double has this value.
        self.assertEqual(got["mixed"], [[1.0, -1.0, 2.5], ["x", "-", "y"], [str(b"\1\2"), str(b""), str(b"\3\4")]])

    def test_refusals_say_what_and_where(self):
        store = self.traced()
        other = self.folder / "other.db"
        newer = self.folder / "newer.db"
        newer.write_bytes(pathlib.Path(store.path).read_bytes())
        self.python("import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE t(a)')", other)
        self.python("import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version = 1000')", newer)
        text = self.folder / "text.db"
        text.write_text("not a database, but longer than its header would be: " + "x" * 200)
        empty = self.folder / "empty.db"
        empty.touch()
        unfinished = self.folder / "unfinished.db"
        unfinished.write_bytes(pathlib.Path(store.path).read_bytes())
        self.python("import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('DELETE FROM run'); d.commit()", unfinished)
        opened = "xylem.open(sys.argv[1])"
        for path, words in ((self.folder / "none.db", "there is no such file"), (other, "not the file of a xylem run"),
                            (newer, "a newer xylem has written this file"), (text, "file is not a database"),
                            (empty, "not complete yet"), (unfinished, "not complete yet")):
            self.assertRegex(self.refusal(opened, path), f"^xylem.Error: {re.escape(str(path))}: .*{words}")
        self.assertIn("there is no table 'nothing'", self.refusal(f"{opened}.table('nothing')", store.path))
        self.assertIn("readonly", self.refusal(f"{opened}.query('DELETE FROM run')", store.path))
        self.assertIn("no such column: rnk", self.refusal(f"{opened}.query('SELECT rnk FROM event')", store.path))
        for sql in ("SELECT 1 AS a, 2 AS a", "SELECT 1; SELECT 2", "SELECT 1 WHERE 1 = ?', [1 << 64])#"):
            self.assertRegex(self.refusal(f"{opened}.query('{sql}')", store.path), r"^xylem.Error: .*(two columns|one statement|too large)")
        self.assertIn("ValueError", self.refusal(f"{opened}.query('SELECT 1 UNION SELECT 2').value()", store.path))
        hidden = "sys.modules['numpy'] = sys.modules['pandas'] = None\n"
        self.assertIn("arrays() needs the package numpy (Debian: python3-numpy)",
                      self.refusal(f"{hidden}{opened}.events().arrays()", store.path))
        self.assertIn("frame() needs the package pandas", self.refusal(f"{hidden}{opened}.events().frame()", store.path))

    def test_without_the_extension_all_is_there_but_what_it_decodes(self):
        store = self.traced()
        opened = "import os\nos.environ['PATH'] = '/nonexistent'\nrun = xylem.open(sys.argv[1])\n"
        self.assertEqual(self.answer(f"{opened}print(json.dumps([sum(row['captured'] for row in run.table('account')),"
                                     " 'event' in run.tables(), 'rank' in run.tables()]))", store.path),
                         [store.value("SELECT sum(captured) FROM account"), False, True])
        for use in ("run.events()", "run.query('SELECT * FROM wait_state')", "run.table('message')"):
            self.assertRegex(self.refusal(opened + use, store.path),
                             r"no (such )?table:? .*\(libxylem-sqlite.so is missing; put the xylem that it belongs to into PATH")

    def test_a_file_on_a_medium_that_cannot_be_written(self):
        folder = self.folder / "read only & odd?name#"
        folder.mkdir()
        copy = folder / "run.db"
        copy.write_bytes(pathlib.Path(self.traced().path).read_bytes())
        # Such a file needs an index beside it.
        self.python("import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode = WAL').fetchone())", copy)
        for name in ("run.db-wal", "run.db-shm"):
            (folder / name).unlink(missing_ok=True)
        mounted = ["unshare", "--mount", "bash", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"', folder]
        count = "print(xylem.open(sys.argv[1]).query('SELECT count(*) FROM rank').value())"
        self.assertEqual(self.answer(count, copy, before=mounted), 4)
        (folder / "run.db-wal").write_text("what is in the log must not be ignored")
        self.assertIn("unable to open database file", self.refusal(count, copy, before=mounted))

    def test_a_run_in_progress_is_read_at_one_moment(self):
        store = self.folder / "live.db"
        prefix = self.folder / "hang"
        job = self.start("run", "--store", store, "--window", "50ms", "--", *mpirun("openmpi", 2, "hang", 1, prefix))
        wait_until(store.exists, "the run has begun")
        got = self.answer("""
import time
with xylem.open(sys.argv[1]) as run:
    count = "SELECT count(*) FROM profile_window"
    deadline = time.monotonic() + 300
    while run.query(count).value() == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    with run.snapshot():
        before = run.query(count).value()
        with xylem.open(sys.argv[1]) as other:
            while other.query(count).value() == before and time.monotonic() < deadline:
                time.sleep(0.05)
        inside = run.query(count).value()
    print(json.dumps([before, inside, run.query(count).value(), run.info["ended_ns"]]))
""", store)
        prefix.with_name("hang.end").touch()
        job.communicate(timeout=600)
        before, inside, after, ended = got
        self.assertGreater(before, 0)
        self.assertEqual(inside, before)
        self.assertGreater(after, before)
        self.assertIsNone(ended)

    def notebook(self, store):
        """What the cells of the notebook print for a run."""
        return self.python("""
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
assert all(not cell.get("outputs") for cell in notebook.cells), "the notebook in the checkout has no results"
NotebookClient(notebook, timeout=300).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text") or output["data"]["text/plain"])
""", SOURCE / "examples/first_look.ipynb", XYLEM_STORE=store.path, HOME=str(self.folder), IPYTHONDIR=str(self.folder / "ipython")).stdout

    def test_the_notebook_names_the_slow_rank(self):
        store = self.run_job(mpirun("openmpi", 4, "slow_rank", 2), "--detail", "trace")
        printed = self.notebook(store)
        self.assertIn("slow_rank.openmpi 2", printed)
        caused = store.rows("SELECT cause_rank, sum(time_ns) AS ns FROM wait_state WHERE function NOT IN ('MPI_Init', 'MPI_Finalize')"
                            " GROUP BY 1 ORDER BY 2 DESC")
        share = caused[0]["ns"] / sum(row["ns"] for row in caused)
        # On a busy machine, other ranks come late now and then.
        self.assertIn(f"rank {caused[0]['cause_rank']} caused {share:.0%} of the waiting", printed)
        self.assertEqual(caused[0]["cause_rank"], 0)
        calls = store.value("SELECT count(*) FROM event WHERE rank = 1 AND function = 'MPI_Recv'")
        self.assertRegex(printed, rf"MPI_Recv\s+{calls}\.0")

    def test_the_notebook_reads_a_run_without_a_trace(self):
        store = self.run_job(mpirun("openmpi", 2, "numbered", "ring", 5))
        self.assertIn("no waits are known", self.notebook(store))

    def test_the_schema_is_the_newest_one(self):
        version = subprocess.run(["sqlite3", self.traced().path, "PRAGMA user_version"], capture_output=True, text=True, check=True)
        self.assertEqual(self.answer("print(xylem.SCHEMA)"), int(version.stdout))

    def test_the_document_runs_as_it_stands(self):
        store = self.traced()
        for name, script in (("docs/python.md", "\n".join(re.findall(r"```python\n(.*?)```", (SOURCE / "docs/python.md").read_text(),
                                                                     re.DOTALL))),
                             ("the package", "\n".join(line[4:] for line in (PACKAGE / "xylem/__init__.py").read_text().split('"""')[1]
                                                       .splitlines() if line.startswith("    ")))):
            with self.subTest(name):
                self.assertIn("xylem.open", script)
                self.assertTrue(self.python(script.replace('"run.db"', repr(store.path))).stdout)


if __name__ == "__main__":
    unittest.main()
