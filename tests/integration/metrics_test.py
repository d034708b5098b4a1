#!/usr/bin/env python3
"""/metrics of xylem view: read by a real Prometheus, its values are SQL's."""

import json
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import DEADLINE, WholeSystemTest, mpirun, wait_until
from view_test import Server


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Prometheus:
    """Debian's, with a folder and a port of its own; scrapes one server each second."""

    def __init__(self, test, server, token_file):
        self.port = free_port()
        configuration = test.folder / "prometheus.yml"
        configuration.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            "- job_name: xylem\n"
            f"  authorization: {{credentials_file: {token_file}}}\n"
            f"  static_configs: [{{targets: ['{server.host}:{server.port}']}}]\n")
        self.log = open(test.folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={test.folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)
        test.addCleanup(self.stop)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        self.log.close()

    def ask(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=20) as reply:
                return json.load(reply)["data"]
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None  # Not up yet.

    def values(self, expression):
        """Of an instant query: (labels without those of the scrape) -> value as text."""
        found = self.ask("query?" + urllib.parse.urlencode({"query": expression}))
        if not found:
            return {}
        drop = ("__name__", "instance", "job")
        return {tuple(sorted((k, v) for k, v in r["metric"].items() if k not in drop)): r["value"][1]
                for r in found["result"]}


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"), "prometheus is not installed")
class Metrics(WholeSystemTest):
    def test_a_real_prometheus_has_the_numbers_of_sql(self):
        store = self.run_job(mpirun("openmpi", 4, "numbered", "ring", 300), "--detail", "trace")
        token_file = self.folder / "token"
        server = Server(self, store.path, "--token-file", token_file)
        prometheus = Prometheus(self, server, token_file)

        def is_scraped():
            targets = (prometheus.ask("targets") or {}).get("activeTargets", [])
            if targets and targets[0]["lastError"] and "deadline" not in targets[0]["lastError"]:
                raise AssertionError(targets[0]["lastError"])
            return targets and targets[0]["health"] == "up"
        wait_until(is_scraped, "Prometheus has read it")

        def assert_equal(metric, sql, label="world", scale=1):
            shown = {labels: float(value) for labels, value in prometheus.values(metric).items()}
            expected = {((label, str(r["k"])),): r["v"] / scale for r in store.rows(sql)}
            self.assertEqual(shown.keys(), expected.keys(), metric)
            for labels, value in expected.items():
                self.assertAlmostEqual(shown[labels], value, delta=1e-9 * abs(value), msg=metric)
        for metric, column in (("calls_captured_total", "captured"), ("calls_stored_total", "stored"),
                               ("calls_lost_total", "lost"), ("ranks_complete", "complete")):
            assert_equal(f"xylem_{metric}", f"SELECT world AS k, sum({column}) AS v FROM account GROUP BY 1")
        for metric, column, scale in (("mpi_time_seconds_total", "time_ns", 1e9), ("payload_bytes_total", "bytes", 1)):
            assert_equal(f"xylem_{metric}", f"SELECT world AS k, sum({column}) AS v FROM function_total GROUP BY 1",
                         scale=scale)
        for metric, column, scale in (("calls_total", "calls", 1), ("time_seconds_total", "time_ns", 1e9),
                                      ("payload_bytes_total", "bytes", 1)):
            assert_equal(f"xylem_function_{metric}",
                         f"SELECT function AS k, sum({column}) AS v FROM function_total GROUP BY 1"
                         " ORDER BY sum(time_ns) DESC LIMIT 15", "function", scale)
        self.assertEqual(prometheus.values("xylem_run_running"), {(): "0"})
        self.assertEqual(int(prometheus.values("xylem_events_stored_total")[()]),
                         store.value("SELECT sum(stored_events) FROM account_event"))
        self.assertEqual(sum(int(v) for v in prometheus.values("xylem_overlay_processes").values()),
                         store.value("SELECT count(*) FROM node"))
        self.assertEqual(int(prometheus.values("xylem_alerts_total")[()]), store.value("SELECT count(*) FROM alert"))
        self.assertLess(float(prometheus.values("count({__name__=~'xylem_.*'})")[()]), 150)
        meant = (prometheus.ask("metadata?metric=xylem_mpi_time_seconds") or {}).get("xylem_mpi_time_seconds")
        self.assertEqual([(m["type"], m["unit"]) for m in meant], [("counter", "seconds")])
        prometheus.stop()

        status, headers, body = server.ask("/metrics")
        self.assertEqual((status, headers["Content-Type"]),
                         (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"))
        self.assertTrue(body.endswith(b"\n# EOF\n"))
        status, headers, body = server.ask("/metrics", Accept="text/plain;version=0.0.4")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, timeout=DEADLINE)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))
        self.assertEqual(server.ask("/metrics", token="0" * 64)[0], 401)
        server.stop(self)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
