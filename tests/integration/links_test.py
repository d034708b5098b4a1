#!/usr/bin/env python3
"""Links: their transports, which processes may connect, and what travels up besides packets."""

import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from harness import BUILD, DEADLINE, XYLEM, Store, WholeSystemTest, environment, mpirun, wait_until

NOBODY = 65534


class Links(WholeSystemTest):
    def transports(self, store):
        return {row["transport"] for row in
                store.rows("SELECT transport FROM link WHERE transport IS NOT NULL")}

    def test_a_run_on_one_host_goes_over_a_unix_socket(self):
        store = self.run_job(mpirun("mpich", 2, "count_calls", 20_000, 1, 9, self.folder / "own"))
        self.assertEqual(self.transports(store), {"unix"})
        self.assert_nothing_left()

    def test_pretended_hosts_go_over_tls_unless_it_is_off(self):
        for name, options, expected in (("on.db", (), "tls"), ("off.db", ("--tls", "off"), "tcp")):
            with self.subTest(name):
                store = self.run_job(mpirun("mpich", 2, "count_calls", 20_000, 1, 9, self.folder / "own"),
                                     "--test-size", 2, *options, name=name)
                self.assertEqual(self.transports(store), {expected})
                self.assertEqual("can read and change data" in self.done.stderr, expected == "tcp")
                self.assertTrue(all(r["complete"] for r in store.account()))
        self.assert_nothing_left()

    def test_tls_is_on_or_off(self):
        done = self.xylem("run", "--tls", "maybe", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tls: 'maybe' is not one of on, off", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_another_user_cannot_reach_the_socket(self):
        process = self.start("run", "--store", "x.db", "--", "sh", "-c", "echo $XYLEM_ADDRESS; read end",
                             stdin=subprocess.PIPE)
        address = process.stdout.readline().split(",")[0]
        self.assertTrue(address.startswith("unix:"), address)
        path = pathlib.Path(address.removeprefix("unix:"))
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        child = os.fork()
        if child == 0:
            # pylint: disable=protected-access  # The only way for a child of fork() to end.
            try:
                os.setresuid(NOBODY, NOBODY, NOBODY)
                with socket.socket(socket.AF_UNIX) as stranger:
                    stranger.connect(str(path))
            except PermissionError:
                os._exit(13)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 13)
        process.communicate("end\n", timeout=DEADLINE)
        self.assertEqual(process.returncode, 0)
        self.assert_nothing_left()

    def test_the_socket_goes_with_the_front_end_when_who_started_it_is_killed(self):
        process = self.start("run", "--store", "x.db", "--", "sh", "-c", "echo $XYLEM_ADDRESS; read end",
                             stdin=subprocess.PIPE)
        path = pathlib.Path(process.stdout.readline().split(",")[0].removeprefix("unix:"))
        self.assertTrue(path.exists())
        process.kill()
        wait_until(lambda: not path.parent.exists(), "the socket's folder is removed")
        self.assert_nothing_left()


class Notices(WholeSystemTest):
    def broken_installation(self):
        """A copy of the programs whose communication process cannot start."""
        prefix = self.folder / "prefix"
        for name in ("bin/xylem", "libexec/xylem/xylem-frontend", "libexec/xylem/xylem-backend",
                     "lib/xylem/libxylem-capture.so"):
            (prefix / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(BUILD / name, prefix / name)
        program = prefix / "libexec/xylem/xylem-commproc"
        program.write_text("#!/bin/sh\necho first >&2\necho no room on this host >&2\nexit 3\n")
        program.chmod(0o755)
        return str(prefix / "bin/xylem")

    def test_a_communication_process_that_cannot_start_says_why_at_the_front_end(self):
        done = subprocess.run(
            [self.broken_installation(), "run", "--store", "run.db", "--test-size", "4", "--topology", "kary:2", "--",
             *mpirun("openmpi", 4, "behave", "loop", 3)],
            env=environment(), capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        store = Store(self.folder / "run.db")
        why = "the communication process ended with code 3: no room on this host"
        notices = store.rows("SELECT * FROM notice WHERE role = 'back_end'")
        self.assertTrue(notices, done.stderr)
        for notice in notices:
            self.assertIn(why, notice["text"])
            self.assertRegex(notice["host"], "^test0[0-3]$")  # As --test-size names them.
            self.assertEqual(notice["level"], "warning")
            self.assertGreater(notice["pid"], 0)
            self.assertIn(f"from=\"back_end {notice['pid']} on {notice['host']}\"", done.stderr)
        report = subprocess.run([XYLEM, "report", str(self.folder / "run.db")], env=environment(),
                                capture_output=True, text=True, timeout=DEADLINE).stdout
        self.assertIn("from agents and communication processes", report)
        self.assertTrue(all(r["complete"] for r in store.account()), done.stderr)


if __name__ == "__main__":
    unittest.main()
