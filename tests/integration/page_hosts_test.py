#!/usr/bin/env python3
"""The page's hosts, in a real browser: series of the auxiliary services as SQL has them."""

import unittest

from browser import PageTest
from harness import mpirun
from page_test import number
from view_test import Server

SERVICES = '[service.host]\ninterval = "200ms"\n\n[service.process]\ninterval = "200ms"\n'


class PageHosts(PageTest):
    def test_a_series_has_the_newest_value_that_sql_has(self):
        config = self.folder / "services.toml"
        config.write_text(SERVICES)
        store = self.run_job(mpirun("openmpi", 2, "numbered", "ring", 2000), "--config", config)
        server = Server(self, store.path)
        page = self.open(server, "hosts?series=load.1m")
        reading = "document.querySelector('[data-series=\"load.1m\"] [data-value=reading]')"
        page.wait(f"{reading}?.innerText.includes(' at ')", "the load is drawn")
        self.assertIn("1 host, 2 ranks", page.text(".summary"))
        # What is read is the mean of the last slot that has samples.
        series = server.get("series", name="load.1m", columns=300)
        last = series["lines"][0]["points"][-1]
        begin = series["scope"]["begin_ns"] + last["slot"] * series["slot_ns"]
        mean = store.value("SELECT avg(value) FROM host_metric WHERE name = 'load.1m' AND at_ns >= %d AND at_ns < %d"
                           % (begin, begin + series["slot_ns"]))
        self.assertAlmostEqual(number(page.value(f"{reading}.innerText").split(" ")[0]), mean, delta=0.006)

        # Another series is found by its name and ticked; the address says so.
        page.call("page.fill", "input[type=search]", "memory memtotal")
        page.click("input[data-series='memory.MemTotal']")
        page.wait("document.querySelector('[data-series=\"memory.MemTotal\"] [data-value=reading]')?.innerText"
                  ".includes(' at ')", "the memory is drawn")
        self.assertIn("memory.MemTotal", page.value("decodeURIComponent(location.hash)"))
        total = store.value("SELECT max(value) FROM host_metric WHERE name = 'memory.MemTotal'") * 1024
        shown = page.text("[data-series='memory.MemTotal'] [data-value=reading]").partition(" at ")[0].partition(" (")[0]
        self.assertAlmostEqual(number(shown), total, delta=0.006 * total)
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
