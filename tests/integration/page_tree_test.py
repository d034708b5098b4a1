#!/usr/bin/env python3
"""The page's tree, in a real browser: the same processes as in `xylem tree`, each below its parent."""

import json
import unittest

from browser import PageTest
from harness import mpirun
from large_stores import REASON, add_tree, large_run
from view_test import Server


class PageTree(PageTest):
    def test_its_processes_are_those_of_xylem_tree(self):
        store = self.run_job(mpirun("openmpi", 2, "numbered", "ring", 200))
        told = json.loads(self.xylem("tree", store.path, "--json").stdout)["processes"]
        server = Server(self, store.path)
        page = self.open(server, "tree")
        page.wait("document.querySelectorAll('.tree-table tbody tr').length > 0", "the tree is shown")
        rows = page.table(".tree-table")
        ids = page.value("[...document.querySelectorAll('.tree-table tbody tr')].flatMap((row) =>"
                         " row.dataset.nodes.split(' ').map(Number))")
        self.assertEqual(sorted(ids), sorted(node["id"] for node in told))
        by_id = {node["id"]: node for node in told}
        for row, number in zip(rows, ids):
            node = by_id[number]
            self.assertEqual(row["host"], node["host"])
            self.assertTrue(row["state"].startswith(node["state"]), (row, node))
            self.assertEqual(row["process"], node["role"].replace("_", " ").replace("comm ", "communication "))
            self.assertEqual(row["reason"], node["reason"] or "")
        # All ranks are below the front end.
        self.assertEqual(rows[0]["ranks"], "2")
        self.assertNotEqual(rows[0]["round_trip"], "–")

        page.click(f".tree-table tr[data-id='{ids[-1]}'] td >> nth=2")
        page.wait("document.querySelector('.tree-panel h2').innerText === 'back end'", "the back end is told of")
        self.assertIn(by_id[ids[-1]]["host"], page.text(".tree-panel"))
        server.stop(self)

    def test_large_trees_fit_the_screen_and_say_why_a_process_is_where_it_is(self):
        for hosts, fanout in ((64, 8), (1024, 32)):
            path = self.folder / f"tree{hosts}.db"
            store = large_run(path, 16 * hosts, 1)
            add_tree(path, hosts, fanout)
            server = Server(self, path)
            page = self.open(server, "tree")
            page.wait("document.querySelectorAll('.tree-table tbody tr').length > 0", f"{hosts} back ends are shown")
            inner = hosts // fanout
            self.assertIn(f"1 front end, {inner} communication processes, {hosts:,} back ends", page.text(".summary"))
            # Alike back ends of one parent are one row of their sums.
            rows = page.table(".tree-table")
            self.assertEqual(len(rows), 1 + 2 * inner)
            self.assertEqual(rows[0]["ranks"], f"{16 * hosts:,}")
            self.assertEqual(rows[2]["process"].split("\n")[-1], f"{fanout} back ends")
            self.assertIn(f"({fanout} hosts)", rows[2]["host"])
            self.assertEqual(rows[1]["reason"], REASON)
            sent = store.value("SELECT sum(r) FROM (SELECT packets_per_s AS r FROM link_rate JOIN node ON node.id = link_rate.node"
                               " WHERE parent = 1)")
            self.assertAlmostEqual(float(rows[2]["messages"].split()[0].replace(",", "")), sent, delta=0.5)
            # All of it is drawn: each level has colours of its own in its line.
            drawn = page.value("(() => { const one = document.querySelector('.tree-picture canvas'); const { width, height } = one;"
                               " const data = one.getContext('2d').getImageData(0, 0, width, height).data; const lines = [];"
                               " for (let y = 0; y < height; ++y) { let blue = 0; for (let x = 0; x < width; ++x) {"
                               " const at = 4 * (y * width + x); blue += data[at] < 80 && data[at + 2] > 150; } lines.push(blue); }"
                               " return lines; })()")
            bands = [at for at, blue in enumerate(drawn) if blue > 0 and (at == 0 or drawn[at - 1] == 0)]
            self.assertEqual(len(bands), 3, "three levels")
            self.assertGreater(max(drawn[bands[2]:]), hosts / 2)
            # One is opened: each of its back ends is told by itself.
            page.click(".tree-table tbody tr:nth-child(3) button")
            page.wait(f"document.querySelectorAll('.tree-table tbody tr').length === {len(rows) + fanout - 1}", "each is shown")
            page.click(".tree-table tbody tr:nth-child(2) td >> nth=2")
            page.wait(f"document.querySelector('.tree-panel').innerText.includes({REASON!r})", "the reason is told")
            server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
