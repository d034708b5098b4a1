"""What a live page costs the process that serves it, with 1024 ranks.

    live_page_bench.py [--build build/release] [--ranks 1024] [--history 300] [--seconds 30] [--view NAME]... [--strict]

A writer (`make_large_run` with live_seconds) keeps a run going: windows of 250 ms of all ranks, a commit
each 500 ms, after a history that is there when the page opens. `xylem view` serves it. For each view a client
asks what the page asks (viz/page/src/views/), at each commit that the WebSocket tells of and at the page's own pace
(viz/page/src/pace.ts), compressed as a browser has it, but without a browser's time for drawing: it asks rather
more often than a page. The figure is the processor time of `xylem view` for a round of questions, less what it takes with
nobody there, times the two rounds a second that a page asks at most: on a busy machine it waits longer between them, so
that the time over the clock, which is told beside, would only say how busy it is. Bar: 20 % of a core. Chromium's own
processor time is no part of it.
"""

import argparse
import base64
import contextlib
import gzip
import http.client
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

BAR = 0.20
LEAST_PAUSE, PAUSES, MAX_PAUSE = 0.5, 5, 30  # As pace.ts has them.
RANKS_QUESTION = "ranks?world=0&value=mpi&columns=400&digits=4"

# What a page of 1280 x 720 asks in a round, the whole run chosen.
VIEWS = {
    "overview": ["alerts?most=5", "overview"],
    "ranks": [RANKS_QUESTION],
    "functions": ["functions?world=0&series=60&distribution=1&most=1000"],
    "matrix": ["matrix?world=0&value=messages&blocks=256"],
    "timeline": ["ranks?world=0&columns=600&rows=1",
                 "timeline?world=0&first_rank=0&end_rank=1024&digits=3"],
    "hosts": ["hosts", "series?name=cpu.busy&columns=300&most=24&digits=4"],
    "tree": ["tree"],
    "alerts": ["alerts?most=1000"],
}


def cpu_of(pid):
    """Seconds, to the nanosecond, of all threads of a process."""
    spent = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9


class News(threading.Thread):
    """The WebSocket of a page: counts the commits it is told of."""

    def __init__(self, port, token):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /api/v1/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n"
                             f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                             f"Authorization: Bearer {token}\r\n\r\n").encode())
        self.commits = 0
        self.changed = threading.Condition()
        self.start()

    def run(self):
        while True:
            try:
                piece = self.socket.recv(65536)
            except OSError:
                return
            if not piece:
                return
            with self.changed:
                self.commits += piece.count(b'"event":"commit"')
                self.changed.notify_all()

    def wait_beyond(self, commits, deadline):
        with self.changed:
            self.changed.wait_for(lambda: self.commits > commits, max(0, deadline - time.monotonic()))
            return self.commits

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Page:
    """Asks as a page does; one connection a question of a round, as a browser has them."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.connections = []
        self.rounds = self.bytes = 0
        self.server_ms = []

    def ask(self, number, question):
        connection = self.connections[number]
        connection.request("GET", f"/api/v1/{question}",
                           headers={"Authorization": f"Bearer {self.token}", "Accept-Encoding": "gzip"})
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise AssertionError(f"{question}: {reply.status} {body[:300]}")
        if reply.headers.get("Content-Encoding") == "gzip":
            gzip.decompress(body)
        self.bytes += len(body)
        found = re.search(r"cpu;dur=([\d.]+)", reply.headers.get("Server-Timing", ""))
        if found:
            self.server_ms.append(float(found[1]))

    def round(self, questions):
        while len(self.connections) < len(questions):
            self.connections.append(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60))
        asking = [threading.Thread(target=self.ask, args=pair) for pair in enumerate(questions)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        self.rounds += 1

    def look(self, questions, news, seconds):
        """Follows the run for so long, as main.ts does."""
        end = time.monotonic() + seconds
        seen = news.commits
        while time.monotonic() < end:
            began = time.monotonic()
            self.round(questions)
            took = time.monotonic() - began
            due = began + min(MAX_PAUSE, max(LEAST_PAUSE, PAUSES * took))
            time.sleep(max(0, min(due, end) - time.monotonic()))
            seen = news.wait_beyond(seen, end)


def measure(options, folder):
    views = options.view or list(VIEWS)
    live = 20 + (len(views) + 1) * (options.seconds + 2)  # Some room for a busy machine.
    store, token_file = folder / "run.db", folder / "token"
    writer = subprocess.Popen(
        [options.build / "tests/make_large_run", store, str(options.ranks), str(options.history + live),
         f"live_seconds={live}"], stdout=subprocess.DEVNULL)
    viewer = None
    try:
        wait_until_live(writer, store, options.history)
        viewer = subprocess.Popen([options.build / "bin/xylem", "view", store, "--token-file", token_file],
                                  stdout=subprocess.PIPE, text=True)
        port = int(re.search(r":(\d+)/", viewer.stdout.readline())[1])
        token = token_file.read_text().strip()
        before = cpu_of(viewer.pid)
        time.sleep(options.seconds)
        idle = (cpu_of(viewer.pid) - before) / options.seconds
        print(f"# {options.ranks} ranks, {options.history} s of history, {options.seconds} s a view; "
              f"nobody there: {100 * idle:.2f} % of a core", flush=True)
        missed = [view for view in views if not look_at(view, options, viewer.pid, port, token, idle)]
        if writer.poll() is not None:
            raise AssertionError("the run ended before all views were looked at")
        return missed
    finally:
        for process in (viewer, writer):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def wait_until_live(writer, store, history):
    """Until the history is stored, which is written as quickly as it can be."""
    deadline = time.monotonic() + 1800
    while True:
        if writer.poll() is not None or time.monotonic() > deadline:
            raise AssertionError("the run did not begin")
        time.sleep(0.5)
        try:
            with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as run:
                if (run.execute("SELECT max(last_ns) FROM process").fetchone()[0] or 0) > history * 10**9:
                    return
        except sqlite3.OperationalError:
            pass  # It is not there yet.


def look_at(view, options, pid, port, token, idle):
    news, page = News(port, token), Page(port, token)
    before, began = cpu_of(pid), time.monotonic()
    page.look(VIEWS[view], news, options.seconds)
    lasted = time.monotonic() - began
    spent = cpu_of(pid) - before - idle * lasted
    rounds = max(page.rounds, 1)
    figure = spent / rounds / LEAST_PAUSE
    news.close()
    for connection in page.connections:
        connection.close()
    ms = sorted(page.server_ms)
    print(f"live_page_{view}: floor={100 * idle:.2f} % figure={100 * figure:.1f} % of a core bar={100 * BAR:.0f} % "
          f"{'PASS' if figure <= BAR else 'MISS'}", flush=True)
    print(f"# {page.rounds} rounds in {lasted:.0f} s, which took {100 * spent / lasted:.1f} % of a core, "
          f"{page.bytes / rounds / 1024:.1f} KiB each, an answer "
          f"{ms[len(ms) // 2]:.1f} ms of processor (p95 {ms[min(len(ms) - 1, len(ms) * 95 // 100)]:.1f}); {news.commits} commits; load average "
          + " ".join(f"{load:.1f}" for load in os.getloadavg()), flush=True)
    return figure <= BAR


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--history", type=int, default=300, help="seconds")
    parser.add_argument("--seconds", type=int, default=30, help="of each view")
    parser.add_argument("--view", action="append", choices=VIEWS)
    parser.add_argument("--strict", action="store_true", help="fail when a bar is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xylem-live-page-") as folder:
        missed = measure(options, pathlib.Path(folder))
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
