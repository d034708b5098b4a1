#!/usr/bin/env python3
"""The arrows that the page draws are the messages of the record, at each zoom. The lines are read from the canvas."""

import collections
import unittest

from browser import PageTest
from harness import mpirun
from messages_test import Ends
from view_test import Server

# Margins of the plot on the canvas, as in draw.ts.
LEFT, TOP = 64, 24
ARROW_HEAD_FROM = 12  # Length in pixels.

# Keeps the lines of the newest frame: each stroke() without a path of its own, from moveTo() and lineTo(). Nothing but messages is
# drawn in this way while the pointer is elsewhere and no call is chosen.
RECORD_LINES = """(() => {
  const canvas = document.querySelector('.timeline-canvas canvas');
  let steps = [];
  window.drawn = [];
  const before = (name, look) => {
    const real = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      if (this.canvas === canvas) look(...given);
      return real.apply(this, given);
    };
  };
  before('fillRect', (x, y) => { if (x === 0 && y === 0) window.drawn = []; });
  before('beginPath', () => { steps = []; });
  before('moveTo', (x, y) => steps.push(['move', x, y]));
  before('lineTo', (x, y) => steps.push(['line', x, y]));
  before('stroke', (path) => { if (path === undefined) window.drawn.push(...steps); });
})()"""


def clip(x1, y1, x2, y2, width, height):
    """The part of a line on the plot, or None, with the operations of segments.ts, so that the numbers are the same."""
    across, down, first, last = x2 - x1, y2 - y1, 0, 1
    for slope, room in ((-across, x1), (across, width - x1), (-down, y1), (down, height - y1)):
        if slope == 0:
            if room < 0:
                return None
            continue
        if slope < 0:
            first = max(first, room / slope)
        else:
            last = min(last, room / slope)
        if first > last:
            return None
    return x1 + first * across, y1 + first * down, x1 + last * across, y1 + last * down


def rounded(line):
    return tuple(round(at, 4) for at in line)


class PageArrows(PageTest):
    def arrows_of(self, steps):
        """The lines of a path of arrows, each with whether it has a head. A head is at the end of its line."""
        at, lines = 0, []
        while at < len(steps):
            (move, x1, y1), (line, x2, y2) = steps[at:at + 2]
            self.assertEqual((move, line), ("move", "line"))
            at += 2
            # The tip of a head is the end of the line before it. Two lines follow its "move".
            has_head = [step[0] for step in steps[at:at + 3]] == ["move", "line", "line"]
            if has_head:
                self.assertEqual(steps[at + 1][1:], [x2, y2], "the head is at the end of its line")
                at += 3
            lines.append(((x1, y1, x2, y2), has_head))
        return lines

    def line_of(self, ends, size, begin, end, width, height, ranks):
        """Where a message has its arrow, and whether this has a head: exactly if the message is received in view. None: no arrow."""
        (source, sent_ns), (destination, received_ns) = ends.sent[size], ends.received[size]
        if source == destination:
            return None
        line = clip((sent_ns - begin) / (end - begin) * width, (source + 0.5) / ranks * height,
                    (received_ns - begin) / (end - begin) * width, (destination + 0.5) / ranks * height, width, height)
        if line is None:
            return None
        length = ((line[2] - line[0]) ** 2 + (line[3] - line[1]) ** 2) ** 0.5
        return rounded(line), begin <= received_ns <= end and length >= ARROW_HEAD_FROM

    def check_zoom(self, page, ends, name, begin, end):
        page.value("document.querySelector('.timeline-status').textContent = ''")
        page.go(page.value("location.href").partition("#")[0] + f"#/timeline?begin={begin}&end={end}")
        page.wait(f"/ to /.test(document.querySelector('.timeline-status').innerText) && location.hash.includes('begin={begin}')"
                  " && !document.querySelector('.timeline-status').innerText.includes('Loading')", f"{name} is drawn")
        steps, size, detail = page.call("page.evaluate", """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const { width, height } = document.querySelector('.timeline-canvas canvas');
            const size = [width / devicePixelRatio, height / devicePixelRatio];
            done([window.drawn, size, document.querySelector('[data-detail]').dataset.detail]); })))""")
        width, height = size[0] - LEFT, size[1] - TOP
        drawn = [(rounded(line), has_head) for line, has_head in self.arrows_of(steps)]
        true = {size: line for size in ends.known if (line := self.line_of(ends, size, begin, end, width, height, 4)) is not None}
        wrong = collections.Counter(drawn) - collections.Counter(true.values())
        places = set(drawn)
        _, crossing = ends.in_view(begin, end)
        missing = [size for size, line in true.items()
                   if size in ends.numbered - crossing and line not in places]
        told = page.value("document.querySelector('[data-value=arrows]')?.innerText ?? ''")
        print(f"{name}: {detail}, {len(true)} messages of two ranks in view, {len(true.keys() & ends.numbered)} of them have numbers;"
              f" {len(drawn)} arrows drawn, {sum(wrong.values())} wrong;{told}")
        self.assertEqual(wrong, {}, name)
        if detail == "calls":
            self.assertEqual(missing, [], f"{name}: no arrow")
        return len(drawn)

    def check_arrows(self, name, *job):
        store = self.run_job(mpirun("mpich", 4, "messages", *job), "--detail", "trace", "--overwrite")
        ends = Ends(store)
        server = Server(self, store.path)
        page = self.open(server, "timeline")
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn")
        page.value(RECORD_LINES)
        drawn = [self.check_zoom(page, ends, f"{name}, {zoom}", begin, end) for zoom, begin, end in reversed([*ends.zooms(store)])]
        self.assertGreater(max(drawn), 20, "too few arrows to prove anything")
        server.stop(self)

    def test_each_arrow_of_many_messages_in_flight_is_a_message(self):
        self.check_arrows("one thread", 7, 12, 1, 0)

    def test_no_arrow_is_wrong_with_wildcards_and_threads(self):
        self.check_arrows("three threads, wildcards", 8, 20, 3, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
