#!/usr/bin/env python3
"""The page's tree, in a real browser: the processes that `xylem tree` tells of, each below its parent."""

import json
import unittest

from browser import PageTest
from harness import mpirun
from view_test import Server


class PageTree(PageTest):
    def test_its_processes_are_those_of_xylem_tree(self):
        store = self.run_job(mpirun("mpich", 2, "numbered", "ring", 200))
        told = json.loads(self.xylem("tree", store.path, "--json").stdout)
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
