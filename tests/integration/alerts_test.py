#!/usr/bin/env python3
"""Alerts of a real job: the rank that all others wait for is told of, while the job runs and afterwards."""

import json
import unittest

from harness import WholeSystemTest, mpirun


class AlertsTest(WholeSystemTest):
    def test_the_rank_that_the_others_wait_for_is_told_of_by_name(self):
        (self.folder / "alerts.toml").write_text('[alerts]\nspan = "2s"\nimbalance = 0.2\nlate = 0.2\n')
        store = self.run_job(mpirun("mpich", 4, "slow_rank", 8), "--config", self.folder / "alerts.toml")
        rows = store.rows("SELECT * FROM alert WHERE kind = 'imbalance'")
        self.assertTrue(rows, store.rows("SELECT * FROM alert"))
        for row in rows:
            self.assertEqual(row["rank"], 0, row)
            self.assertGreaterEqual(row["value"], 0.2, row)
            self.assertGreaterEqual(row["until_ns"], row["at_ns"], row)
        report = self.xylem("report", store.path)
        self.assertIn(rows[0]["text"], report.stdout)
        self.assertEqual(json.loads(self.xylem("report", store.path, "--json").stdout)["alerts"][0]["text"],
                         store.value("SELECT text FROM alert ORDER BY until_ns IS NOT NULL, at_ns, id"))

    def test_a_rule_that_is_off_tells_nothing_and_a_wrong_one_is_refused(self):
        config = self.folder / "alerts.toml"
        config.write_text('[alerts]\nimbalance = "much"\n')
        refused = self.xylem("run", "--config", config, "--print-config")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("alerts.toml:2: alerts: 'much' is no share of time", refused.stderr)
        config.write_text('[alerts]\nimbalance = "off"\nlate = "off"\nspan = "2s"\n')
        store = self.run_job(mpirun("mpich", 4, "slow_rank", 5), "--config", config)
        self.assertEqual(store.rows("SELECT * FROM alert"), [])


if __name__ == "__main__":
    unittest.main()
