"""A real browser on the page of a real run: Debian's Chromium, driven by playwright-core.

    class Timeline(PageTest):
        def test_...(self):
            store = self.run_job(mpirun("mpich", 4, "numbered", "ring", 300), "--detail", "trace")
            server = Server(self, store.path)      # of view_test: xylem view, and its API
            page = self.open(server, "timeline?rank=3")
            page.wait("document.querySelector('#view canvas') !== null", "the timeline is drawn")
            self.assertEqual(page.value("document.title"), ...)

Whatever a test leaves running ends with it. Each test fails when the page has complained of anything.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, DEADLINE, SOURCE, WholeSystemTest, wait_until

PACKAGES = BUILD / "viz/page/node_modules"
CHROMIUM = shutil.which("chromium")


def why_not():
    """What is missing for a browser, or nothing."""
    if not (PACKAGES / "playwright-core").exists():
        return "xylem was built without its page (XYLEM_PAGE=OFF)"
    return None if CHROMIUM else "there is no chromium; scripts/install-packages page"


class Browser:
    """Chromium, for all pages of a class of tests: it takes longer to start than most tests need it for."""

    def __init__(self, folder):
        # Chromium keeps whatever it keeps in that folder.
        self.process = subprocess.Popen(
            ["node", str(SOURCE / "tests/integration/browser_driver.mjs"), str(PACKAGES), CHROMIUM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
        self.pages = 0

    def call(self, page, what, *arguments):
        self.process.stdin.write(json.dumps({"page": page, "call": what, "args": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the browser has gone at {what}{arguments}")
        reply = json.loads(line)
        if "error" in reply:
            raise AssertionError(f"{what}{arguments}: {reply['error']}")
        return reply["value"]

    def open(self):
        """A page, which shares no cookie, storage or cache with the others."""
        self.pages += 1
        self.call(self.pages, "open")
        return Page(self, self.pages)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        try:
            # Chromium's processes are in the driver's session: whatever it has left goes.
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()


class Page:
    """Each call of Playwright's page is a method by its path: call("page.click", "nav a")."""

    def __init__(self, browser, number):
        self.browser, self.number, self.is_open = browser, number, True

    def call(self, what, *arguments):
        return self.browser.call(self.number, what, *arguments)

    def close(self):
        if self.is_open and self.browser.process.poll() is None:
            self.call("close")
        self.is_open = False

    def go(self, url):
        self.call("page.goto", url)

    def value(self, script):
        """Of an expression in JavaScript."""
        return self.call("page.evaluate", script)

    def wait(self, script, what, seconds=DEADLINE):
        """Until an expression in JavaScript is true."""
        try:
            wait_until(lambda: self.value(f"Boolean({script})"), what, seconds)
        except AssertionError as why:
            text = self.value("document.body.innerText")
            raise AssertionError(f"{why}; the page says: {text[:1500]}") from None

    def click(self, selector):
        self.call("page.click", selector)

    def press(self, key):
        self.call("page.keyboard.press", key)

    def text(self, selector):
        return self.call("page.innerText", selector)

    def texts(self, selector):
        """Of every element that a selector finds."""
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText.trim())")

    def table(self, selector):
        """Rows of a table as dictionaries of text, by its columns' names (data-column)."""
        return self.value(
            f"[...document.querySelectorAll({json.dumps(selector + ' tbody tr')})].map((row) => Object.fromEntries("
            "[...row.cells].map((cell) => [cell.dataset.column, cell.innerText.trim()])))")

    def screenshot(self, path, **how):
        self.call("page.screenshot", {"path": str(path), **how})

    def troubles(self):
        return self.call("troubles") + [f"foreign: {url}" for url in self.call("foreign")]


class PageTest(WholeSystemTest):
    """Base of tests that look at the page."""

    browser = None

    @classmethod
    def browser_of_class(cls):
        """Started when it is wanted first, and anew if it has ended."""
        if cls.browser is None or cls.browser.process.poll() is not None:
            folder = tempfile.mkdtemp(prefix="xylem-test-")
            cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
            cls.browser = Browser(folder)
            cls.addClassCleanup(cls.browser.close)
        return cls.browser

    def setUp(self):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        super().setUp()

    def open(self, server, place="", expected=()):
        """The page of a `Server` in a browser, at a place (what is behind '#/'). Troubles that are
        `expected`, as patterns, are none."""
        page = self.browser_of_class().open()
        self.addCleanup(page.close)
        self.addCleanup(functools.partial(self.check_troubles, page, list(expected)))
        path, _, query = server.url.partition("?")
        page.go(f"{path}?{query}#/{place}")
        page.wait("document.querySelector('#view')?.childElementCount > 0", "the page has begun")
        return page

    def check_troubles(self, page, expected):
        # Tests end their servers before their pages, which may be asking; that they end well is told by their exit code.
        expected = [*expected, "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
        if page.is_open:
            self.assertEqual([one for one in page.troubles()
                              if not any(re.search(pattern, one) for pattern in expected)], [])
