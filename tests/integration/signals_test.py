#!/usr/bin/env python3
"""Signals: each reaches the job exactly once, whatever sent it, as without xylem."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from harness import PROGRAMS, XYLEM, Store, WholeSystemTest, environment, wait_until

COUNT_SIGNALS = str(PROGRAMS / "count_signals")
DEADLINE = 40


class Screen:
    """What a program has written to a descriptor so far."""

    def __init__(self, fd):
        self.fd, self.text, self.at = fd, "", 0

    def expect(self, pattern, within=DEADLINE):
        """Waits until what follows the last match matches; returns the match."""
        deadline = time.monotonic() + within
        while True:
            match = re.compile(pattern).search(self.text, self.at)
            if match:
                self.at = match.end()
                return match
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"not within {within} s: {pattern!r} in {self.text[self.at:]!r}")
            try:
                more = os.read(self.fd, 4096)
            except OSError:  # The terminal's other side is closed.
                more = b""
            if not more:
                raise AssertionError(f"ended without {pattern!r}: {self.text[self.at:]!r}")
            self.text += more.decode(errors="replace").replace("\r", "")

    def count(self, signal_number):
        return len(re.findall(f"^signal {signal_number:02} ", self.text, re.M))


class WithoutTerminal(WholeSystemTest):
    """As under a batch system: no terminal, signals sent by kill()."""

    def start_job(self, *around, deaf=True):
        self.job = subprocess.Popen(
            [*around, XYLEM, "run", "--quiet", "--store", str(self.folder / "run.db"), "--", COUNT_SIGNALS,
             *(["deaf"] if deaf else [])],
            env=environment(), cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(self.folder / "said").open("w"), start_new_session=True)
        self.addCleanup(self.end_job)
        self.screen = Screen(self.job.stdout.fileno())
        self.screen.expect("ready\n")

    def end_job(self):
        try:
            os.killpg(self.job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.job.wait()
        self.job.stdin.close()
        self.job.stdout.close()

    def expect_once(self, number):
        """One has come, and none more: xylem looks at one signal after the other."""
        before = self.screen.count(number)
        self.screen.expect(f"signal {number:02} ")
        os.kill(self.job.pid, signal.SIGUSR2)
        self.screen.expect(f"signal {signal.SIGUSR2:02} ")
        self.assertEqual(self.screen.count(number), before + 1, self.screen.text)

    def test_sent_to_xylem_alone_it_is_handed_on(self):
        self.start_job()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGCONT):
            os.kill(self.job.pid, number)
            self.expect_once(number)

    def test_sent_to_the_group_it_is_not_handed_on(self):
        self.start_job()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGCONT):
            os.killpg(self.job.pid, number)
            self.expect_once(number)

    def test_one_way_after_the_other_is_two(self):
        self.start_job()
        for send in (os.killpg, os.kill, os.killpg, os.kill):
            send(self.job.pid, signal.SIGINT)
            self.expect_once(signal.SIGINT)
        self.assertEqual(self.screen.count(signal.SIGINT), 4)

    def test_without_the_witness_a_signal_is_rather_sent_twice_than_not_at_all(self):
        self.start_job()
        witness, = [pid for pid in children_of(self.job.pid) if comm(pid) == "xylem-witness"]
        os.kill(witness, signal.SIGKILL)
        os.kill(self.job.pid, signal.SIGINT)
        self.screen.expect("signal 02 number 001")

    def test_one_that_came_before_the_job_was_started_ends_the_run(self):
        def with_a_signal_waiting():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.kill(os.getpid(), signal.SIGTERM)

        done = subprocess.run([XYLEM, "run", "--store", "run.db", "--", "touch", "job-ran"], env=environment(),
                              cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE,
                              preexec_fn=with_a_signal_waiting)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM, done.stderr)
        self.assertFalse((self.folder / "job-ran").exists())
        self.assertEqual(list(self.folder.glob("run.db*")), [], "a run without a job leaves no store")
        self.assert_nothing_left()

    def test_under_timeout_the_job_ends_as_without_xylem(self):
        done = subprocess.run(["timeout", "-s", "INT", "2", XYLEM, "run", "--store", "run.db", "--", "sleep", "60"],
                              env=environment(), cwd=self.folder, capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left()

    def test_what_was_ignored_stays_ignored(self):
        self.start_job("nohup")
        os.kill(self.job.pid, signal.SIGHUP)
        os.kill(self.job.pid, signal.SIGTERM)
        self.expect_once(signal.SIGTERM)
        self.assertEqual(self.screen.count(signal.SIGHUP), 0, self.screen.text)

    def test_whoever_interrupts_twice_is_not_kept_waiting(self):
        self.start_job(deaf=False)
        children = {comm(pid): pid for pid in children_of(self.job.pid)}
        os.kill(children["xylem-frontend"], signal.SIGSTOP)  # It will never have stored everything.
        self.job.stdin.write(b"quit\n")
        self.job.stdin.flush()
        wait_until(lambda: children["count_signals"] not in children_of(self.job.pid), "the job's end is seen")
        os.kill(self.job.pid, signal.SIGINT)
        wait_until(lambda: "interrupt again to give it up" in (self.folder / "said").read_text(), "the first is answered")
        os.kill(self.job.pid, signal.SIGINT)
        self.assertEqual(self.job.wait(timeout=DEADLINE), 4)
        self.assertIn("before everything was stored", (self.folder / "said").read_text())
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left()

    def test_killed_for_good_nothing_stays(self):
        self.start_job()
        os.killpg(self.job.pid, signal.SIGKILL)
        self.job.wait(timeout=DEADLINE)
        self.assert_nothing_left()

    def test_the_exit_code_after_a_signal_is_the_jobs(self):
        self.start_job(deaf=False)
        os.kill(self.job.pid, signal.SIGINT)
        self.expect_once(signal.SIGINT)
        self.job.stdin.write(b"quit\n")
        self.job.stdin.flush()
        self.assertEqual(self.job.wait(timeout=DEADLINE), 4)
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left()


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class AtATerminal(WholeSystemTest):
    """At a real (pseudo) terminal, in a shell with job control."""

    def setUp(self):
        super().setUp()
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       environment(PS1="shell> ", TERM="dumb", HISTFILE="", LC_ALL="C"))
        self.shell = pid
        self.addCleanup(self.end_shell)
        self.screen = Screen(self.terminal)
        self.screen.expect("shell> ")
        self.type("stty -echo")
        self.screen.expect("shell> ")

    def end_shell(self):
        os.close(self.terminal)  # Its SIGHUP ends what runs there.
        wait_until(lambda: os.waitpid(self.shell, os.WNOHANG)[0], "the shell has ended", DEADLINE)

    def type(self, text, end="\n"):
        os.write(self.terminal, (text + end).encode())

    def start_job(self, after=""):
        self.type(f"{XYLEM} run --quiet --overwrite --store run.db -- {COUNT_SIGNALS}{after}")
        self.screen.expect("ready\n")

    def stop_job(self):
        self.type("\x1a", end="")
        self.screen.expect("Stopped")
        self.screen.expect("shell> ")
        self.until_the_shell_listens()

    def until_the_shell_listens(self):
        """What is typed right after a stop is now and then lost between terminal and shell, whatever was stopped
        (a mere `sleep` does as well)."""
        for number in range(DEADLINE):
            self.type(f"echo listens $(({number}))")
            try:
                self.screen.expect(f"listens {number}\n", within=2)
                return self.screen.expect("shell> ")
            except AssertionError:
                continue
        self.fail(f"the shell does not listen: {self.screen.text!r}")

    def read_back(self, text):
        """A line typed reaches the job; signals sent before have all been counted by then."""
        self.type(text)
        self.screen.expect(f"read {text}\n")

    def quit(self):
        self.type("quit")
        self.screen.expect("shell> ")
        self.type("echo code $?")
        self.screen.expect("code 4\n")
        self.screen.expect("shell> ")
        self.assert_nothing_left()

    def other_signal(self):
        """xylem has dealt with all signals before this one."""
        runs, = [pid for pid in children_of(self.shell) if comm(pid) == "xylem"]
        os.kill(runs, signal.SIGUSR2)
        self.screen.expect(f"signal {signal.SIGUSR2:02} ")

    def test_ctrl_c_reaches_the_job_once_and_lines_are_read(self):
        self.start_job()
        self.read_back("first")
        for number in (1, 2):
            self.type("\x03", end="")
            self.screen.expect("signal 02 ")
            self.other_signal()
            self.assertEqual(self.screen.count(signal.SIGINT), number, self.screen.text)
        self.read_back("second")
        self.quit()

    def test_ctrl_z_stops_and_fg_goes_on(self):
        self.start_job()
        self.stop_job()
        self.type("jobs -l")
        self.screen.expect("Stopped")
        self.screen.expect("shell> ")
        self.type("fg")
        self.screen.expect(f"signal {signal.SIGCONT:02} ")
        self.other_signal()
        self.assertEqual(self.screen.count(signal.SIGCONT), 1, self.screen.text)
        self.read_back("after fg")
        self.type("\x03", end="")
        self.screen.expect("signal 02 ")
        self.other_signal()
        self.assertEqual(self.screen.count(signal.SIGINT), 1, self.screen.text)
        self.quit()

    def test_in_the_background_it_stops_when_it_reads(self):
        self.start_job()
        self.stop_job()
        self.type("bg")
        # Job control stops whoever reads the terminal from the background, xylem or not.
        self.screen.expect("shell> ")
        self.type("")
        wait_until(lambda: any(state_of(child) == "T" for run in children_of(self.shell)
                               for child in children_of(run)), "the job is stopped", DEADLINE)
        self.until_the_shell_listens()
        self.type("fg")
        self.read_back("at the front again")
        self.quit()

    def test_a_pipeline_stays_one_job_of_the_shell(self):
        self.start_job(after=" | (trap '' INT; sed -u s/^/piped:/)")
        self.type("\x03", end="")
        self.screen.expect("piped:signal 02 number 001\n")
        self.type("text")
        self.screen.expect("piped:read text\n")
        self.assertEqual(self.screen.text.count("piped:signal 02"), 1)
        self.type("quit")
        self.screen.expect("shell> ")
        self.assert_nothing_left()


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main(verbosity=2)
