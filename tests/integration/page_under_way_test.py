#!/usr/bin/env python3
"""The page while a job hangs, in a real browser: which ranks are in which call, for how long, and that it is over when it is."""

import unittest

from browser import PageTest
from harness import wait_until
from page_test import number
from under_way_test import LATE_NS, RANKS, SECOND, Hang
from view_test import Server

CHOSEN = "document.querySelector('#chosen [data-value=%s]')?.innerText"


class PageUnderWay(PageTest):
    def assert_table_is_true(self, page, hang, least_s):
        """The table, once it says that each call has taken so long."""
        page.wait(f"document.querySelectorAll('#under_way tbody tr').length === {RANKS - 1}", "each call is listed")
        wait = ("[...document.querySelectorAll('#under_way td[data-column=duration]')].every((one) =>"
                f" one.innerText.endsWith(' s') && parseFloat(one.innerText) >= {least_s})")
        page.wait(wait, f"each call has taken {least_s} s")
        rows = {row["rank"]: row for row in page.table("#under_way")}
        now = hang.run_now()
        self.assertEqual(set(rows), {str(rank) for rank in range(1, RANKS)})
        for rank, began in hang.began.items():
            row = rows[str(rank)]
            self.assertEqual((row["function"], row["peer"]), ("MPI_Recv", "0"), row)
            self.assertAlmostEqual(number(row["since"]), began, delta=SECOND)
            # Three digits are shown.
            self.assertLessEqual(number(row["duration"]), (now - began) * 1.006, row)

    def test_calls_are_shown_while_they_last(self):
        hang = Hang(self, "openmpi", "trace").wait()
        server = Server(self, hang.store.path)
        page = self.open(server, "ranks")
        self.assert_table_is_true(page, hang, 3)
        self.assert_table_is_true(page, hang, 5)  # The page follows.
        page.value("void (location.hash = '#/overview')")
        self.assert_table_is_true(page, hang, 6)

        page.value("void (location.hash = '#/timeline')")
        page.wait("document.querySelector('.timeline-status')?.innerText.includes('torn end')", "calls are drawn as open")
        # Then rank 1 is in its call at seven tenths of the run's time so far.
        wait_until(lambda: hang.began[1] + LATE_NS < 0.6 * hang.run_now(), "most of the run was in the call")
        box = page.value("(() => { const { x, y, width, height } ="
                         " document.querySelector('.timeline-canvas canvas').getBoundingClientRect();"
                         " return { x, y, width, height }; })()")
        page.call("page.mouse.click", box["x"] + 64 + (box["width"] - 64) * 0.7,
                  box["y"] + 24 + (box["height"] - 24) * 1.5 / RANKS)
        page.wait(f"{CHOSEN % 'function'} === 'MPI_Recv'", "the call is chosen")
        self.assertEqual((page.text("#chosen [data-value=rank]"), page.text("#chosen [data-value=peer]")), ("1", "rank 0"))
        self.assertTrue(page.text("#chosen [data-value=duration]").endswith(" so far"))
        self.assertIn("MPI_Recv", page.text("#longest button"))

        out, errors = hang.end()
        self.assertEqual(hang.job.returncode, 0, errors + out)
        page.wait(f"{CHOSEN % 'duration'}?.endsWith(' so far') === false", "the chosen call has returned")
        page.wait("!document.querySelector('.timeline-status').innerText.includes('torn end')", "no call is open")
        row, = hang.store.rows("SELECT end_ns - begin_ns AS took FROM event WHERE rank = 1 AND function = 'MPI_Recv'")
        self.assertAlmostEqual(number(page.text("#chosen [data-value=duration]")), row["took"], delta=0.006 * row["took"])
        page.value("void (location.hash = '#/ranks')")
        page.wait("document.querySelector('#under_way')?.hidden", "no call is listed any more")
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
