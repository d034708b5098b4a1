#!/usr/bin/env python3
"""The page's timeline, in a real browser on real jobs: single calls equal SQL, and moving is quick."""

import json
import unittest
import urllib.parse

from browser import PageTest
from harness import Store, mpirun, wait_until
from page_test import number
from view_test import Server

CHOSEN = "document.querySelector('#chosen [data-value=function]')?.innerText"


class PageTimeline(PageTest):
    def run_ring(self, detail="trace", ranks=4, rounds=2000):
        return self.run_job_once(mpirun("openmpi", ranks, "numbered", "ring", rounds), "--detail", detail,
                                 name=f"{detail}-{ranks}-{rounds}.db")

    def midst(self, store, calls=500):
        """A time of the run with so many calls of a rank, which can all be drawn: the page asks for some more on both sides."""
        begin, end = (store.value(f"SELECT begin_ns FROM event WHERE rank = 0 ORDER BY begin_ns LIMIT 1 OFFSET {skipped}")
                      for skipped in (1500, 1500 + calls))
        return begin, min(end, begin + 300_000_000)

    def longest(self, page):
        page.wait("document.querySelectorAll('#longest button').length > 0", "the longest calls are listed")
        return page.value("[...document.querySelectorAll('#longest button')].map((one) =>"
                          " [Number(one.dataset.rank), Number(one.dataset.begin), Number(one.dataset.duration)])")

    def assert_chosen_is(self, page, row):
        """What the panel says of a call is what SQL has of it."""
        said = page.value("Object.fromEntries([...document.querySelectorAll('#chosen [data-value]')].map((one) =>"
                          " [one.dataset.value, one.innerText]))")
        self.assertEqual(said["function"], row["function"])
        self.assertEqual(said["rank"].split(",")[0], str(row["rank"]))
        self.assertEqual(said["begin"], f"{row['begin_ns'] / 1e9:.9f} s")
        took = row["end_ns"] - row["begin_ns"]
        self.assertAlmostEqual(number(said["duration"]), took, delta=0.006 * took)
        self.assertEqual(said["peer"], "–" if row["peer"] is None else f"rank {row['peer']}")
        self.assertEqual(said["tag"], "–" if row["tag"] is None else str(row["tag"]))
        self.assertEqual(said["comm"], "–" if row["comm"] is None else str(row["comm"]))
        self.assertAlmostEqual(number(said["bytes"]), row["bytes"], delta=0.006 * row["bytes"])

    def test_the_longest_calls_are_those_of_sql_and_lead_to_themselves(self):
        store = self.run_ring()
        begin, end = self.midst(store)
        server = Server(self, store.path)
        page = self.open(server, f"timeline?begin={begin}&end={end}")
        page.wait("document.querySelector('[data-detail=calls]') !== null", "single calls are drawn")
        wanted = store.rows("SELECT * FROM event WHERE kind = 'mpi' AND begin_ns < %d AND end_ns > %d"
                            " ORDER BY end_ns - begin_ns DESC LIMIT 10" % (end, begin))
        self.assertEqual([took for _, _, took in self.longest(page)],
                         [row["end_ns"] - row["begin_ns"] for row in wanted])
        first = self.longest(page)[0]
        row = next(row for row in wanted if (row["rank"], row["begin_ns"]) == (first[0], first[1]))
        page.click("#longest button >> nth=0")
        page.wait(f"{CHOSEN} === {json.dumps(row['function'])}", "the call is chosen")
        self.assert_chosen_is(page, row)
        page.wait(f"!location.hash.includes('begin={begin}')", "the address says where it is")
        begin, end = (int(urllib.parse.parse_qs(page.value("location.hash").partition("?")[2])[name][0])
                      for name in ("begin", "end"))
        self.assertTrue(begin < row["begin_ns"] and end > row["end_ns"], (begin, end, row))
        server.stop(self)

    def test_the_longest_calls_are_those_of_the_rank_that_is_chosen(self):
        # Of windows it is the longest of all that is promised.
        for detail, column, table, most in (("trace", "end_ns - begin_ns", "event", 10), ("profile", "max_ns", "profile_window", 1)):
            store = self.run_ring(detail, rounds=300)
            server = Server(self, store.path)
            page = self.open(server, "timeline?rank=2")
            kind = "AND kind = 'mpi'" if table == "event" else ""
            wanted = [row["took"] for row in store.rows(
                f"SELECT {column} AS took FROM {table} WHERE rank = 2 {kind} ORDER BY 1 DESC LIMIT {most}")]
            page.wait(f"JSON.stringify([...document.querySelectorAll('#longest button')].slice(0, {most}).map((one) =>"
                      f" Number(one.dataset.duration))) === '{json.dumps(wanted, separators=(',', ':'))}'",
                      f"{detail}: the longest calls of rank 2 are {wanted}")
            self.assertEqual({rank for rank, _, _ in self.longest(page)}, {2})
            self.assertIn("Of rank 2", page.text("#longest"))
            page.press("Escape")
            page.wait("!document.querySelector('#longest').innerText.includes('Of rank 2')", "all ranks are listed again")
            longest = store.value(f"SELECT max({column}) FROM {table} WHERE 1 {kind}")
            page.wait(f"Number(document.querySelector('#longest button').dataset.duration) === {longest}",
                      f"the longest of all took {longest} ns")
            server.stop(self)

    def test_a_zoom_ends_at_one_call_whose_values_are_those_of_sql(self):
        store = self.run_ring()
        # One in the midst of the run, far shorter than a pixel of all of it.
        row = store.rows("SELECT * FROM event WHERE rank = 2 AND function = 'MPI_Recv' AND bytes > 0"
                         " ORDER BY begin_ns LIMIT 1 OFFSET 1000")[0]
        server = Server(self, store.path)
        took = max(row["end_ns"] - row["begin_ns"], 200)
        page = self.open(server, f"timeline?begin={row['begin_ns'] - 4 * took}&end={row['end_ns'] + 4 * took}")
        page.wait("document.querySelector('[data-value=detail]')?.innerText === 'each call is drawn.'", "calls are drawn")
        # The wheel zooms around the pointer, so the call stays below it.
        box = page.value("(() => { const { x, y, width, height } ="
                         " document.querySelector('.timeline-canvas canvas').getBoundingClientRect();"
                         " return { x, y, width, height }; })()")
        x = box["x"] + 64 + (box["width"] - 64) / 2
        y = box["y"] + 24 + (box["height"] - 24) * 2.5 / 4
        page.call("page.mouse.move", x, y)
        for _ in range(4):
            page.call("page.mouse.wheel", 0, -200)
        page.wait(f"!location.hash.includes('begin={row['begin_ns'] - 4 * took}')", "the address follows the wheel")
        page.wait("document.querySelector('[data-value=detail]')?.innerText === 'each call is drawn.'", "calls are drawn")
        page.call("page.mouse.move", x + 1, y)
        page.wait("document.querySelector('.hint dl') !== null", "the call is told on hovering")
        self.assertIn("MPI_Recv", page.text(".hint"))
        page.call("page.mouse.click", x, y)
        page.wait(f"{CHOSEN} === 'MPI_Recv'", "the call is chosen")
        self.assert_chosen_is(page, row)
        server.stop(self)

    def plot(self, page):
        """The canvas's place on the window."""
        return page.value("(() => { const { x, y, width, height } ="
                          " document.querySelector('.timeline-canvas canvas').getBoundingClientRect();"
                          " return { x, y, width, height }; })()")

    def assert_steps_are_cheap(self, page, what):
        box = self.plot(page)
        page.call("page.mouse.move", box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

        def costs(step, steps=40):
            """Of each step, in ms of the main thread's processor time, with the frame that it draws."""
            found = []
            for number_of in range(steps):
                before = page.call("metrics")
                step(number_of)
                page.call("page.evaluate", "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
                after = page.call("metrics")
                found.append(1e3 * (after["ScriptDuration"] - before["ScriptDuration"]))
            return sorted(found)

        zooms = costs(lambda at: page.call("page.mouse.wheel", 0, -60 if at < 20 else 60))
        page.call("page.mouse.wheel", 0, -600)
        page.call("page.mouse.down")
        pans = costs(lambda at: page.call("page.mouse.move", box["x"] + box["width"] / 2 + 7 * (at % 20), box["y"] + 200))
        page.call("page.mouse.up")
        for name, found in (("zoom", zooms), ("pan", pans)):
            print(f"{what}: a step of {name}: {found[len(found) // 2]:.1f} ms of script, p95 {found[int(0.95 * len(found))]:.1f} ms")
            self.assertLess(found[len(found) // 2], 20.0, found)

    def test_a_step_of_pan_or_zoom_costs_the_main_thread_little(self):
        store = self.run_ring(ranks=8)
        begin, end = self.midst(store, 250)
        server = Server(self, store.path)
        page = self.open(server, f"timeline?begin={begin}&end={end}")
        page.wait("document.querySelector('[data-detail=calls]') !== null", "single calls are drawn")
        self.assert_steps_are_cheap(page, "8 ranks, calls")
        server.stop(self)

    def test_a_message_is_drawn_and_told_as_sql_has_it(self):
        store = self.run_ring(rounds=300)
        server = Server(self, store.path)
        begin = store.value("SELECT begin_ns FROM event WHERE rank = 0 ORDER BY begin_ns LIMIT 1 OFFSET 200")
        messages = server.get("timeline", begin_ns=begin, end_ns=begin + 10**9)["messages"]
        one = next(m for m in messages if m["received_ns"] is not None and m["received_ns"] - m["sent_ns"] > 2000
                   and m["destination"] == m["source"] + 1)
        length = one["received_ns"] - one["sent_ns"]
        begin, end = one["sent_ns"] - length, one["received_ns"] + length
        page = self.open(server, f"timeline?begin={begin}&end={end}")
        page.wait("document.querySelector('[data-value=detail]')?.innerText === 'each call is drawn.'", "calls are drawn")
        box = self.plot(page)
        # Halfway between the two ranks, where no call is.
        x = box["x"] + 64 + (box["width"] - 64) * 0.5
        y = box["y"] + 24 + (box["height"] - 24) * (one["source"] + 1) / 4
        picture = "document.querySelector('.timeline-canvas canvas').toDataURL()"
        with_messages = page.value(picture)
        page.call("page.mouse.move", x - 1, y)
        page.call("page.mouse.move", x, y)
        page.wait("document.querySelector('.hint:not([hidden]) dl') !== null", "the message is told")
        told = dict(zip(page.texts(".hint dt"), page.texts(".hint dd")))
        ranks = [int(word) for word in told["message"].split() if word.isdigit()]
        sent = round(float(told["sent"].split()[0]) * 1e9)
        row = store.rows(f"SELECT * FROM event WHERE rank = {ranks[0]} AND begin_ns = {sent} AND peer = {ranks[1]}")[0]
        self.assertEqual(told["tag"], str(row["tag"]))
        self.assertAlmostEqual(number(told["payload"]), row["bytes"], delta=0.006 * row["bytes"])
        received = round(float(told["received"].split()[0]) * 1e9)
        self.assertEqual(len(store.rows(f"SELECT 1 FROM event WHERE rank = {ranks[1]} AND end_ns = {received}")), 1)

        page.press("m")
        page.wait("location.hash.includes('messages=off')", "messages are hidden")
        page.wait(f"{picture} !== {json.dumps(with_messages)}", "their lines are gone")
        page.call("page.mouse.move", x - 1, y)
        page.call("page.mouse.move", x, y)
        page.wait("document.querySelector('.hint').hidden", "nothing is there any more")
        server.stop(self)

    def pixels(self, page, canvas, x, y, width, height):
        """Red, green and blue of the pixels of a canvas, row by row."""
        flat = page.value(f"(() => {{ const c = document.querySelector('{canvas}'); const scale = c.width / c.getBoundingClientRect().width;"
                          f" return [...c.getContext('2d').getImageData({x} * scale, {y} * scale, {width}, {height}).data]; }})()")
        return [tuple(flat[at:at + 3]) for at in range(0, len(flat), 4)]

    def test_the_strip_is_as_high_as_the_share_of_the_calls_below_it(self):
        store = self.run_ring(rounds=300)
        server = Server(self, store.path)
        page = self.open(server, "timeline")
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn")
        strip = server.get("ranks", columns=600, rows=1)
        begin, slot = strip["scope"]["begin_ns"], strip["slot_ns"]
        run_begin, run_end = (strip["scope"][name] for name in ("run_begin_ns", "run_end_ns"))
        watched = [ns for n, ns in strip["rows"][0]["watched"] for _ in range(n)]
        width, height = page.value("(() => { const { width, height } = document.querySelector('.timeline-strip canvas')"
                                   ".getBoundingClientRect(); return [width, Math.floor(height)]; })()")
        surface = tuple(int(part) for part in page.value(
            "(() => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle ="
            " getComputedStyle(document.documentElement).getPropertyValue('--surface'); c.fillRect(0, 0, 1, 1);"
            " return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); })()"))
        compared = 0
        for column in range(strip["columns"]):
            first, last = begin + column * slot, min(begin + (column + 1) * slot, run_end)
            if watched[column] == 0 or last <= first:
                continue
            calls = store.value(f"SELECT coalesce(sum(min(end_ns, {last}) - max(begin_ns, {first})), 0) FROM event"
                                f" WHERE kind = 'mpi' AND begin_ns < {last} AND end_ns > {first}")
            x = int(width * ((first + last) / 2 - run_begin) / (run_end - run_begin))
            # The frame of the visible time is at the upper and the lower edge.
            filled = sum(pixel != surface for pixel in self.pixels(page, ".timeline-strip canvas", x, 3, 1, height - 6))
            self.assertAlmostEqual(filled / (height - 6), calls / watched[column], delta=0.15, msg=f"slot {column}")
            compared += 1
        self.assertGreater(compared, 0)
        server.stop(self)

    def test_too_many_calls_are_drawn_as_densities_that_sql_confirms(self):
        store = self.run_ring()
        server = Server(self, store.path)
        page = self.open(server, "timeline")
        page.wait("document.querySelector('[data-detail=densities]') !== null", "densities are drawn")
        self.assertIn("zoom in to see each call", page.text(".timeline-status"))
        box = self.plot(page)
        x, y = box["x"] + 64 + (box["width"] - 64) / 2, box["y"] + 24 + (box["height"] - 24) * 1.5 / 4
        page.call("page.mouse.move", x - 1, y)
        page.call("page.mouse.move", x, y)
        page.wait("document.querySelector('.hint:not([hidden]) dl') !== null", "the slot is told")
        told = dict(zip(page.texts(".hint dt"), page.texts(".hint dd")))
        answer = server.get("timeline")
        grid, row = answer["densities"], answer["densities"]["rows"][1]
        self.assertEqual(told["mostly"], "point to point")
        slot = grid["slot_ns"]
        column = next(column for column in range(grid["columns"])
                      if abs(answer["scope"]["begin_ns"] + column * slot - float(told["from"].split()[0]) * 1e9) <= slot)
        calls = store.rows("SELECT begin_ns, end_ns FROM event WHERE rank = 1 AND kind = 'mpi'")
        for at in range(grid["columns"]):
            first, last = answer["scope"]["begin_ns"] + at * slot, answer["scope"]["begin_ns"] + (at + 1) * slot
            if abs(at - column) > 50:
                continue
            self.assertEqual(row["cells"][at], sum(max(0, min(c["end_ns"], last) - max(c["begin_ns"], first)) for c in calls))
        server.stop(self)

    def test_a_search_finds_what_sql_finds_one_call_after_another(self):
        store = self.run_ring(rounds=300)
        server = Server(self, store.path)
        page = self.open(server, "timeline", expected=["400"])
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn")
        rows = store.rows("SELECT * FROM event WHERE function = 'MPI_Recv' AND peer = 1 AND tag >= 7 ORDER BY begin_ns LIMIT 3")
        tag = rows[1]["tag"]
        wanted = store.rows(f"SELECT * FROM event WHERE function = 'MPI_Recv' AND peer = 1 AND tag = {tag} ORDER BY begin_ns")
        page.press("/")
        page.call("page.keyboard.type", f"mpi_recv peer=1 tag={tag}")
        page.press("Enter")
        begin = "document.querySelector('#chosen [data-value=begin]')?.innerText"
        page.wait(f"{begin} === '{wanted[0]['begin_ns'] / 1e9:.9f} s'", "the first call is chosen")
        self.assert_chosen_is(page, wanted[0])
        page.click("button:text-is('Show all')")
        rows = store.rows("SELECT begin_ns FROM event WHERE function = 'MPI_Recv' AND peer = 1 ORDER BY begin_ns LIMIT 2")
        first, second = (f"{begin} === '{row['begin_ns'] / 1e9:.9f} s'" for row in rows)
        page.call("page.fill", ".finder input", "MPI_Recv peer=1")
        page.press("Enter")
        page.wait(first, "the first of more calls is chosen")
        page.press("Enter")
        page.wait(second, "the next call is chosen")
        page.press("Shift+Enter")
        page.wait(first, "the call before is chosen again")
        page.call("page.fill", ".finder input", "MPI_Sned")
        page.press("Enter")
        page.wait("document.querySelector('[data-value=found]').innerText.includes('no function')", "the server's answer is told")
        server.stop(self)

    def test_a_ruler_tells_the_time_between_two_points(self):
        store = self.run_ring(rounds=300)
        begin = store.value("SELECT begin_ns FROM event WHERE rank = 0 ORDER BY begin_ns LIMIT 1 OFFSET 200")
        server = Server(self, store.path)
        page = self.open(server, f"timeline?begin={begin}&end={begin + 10**7}")
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn")
        box = self.plot(page)
        length = 1e7 * 250 / (box["width"] - 64)
        place = page.value("location.hash")

        def drag():
            page.call("page.mouse.move", box["x"] + 200, box["y"] + 150)
            page.call("page.mouse.down")
            page.call("page.mouse.move", box["x"] + 450, box["y"] + 170, {"steps": 5})
            page.call("page.mouse.up")

        def told():
            return number(page.text("[data-value=ruler]").partition(": ")[2].rstrip("."))

        page.call("page.keyboard.down", "Shift")
        drag()
        page.call("page.keyboard.up", "Shift")
        page.wait("document.querySelector('[data-value=ruler]') !== null", "the length is told")
        self.assertAlmostEqual(told(), length, delta=0.02 * length)
        self.assertEqual(page.value("location.hash"), place, "nothing has moved")
        page.call("page.mouse.click", box["x"] + 500, box["y"] + 150)
        page.wait("document.querySelector('[data-value=ruler]') === null", "a click ends it")
        page.press("r")
        drag()
        page.wait("document.querySelector('[data-value=ruler]') !== null", "without Shift, too")
        self.assertAlmostEqual(told(), length, delta=0.02 * length)
        page.press("r")
        page.wait("document.querySelector('[data-value=ruler]') === null", "the ruler is off")
        server.stop(self)

    def test_a_collective_is_linked_over_all_ranks(self):
        run = self.run_job(mpirun("mpich", 4, "meanings", self.folder / "own"), "--detail", "trace", name="meanings.db")
        row = run.rows("SELECT * FROM event WHERE function = 'MPI_Barrier' AND number IS NOT NULL AND rank = 0 AND comm = 0 LIMIT 1")[0]
        same = run.rows(f"SELECT rank, begin_ns FROM event e JOIN function f ON f.name = e.function WHERE f.class = 'collective'"
                        f" AND comm = 0 AND number = {row['number']} ORDER BY begin_ns")
        server = Server(self, run.path)
        page = self.open(server, f"timeline?begin={same[0]['begin_ns'] - 1000000}&end={same[-1]['begin_ns'] + 1000000}")
        page.wait("document.querySelector('[data-detail=calls]') !== null", "single calls are drawn")
        page.press("/")
        page.call("page.keyboard.type", "MPI_Barrier rank=0 comm=0")
        page.press("Enter")
        page.wait("document.querySelector('#chosen [data-value=collective]') !== null", "the collective is told")
        said = page.text("#chosen [data-value=collective]")
        chosen = int(page.text("#chosen [data-value=number]").replace(",", ""))
        same = run.rows(f"SELECT rank, begin_ns FROM event e JOIN function f ON f.name = e.function WHERE f.class = 'collective'"
                        f" AND comm = 0 AND number = {chosen} ORDER BY begin_ns")
        self.assertTrue(said.startswith(f"collective {chosen:,} on communicator 0: {len(same)} calls here."), said)
        self.assertIn(f"Rank {same[0]['rank']} began first, rank {same[-1]['rank']} last", said)
        server.stop(self)

    def test_it_moves_as_a_map_does(self):
        store = self.run_ring(rounds=300)
        begin = store.value("SELECT begin_ns FROM event WHERE rank = 0 ORDER BY begin_ns LIMIT 1 OFFSET 200")
        end = begin + 10**7
        server = Server(self, store.path)
        page = self.open(server, f"timeline?begin={begin}&end={end}")
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn")
        box = self.plot(page)
        a_pixel = (end - begin) / (box["width"] - 64)

        def shown():
            found = urllib.parse.parse_qs(page.value("location.hash").partition("?")[2])
            return int(found["begin"][0]), int(found["end"][0]), found.get("ranks", [""])[0]

        def range_after(step, what):
            before = page.value("location.hash")
            step()
            page.wait(f"location.hash !== {json.dumps(before)}", what)
            return shown()

        def drag():
            page.call("page.mouse.move", box["x"] + 400, box["y"] + 200)
            page.call("page.mouse.down")
            page.call("page.mouse.move", box["x"] + 300, box["y"] + 200, {"steps": 10})
            page.call("page.mouse.up")

        # The address follows a drag on its way, too.
        drag()
        wait_until(lambda: abs(shown()[0] - begin - 100 * a_pixel) <= 2 * a_pixel, "a drag pans by as much")
        dragged = shown()
        self.assertAlmostEqual(dragged[1] - dragged[0], end - begin, delta=2)
        later = range_after(lambda: page.press("ArrowRight"), "an arrow pans")
        self.assertAlmostEqual(later[0] - dragged[0], 0.2 * (end - begin), delta=2)
        nearer = range_after(lambda: page.press("+"), "a key zooms")
        self.assertAlmostEqual(nearer[1] - nearer[0], (end - begin) / 2, delta=2)
        # What is below the pointer stays there.
        page.call("page.mouse.move", box["x"] + 64 + (box["width"] - 64) / 4, box["y"] + 200)
        wheeled = range_after(lambda: page.call("page.mouse.wheel", 0, -300), "the wheel zooms")
        self.assertAlmostEqual(wheeled[0] + (wheeled[1] - wheeled[0]) / 4, nearer[0] + (nearer[1] - nearer[0]) / 4,
                               delta=0.01 * (nearer[1] - nearer[0]))
        ranks = range_after(lambda: page.press("]"), "a key shows fewer ranks")[2]
        self.assertEqual(ranks, "1.00-3.00")
        page.press("Escape")
        page.wait("!location.hash.includes('begin=')", "all of the time is shown again")
        server.stop(self)

    def test_windows_stand_for_calls_that_were_not_recorded(self):
        store = self.run_ring("profile", rounds=300)
        server = Server(self, store.path)
        page = self.open(server, "timeline")
        page.wait("document.querySelector('[data-detail=windows]') !== null", "windows are drawn")
        self.assertIn("--detail trace", page.text(".timeline-status"))
        took = store.value("SELECT max(max_ns) FROM function_total")
        self.assertEqual(max(one[2] for one in self.longest(page)), took)
        server.stop(self)

    def test_a_run_that_lives_is_shown_as_the_stored_one(self):
        stop, own, path = self.folder / "stop", self.folder / "own", self.folder / "run.db"
        job = self.start("run", "--detail", "trace", "--store", path, "--",
                         *mpirun("mpich", 2, "numbered", "alone", stop, own, 2000))
        self.addCleanup(stop.touch)  # Else the ranks of a test that has failed would go on for ever.
        wait_until(lambda: path.exists() and self.xylem("query", path, "SELECT 1 FROM event LIMIT 1").stdout.count("1") > 0,
                   "calls are stored")
        server = Server(self, path)
        page = self.open(server, "timeline")
        page.wait("document.querySelector('[data-detail]') !== null", "the run is drawn", 120)
        page.wait("document.querySelectorAll('#longest button').length > 0", "calls are listed")
        end = "Number(/to ([\\d.]+) s/.exec(document.querySelector('[data-value=range]').innerText)[1])"
        before = page.value(end)
        page.wait(f"{end} > {before}", "all of the time grows with the run", 60)
        stop.touch()
        self.assertEqual(job.wait(120), 0, job.stderr.read())
        page.wait("document.querySelector('.state').innerText.startsWith('ended')", "the end is shown")
        wanted = [row["took"] for row in Store(path).rows(
            "SELECT end_ns - begin_ns AS took FROM event WHERE kind = 'mpi' ORDER BY 1 DESC LIMIT 10")]
        page.wait("JSON.stringify([...document.querySelectorAll('#longest button')].map((one) =>"
                  f" Number(one.dataset.duration))) === '{json.dumps(wanted, separators=(',', ':'))}'",
                  f"the longest calls are {wanted}")
        server.stop(self)


if __name__ == "__main__":
    unittest.main(verbosity=2)
