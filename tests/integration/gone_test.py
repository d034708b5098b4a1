#!/usr/bin/env python3
"""Silent hosts: they are taken back when they are heard of again, and closed when the run ends
without them. Needs root."""

import unittest

from emulated_cluster import EmulatedClusterTest
from harness import DEADLINE, wait_until
from served_jobs import ServedJobs

GONE = "node03"


class Gone(EmulatedClusterTest):
    HOSTS = 4
    NETWORK = "10.83"

    def state(self):
        return self.jobs.live.value(f"SELECT state FROM node WHERE role = 'back_end' AND host = '{GONE}'")

    def start_and_lose(self, *how):
        self.jobs = ServedJobs(self, "--topology", "kary:2")
        self.jobs.start_everywhere()
        self.cluster(*how, GONE)
        wait_until(lambda: self.state() == "lost", "it counts as lost")
        self.assertEqual(self.jobs.store.rows("SELECT host, reason FROM loss WHERE part = 'host'"),
                         [{"host": GONE, "reason": f"host {GONE} was silent"}])
        self.alert = wait_until(self.alerts, "it is told of in an alert", 5)[0]
        self.assertIn(f"host {GONE} is lost with 2 ranks (0, 1)", self.alert["text"])
        self.assertIsNone(self.alert["until_ns"])

    def alerts(self):
        return self.jobs.store.rows("SELECT * FROM alert WHERE kind = 'loss'")

    def test_a_frozen_host_that_counted_as_lost_loses_nothing_when_it_goes_on(self):
        self.start_and_lose("freeze")
        self.cluster("thaw", GONE)
        wait_until(lambda: self.state() == "attached", "it was heard of again")
        wait_until(lambda: self.alerts()[0]["until_ns"] is not None, "the alert is closed", 5)
        self.jobs.wait_until_heard(DEADLINE)
        self.jobs.stop()
        self.assertEqual(self.jobs.judge()[1:], (0, 0), "messages lost, and stored twice")
        self.assertEqual(self.jobs.store.rows("SELECT * FROM loss"), [])
        self.assert_nothing_on_any_host()

    def test_a_host_without_power_is_closed_with_what_it_had_reported(self):
        self.start_and_lose("crash")
        for job in self.jobs.all:
            job.crashed |= job.host == GONE
        self.jobs.stop()
        self.assertEqual(self.jobs.judge()[1:], (0, 0), "messages lost, and stored twice")
        line, = self.jobs.store.rows(
            "SELECT sum(captured) AS captured, sum(stored) AS stored, sum(lost) AS lost FROM account "
            f"JOIN rank USING(world, rank) WHERE host = '{GONE}'")
        self.assertGreater(line["stored"], 0)
        self.assertEqual([alert["id"] for alert in self.alerts()], [self.alert["id"]])
        told = self.jobs.store.rows("SELECT part, host, calls FROM loss WHERE part = 'window'")
        self.assertEqual(told, [{"part": "window", "host": GONE, "calls": line["lost"]}] if line["lost"] else [])
        self.cluster("boot", GONE)
        self.assert_nothing_on_any_host()


if __name__ == "__main__":
    unittest.main(verbosity=2)
