#!/usr/bin/env python3
"""xylem report --html: one page that needs nothing else; its numbers are SQL's."""

import html.parser
import os
import re
import unittest

from harness import WholeSystemTest, mpirun


class Page(html.parser.HTMLParser):
    """Tables by id: rows of cells; of a cell with a `data` element its exact value."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self.addresses, self.values = {}, set(), [], {}
        self.row = self.place = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.add(tag)
        self.addresses += [v for k, v in attributes.items() if k in ("src", "href", "srcset", "action", "data")]
        if tag == "table":
            self.place = self.tables.setdefault(attributes["id"], [])
        elif tag == "p" and "id" in attributes:
            self.paragraph = self.values.setdefault(attributes["id"], [])
        elif tag == "tr" and self.place is not None:
            self.row = []
        elif tag == "td":
            self.row.append("")
        elif tag == "data" and self.row:
            self.row[-1] = int(attributes["value"])
        elif tag == "data":
            self.paragraph.append(int(attributes["value"]))

    def handle_data(self, data):
        if self.row and isinstance(self.row[-1], str):
            self.row[-1] += data

    def handle_endtag(self, tag):
        if tag == "tr":
            self.place += [self.row] if self.row else []
            self.row = None


class ReportPage(WholeSystemTest):
    def test_its_numbers_are_those_of_sql(self):
        store = self.run_job(mpirun("openmpi", 4, "numbered", "ring", 300), "--detail", "trace")
        path = self.folder / "run.html"
        done = self.xylem("report", store.path, "--html", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        page = Page(path.read_text())
        self.assertEqual(page.values["account"], list(store.rows(
            "SELECT sum(captured), sum(stored), sum(lost), sum(complete), count(*) FROM account")[0].values()))
        self.assertEqual(sorted([r[0], r[1], r[2], r[5], r[6]] for r in page.tables["functions"]),
                         [list(r.values()) for r in store.rows(
                             "SELECT function, sum(calls), sum(time_ns), (SELECT max(max_ns) FROM profile_window w WHERE"
                             " w.function = t.function) AS m, sum(bytes) FROM function_total t GROUP BY 1 ORDER BY 1")])
        sites = store.rows("SELECT c.file, c.line, c.function AS caller, t.function, sum(t.calls) AS calls, sum(t.time_ns) AS ns,"
                           " max(t.max_ns) AS longest, sum(t.bytes) AS bytes FROM callsite_total t JOIN callsite c"
                           " ON c.id = t.callsite GROUP BY 1, 2, 4 ORDER BY ns DESC")
        self.assertIn(len(sites), range(6, 16))
        self.assertEqual([r[4] for r in page.tables["call_sites"]], [s["ns"] for s in sites])
        self.assertEqual(sorted(r[:5] + r[7:] for r in page.tables["call_sites"]),
                         sorted([f"{os.path.basename(s['file'])}:{s['line']}", s["caller"], s["function"], s["calls"], s["ns"],
                                 s["longest"], s["bytes"]] for s in sites))
        self.assertEqual([[int(r[0]), r[1], r[2]] for r in page.tables["ranks"]], [list(r.values()) for r in store.rows(
            "SELECT t.rank, r.host, sum(t.time_ns) AS n FROM function_total t JOIN rank r ON r.rank = t.rank"
            " GROUP BY 1 ORDER BY 1")])
        self.assertEqual(page.values["matrix"], list(store.rows(
            "SELECT sum(messages), sum(bytes) FROM comm_matrix")[0].values()))
        self.assertEqual([r[1:2] + [int(r[2])] + r[3:5] for r in page.tables["wait_states"]], [list(r.values()) for r in
            store.rows("SELECT rank, cause_rank, time_ns, calls FROM wait_state"
                       " ORDER BY time_ns DESC, world, rank, cause_rank, root_rank, kind LIMIT 20")])
        self.assertEqual([r[1:3] for r in page.tables["wait_causes"]], [list(r.values()) for r in store.rows(
            "SELECT root_rank, sum(time_ns) FROM wait_state GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20")])
        self.assertEqual(page.values["wait_coverage"], [store.value(
            f"SELECT time_ns FROM wait_coverage WHERE part = '{part}'") for part in ("waiting", "blocking")])
        self.assertNotIn("waits", page.tables)
        self.assertEqual(store.rows("SELECT source, destination, count(*) AS n, sum(bytes) AS bytes FROM message"
                                    " GROUP BY 1, 2 ORDER BY 1, 2"),
                         store.rows("SELECT source, destination, messages AS n, bytes FROM comm_matrix ORDER BY 1, 2"))
        self.assertEqual(store.value("SELECT count(*) FROM message WHERE sent_ns IS NULL OR received_ns IS NULL"
                                     " OR received_ns < sent_ns"), 0)
        self.assertLessEqual(store.value("SELECT sum(time_ns) FROM wait_state"),
                             store.value("SELECT sum(end_ns - begin_ns) FROM event"))
        self.assertEqual([r[0] for r in page.tables["hosts"]], [r["name"] for r in store.rows("SELECT name FROM host")])
        self.assertEqual(page.addresses, [], "it needs nothing else")
        self.assertNotIn("script", page.tags)
        self.assertNotRegex(path.read_text(), r"url\(|@import|https?:")

        again = self.xylem("report", store.path, "--html", path)
        self.assertEqual(again.returncode, 1)
        self.assertIn("--overwrite", again.stderr)
        path.write_text("old")
        self.assertEqual(self.xylem("report", store.path, "--html", path, "--overwrite").returncode, 0)
        self.assertEqual(Page(path.read_text()).values, page.values)
        itself = self.xylem("report", store.path, "--html", store.path, "--overwrite")
        self.assertEqual(itself.returncode, 1)
        self.assertIn("is the run itself", itself.stderr)
        self.assertTrue(store.rows("SELECT run_id FROM run"))
        self.assertEqual(sorted(p for p in os.listdir(self.folder) if ".part" in p), [])

    def test_what_a_run_says_is_text(self):
        evil = "<script>alert(1)</script>\x1b[2J\"'&</title>"
        store = self.run_job(["sh", "-c", "true", evil], "--quiet")
        path = self.folder / "evil.html"
        self.assertEqual(self.xylem("report", store.path, "--html", path).returncode, 0)
        text = path.read_text()
        self.assertNotIn("<script", text)
        self.assertNotIn("\x1b", text)
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;", text)
        self.assertEqual(len(re.findall("</title>", text)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
