#!/usr/bin/env python3
"""The page is readable and usable, in a real browser, each view in both themes at 1280 x 720: contrast, names, the Tab
key, units, nothing cut off."""

import unittest

from browser import PageTest
from harness import mpirun
from view_test import Server

VIEWS = ("overview", "functions", "ranks", "timeline", "matrix", "hosts", "tree", "alerts", "query")
SERVICES = '[service.host]\ninterval = "200ms"\n'
QUESTION = "query?sql=SELECT+*+FROM+account"
IS_SEEN = "(one) => one.checkVisibility() && one.getBoundingClientRect().width > 1"
# What the Tab key must reach.
CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"

# Text that is paler than WCAG's AA asks for on what is behind it: [text, colour, background, contrast].
PALE = """(() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
  const over = (top, below) => Object.fromEntries(["r", "g", "b"].map((c) => [c, top[c] * top.a + below[c] * (1 - top.a)]));
  const light = ({ r, g, b }) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (one) => {
    const layers = [];
    for (let at = one; at !== null; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), { r: 255, g: 255, b: 255 });
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const one = node.parentElement;
    if (node.data.trim() === "" || !one.checkVisibility() || one.closest(".unseen, svg, script, style, option")) continue;
    const [ink, paper] = [parse(getComputedStyle(one).color), behind(one)];
    const ratio = contrast(over(ink, paper), paper);
    if (ratio < 4.5) found.push([node.data.trim().slice(0, 40), getComputedStyle(one).color, JSON.stringify(paper), ratio]);
  }
  const style = getComputedStyle(document.documentElement);
  const hex = (name) => { const text = style.getPropertyValue(name).trim();
    return { r: parseInt(text.slice(1, 3), 16), g: parseInt(text.slice(3, 5), 16), b: parseInt(text.slice(5, 7), 16) }; };
  for (const name of ["--text", "--faint", "--accent"]) {  // Of canvases.
    const ratio = contrast(hex(name), hex("--surface"));
    if (ratio < 4.5) found.push([name, "", "", ratio]);
  }
  return found;
})()"""

# Boxes that hide a part of what is in them, and do not say it on hovering either.
CUT = """[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility()
  && !one.closest(".unseen, svg, select, textarea") && one.scrollWidth > one.clientWidth + 1
  && getComputedStyle(one).overflowX === "hidden" && !one.closest("[title]"))
  .map((one) => `${one.tagName}.${one.className}: ${one.innerText.slice(0, 60)}`)"""

# Numbers in columns that do not name what is counted, without a unit.
BARE = """[...document.querySelectorAll("td.number, td.number *, span.number")].filter((one) => one.children.length === 0
  && one.checkVisibility() && one.innerText.trim() !== "")
  .filter((one) => !/^(–|~?-?[\\d,.]+ \\S.*|\\d+ of \\d+)$/.test(one.innerText.trim()))
  .map((one) => [one.closest("[data-column]")?.dataset.column ?? "", one.innerText.trim()])"""
# A column that counts what its head names needs no unit.
COUNTS = {"calls", "ranks", "rank", "peer", "root", "count", "messages", "captured", "stored", "lost", "hosts", "column", "row"}

# Controls beyond the right edge that no scrolling of a box brings into view.
BEYOND = f"""[...document.querySelectorAll("{CONTROLS}")].filter({IS_SEEN})
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => {{ for (let box = one.parentElement; box !== null; box = box.parentElement)
    if (/auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth) return false; return true; }})
  .map((one) => one.outerHTML.slice(0, 120))"""

NAMELESS = f"""[...document.querySelectorAll("{CONTROLS}, canvas, svg")].filter({IS_SEEN})
  .filter((one) => !(one.ariaLabel || one.innerText?.trim() || one.title || one.labels?.[0]?.innerText
                     || one.closest("label")?.innerText)).map((one) => one.outerHTML.slice(0, 120))"""


class PageReading(PageTest):
    def setUp(self):
        super().setUp()
        config = self.folder / "services.toml"
        config.write_text(SERVICES)
        store = self.run_job_once(mpirun("openmpi", 4, "slow_rank", 4), "--detail", "trace", "--config", config, name="slow.db")
        self.server = Server(self, store.path)
        self.page = self.open(self.server)

    def each_view(self):
        for view in VIEWS:
            self.page.go("about:blank")
            self.page.go(self.server.url.split("?")[0] + f"#/{QUESTION if view == 'query' else view}")
            self.page.wait(f"document.querySelector('#view')?.dataset.view === '{view}'", view)
            self.page.call("page.waitForLoadState", "networkidle")
            self.page.wait("document.querySelector('#view').innerText.length > 20", f"{view} shows something")
            yield view

    def test_all_text_can_be_read_in_both_themes_and_nothing_is_cut(self):
        for theme in ("light", "dark"):
            self.page.call("page.emulateMedia", {"colorScheme": theme})
            for view in self.each_view():
                with self.subTest(view=view, theme=theme):
                    self.assertEqual(self.page.value("document.documentElement.dataset.theme"), theme)
                    self.assertEqual(self.page.value(PALE), [])
                    self.assertEqual(self.page.value(CUT), [])
                    self.assertLessEqual(self.page.value("document.documentElement.scrollWidth"), 1280)
                    self.assertLessEqual(self.page.value("document.documentElement.scrollHeight"), 720)
                    self.assertLessEqual(*self.page.value("(() => { const one = document.querySelector('#view');"
                                                          " return [one.scrollWidth, one.clientWidth]; })()"))
        self.server.stop(self)

    def test_every_view_fits_narrow_windows(self):
        self.addCleanup(self.page.call, "page.setViewportSize", {"width": 1280, "height": 720})
        for width in (1024, 390):
            self.page.call("page.setViewportSize", {"width": width, "height": 800})
            for view in self.each_view():
                with self.subTest(view=view, width=width):
                    self.assertLessEqual(self.page.value("document.documentElement.scrollWidth"), width)
                    self.assertLessEqual(self.page.value("document.querySelector('main').scrollWidth"), width)
                    self.assertEqual(self.page.value(CUT), [])
                    self.assertEqual(self.page.value(BEYOND), [])
        self.server.stop(self)

    def test_every_number_has_its_unit(self):
        for view in self.each_view():
            if view == "query":  # Columns of an answer are what was asked for.
                continue
            with self.subTest(view=view):
                bare = [(column, text) for column, text in self.page.value(BARE) if column not in COUNTS]
                self.assertEqual(bare, [])
        self.server.stop(self)

    def test_every_control_has_a_name_and_is_reached_by_the_tab_key(self):
        for view in self.each_view():
            with self.subTest(view=view):
                self.assertEqual(self.page.value(NAMELESS), [])
                self.page.value(f"[...document.querySelectorAll(\"{CONTROLS}\")].filter({IS_SEEN})"
                                ".forEach((one) => { one.dataset.unreached = ''; })")
                controls = self.page.value("document.querySelectorAll('[data-unreached]').length")
                self.assertGreater(controls, 10)
                for _ in range(controls + 5):
                    self.page.press("Tab")
                    self.page.value("document.activeElement.removeAttribute('data-unreached')")
                    # A focus that cannot be seen is none.
                    self.assertEqual(self.page.value(
                        f"document.activeElement.matches(\"{CONTROLS}\") &&"
                        " getComputedStyle(document.activeElement).outlineStyle === 'none'"), False)
                self.assertEqual(self.page.value("[...document.querySelectorAll('[data-unreached]')]"
                                                 ".map((one) => one.outerHTML.slice(0, 120))"), [])
        self.server.stop(self)

    def test_a_row_that_leads_somewhere_does_so_by_the_enter_key(self):
        for view, selector in (("overview", "#waits tbody tr"), ("tree", ".tree-table tbody tr:last-child"),
                               ("matrix", ".beside tbody tr")):
            self.page.go("about:blank")
            self.page.go(self.server.url.split("?")[0] + f"#/{view}")
            self.page.wait(f"document.querySelector({selector!r}) !== null", f"{view} has a row")
            self.page.value(f"document.querySelector({selector!r}).focus()")
            self.page.press("Enter")
            if view == "tree":
                self.page.wait("document.querySelector('.tree-table tbody tr:last-child').ariaSelected === 'true'", "chosen")
            else:
                self.page.wait("location.hash.startsWith('#/timeline?rank=')", f"{view} leads to the timeline")
        self.server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
