#!/usr/bin/env python3
"""Features of the page's views besides numbers, in a real browser: order, imbalance, small charts, estimates, zoom.
Each is compared with SQL, for real jobs and for large runs."""

import math
import re
import sqlite3
import unittest

from browser import PageTest
from harness import mpirun, wait_until
from large_stores import large_run
from page_test import number
from view_test import Server

ABOVE, BELOW = 46, 22  # Margins of rank_map.ts.


class PageFeatures(PageTest):
    def box(self, page, selector="#view canvas"):
        return page.value(f"(() => {{ const b = document.querySelector('{selector}').getBoundingClientRect();"
                          " return [b.left, b.top, b.width, b.height]; })()")

    def told_at(self, page, x, y):
        """What is said of a point of the window."""
        def told():  # A picture that is drawn anew takes away what was told of the former one.
            page.call("page.mouse.move", x - 1, y)
            page.call("page.mouse.move", x, y)
            return page.value("document.querySelector('.hint:not([hidden])')?.innerText ?? ''")

        return wait_until(told, "what is there is told")

    def rank_of_row(self, page, row, rows):
        left, top, width, height = self.box(page)
        told = self.told_at(page, left + 0.5 * width, top + ABOVE + (row + 0.5) * (height - ABOVE - BELOW) / rows)
        found = re.match(r"rank (\d+) on (\S+)", told)
        self.assertIsNotNone(found, told)
        return int(found[1]), found[2]

    def test_ranks_are_ordered_by_host_and_by_value(self):
        path = self.folder / "large.db"
        store = large_run(path, 96, 20)
        with sqlite3.connect(path) as file:  # So that the order of hosts is not that of ranks.
            file.execute("UPDATE host SET name = 'host' || (20 - leaf)")
        server = Server(self, path)
        page = self.open(server, "ranks")
        page.wait("document.querySelector('#view .legend') !== null", "the map is drawn")
        self.assertEqual([self.rank_of_row(page, row, 96)[0] for row in (0, 40, 95)], [0, 40, 95])
        page.click(".choice button[data-id=host]")
        page.wait("location.hash.includes('order=host')", "hosts are chosen")
        wait_until(lambda: [self.rank_of_row(page, row, 96) for row in (0, 17, 95)] == [(80, "host15"), (65, "host16"), (15, "host20")],
                   "ranks are in the order of their hosts")
        page.click(".choice button[data-id=value]")
        page.wait("location.hash.includes('order=value')", "the value is chosen")
        wanted = [row["rank"] for row in store.rows("SELECT rank, sum(time_ns) AS n FROM function_total GROUP BY 1 ORDER BY n DESC, 1")]
        wait_until(lambda: [self.rank_of_row(page, row, 96)[0] for row in (0, 1, 50, 95)] == [wanted[row] for row in (0, 1, 50, 95)],
                   "ranks are in the order of their times")

        # The imbalance of the slot that is pointed at: the most of a rank over the mean.
        told = page.text(".hint:not([hidden])")
        found = re.search(r"time\s+([\d.]+) s – ([\d.]+) s.*imbalance\s+([\d.]+) %", told, re.S)
        self.assertIsNotNone(found, told)
        begin, end = (round(float(text) * 1e9) for text in found.group(1, 2))
        slack = (end - begin) // 10
        sums = [row["n"] for row in store.rows(f"SELECT sum(time_ns) AS n FROM profile_window WHERE begin_ns >= {begin - slack}"
                                               f" AND begin_ns < {end - slack} GROUP BY rank")]
        self.assertEqual(len(sums), 96)
        self.assertAlmostEqual(float(found[3]), 100 * (max(sums) / (sum(sums) / 96) - 1), delta=0.06)
        server.stop(self)

    def test_small_charts_of_functions_are_those_of_sql(self):
        store = self.run_job(mpirun("openmpi", 3, "numbered", "ring", 300), "--detail", "trace", "--sample", "none")
        server = Server(self, store.path)
        page = self.open(server, "functions")
        page.wait("document.querySelector('#view td[data-column=series] svg') !== null", "charts are drawn")
        asked = server.get("functions", series=60)
        labels = {row["function"]: row for row in page.value(
            "[...document.querySelectorAll('#by_function tbody tr')].map((row) => ({ function: row.cells[0].innerText.trim(),"
            " series: row.querySelector('[data-column=series] svg').ariaLabel,"
            " distribution: row.querySelector('[data-column=distribution] svg').ariaLabel,"
            " bars: [...row.querySelectorAll('[data-column=distribution] rect title')].map((one) => one.textContent) }))")}
        for function in [row["function"] for row in store.rows(
                "SELECT function FROM function_total GROUP BY 1 ORDER BY sum(calls) DESC LIMIT 3")]:
            sums = {row["slot"]: row["n"] for row in store.rows(
                f"SELECT (begin_ns - {asked['scope']['begin_ns']}) / {asked['slot_ns']} AS slot, sum(time_ns) AS n"
                f" FROM profile_window WHERE function = '{function}' GROUP BY 1")}
            found = re.search(r"most from [\d.]+ s on, (\S+ \S+) in (\S+ \S+) of all ranks", labels[function]["series"])
            self.assertAlmostEqual(number(found[1]), max(sums.values()), delta=0.006 * max(sums.values()))
            self.assertAlmostEqual(number(found[2]), asked["slot_ns"], delta=0.006 * asked["slot_ns"])

            # Windows and single events are converted from ticks at different moments: some ns may lie between them.
            durations = [row["ns"] for row in store.rows(
                f"SELECT end_ns - begin_ns AS ns FROM event WHERE kind = 'mpi' AND function = '{function}' ORDER BY 1")]
            powers = []
            for text in labels[function]["bars"]:
                least, calls = re.match(r"(\S+ \S+) to .*: ([\d,]+) calls", text).groups()
                powers += int(calls.replace(",", "")) * [round(math.log2(max(1, number(least))))]
            self.assertEqual(len(powers), len(durations), function)
            for power, ns in zip(sorted(powers), durations):
                self.assertLess(ns, (2 << power) + 2 + ns // 10_000, function)
                self.assertGreater(max(1, ns), (1 << power) - 3 - ns // 10_000, function)
            power = sorted(powers)[(len(powers) + 1) // 2 - 1]
            told = number(re.search(r"half of the calls took less than (\S+ \S+),", labels[function]["distribution"])[1])
            self.assertAlmostEqual(told, 2 << power, delta=0.006 * (2 << power))
        server.stop(self)

    def test_estimates_are_marked_and_what_was_timed_is_not(self):
        store = self.run_job(mpirun("mpich", 2, "behave", "poll", 2))
        wanted = {row["function"]: bool(row["estimated"]) for row in store.rows(
            "SELECT function, max(estimated) AS estimated FROM function_total GROUP BY 1")}
        self.assertEqual(set(wanted.values()), {True, False}, wanted)
        server = Server(self, store.path)
        page = self.open(server, "functions")
        page.wait("document.querySelector('#view td[data-column=calls]') !== null", "functions are shown")
        shown = {row["function"]: row for row in page.table("#view")}
        for function, estimated in wanted.items():
            self.assertEqual(shown[function]["time"].startswith("~"), estimated, shown[function])
            self.assertFalse(shown[function]["calls"].startswith("~"), "calls are exact")
        self.assertTrue(page.text("[data-value=mpi_time]").startswith("~"))
        page.press("1")
        page.wait("document.querySelector('#functions td[data-column=time]') !== null", "the overview")
        for row in page.table("#functions"):
            self.assertEqual(row["time"].startswith("~"), wanted[row["function"]], row)
        server.stop(self)

    def test_a_matrix_of_4096_ranks_leads_down_to_one_pair(self):
        store = large_run(self.folder / "large.db", 4096, 2)
        pair = store.rows("SELECT source, destination, bytes, messages FROM comm_matrix WHERE messages > 0"
                          " ORDER BY source, destination LIMIT 1 OFFSET 9000")[0]
        rank, other = pair["source"], pair["destination"]
        server = Server(self, self.folder / "large.db")
        page = self.open(server, "matrix")
        page.wait("document.querySelectorAll('.beside tbody tr').length > 0", "the matrix is drawn")
        self.assertTrue(page.value("document.querySelector('#view canvas').ariaLabel.includes('4096 ranks')"))
        self.assertIn("ranks ", page.texts(".beside td")[0], "a cell is a block of ranks")
        # Each click leads into a block, until a cell is a pair.
        rows, columns, steps = (0, 4096), (0, 4096), 0
        while True:
            cut = re.search(r"cut=(\d+)-(\d+)%2C(\d+)-(\d+)", page.value("location.hash"))
            if cut:
                rows, columns = (int(cut[1]), int(cut[2])), (int(cut[3]), int(cut[4]))
            x, y = self.place_of(page, rank, other, rows, columns)
            told = self.told_at(page, x, y)
            if re.search(rf"rank {rank}\n", told):
                break
            before = page.value("location.hash")
            page.call("page.mouse.click", x, y)
            page.wait(f"location.hash !== {before!r}", "a click leads into the block")
            page.wait("document.querySelector('.hint').hidden", "the part is drawn")
            steps += 1
            self.assertLess(steps, 4)
        self.assertGreater(steps, 0)
        self.assertIn(f"rank {other}", told)
        self.assertEqual(re.search(r"messages\s+([\d,]+)", told)[1].replace(",", ""), str(pair["messages"]))
        self.assertAlmostEqual(number(re.search(r"payload\s+(\S+ \S+)", told)[1]), pair["bytes"], delta=0.006 * pair["bytes"])

        # By messages the legend and the order are those of messages.
        most = store.value(f"SELECT max(messages) FROM comm_matrix WHERE source >= {rows[0]} AND source < {rows[1]}"
                           f" AND destination >= {columns[0]} AND destination < {columns[1]}")
        page.click(".choice button[data-id=messages]")
        page.wait(f"document.querySelector('.legend').innerText.includes('{most:,} messages')", f"the most are {most} messages")
        page.press("a")
        page.wait("!location.hash.includes('cut=')", "all ranks are shown again")
        server.stop(self)

    def place_of(self, page, row, column, rows, columns):
        """Where a pair is on the window; the margins are those of square.ts."""
        left, top, width, height = self.box(page)
        size = min(width - 52, height - 34) - 8
        blocks = max(16, min(512, int(size)))
        block = 1
        while -(-max(rows[1] - rows[0], columns[1] - columns[0]) // block) > blocks:
            block *= 2
        cell = size / max(-(-(rows[1] - rows[0]) // block), -(-(columns[1] - columns[0]) // block))
        return (left + 52 + ((column - columns[0]) // block + 0.5) * cell, top + 34 + ((row - rows[0]) // block + 0.5) * cell)

    def test_the_overview_obeys_a_selected_time(self):
        path = self.folder / "large.db"
        store = large_run(path, 12, 20)
        server = Server(self, path)
        begin, end = 5 * 10**9, 8 * 10**9
        page = self.open(server, f"overview?begin={begin}&end={end}")
        page.wait("document.querySelector('[data-value=chosen_time]') !== null", "shares of the time are shown")
        row = server.get("ranks", begin_ns=begin, end_ns=end, columns=1)
        in_mpi = store.value(f"SELECT sum(time_ns) FROM profile_window WHERE begin_ns >= {begin} AND begin_ns < {end}")
        watched = sum(one["watched_ns"] for one in row["rows"])
        self.assertEqual(sum(one["total"] for one in row["rows"]), in_mpi)
        said = float(page.text("[data-value=share0]").strip("~ %"))
        self.assertAlmostEqual(said, 100 * in_mpi / watched, delta=0.06)
        self.assertIn("From 5.00 s to 8.00 s", page.text("[data-value=chosen_time]"))
        page.wait("document.querySelectorAll('#functions tbody tr').length > 0", "functions of the time are shown")
        shown = {row["function"]: row["calls"] for row in page.table("#functions")}
        wanted = {row["function"]: f"{row['n']:,}" for row in store.rows(
            f"SELECT function, sum(calls) AS n, sum(time_ns) AS t FROM profile_window WHERE begin_ns >= {begin} AND begin_ns < {end}"
            " GROUP BY 1 ORDER BY t DESC LIMIT 8")}
        self.assertEqual(shown, wanted)
        page.press("Escape")
        page.wait("document.querySelector('[data-value=chosen_time]') === null", "the whole run is shown again")
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
