#!/usr/bin/env python3
"""xylem export: each format of a real run has the calls, messages and collectives that SQL counts."""

import collections
import csv
import json
import re
import shlex
import subprocess
import unittest

from harness import XYLEM, WholeSystemTest, environment, mpirun

COLLECTIVES = ("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Allgather", "MPI_Alltoall", "MPI_Allreduce", "MPI_Reduce",
               "MPI_Reduce_scatter", "MPI_Scan", "MPI_Exscan")


def ns(us):
    return round(us * 1000)


class Export(WholeSystemTest):
    def traced(self, library="openmpi"):
        """A run with messages of all kinds, several communicators and three threads in each rank."""
        return self.run_job_once(mpirun(library, 4, "messages", 1, 30, 3, 10), "--detail", "trace", name=f"{library}.db")

    def export(self, store, *arguments, code=0):
        done = self.xylem("export", store.path, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def calls(self, store):
        """{(rank, function): calls}"""
        return {(row["rank"], row["function"]): row["n"] for row in
                store.rows("SELECT rank, function, count(*) AS n FROM event GROUP BY 1, 2")}

    def test_chrome_has_each_call_and_each_message(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                self.check_chrome(self.traced(library))

    def check_chrome(self, store):
        path = self.folder / "run.json"
        self.assertIn(str(path), self.export(store, "--chrome", path, "--overwrite").stderr)
        events = json.loads(path.read_text())["traceEvents"]
        ranks = {e["pid"]: int(re.match(r"rank (\d+) \(", e["args"]["name"])[1]) for e in events if e["name"] == "process_name"}
        self.assertEqual(sorted(ranks.values()), [0, 1, 2, 3])
        calls = [e for e in events if e["ph"] == "X" and e["cat"] == "mpi"]
        self.assertEqual(collections.Counter((ranks[e["pid"]], e["name"]) for e in calls), self.calls(store))
        slices = collections.defaultdict(list)
        for e in (e for e in events if e["ph"] == "X"):
            slices[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
        flows = {phase: {e["id"]: e for e in events if e["ph"] == phase} for phase in "sf"}
        messages = store.rows("SELECT source, destination, bytes, tag, sent_ns FROM message"
                              " WHERE sent_ns IS NOT NULL AND received_ns IS NOT NULL")
        self.assertGreater(len(messages), 100)
        self.assertEqual(flows["s"].keys(), flows["f"].keys())
        self.assertEqual(sorted((ranks[s["pid"]], ranks[flows["f"][i]["pid"]], s["args"]["bytes"], s["args"]["tag"],
                                 ns(s["ts"])) for i, s in flows["s"].items()),
                         sorted(tuple(row.values()) for row in messages))
        for end in (*flows["s"].values(), *flows["f"].values()):
            self.assertTrue(any(begin <= ns(end["ts"]) <= last for begin, last in slices[end["pid"], end["tid"]]), end)

    def test_text_and_csv_have_each_row(self):
        store = self.traced()
        text = self.export(store, "--text", "-").stdout.splitlines()
        lines = [line for line in text if not line.startswith("#")]
        begins = [float(line.split(" ", 1)[0]) for line in lines]
        self.assertEqual(begins, sorted(begins))
        self.assertEqual(len(lines), store.value("SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM completion WHERE kind <> 'mpi')"))
        self.assertEqual(sum(" completion of " in line for line in lines), store.value("SELECT count(*) FROM completion WHERE kind = 'completion'"))
        rows = list(csv.DictReader(self.export(store, "--csv", "-").stdout.splitlines()))
        as_text = [{key: "" if value is None else str(value) for key, value in row.items()}
                   for row in store.rows("SELECT * FROM event ORDER BY begin_ns")]
        every = lambda row: tuple(row.values())
        self.assertEqual(sorted(map(every, rows)), sorted(map(every, as_text)))
        self.assertEqual([row["begin_ns"] for row in rows], [row["begin_ns"] for row in as_text])

    def printed(self, folder, *options):
        """What otf2-print says of an archive."""
        done = subprocess.run(["otf2-print", *options, folder / "traces.otf2"], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_otf2_print_counts_what_sql_counts(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                self.check_otf2(self.traced(library))

    def check_otf2(self, store):
        folder = self.folder / "run.otf2"
        self.export(store, "--otf2", folder, "--overwrite")
        printed = self.printed(folder)
        records = collections.Counter(line.split(" ", 1)[0] for line in printed.splitlines())
        calls = store.value("SELECT count(*) FROM event")
        self.assertEqual((records["ENTER"], records["LEAVE"]), (calls, calls))
        entered = collections.Counter(re.findall(r'^ENTER .*Region: "(\w+)"', printed, re.MULTILINE))
        self.assertEqual(entered, {row["function"]: row["n"] for row in
                                   store.rows("SELECT function, count(*) AS n FROM event GROUP BY 1")})
        halves = store.rows("SELECT count(sent_ns) AS sent, count(received_ns) AS received FROM message")[0]
        self.assertEqual((records["MPI_SEND"], records["MPI_RECV"]), (halves["sent"], halves["received"]))
        names = ", ".join(f"'{name}'" for name in COLLECTIVES)
        collectives = store.value("SELECT count(*) FROM event AS e WHERE (SELECT kind <> 'inter' FROM communicator AS c"
                                  f" WHERE c.world = e.world AND c.id = e.comm) AND function IN ({names})")
        self.assertGreater(collectives, 0)
        self.assertEqual((records["MPI_COLLECTIVE_BEGIN"], records["MPI_COLLECTIVE_END"]), (collectives, collectives))
        sizes = re.findall(r"^MPI_COLLECTIVE_END .*Sent: (\d+), Received: (\d+)", printed, re.MULTILINE)
        self.assertEqual(len(sizes), collectives)
        for at, column in enumerate(("bytes", "received_bytes")):
            self.assertEqual(sum(int(size[at]) for size in sizes), store.value(
                f"SELECT sum({column}) FROM event AS e WHERE (SELECT kind <> 'inter' FROM communicator AS c"
                f" WHERE c.world = e.world AND c.id = e.comm) AND function IN ({names})"))
        self.check_peers(store, printed)
        definitions = self.printed(folder, "-G")
        self.assertIn("MPI_COMM_WORLD", definitions)
        self.assertEqual(len(re.findall(r"^LOCATION_GROUP ", definitions, re.MULTILINE)), 4)

    def check_peers(self, store, printed):
        """otf2-print finds the process of a peer in the group of the communicator: it is the one that the store names."""
        for record, end, time in (("MPI_SEND", "Receiver", "sent_ns"), ("MPI_RECV", "Sender", "received_ns")):
            found = re.findall(rf'^{record} .*{end}: \d+ \("[^"]*" <(\d+)>\), Communicator: "([^"]*)" <\d+>, Tag: (\d+), Length: (\d+)',
                               printed, re.MULTILINE)
            peer = {"Receiver": "destination", "Sender": "source"}[end]
            expected = store.rows(f"SELECT {peer} AS peer, CASE comm WHEN 0 THEN 'MPI_COMM_WORLD' WHEN 1 THEN 'MPI_COMM_SELF' ELSE"
                                  f" 'communicator ' || comm END AS name, tag, bytes FROM message WHERE {time} IS NOT NULL")
            self.assertEqual(collections.Counter((int(process), name, int(tag), int(size)) for process, name, tag, size in found),
                             collections.Counter(tuple(row.values()) for row in expected))

    def test_otf2_has_the_members_and_names_of_communicators_of_two_worlds(self):
        ranks = 6
        job = shlex.join(map(str, mpirun("openmpi", ranks, "communicators")))
        store = self.run_job(["bash", "-c", f"{job} && {job}"], "--detail", "trace")
        folder = self.folder / "two.otf2"
        self.export(store, "--otf2", folder)
        definitions = self.printed(folder, "-G")
        self.assertEqual(len(re.findall(r"^GROUP .*Type: COMM_SELF", definitions, re.MULTILINE)), 1)
        groups = {number: [int(rank) for rank in re.findall(r'(\d+) \("', members)] for number, members in
                  re.findall(r"^GROUP +(\d+) .*Type: COMM_GROUP.* Members?: (.*)$", definitions, re.MULTILINE)}
        comms = re.findall(r'^COMM .*Name: "(.*) of world (\d)" .*Group: "" <(\d+)>', definitions, re.MULTILINE)
        self.assertGreater(len(comms), 20)
        self.assertLessEqual({("the second copy", "0"), ("the second copy", "1"), ("MPI_COMM_WORLD", "1")}, {comm[:2] for comm in comms})
        for name, world, group in comms:
            members = store.rows(f"SELECT m.rank FROM communicator_member AS m JOIN communicator AS c USING (world, id) WHERE world = {world}"
                                 f" AND '{name}' IN (c.name, 'communicator ' || id) ORDER BY m.place")
            # Places in the group of all ranks, world by world.
            known = [row["rank"] for row in members] or range(ranks)
            self.assertEqual(groups[group], [rank + ranks * int(world) for rank in known], (name, world))

    def test_outputs_are_not_replaced_and_profiles_are_refused(self):
        store = self.traced()
        path = self.folder / "kept.csv"
        path.write_text("mine")
        self.assertRegex(self.export(store, "--csv", path, code=1).stderr, r"\Axylem export: .*kept.csv: is there already; --overwrite")
        self.assertEqual(path.read_text(), "mine")
        self.assertIn("is the run itself", self.export(store, "--csv", store.path, "--overwrite", code=1).stderr)
        self.export(store, "--csv", path, "--overwrite")
        self.assertTrue(path.read_text().startswith("world,rank,"))
        self.assertEqual([p.name for p in self.folder.glob("kept*")], ["kept.csv"])
        for option, made in (("--csv", "large.csv"), ("--otf2", "large")):
            limited = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", XYLEM, "export", store.path, option, self.folder / made],
                                     capture_output=True, text=True, timeout=300, env=environment())
            self.assertEqual(limited.returncode, 1, limited.stderr)
            self.assertIn(made, limited.stderr)
            self.assertEqual([str(p) for p in self.folder.rglob("*") if p.is_file() and "large" in str(p)], [])
        profile = self.run_job(mpirun("openmpi", 2, "numbered", "ring", 5), name="profile.db")
        self.assertIn("xylem run --detail trace", self.export(profile, "--text", "-", code=1).stderr)

    def test_losses_are_named(self):
        store = self.run_job(mpirun("openmpi", 4, "messages", 4, 60, 1, 0), "--detail", "trace", "--ring", 64)
        lost = store.value("SELECT sum(calls) FROM loss WHERE part = 'ring'")
        self.assertGreater(lost, 0)
        done = self.export(store, "--text", "-")
        self.assertIn("warning: the trace is not whole: rank ", done.stderr)
        self.assertIn(f"{lost:,} calls lost: the ring was full", done.stderr)


if __name__ == "__main__":
    unittest.main()
