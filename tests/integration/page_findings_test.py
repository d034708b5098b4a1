#!/usr/bin/env python3
"""The page's overview begins with findings and shows shares over time, in a real browser: both equal other answers."""

import json
import unittest

from browser import PageTest
from harness import mpirun
from view_test import Server


class PageFindings(PageTest):
    def test_findings_come_first_and_lead_to_their_rank(self):
        store = self.run_job(mpirun("mpich", 4, "known_times", "uneven", 20, 200, 100), "--detail", "trace")
        server = Server(self, store.path)
        page = self.open(server, "overview")
        page.wait("document.querySelectorAll('#findings li').length > 0", "there are findings")
        report = json.loads(self.xylem("report", store.path, "--json").stdout)
        wanted = [finding["text"][0].upper() + finding["text"][1:] for finding in report["findings"][:5]]
        self.assertEqual(page.texts("#findings li"), wanted)
        self.assertEqual(page.value("document.querySelector('.cards > *').id"), "findings")
        page.click("#findings li[data-kind=imbalance] a")
        page.wait("location.hash.includes('timeline') && location.hash.includes('rank=0')", "the timeline of rank 0 is shown")

    def test_a_finding_without_a_rank_leads_to_the_view_that_shows_more(self):
        store = self.run_job(mpirun("mpich", 4, "moving_imbalance"))
        server = Server(self, store.path)
        page = self.open(server, "overview")
        page.wait("document.querySelector('#findings li[data-kind=moving_imbalance] a') !== null", "the finding is a link")
        page.click("#findings li[data-kind=moving_imbalance] a")
        page.wait("document.querySelector('#view')?.dataset.view === 'ranks'", "the ranks over time are shown")

    def test_the_share_of_mpi_over_time_is_that_of_the_windows(self):
        store = self.run_job(mpirun("mpich", 2, "known_times", "uneven", 20, 200, 20))
        server = Server(self, store.path)
        page = self.open(server, "overview")
        page.wait("document.querySelector('#overtime:not([hidden]) canvas') !== null", "the map is drawn")
        grid = server.get("ranks", value="mpi", columns=160, rows=64)
        slots = [[ns for count, ns in row["watched"] for _ in range(count)] for row in grid["rows"]]
        newest = max(at for at in range(grid["columns"]) if any(row[at] for row in slots))
        time, watched = sum(row["cells"][newest] for row in grid["rows"]), sum(row[newest] for row in slots)
        begin = grid["scope"]["begin_ns"] + newest * grid["slot_ns"]
        self.assertEqual(time, store.value("SELECT coalesce(sum(time_ns), 0) FROM profile_window"
                                           f" WHERE begin_ns >= {begin} AND begin_ns < {begin + grid['slot_ns']}"))
        # The page has it from cells of six digits, so that a share between two tenths may be either.
        reading = "parseFloat(document.querySelector('#overtime [data-value=reading]')?.innerText)"
        page.wait(f"Math.abs({reading} - {100 * time / watched}) < 0.051", "the newest share stands above the chart", 30)
        # Rank 0 computes, rank 1 waits: the rows of the map differ.
        colours = page.value("""(() => {
          const canvas = document.querySelector('#overtime .overtime-map canvas');
          const at = (y) => [...canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height * y, 1, 1).data];
          return [at(0.25), at(0.75)]; })()""")
        self.assertNotEqual(*colours)

    def test_the_overview_fits_narrow_windows(self):
        store = self.run_job(mpirun("mpich", 2, "known_times", "uneven", 5, 200, 100))
        server = Server(self, store.path)
        page = self.open(server, "overview")
        for width in (1280, 1024, 390):
            page.call("page.setViewportSize", {"width": width, "height": 800})
            page.wait("document.querySelector('#overtime:not([hidden]) canvas') !== null", "the map is drawn")
            self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
            self.assertLessEqual(page.value("document.querySelector('main').scrollWidth"), width)


if __name__ == "__main__":
    unittest.main(verbosity=2)
