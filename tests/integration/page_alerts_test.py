#!/usr/bin/env python3
"""The page's alerts, in a real browser on a real job with a slow rank: they equal SQL, and a click leads to the place."""

import unittest

from browser import PageTest
from harness import mpirun
from view_test import Server


class PageAlerts(PageTest):
    def test_an_alert_is_that_of_sql_and_leads_to_its_place_on_the_timeline(self):
        config = self.folder / "alerts.toml"
        config.write_text('[alerts]\nspan = "2s"\n')
        store = self.run_job(mpirun("openmpi", 4, "slow_rank", 5), "--config", config)
        wanted = store.rows("SELECT at_ns, kind, rank, text FROM alert ORDER BY at_ns")
        self.assertTrue(wanted, "a rank that computes longer than the others is told of")
        server = Server(self, store.path)
        page = self.open(server, "alerts")
        page.wait("document.querySelectorAll('#view tbody tr').length > 0", "alerts are listed")
        shown = page.table("#view")
        self.assertEqual(sorted((row["kind"], row["text"]) for row in shown),
                         sorted((row["kind"], row["text"]) for row in wanted))
        self.assertEqual(page.text("[data-value=alerts]").split(" ")[0], str(len(wanted)))
        page.click("#view tbody tr a")
        page.wait("location.hash.startsWith('#/timeline?')", "it leads to the timeline")
        rank = shown[0]["rank"]
        if rank != "–":
            self.assertIn(f"rank={rank}", page.value("location.hash"))
        begin = int(page.value("/begin=(-?\\d+)/.exec(location.hash)[1]"))
        end = int(page.value("/end=(\\d+)/.exec(location.hash)[1]"))
        at = next(row["at_ns"] for row in wanted if row["text"] == shown[0]["text"])
        self.assertTrue(begin <= at < end, (begin, at, end))
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
