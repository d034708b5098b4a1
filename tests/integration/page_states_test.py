#!/usr/bin/env python3
"""What the page says if something is wrong or there is no data, in a real browser: each case, with what to do."""

import os
import secrets
import sqlite3
import unittest

from browser import PageTest
from harness import mpirun
from view_test import Server

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
VIEWS = ("overview", "functions", "ranks", "timeline", "matrix", "hosts", "tree", "alerts", "query")


class PageStates(PageTest):
    def assert_state(self, page, text, sentence=""):
        """What stands beside the command, and the sentence below the tabs; without one there is no trouble."""
        page.wait(f"document.querySelector('.state').innerText.startsWith({text!r})", f"the page says: {text}")
        if sentence:
            page.wait(f"document.querySelector('.trouble').innerText.includes({sentence!r})", f"it says: {sentence}")
        else:
            page.wait("document.querySelector('.trouble').hidden", "there is no trouble any more")

    def test_each_trouble_is_told_by_itself_and_ends_by_itself(self):
        store = self.run_job(mpirun("mpich", 2, "numbered", "ring", 10))
        token = self.folder / "token"
        server = Server(self, store.path, "--token-file", token)
        listen = ("--listen", f"127.0.0.1:{server.port}")
        page = self.open(server, expected=["status of (40[014]|503)", "WebSocket", "ERR_CONNECTION"])
        self.assert_state(page, "ended")

        away = self.folder / "away.db"
        os.rename(store.path, away)
        self.assert_state(page, "file gone", "is not there any more")
        self.assertIn("No such file", page.text(".trouble"))
        os.rename(away, store.path)
        self.assert_state(page, "ended")

        os.rename(store.path, away)
        with open(store.path, "w", encoding="utf-8") as other:
            other.write("no run's file\n" * 1000)
        self.assert_state(page, "file not readable", "cannot read the run's file")
        os.replace(away, store.path)
        self.assert_state(page, "ended")

        server.stop(self)
        self.assert_state(page, "no server", "start it again")
        server = Server(self, store.path, "--token-file", token, *listen)
        self.assert_state(page, "ended")

        # Started anew with another token: the browser's cookie is no good any more.
        server.stop(self)
        token.write_text(secrets.token_hex(32))
        server = Server(self, store.path, "--token-file", token, *listen)
        self.assert_state(page, "not let in", "xylem view --live prints a new one")
        page.click("nav a >> text=Functions")
        self.assertEqual(page.value("document.querySelectorAll('.trouble').length"), 1)
        self.assert_state(page, "not let in", "Open the whole address")
        # In another tab, say: the cookie is all of the browser's.
        page.call("page.request.get", server.url)
        self.assert_state(page, "ended")
        page.wait("document.querySelectorAll('#view tbody tr').length > 0", "what was asked for in between has come")
        server.stop(self)

    def test_a_question_that_fails_is_told_where_it_was_asked(self):
        store = self.run_job(mpirun("mpich", 2, "numbered", "ring", 10))
        server = Server(self, store.path)
        page = self.open(server, "query", expected=["status of (40[03]|413|504)"])
        for sql, sentence in ((ENDLESS, "SQL may take 5.00 s here"), ("SELECT hex(zeroblob(2500000)), hex(zeroblob(2500000))", "ask for fewer columns"),
                              ("SELECT absent FROM rank", "no such column: absent"), ("SELECT 1; SELECT 2", "one statement")):
            page.call("page.fill", "textarea", sql)
            page.press("Control+Enter")
            page.wait(f"document.querySelector('.said').innerText.includes({sentence!r})", f"{sql}: {sentence}")
            self.assertTrue(page.value("document.querySelector('.trouble').hidden"), "the view says so itself")
        page.call("page.fill", "textarea", "SELECT * FROM rank WHERE rank > 7")
        page.press("Control+Enter")
        page.wait("document.querySelector('.result .empty') !== null", "no row is told")
        self.assertIn("Loosen a condition", page.text(".result .empty"))
        server.stop(self)

    def test_a_run_without_ranks_says_in_each_view_what_to_wait_for(self):
        store = self.run_job(["true"], "--quiet")
        server = Server(self, store.path)
        page = self.open(server)
        for view in VIEWS:
            page.go(server.url.split("?")[0] + f"#/{view}")
            page.wait(f"document.querySelector('#view').dataset.view === '{view}'", view)
            if view == "tree":  # The front end is always there.
                page.wait("document.querySelectorAll('.tree-table tbody tr, #view .empty').length > 0", "the front end, or why not")
                continue
            page.wait("document.querySelector('#view .empty') !== null", f"{view} says that there is nothing")
            for text in page.texts("#view .empty"):
                what, _, todo = text.partition("\n")
                self.assertTrue(what.strip().endswith("."), (view, text))
                self.assertGreater(len(todo.strip()), 10, f"{view} does not say what to do: {text!r}")
        self.assertTrue(page.value("document.querySelector('.trouble').hidden"))
        server.stop(self)

    def test_what_is_captured_and_not_stored_yet_is_on_the_way(self):
        store = self.run_job(mpirun("mpich", 2, "numbered", "ring", 10))
        # As the file of a living run is between a rank's report and the commit of its window.
        with sqlite3.connect(store.path) as file:
            file.execute("UPDATE run SET ended_ns = NULL, exit_code = NULL")
            file.execute("UPDATE process SET captured = captured + 7, ended = 0 WHERE rank = 0")
        account = store.rows("SELECT sum(captured) AS captured, sum(stored) AS stored, sum(lost) AS lost FROM account")[0]
        self.assertEqual(account["captured"], account["stored"] + account["lost"] + 7)
        server = Server(self, store.path)
        page = self.open(server)
        page.wait("document.querySelector('[data-value=on_the_way]') !== null", "the account is shown")
        for name, value in (*account.items(), ("on_the_way", 7)):
            self.assertEqual(page.text(f"[data-value={name}]").replace(",", ""), str(value), name)
        self.assertIn("+", page.text("#account .equation"))
        self.assertIn("still running", page.text("#account"))
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
