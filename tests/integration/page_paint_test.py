#!/usr/bin/env python3
"""The bytes over the network for the first paint of each view of a large run. It also prints the server's time, which
is meaningful only for a release build on an idle machine."""

import os
import subprocess
import time
import unittest

from browser import PageTest
from harness import BUILD, wait_until
from view_test import Server

RANKS, SECONDS = 1024, 100  # 400 windows of each rank: as many as a map has columns.
MOST_BYTES = 300_000
SETTLED_S = 1.0

# One that was given up for a newer one has no status.
ANSWERS = ("performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/') && one.responseStatus !== 0)"
           ".map((one) => [one.name.split('/api/v1/')[1], one.serverTiming.find((part) => part.name === 'cpu')?.duration])")


class PagePaint(PageTest):
    def settle(self, page):
        """Bytes so far, once nothing has been on its way for a while."""
        quiet_since, last = time.monotonic(), None

        def is_quiet():
            nonlocal quiet_since, last
            now = page.call("transferred")
            if now["open"] != 0 or now != last:
                quiet_since, last = time.monotonic(), now
            return time.monotonic() - quiet_since > SETTLED_S

        wait_until(is_quiet, "all answers have come", 120)
        return last["bytes"]

    def test_each_view_of_a_thousand_ranks_fits_its_bytes_and_its_answers_tell_their_time(self):
        path = self.folder / "large.db"
        subprocess.run([BUILD / "tests/make_large_run", path, str(RANKS), str(SECONDS), "0"], check=True,
                       stdout=subprocess.DEVNULL)
        server = Server(self, path)
        found = {}
        for view in ("overview", "functions", "ranks", "matrix", "timeline", "hosts", "tree", "alerts", "query"):
            page = self.open(server, view)  # A browser of its own, that has kept nothing.
            settled = self.settle(page)
            answers = page.value(ANSWERS)
            found[view] = (settled, answers)
            cpu = sum(ms or 0 for _, ms in answers)
            print(f"{view}: {settled / 1000:.0f} kB, {cpu:.0f} ms of the server's processor in {len(answers)} answers; "
                  f"load average {os.getloadavg()[0]:.0f}", flush=True)
            page.close()
        for view, (settled, answers) in found.items():
            self.assertTrue(all(ms is not None for _, ms in answers), answers)
            self.assertLessEqual(settled, MOST_BYTES, (view, answers))
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
