#!/usr/bin/env python3
"""xylem top in a real terminal: keys, resize, pause, stop and end; and its numbers are SQL's."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

from harness import DEADLINE, Store, WholeSystemTest, XYLEM, environment, mpirun, wait_until


class Screen:
    """What a terminal emulator shows, as far as xylem top and a shell use it."""

    def __init__(self, columns, rows):
        self.raw, self.pending = b"", ""
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, data):
        self.raw += data
        text = self.pending + data.decode(errors="replace")
        self.pending = ""
        while text:
            if text[0] != "\x1b":
                self.put(text[0])
                text = text[1:]
                continue
            found = re.match(r"\x1b\[([?\d;]*)([@-~])|\x1b[()].|\x1b[=>78]", text)
            if not found:
                if len(text) < 20:
                    self.pending = text
                    return
                raise AssertionError(f"no escape sequence: {text[:20]!r}")
            if found.group(2):
                self.obey(found.group(1), found.group(2))
            text = text[found.end():]

    def put(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row += 1
            if self.row == self.rows:
                self.cells = self.cells[1:] + [[" "] * self.columns]
                self.row -= 1
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter >= " ":
            self.cells[self.row][min(self.column, self.columns - 1)] = letter
            self.column += 1

    def obey(self, arguments, command):
        if command == "H":
            row, column = (arguments or "1;1").split(";")
            # As terminals do: after a resize a screen of the old size may still be on its way.
            self.row, self.column = min(int(row), self.rows) - 1, int(column) - 1
        elif command == "K":
            for i in range(self.column, self.columns):
                self.cells[self.row][i] = " "
        elif command == "h" and arguments == "?1049":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]

    def text(self):
        return "\n".join(self.lines())


class Shell:
    """A bash in a terminal of its own."""

    def __init__(self, test, **variables):
        self.master, slave = pty.openpty()
        self.screen = Screen(80, 24)
        self.set_size()
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=test.folder,
            env=environment(**{"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PS1": "$ ", "BASH_SILENCE": "1",
                               **variables}),
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(slave)
        test.addCleanup(self.close)
        self.wait_for(r"\$\Z", "a prompt")

    def close(self):
        os.close(self.master)  # Hangs up: whatever runs in it ends.
        self.process.wait(20)

    def set_size(self):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(columns, rows)
        self.set_size()

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.screen.feed(os.read(self.master, 65536))
        return self.screen.text()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def wait_for(self, pattern, what, seconds=DEADLINE):
        try:
            return wait_until(lambda: re.search(pattern, self.read().rstrip()), what, seconds)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; the screen is\n{self.screen.text()}") from None

    def run(self, command):
        """Types a command and returns what it printed."""
        mark = len(self.screen.raw)
        self.type(command + "\n")
        done = lambda: (self.read(), re.search(rb"\n(.*)\r\n\S*\$ $", self.screen.raw[mark:], re.S))[1]
        printed = wait_until(done, f"{command} is done", 60).group(1).decode()
        return printed.replace("\x1b[?2004l\r", "")  # What bash says to the terminal itself.

    def settings(self):
        return self.run("stty -g").strip().splitlines()[-1]

    def foreground(self):
        """The process id of what the shell runs."""
        group = struct.unpack("i", fcntl.ioctl(self.master, termios.TIOCGPGRP, b"\0" * 4))[0]
        return None if group == self.process.pid else group

    def bring_to_front(self):
        """Types fg, and waits for a whole screen of what was stopped; returns its process id. What was on the screen before does
        not count."""
        self.screen.resize(self.screen.columns, self.screen.rows)
        self.type("fg\n")
        self.wait_for(r"calls captured(.*\n)+q quit", "it goes on in front")
        return wait_until(self.foreground, "it is in front")


class Top(WholeSystemTest):
    def assert_panes_equal_sql(self, path, store):
        """Of an ended run, read as `--once` prints it: 200 cells have room for every column."""
        def pane(name, *options):
            done = self.xylem("top", path, "--once", "--pane", name, *options, env={"COLUMNS": "200"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("\x1b", done.stdout)
            return done.stdout
        text = pane("functions")
        account = store.rows("SELECT sum(captured) AS c, sum(stored) AS s, sum(lost) AS l FROM account")[0]
        self.assertIn(f"{account['c']:,} calls captured = {account['s']:,} stored + {account['l']:,} lost", text)
        for row in store.rows("SELECT function, sum(calls) AS calls FROM function_total GROUP BY 1"):
            self.assertRegex(text, rf"(?m)^{row['function']} .* {row['calls']:,} ")
        text = pane("ranks")
        for row in store.rows("SELECT f.rank, sum(f.calls) AS calls, sum(f.time_ns) AS time, (r.until_ns - r.since_ns) * r.threads"
                              " AS watched FROM function_total f JOIN rank r ON r.rank = f.rank GROUP BY 1"):
            shown = re.search(rf"(?m)^ +{row['rank']} .*? ~?([\d.]+) % .* {row['calls']:,} ", text)
            self.assertTrue(shown, text)
            self.assertAlmostEqual(float(shown.group(1)), 100 * row["time"] / row["watched"], delta=0.06)
        text = pane("waits")
        for row in store.rows("SELECT rank, peer, calls FROM wait_matrix ORDER BY time_ns DESC LIMIT 5"):
            self.assertRegex(text, rf"(?m)^ +0 +{row['rank']} +{row['peer']} .* {row['calls']:,}$")
        for row in store.rows("SELECT id, host FROM node"):
            self.assertRegex(pane("tree"), rf"(?m)^ +{row['id']} \w+ \w+ +{row['host']} ")

        whole = json.loads(self.xylem("top", path, "--json").stdout)
        self.assertEqual(whole["overview"]["account"]["captured"], account["c"])
        for value, column in (("mpi", "time_ns"), ("calls", "calls"), ("bytes", "bytes")):
            self.assertEqual([r["total"] for r in whole["ranks"][value]["rows"]], [r["n"] for r in store.rows(
                f"SELECT sum({column}) AS n FROM profile_window GROUP BY rank ORDER BY rank")])

    def test_a_stored_run_is_shown_as_sql_has_it(self):
        store = self.run_job(mpirun("openmpi", 4, "numbered", "ring", 300))
        self.assert_panes_equal_sql(store.path, store)

    def test_plain_output_where_a_terminal_only_prints(self):
        store = self.run_job(mpirun("mpich", 2, "numbered", "ring", 10))
        shell = Shell(self, TERM="dumb", LC_ALL="C")
        shown = shell.run(f"{XYLEM} top {store.path} --pane ranks")
        self.assertIn("calls captured", shown)
        self.assertNotIn("\x1b", shown)
        self.assertTrue(shown.isascii(), shown)
        missing = self.xylem("top", self.folder / "none.db")
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        self.assertIn("none.db", missing.stderr)

    def test_a_live_run_in_a_terminal_which_is_given_back(self):
        path, stop = self.folder / "run.db", self.folder / "stop"
        job = self.start("run", "--store", path, "--",
                         *mpirun("mpich", 2, "numbered", "alone", stop, self.folder / "own", 5))
        wait_until(path.exists, "the store is there")
        self.addCleanup(stop.touch)
        store = Store(path)
        wait_until(lambda: store.value("SELECT count(*) FROM account WHERE captured > 0") == 2, "calls are seen")
        run = store.value("SELECT run_id FROM run")
        shell = Shell(self)
        before = shell.settings()

        def captured():  # While a line is drawn again it may be no number.
            shown = wait_until(lambda: re.search(r"([\d,]+) calls captured", shell.read()), "the number of calls")
            return int(shown.group(1).replace(",", ""))

        shell.type(f"{XYLEM} top --live {run[:12]} --interval 0.2\n")
        shell.wait_for(r"running.*\n.*calls captured =(.*\n)* 1 overview", "the first screen")
        self.assertNotEqual(termios.tcgetattr(shell.master)[3] & termios.ICANON, termios.ICANON)
        first = captured()
        wait_until(lambda: captured() > first, "it goes on")

        shell.type("p")
        shell.wait_for(r"PAUSED", "it pauses")
        shell.type("2")
        shell.wait_for(r"\nFunctions, whole run, by time", "the functions, while it pauses")
        held = captured()  # Of a whole screen: what is above the functions is drawn before them.
        wait_until(lambda: store.value("SELECT sum(captured) FROM account") > held, "the run goes on")
        shell.type("s")
        shell.wait_for(r"by calls", "another order")
        self.assertEqual(captured(), held)
        shell.type("/wtime\r")
        shell.wait_for(r"filter: wtime", "a filter")
        shell.wait_for(r"nothing has 'wtime' in it|MPI_Wtime", "what it leaves")
        shell.type("\x1b")
        shell.wait_for(r"\nq quit", "the filter is ended")
        shell.type("p\x1b[Z")
        shell.wait_for(r" 1 overview(.*\n)+Ranks", "the pane before")
        wait_until(lambda: captured() > held, "it goes on after the pause")
        shell.type("l")
        shell.wait_for(r"Functions, last ", "the last seconds")
        shell.type("l?")
        shell.wait_for(r"scroll", "help")
        shell.type(" ")

        shell.resize(40, 12)
        shell.wait_for(r"\A .* running.*\n.* lost(.*\n){9,10}q quit", "the smaller screen")
        shell.resize(200, 60)
        shell.wait_for(r"Functions, whole run.* Ranks, whole run", "both beside each other")
        shell.resize(80, 24)
        shell.wait_for(r"calls captured(.*\n)+q quit", "the first size")

        shell.type("\x1a")  # ctrl-Z
        shell.wait_for(r"Stopped", "it is stopped")
        self.assertEqual(shell.settings(), before)
        pid = shell.bring_to_front()
        os.kill(pid, signal.SIGSTOP)  # Which nobody can read.
        shell.wait_for(r"Stopped", "it is stopped hard")
        self.assertEqual(shell.bring_to_front(), pid)

        stop.touch()
        self.assertEqual(job.wait(120), 0, job.stderr.read())
        shell.type("3")
        shell.wait_for(r"ended after", "the end of the run is seen")
        own = store.rows("SELECT rank, sum(calls) AS calls FROM function_total GROUP BY 1 ORDER BY 1")
        wait_until(lambda: all(re.search(rf"(?m)^ +{r['rank']} .* {r['calls']:,} ", shell.read()) for r in own),
                   "the ranks as SQL has them")
        self.assertEqual(captured(), store.value("SELECT sum(captured) FROM account"))

        shell.type("q")
        shell.wait_for(r"\$\Z", "a prompt")
        self.assertEqual(shell.run("echo code $?"), "code 0")
        self.assertEqual(shell.settings(), before)
        self.assertTrue(shell.screen.raw.count(b"\x1b[?1049l") >= 2)
        self.assert_panes_equal_sql(path, store)

        for end in ("\x03", signal.SIGTERM, signal.SIGHUP):
            shell.screen.resize(80, 24)
            mark = len(shell.screen.raw)
            shell.type(f"NO_COLOR=1 {XYLEM} top {path}\n")
            shell.wait_for(r"ended after(.*\n)+q quit", "a screen")
            if isinstance(end, str):
                shell.type(end)
            else:
                os.kill(shell.foreground(), end)
            wait_until(lambda: shell.foreground() is None, f"{end!r} ends it")
            self.assertEqual(shell.settings(), before)
            since = shell.screen.raw[mark:]
            self.assertEqual(since.count(b"\x1b[?1049h"), since.count(b"\x1b[?1049l"))
            self.assertNotRegex(since, rb"\x1b\[[0-9;]*3[0-9]m")
        self.assertEqual(store.value("PRAGMA journal_mode"), "delete", "it kept the run from ending as one file")
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
