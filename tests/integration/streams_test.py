#!/usr/bin/env python3
"""Streams of programs in the run's own tree, beside the data of MPI calls, on an emulated cluster. Needs root."""

import os
import shutil
import signal
import unittest

from emulated_cluster import EmulatedClusterTest, LiveStore
from harness import BUILD, DEADLINE, PROGRAMS, XYLEM, Store, WholeSystemTest, mpirun, wait_until

CONFIG = """
[service.host]
interval = "500ms"
[service.probe]
exec = "{folder}/probe"
interval = "500ms"
[stream.energy]
aggregation = "sum"
synchronisation = "time_out 200ms"
[stream.steps]
"""
TOOL = BUILD / "tests/tool_process"
WAVES = 400  # In eight seconds.
MPIS = [m for m in ("mpich", "openmpi") if (PROGRAMS / f"stream_rank.{m}").exists()]


class OneTree(EmulatedClusterTest):
    HOSTS = 4
    NETWORK = "10.96"

    def setUp(self):
        super().setUp()
        (self.folder / "all.toml").write_text(CONFIG.format(folder=self.folder))
        probe = self.folder / "probe"
        probe.write_text("#!/bin/sh\necho watts 40\n")
        probe.chmod(0o700)
        self.senders = {host: 1 for host in self.hosts()}

    def start_everything(self):
        """An MPI job on all hosts, a sender on each of them beside it, all in one run."""
        (self.folder / "done").mkdir()
        job = self.open_mpi({host: 1 for host in self.hosts()}, PROGRAMS / "behave.openmpi", "loop", 20)
        tools = self.open_mpi(self.senders, TOOL, "pace", "energy", WAVES, self.folder / "done")
        script = self.folder / "job.sh"
        script.write_text(f"#!/bin/sh\n{' '.join(map(str, job))} &\nuntil [ -e go ]; do sleep 0.1; done\n"
                          f"{' '.join(map(str, tools))} || touch failed\nwait\n")
        script.chmod(0o700)
        process = self.start_on("head", XYLEM, "run", "--store", "run.db", "--config", "all.toml", "--detail", "trace",
                                "--topology", "kary:2", "--services", "none", "--", script)
        live = LiveStore(self.folder / "run.db")
        wait_until(lambda: live.value("SELECT count(*) FROM node WHERE role = 'comm_process' AND state = 'attached'"),
                   "the tree stands")
        (self.folder / "go").touch()
        wait_until(lambda: len(list((self.folder / "done").glob("first-*"))) == len(self.senders),
                   "every sender has sent")
        return process, live

    def kill_one(self, name, pids):
        self.assertTrue(pids, name)
        os.kill(pids[0], signal.SIGKILL)

    def assert_all_accounts_are_exact(self, store):
        for sql in ("SELECT world AS what, captured, stored, lost, complete FROM account",
                    "SELECT rank AS what, events AS captured, stored_events AS stored, lost_events AS lost, complete "
                    "FROM account_event",
                    "SELECT service AS what, captured, stored, lost, complete FROM service_account WHERE captured > 0",
                    "SELECT stream AS what, sent AS captured, stored, lost, complete FROM stream_account "
                    "WHERE sent > 0"):
            lines = store.rows(sql)
            self.assertTrue(lines, sql)
            for line in lines:
                self.assertEqual(line["captured"], line["stored"] + line["lost"], (sql, line))
                self.assertEqual(line["complete"], 1, (sql, line, store.rows("SELECT host, text FROM notice")))
        services = store.rows("SELECT DISTINCT service FROM service_account WHERE stored > 0 ORDER BY 1")
        self.assertEqual([line["service"] for line in services], ["host", "probe"])

    def test_one_run_carries_events_windows_services_and_a_programs_stream_while_nodes_die(self):
        process, live = self.start_everything()
        waves = "SELECT max(wave) FROM stream_part"
        wait_until(lambda: (live.value(waves) or 0) > 50, "waves are stored")
        self.kill_one("communication process", self.processes_of("xylem-commproc"))
        wait_until(lambda: (live.value(waves) or 0) > 120, "waves go on without it")
        self.kill_one("worker", self.processes_of("xylem-backend"))
        self.assertEqual(process.wait(timeout=DEADLINE), 0)
        self.assertFalse((self.folder / "failed").exists())
        store = Store(self.folder / "run.db")
        self.assert_all_accounts_are_exact(store)
        ids = sorted(int(path.read_text()) for path in (self.folder / "done").glob("[0-9]*"))
        self.assertEqual(len(ids), len(self.senders))
        accounts = store.rows("SELECT leaf, host, sent, stored, lost FROM stream_account WHERE stream = 'energy' "
                              "ORDER BY leaf")
        self.assertEqual(accounts, [{"leaf": leaf, "host": line["host"], "sent": WAVES, "stored": WAVES, "lost": 0}
                                    for leaf, line in zip(ids, accounts)])
        self.assertEqual(sorted(line["host"] for line in accounts), self.hosts())
        # Each wave is one row, of all senders, with the sum of what they sent: once each.
        wrong = store.rows("SELECT * FROM stream_value WHERE stream = 'energy' AND (leaves <> "
                           f"{len(ids)} OR json_extract(fields, '$.\"1\"') <> {len(ids)} OR "
                           f"json_extract(fields, '$.\"2\"') <> {sum(ids)})")
        self.assertEqual(wrong, [])
        self.assertEqual(store.rows("SELECT count(*) AS n, count(DISTINCT wave) AS d, max(wave) AS m FROM stream_value"),
                         [{"n": WAVES, "d": WAVES, "m": WAVES - 1}])
        self.assertGreater(store.value("SELECT count(*) FROM node WHERE role = 'comm_process' AND state = 'lost'"), 0)
        # They went through communication processes, not past them.
        below = store.value("SELECT count(*) FROM stream_account a JOIN node n ON n.leaf = a.leaf JOIN node p ON "
                            "p.id = n.parent WHERE a.stream = 'energy' AND p.role = 'comm_process'")
        self.assertGreater(below, 0, store.rows("SELECT * FROM node"))
        report = self.on("head", XYLEM, "report", "--verify", "run.db")
        self.assertEqual(report.returncode, 0, report.stdout + report.stderr)
        self.assertIn(f"energy: {WAVES} waves of {len(ids)} leaves; 1,600 sent, 1,600 stored, 0 lost; "
                      f"{len(ids)} complete", report.stdout)
        self.assert_nothing_on_any_host()

    def test_programs_that_join_before_the_tree_is_placed_are_no_hosts(self):
        (self.folder / "done").mkdir()
        job = self.open_mpi({host: 1 for host in self.hosts()}, PROGRAMS / "behave.openmpi", "loop", 5)
        tools = self.open_mpi(self.senders, TOOL, "pace", "energy", WAVES, self.folder / "done")
        script = self.folder / "job.sh"
        script.write_text(f"#!/bin/sh\n{{ {' '.join(map(str, tools))} || touch failed; }} &\n"
                          f"until [ \"$(ls done/first-* 2>/dev/null | wc -l)\" = {len(self.senders)} ]; do "
                          f"sleep 0.1; done\n{' '.join(map(str, job))}\nwait\n")
        script.chmod(0o700)
        with open(self.folder / "said", "w", encoding="utf-8") as said:
            process = self.start_on("head", XYLEM, "run", "--store", "run.db", "--config", "all.toml", "--topology",
                                    "kary:2", "--placement", "fuzzy", "--", script, stderr=said)
            self.assertEqual(process.wait(timeout=DEADLINE), 0)
        self.assertFalse((self.folder / "failed").exists())
        store = Store(self.folder / "run.db")
        hosts = len(self.hosts())
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'comm_process'"), 2, "as for the hosts alone")
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'back_end'"), hosts)
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'program' AND state = 'left'"), hosts)
        self.assertEqual(store.value("SELECT count(*) FROM host"), hosts)
        self.assertIn(f"{hosts} ranks on {hosts} hosts: ", (self.folder / "said").read_text())
        # Whose numbers were waited for: no program's.
        self.assertEqual(store.rows("SELECT * FROM notice WHERE role = 'program'"), [])
        below = store.value("SELECT count(*) FROM node n JOIN node p ON p.id = n.parent WHERE n.role = 'program' AND "
                            "p.role = 'comm_process'")
        self.assertEqual(below, hosts, store.rows("SELECT * FROM node"))
        self.assertEqual(store.rows("SELECT DISTINCT sent, stored, lost, complete FROM stream_account WHERE stream = "
                                    "'energy'"), [{"sent": WAVES, "stored": WAVES, "lost": 0, "complete": 1}])
        self.assert_nothing_on_any_host()


class OneHost(WholeSystemTest):
    """Programs outside MPI, on this host."""

    def run_tool(self, config, *words, expect):
        (self.folder / "streams.toml").write_text(config)
        done = self.xylem("run", "--overwrite", "--store", "run.db", "--config", "streams.toml", "--", TOOL, *words)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_a_program_outside_mpi_sends_and_each_of_its_waves_is_kept(self):
        self.run_tool("[stream.steps]\n", "pace", "steps", 60, self.folder, expect=0)
        store = Store(self.folder / "run.db")
        self.assertEqual(store.rows("SELECT stream, sent, stored, lost, complete FROM stream_account"),
                         [{"stream": "steps", "sent": 60, "stored": 60, "lost": 0, "complete": 1}])
        self.assertEqual(store.value("SELECT group_concat(wave) FROM (SELECT wave FROM stream_value ORDER BY wave)"),
                         ",".join(map(str, range(60))))
        self.assert_nothing_left()

    def test_what_a_killed_program_had_sent_is_kept_and_its_account_stays_open(self):
        (self.folder / "streams.toml").write_text("[stream.energy]\naggregation = \"sum\"\n")
        job = self.folder / "job.sh"
        job.write_text(f"#!/bin/sh\n{TOOL} pace energy 150 . &\n{TOOL} pace energy 100000 . &\nvictim=$!\n"
                       "until [ -e first-$victim ] && ls [0-9]* 2>/dev/null; do sleep 0.1; done\n"
                       "kill -9 $victim\nwait\nexit 0\n")
        job.chmod(0o700)
        done = self.xylem("run", "--store", "run.db", "--config", "streams.toml", "--", job)
        self.assertEqual(done.returncode, 0, done.stderr)
        store = Store(self.folder / "run.db")
        whole, killed = store.rows("SELECT sent, stored, lost, complete, reason FROM stream_account "
                                   "ORDER BY complete DESC")
        self.assertEqual(whole, {"sent": 150, "stored": 150, "lost": 0, "complete": 1, "reason": None})
        self.assertEqual(killed["complete"], 0)
        self.assertIn("not heard of any more", killed["reason"])
        self.assertEqual(store.value("SELECT count(*) FROM host"), 0)
        self.assertEqual(store.rows("SELECT state FROM node WHERE role = 'program' ORDER BY state"),
                         [{"state": "left"}, {"state": "lost"}])
        self.assertGreater(killed["stored"], 50)
        self.assertEqual(killed["stored"] + killed["lost"], killed["sent"])
        self.assertEqual(store.value("SELECT sum(json_extract(fields, '$.\"1\"')) FROM stream_value"),
                         150 + killed["stored"])
        self.assert_nothing_left()

    def test_a_name_that_the_run_does_not_have_is_told_at_once(self):
        done = self.run_tool("[stream.energy]\naggregation = \"sum\"\n", "pace", "enrgy", 1, self.folder, expect=1)
        self.assertIn("the run has no stream 'enrgy' for this host, but energy; name it in the run's configuration "
                      "file: [stream.enrgy]", done.stderr)
        self.assert_nothing_left()

    def test_in_a_run_without_streams_too(self):
        done = self.run_tool("", "pace", "energy", 1, self.folder, expect=1)
        self.assertIn("the run has no stream 'energy' for this host, nor any other; name it in a configuration file "
                      "(xylem run --config FILE): [stream.energy]", done.stderr)
        self.assert_nothing_left()

    def test_what_a_file_says_wrong_is_refused_with_its_line(self):
        done = self.run_tool("[stream.energy]\naggregation = \"summ\"\n", "pace", "energy", 1, self.folder, expect=2)
        self.assertIn("streams.toml:2: stream energy: ", done.stderr)
        (self.folder / "streams.toml").write_text("[stream.energy]\naggregation = \"sum\"\n")
        printed = self.xylem("run", "--config", "streams.toml", "--print-config")
        self.assertIn("stream.energy.aggregation = \"sum\"", printed.stdout)

    def test_what_does_not_fit_is_given_up_at_once_and_counted_to_the_last_wave(self):
        waves = 5000  # Of 4 KiB: eighty times what the journal takes.
        for policy in ("", 'when_full = "drop_newest"\n', 'when_full = "drop_oldest"\n'):
            with self.subTest(policy=policy):
                self.run_tool("[stream.steps]\n" + policy, "burst", "steps", waves, 256 << 10, expect=0)
                store = Store(self.folder / "run.db")
                [account] = store.rows("SELECT sent, stored, lost, complete, reason FROM stream_account")
                self.assertEqual((account["sent"], account["complete"]), (waves, 1), account)
                self.assertEqual(account["stored"] + account["lost"], waves)
                self.assertGreater(account["lost"], 0)
                self.assertEqual(account["reason"], "the leaf's journal was full")
                self.assertEqual(store.rows("SELECT count(*) AS n, count(DISTINCT wave) AS d FROM stream_value"),
                                 [{"n": account["stored"], "d": account["stored"]}])
        self.assert_nothing_left()


class FrontEndKilled(WholeSystemTest):
    """While streams flow: what a successor takes over, and with which filters."""

    def start_job(self, config, *job):
        (self.folder / "streams.toml").write_text(config)
        process = self.start("run", "--topology", "flat", "--store", "run.db", "--config", "streams.toml", "--", *job)
        live = LiveStore(self.folder / "run.db")
        return process, live

    def two_senders(self, waves):
        job = self.folder / "job.sh"
        job.write_text(f"#!/bin/sh\n{TOOL} pace work {waves} . &\n{TOOL} pace work {waves} . &\nwait\n")
        job.chmod(0o700)
        return job

    def kill_front_end(self):
        [pid] = [p for p, command in self.own_processes().items() if "xylem-frontend" in command]
        os.kill(pid, signal.SIGKILL)

    def finish(self, process):
        said = process.communicate(timeout=DEADLINE)[1]
        self.assertEqual(process.returncode, 0, said)
        return Store(self.folder / "run.db"), said

    def assert_all_stored(self, store, leaves, waves):
        self.assertEqual(store.rows("SELECT sent, stored, lost, complete FROM stream_account"),
                         [{"sent": waves, "stored": waves, "lost": 0, "complete": 1}] * leaves)

    def test_ranks_go_on_sending_and_nothing_is_lost_or_counted_twice(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                waves, folder = 500, self.folder / mpi
                folder.mkdir()
                process, live = self.start_job(
                    '[stream.work]\naggregation = "sum"\n',
                    *mpirun(mpi, 2, "stream_rank", "mixed", "outside", "work", waves, folder, 10_000))
                for reached in (50, 200):
                    wait_until(lambda: (live.value("SELECT max(wave) FROM stream_part") or 0) > reached, "waves flow")
                    self.kill_front_end()
                store, _ = self.finish(process)
                self.assert_all_stored(store, 2, waves)
                self.assertEqual(store.rows("SELECT count(*) AS n, sum(json_extract(fields, '$.\"1\"')) AS s FROM "
                                            "stream_value"), [{"n": waves, "s": 2 * waves}])
                calls = [int((folder / str(rank)).read_text()) for rank in (0, 1)]
                self.assertEqual([(a["captured"], a["stored"], a["lost"], a["complete"]) for a in store.account()],
                                 [(n, n, 0, 1) for n in calls])
                self.assert_nothing_left()
                (self.folder / "run.db").unlink()

    def test_a_plugin_whose_file_is_gone_serves_those_who_take_over(self):
        plugin = self.folder / "span.so"
        shutil.copy(BUILD / "tests/plugins/span.so", plugin)
        plugin.chmod(0o700)
        waves = 250
        process, live = self.start_job(f'[stream.work]\naggregation = "span"\nplugin = "{plugin}"\n',
                                       self.two_senders(waves))
        for reached in (30, 100):
            wait_until(lambda: (live.value("SELECT max(wave) FROM stream_part") or 0) > reached, "waves flow")
            plugin.unlink(missing_ok=True)
            self.kill_front_end()
        store, said = self.finish(process)
        self.assertEqual(said.count("the front end died"), 2, said)
        self.assert_all_stored(store, 2, waves)
        # Both sent 1: none is greater than another, and all of a wave were merged.
        self.assertEqual(store.rows("SELECT leaves, fields, count(*) AS n FROM stream_value GROUP BY 1, 2"),
                         [{"leaves": 2, "fields": '{"1":0}', "n": waves}])
        self.assert_nothing_left()

    def test_a_plugin_that_ends_each_front_end_at_a_wave_is_left_out_and_told_of(self):
        waves = 100
        process, _ = self.start_job(f'[stream.work]\naggregation = "brittle"\n'
                                    f'plugin = "{BUILD}/tests/plugins/span.so"\n', self.two_senders(waves))
        store, said = self.finish(process)
        self.assertEqual(said.count("the front end died (signal 6)"), 3, said)
        self.assertIn("that stream's waves are not merged from now on", said)
        self.assert_all_stored(store, 2, waves)
        self.assertEqual(store.value("SELECT sum(json_extract(fields, '$.\"1\"')) FROM stream_value"), 2 * waves)
        self.assertIn("stream work: its plugin", store.value("SELECT min(text) FROM notice WHERE text LIKE 'stream%'"))
        self.assert_nothing_left()


class Ranks(WholeSystemTest):
    """Ranks of an MPI job that are leaves, too: what they call and what they send, both to the last."""

    RANKS, WAVES = 2, 1000

    def check(self, mpi, when, end, leaves):
        folder = self.folder / f"{mpi}-{when}-{end}"
        folder.mkdir()
        config = folder / "streams.toml"
        config.write_text("[stream.work]\naggregation = \"sum\"\n")
        store = self.run_job(mpirun(mpi, self.RANKS, "stream_rank", when, end, "work", self.WAVES, folder),
                             "--config", config, name=f"{folder.name}.db")
        calls = {rank: int((folder / str(rank)).read_text()) for rank in range(self.RANKS)}
        self.assertEqual([(a["rank"], a["captured"], a["stored"], a["lost"], a["complete"]) for a in store.account()],
                         [(rank, calls[rank], calls[rank], 0, 1) for rank in range(self.RANKS)])
        ids = sorted(int(path.name.removeprefix("leaf-")) for path in folder.glob("leaf-*"))
        self.assertEqual(len(ids), leaves)
        self.assertEqual(store.rows("SELECT leaf, sent, stored, lost, complete, reason FROM stream_account ORDER BY leaf"),
                         [{"leaf": leaf, "sent": self.WAVES, "stored": self.WAVES, "lost": 0, "complete": 1,
                           "reason": None} for leaf in ids])
        self.assertEqual(store.rows("SELECT DISTINCT leaves, json_extract(fields, '$.\"1\"') AS n, "
                                    "json_extract(fields, '$.\"2\"') AS s FROM stream_value"),
                         [{"leaves": leaves, "n": leaves, "s": sum(ids)}])
        self.assertEqual(store.rows("SELECT count(*) AS n, max(wave) AS m FROM stream_value"),
                         [{"n": self.WAVES, "m": self.WAVES - 1}])
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'back_end' AND leaf NOT IN "
                                     "(SELECT leaf FROM stream_account)"), 1)  # One agent.
        self.assertNotIn("capture is off", self.done.stderr)
        self.assert_nothing_left()

    def test_they_join_before_mpi_starts_or_after_or_both_and_leave_when_they_like(self):
        for mpi in MPIS:
            for when, end, leaves in (("before", "outside", 2), ("after", "inside", 2), ("both", "never", 4),
                                      ("mixed", "never", 2)):
                with self.subTest(mpi=mpi, when=when, end=end):
                    self.check(mpi, when, end, leaves)


if __name__ == "__main__":
    unittest.main(verbosity=2)
