#!/usr/bin/env python3
"""The web page, in a real browser on real jobs: what it shows equals what SQL gives, live and stored."""

import re
import struct
import time
import unittest

from browser import PageTest
from harness import Store, mpirun, wait_until
from view_test import Server

SCALES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def number(text):
    """What a number with its unit says, as a number: "~1.23 ms" -> 1230000.0"""
    found = re.fullmatch(r"~?(-?[\d,.]+) ?(\S*)", text.strip())
    if not found:
        raise AssertionError(f"not a number with a unit: {text!r}")
    return float(found[1].replace(",", "")) * SCALES.get(found[2], 1)


class Page(PageTest):
    def assert_shows(self, text, value, what=""):
        """Three digits are shown, or all of a count."""
        self.assertAlmostEqual(number(text), value, delta=max(0.006 * abs(value), 0.5 if value else 0), msg=what)

    def assert_overview(self, page, store):
        page.wait("document.querySelector('[data-value=captured]') !== null", "the account is shown")
        account = store.rows("SELECT sum(captured) AS captured, sum(stored) AS stored, sum(lost) AS lost FROM account")[0]
        for name, value in account.items():
            self.assertEqual(page.text(f"[data-value={name}]"), f"{value:,}")
        self.assertEqual(page.text("#run [data-value=ranks]"), str(store.value("SELECT count(*) FROM rank")))
        self.assertEqual(page.text("#run [data-value=hosts]"), str(store.value("SELECT count(*) FROM host")))
        shown = page.table("#functions")
        wanted = store.rows("SELECT function, sum(time_ns) AS time, sum(calls) AS calls, sum(bytes) AS bytes"
                            " FROM function_total GROUP BY 1 ORDER BY 2 DESC LIMIT 8")
        self.assertEqual([row["function"] for row in shown], [row["function"] for row in wanted])
        for row, value in zip(shown, wanted):
            self.assert_shows(row["time"], value["time"], row)
            self.assert_shows(row["calls"], value["calls"], row)
            self.assert_shows(row["bytes"], value["bytes"], row)
        waits = store.rows("SELECT rank, peer, time_ns FROM wait_matrix ORDER BY time_ns DESC LIMIT 1")
        if waits:
            first = page.table("#waits")[0]
            self.assertEqual([int(first["rank"]), int(first["peer"])], [waits[0]["rank"], waits[0]["peer"]])
            self.assert_shows(first["time"], waits[0]["time_ns"])

    def assert_functions(self, page, store, where=""):
        page.wait("document.querySelector('#view td[data-column=calls]') !== null", "functions are shown")
        shown = {row["function"]: row for row in page.table("#view")}
        wanted = store.rows("SELECT function, sum(time_ns) AS time, sum(calls) AS calls, sum(bytes) AS bytes,"
                            f" max(max_ns) AS longest FROM function_total {where} GROUP BY 1")
        self.assertEqual(set(shown), {row["function"] for row in wanted})
        for row in wanted:
            for name in ("time", "calls", "bytes", "longest"):
                self.assert_shows(shown[row["function"]][name], row[name], (row["function"], name))
        self.assert_shows(page.text("[data-value=mpi_time]"), sum(row["time"] for row in wanted))

    def test_a_stored_run_is_shown_as_sql_has_it(self):
        store = self.run_job(mpirun("mpich", 4, "numbered", "ring", 2000), "--detail", "trace")
        server = Server(self, store.path)
        page = self.open(server)
        self.assert_overview(page, store)

        page.click("nav a >> text=Functions")
        self.assert_functions(page, store)
        page.click("th:has-text('calls') button")
        calls = [number(row["calls"]) for row in page.table("#view")]
        self.assertEqual(calls, sorted(calls, reverse=True))
        page.go(server.url.split("?")[0] + "#/functions?rank=2")
        page.wait("document.querySelector('.summary').innerText.includes('of rank 2')", "one rank is shown")
        self.assert_functions(page, store, "WHERE rank = 2")
        page.press("Escape")
        page.wait("!document.querySelector('.summary').innerText.includes('of rank')", "all ranks are shown")
        self.assertEqual(page.value("location.hash"), "#/functions")
        server.stop(self)

    def test_what_stands_in_a_run_is_text(self):
        command = mpirun("mpich", 1, "numbered", "ring", 3)
        store = self.run_job(["sh", "-c", 'exec "$@"', "<img src=x onerror=document.title='gotcha'><b><b>", *command])
        server = Server(self, store.path)
        page = self.open(server)
        page.wait("document.querySelector('h1').innerText.includes('onerror')", "the command is shown")
        self.assertEqual(page.value("document.querySelectorAll('img, b b').length"), 0)
        self.assertNotEqual(page.value("document.title"), "gotcha")
        server.stop(self)

    def test_a_run_is_followed_as_it_runs(self):
        stop, own, path = self.folder / "stop", self.folder / "own", self.folder / "run.db"
        job = self.start("run", "--store", path, "--", *mpirun("mpich", 2, "numbered", "alone", stop, own, 5))
        wait_until(lambda: self.xylem("query", path, "SELECT run_id FROM run").returncode == 0, "the run has begun", 60)
        server = Server(self, path)
        page = self.open(server)
        page.wait("Number(document.querySelector('[data-value=captured]')?.innerText.replaceAll(',', '')) > 0",
                  "calls are shown", 120)
        self.assertIn("live", page.text(".state"))
        took = [self.until_shown(page, own) for _ in range(5)]
        print(f"a call is on the page after {', '.join(f'{s:.2f}' for s in took)} s")
        # What is promised is 2 s; a machine with other work on its two cores may be late.
        self.assertLess(min(took), 2.0, took)

        stop.touch()
        self.assertEqual(job.wait(120), 0, job.stderr.read())
        page.wait("document.querySelector('.state').innerText.startsWith('ended')", "the end is shown")
        wanted = f"{Store(path).value('SELECT sum(captured) FROM account'):,}"
        page.wait(f"document.querySelector('[data-value=captured]').innerText === '{wanted}'", "the last calls are shown")
        self.assert_overview(page, Store(path))

        server.stop(self)
        page.wait("document.querySelector('.state').innerText.startsWith('no server')", "the end of the server is told")
        self.assert_nothing_left()

    def until_shown(self, page, own):
        """How long it takes until the page has the calls that the ranks have made by now, in s."""
        def made():
            return sum(struct.unpack("QQQ", (own.parent / f"{own.name}.{rank}").read_bytes())[1] for rank in range(2))

        wanted, began = made(), time.monotonic()
        page.wait("Number(document.querySelector('[data-value=captured]').innerText.replaceAll(',', '')) >= "
                  f"{wanted}", "the page has caught up", 120)
        return time.monotonic() - began


if __name__ == "__main__":
    unittest.main(verbosity=2)
