#!/usr/bin/env python3
"""xylem view: its answers over HTTP equal SQL, live and stored, and it refuses strangers."""

import base64
import http.client
import json
import os
import signal
import socket
import struct
import unittest
import urllib.parse

from harness import DEADLINE, Store, WholeSystemTest, mpirun, wait_until


class Server:
    """A running xylem view, asked by its token."""

    def __init__(self, test, *words):
        self.process = test.start("view", *words)
        self.url = self.process.stdout.readline().strip()
        test.assertRegex(self.url, r"^http://[\d.]+:\d+/\?token=[0-9a-f]{64}$", self.url)
        where = urllib.parse.urlsplit(self.url)
        self.host, self.port = where.hostname, where.port
        self.token = where.query.removeprefix("token=")

    def ask(self, target, method="GET", body=None, token=None, **headers):
        """Status, headers and body of one request; headers are named with _ for -."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)
        given = {"Authorization": f"Bearer {self.token if token is None else token}"}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        try:
            connection.request(method, target, body=body, headers={k: v for k, v in given.items() if v})
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def get(self, view, **parameters):
        status, _, body = self.ask(f"/api/v1/{view}?{urllib.parse.urlencode(parameters)}")
        if status != 200:
            raise AssertionError(f"{view}: {status} {body!r}")
        return json.loads(body)

    def stop(self, test):
        self.process.send_signal(signal.SIGTERM)
        test.assertEqual(self.process.wait(30), 0, self.process.stderr.read())


class Live:
    """A WebSocket, as far as reading texts needs it (RFC 6455)."""

    def __init__(self, server, **headers):
        self.socket = socket.create_connection((server.host, server.port), timeout=DEADLINE)
        head = {"Host": f"{server.host}:{server.port}", "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
                "Authorization": f"Bearer {server.token}", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        self.socket.sendall(f"GET /api/v1/live HTTP/1.1\r\n{lines}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.status == 101 and self.file.readline().strip():
            pass

    def next(self):
        while True:
            kind, size = self.file.read(2)
            if size == 126:
                size, = struct.unpack(">H", self.file.read(2))
            text = self.file.read(size)
            if kind & 15 == 1:
                return json.loads(text)

    def close(self):
        self.file.close()
        self.socket.close()


class View(WholeSystemTest):
    def assert_views_equal_sql(self, server, store):
        """The sums of each view, and a few of their parts, against SQL over the same file."""
        account = server.get("overview")["account"]
        self.assertEqual([account[k] for k in ("ranks", "captured", "stored", "lost")],
                         list(store.rows("SELECT count(*), sum(captured), sum(stored), sum(lost) FROM account")[0]
                              .values()))
        self.assertEqual(account["captured"], account["stored"] + account["lost"])

        for value, column in (("mpi", "time_ns"), ("bytes", "bytes"), ("calls", "calls")):
            grid = server.get("ranks", value=value, columns=7)
            for row in grid["rows"]:
                sums = {r["slot"]: r["n"] for r in store.rows(
                    f"SELECT (begin_ns - {grid['scope']['begin_ns']}) / {grid['slot_ns']} AS slot,"
                    f" sum({column}) AS n FROM profile_window WHERE rank = {row['first_rank']} GROUP BY 1")}
                self.assertEqual(row["cells"], [sums.get(i, 0) for i in range(grid["columns"])])
                if value != "mpi":
                    self.assertNotIn("watched", row)
                    continue
                self.assertEqual(row["watched_ns"], store.value(
                    f"SELECT (until_ns - since_ns) * threads FROM rank WHERE rank = {row['first_rank']}"))
                self.assertEqual(sum(n for n, _ in row["watched"]), grid["columns"])
                self.assertEqual(sum(n * ns for n, ns in row["watched"]), row["watched_ns"])
        wait = server.get("ranks", value="wait", columns=1)
        self.assertEqual(sum(row["total"] for row in wait["rows"]), store.value(
            "SELECT coalesce(sum(w.time_ns), 0) FROM profile_window w JOIN function f ON f.name = w.function"
            " WHERE class IN ('completion', 'collective', 'probe') OR function IN ('MPI_Send', 'MPI_Ssend', 'MPI_Rsend',"
            " 'MPI_Recv', 'MPI_Mrecv', 'MPI_Sendrecv', 'MPI_Sendrecv_replace')"))

        sql = ("SELECT function, sum(calls) AS calls, sum(time_ns) AS time_ns, sum(bytes) AS bytes FROM"
               " {} GROUP BY 1 ORDER BY 1")
        for table, parameters in (("function_total", {}), ("profile_window", {"series": 50, "distribution": 1})):
            functions = server.get("functions", most=1000, **parameters)["functions"]
            self.assertEqual(sorted([{k: f[k] for k in ("function", "calls", "time_ns", "bytes")} for f in functions],
                                    key=lambda f: f["function"]), store.rows(sql.format(table)))
            for function in functions if parameters else []:
                self.assertEqual(sum(function["series_ns"]), function["time_ns"])
                self.assertEqual(sum(b["calls"] for b in function["distribution"]), function["calls"])

        for value, sql in (("messages", "SELECT source, destination, messages, bytes FROM comm_matrix"),
                           ("waits", "SELECT rank, peer, calls, time_ns FROM wait_matrix")):
            cells = server.get("matrix", value=value)["cells"]
            self.assertEqual(cells, sorted(list(r.values()) for r in store.rows(sql) if any(list(r.values())[2:])))

        self.assertEqual([(n["id"], n["role"], n["parent"]) for n in server.get("tree")["nodes"]],
                         [tuple(r.values()) for r in store.rows("SELECT id, role, parent FROM node ORDER BY id")])
        self.assertEqual([(h["leaf"], h["host"]) for h in server.get("hosts")["hosts"]],
                         [tuple(r.values()) for r in store.rows("SELECT leaf, name FROM host ORDER BY leaf")])
        for name in server.get("hosts")["series"]:
            points = [p for line in server.get("series", name=name)["lines"] for p in line["points"]]
            self.assertEqual([sum(p["samples"] for p in points), min(p["min"] for p in points)],
                             list(store.rows(f"SELECT count(*), min(value) FROM host_metric WHERE name = '{name}'")[0]
                                  .values()))

    def assert_densities_equal_sql(self, server, store):
        """The strip of the whole run, the densities and SQL over the calls have the same share of time in MPI in each slot."""
        strip = server.get("ranks", columns=20, rows=1)
        begin, slot = strip["scope"]["begin_ns"], strip["slot_ns"]
        watched = [ns for n, ns in strip["rows"][0]["watched"] for _ in range(n)]
        for column, in_mpi in enumerate(strip["rows"][0]["cells"]):
            first, last = begin + column * slot, min(begin + (column + 1) * slot, strip["scope"]["end_ns"])
            below = server.get("timeline", begin_ns=first, end_ns=last, columns=1, rows=1, most=1)
            calls = store.value(f"SELECT coalesce(sum(min(end_ns, {last}) - max(begin_ns, {first})), 0) FROM event"
                                f" WHERE kind = 'mpi' AND begin_ns < {last} AND end_ns > {first}")
            self.assertAlmostEqual(in_mpi / max(watched[column], 1), calls / max(watched[column], 1), delta=0.002)
            if below["detail"] != "densities":
                self.assertEqual(below["detail"], "calls" if below["calls"] else "windows")
                continue
            self.assertEqual(below["densities"]["rows"][0]["cells"], [calls])
            self.assertEqual(below["densities"]["rows"][0]["watched_ns"], watched[column])

    def test_a_stored_run_is_shown_as_sql_has_it(self):
        store = self.run_job(mpirun("openmpi", 4, "meanings", self.folder / "own"), "--detail", "trace", name="all.db")
        server = Server(self, store.path)
        self.assert_views_equal_sql(server, store)
        server.stop(self)

        store = self.run_job(mpirun("openmpi", 4, "numbered", "ring", 300), "--detail", "trace")
        server = Server(self, store.path)
        self.assert_views_equal_sql(server, store)
        timeline = server.get("timeline", most=100000)
        self.assertEqual(timeline["detail"], "calls", timeline["reason"])
        order = "ORDER BY 1, 2, 3, 4 DESC, 5"
        self.assertEqual(
            sorted([c[k] for k in ("rank", "thread", "begin_ns", "end_ns", "function")] for c in timeline["calls"]),
            sorted(list(r.values()) for r in store.rows(
                f"SELECT rank, thread, begin_ns, end_ns, function FROM event {order}")))
        self.assertEqual(timeline["messages_in_all"], sum(c[2] for c in server.get("matrix")["cells"]))
        # In the whole of a run each message that was sent was received. The program gives each message another tag.
        self.assertEqual([timeline["unpaired"], timeline["backwards"]], [0, 0])
        self.assertEqual(
            sorted([m[k] for k in ("source", "destination", "sent_ns", "received_ns", "tag")] for m in timeline["messages"]),
            sorted(list(r.values()) for r in store.rows(
                "SELECT s.rank, s.peer, s.begin_ns, r.end_ns, s.tag FROM event s JOIN event r ON s.rank = r.peer AND"
                " s.peer = r.rank AND s.tag = r.tag WHERE s.function = 'MPI_Isend' AND r.function = 'MPI_Recv'")))
        # A part of the run of one rank has the same messages, though their other ends are elsewhere.
        middle = sorted(m["sent_ns"] for m in timeline["messages"] if m["source"] == 0)
        begin, end = middle[100], middle[150]
        part = server.get("timeline", first_rank=0, end_rank=1, begin_ns=begin, end_ns=end)
        # The other end is read if it is near; how near it is depends on the machine.
        pairs = [m for m in part["messages"] if m["sent_ns"] is not None and m["received_ns"] is not None]
        self.assertGreater(len(pairs), 0)
        self.assertEqual([m for m in pairs if m not in timeline["messages"]], [])
        self.assertEqual(part["unpaired"], len(part["messages"]) - len(pairs))
        found = server.get("search", function="mpi_isend", peer=1, most=100000)
        self.assertEqual([c["begin_ns"] for c in found["calls"]], [r["begin_ns"] for r in store.rows(
            "SELECT begin_ns FROM event WHERE function = 'MPI_Isend' AND peer = 1 ORDER BY 1")])
        self.assert_densities_equal_sql(server, store)
        longest = store.rows("SELECT rank, end_ns - begin_ns AS n FROM event ORDER BY n DESC LIMIT 1")[0]
        self.assertEqual([timeline["longest"][0]["rank"], timeline["longest"][0]["duration_ns"]],
                         list(longest.values()))
        one = timeline["calls"][len(timeline["calls"]) // 2]
        near = server.get("timeline", first_rank=one["rank"], end_rank=one["rank"] + 1, begin_ns=one["begin_ns"],
                          end_ns=one["end_ns"])
        self.assertIn(one, near["calls"])

        query = server.get("query", sql="SELECT rank, captured FROM account ORDER BY rank")
        self.assertEqual(query["rows"], [[r["rank"], r["captured"]] for r in store.account()])
        server.stop(self)
        self.assert_nothing_left()

    def test_a_growing_run_is_shown_as_it_grows_and_ends_in_one_file(self):
        path = self.folder / "run.db"
        stop = self.folder / "stop"
        job = self.start("run", "--store", path, "--",
                         *mpirun("mpich", 2, "numbered", "alone", stop, self.folder / "own", 5))
        self.addCleanup(stop.touch)  # Else the ranks of a test that has failed would go on for ever.
        wait_until(path.exists, "the store is there")
        missing = self.xylem("view", "--live", "nosuchrun")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("no run nosuchrun is in progress on this host", missing.stderr)
        # A file that is being made cannot be read yet, and says so.
        begun = ("query", path, "SELECT run_id FROM run")
        wait_until(lambda: self.xylem(*begun).returncode == 0, "the store is made")
        run = wait_until(lambda: Store(path).rows("SELECT run_id FROM run"), "the run has begun")[0]["run_id"]
        server = Server(self, "--live", run[:12])
        live = Live(server)
        self.assertEqual(live.status, 101)
        wait_until(lambda: server.get("overview")["account"]["captured"] > 0, "calls are seen")
        number, ended = 0, False
        while not ended:
            told = live.next()
            self.assertGreater(told.get("number", 0), number, told)
            number, ended = told["number"], told["has_ended"]
            if number > 5:
                stop.touch()
        live.close()
        self.assertEqual(job.wait(60), 0, job.stderr.read())
        store = Store(path)
        self.assert_views_equal_sql(server, store)
        self.assertTrue(server.get("overview")["scope"]["has_ended"])
        self.assertEqual(store.value("PRAGMA journal_mode"), "delete", "the view kept the run from ending as one file")
        server.stop(self)
        self.assert_nothing_left()

    # As the README has it: both are typed together.
    def test_a_view_that_is_started_with_its_run_waits_for_it(self):
        path, stop = self.folder / "run.db", self.folder / "stop"
        waiting = self.start("view", "--live", "--wait", "10m")
        self.assertRegex(waiting.stderr.readline(), r"\Axylem view: no run of yours is in progress on this host yet; "
                         r"waiting up to 600s for one to begin\n\Z")
        top = self.start("top", "--live", "--once")
        self.addCleanup(stop.touch)
        job = self.start("run", "--store", path, "--", *mpirun("mpich", 2, "numbered", "alone", stop, self.folder / "own", 5))
        self.assertRegex(waiting.stdout.readline(), r"^http://127")
        self.assertEqual(top.wait(DEADLINE), 0, top.stderr.read())
        run = json.loads(self.xylem("ls", "--json", cwd="/").stdout)["runs"]
        self.assertEqual([(r["file"], r["state"]) for r in run], [(str(path), "live")])
        stop.touch()
        self.assertEqual(job.wait(60), 0, job.stderr.read())
        waiting.send_signal(signal.SIGTERM)
        self.assertEqual(waiting.wait(30), 0)
        self.assertEqual(json.loads(self.xylem("ls", "--json").stdout)["runs"][0]["state"], "ended")
        missing = self.xylem("view", "--live", "--wait", "10ms")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("no run of yours is in progress on this host; name the file", missing.stderr)
        self.assert_nothing_left()

    def test_strangers_and_what_is_no_question_are_refused(self):
        store = self.run_job(["true"], "--quiet")
        server = Server(self, store.path, "--token-file", self.folder / "token")
        self.assertEqual(os.stat(self.folder / "token").st_mode & 0o777, 0o600)
        self.assertEqual((self.folder / "token").read_text().strip(), server.token)

        def refused(status, target="/api/v1/overview", **how):
            found, headers, body = server.ask(target, **how)
            self.assertEqual(found, status, body)
            error = json.loads(body)["error"]
            self.assertEqual(error["status"], status)
            self.assertGreater(len(error["message"]), 10)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

        refused(401, token="0" * 64)
        refused(401, token="")
        for target, sentence in (("/", "a token is needed: open"), ("/?token=" + "0" * 64, "the token is not this server's")):
            found, headers, body = server.ask(target, Authorization="")
            self.assertEqual((found, headers["Content-Type"]), (401, "text/plain; charset=utf-8"), "a person reads it")
            self.assertTrue(body.decode().startswith(sentence), body)
        refused(403, Host="evil.example")
        refused(403, Host=f"evil.example:{server.port}")
        refused(403, Origin="http://evil.example")
        refused(403, Origin="null")
        refused(405, method="POST")
        refused(405, method="DELETE")
        refused(413, method="POST", body=b"x" * 10_000_000)
        refused(431, X_Long="x" * 100_000)
        query = "/api/v1/query?" + urllib.parse.urlencode({"sql": "{}"}).replace("%7B%7D", "{}")
        for sql in ("ATTACH DATABASE '/tmp/x.db' AS x", "DELETE FROM run", "CREATE TABLE x(y)", "PRAGMA user_version = 1",
                    "SELECT load_extension('x')", "VACUUM INTO '/tmp/x.db'"):
            refused(403, query.format(urllib.parse.quote(sql)))
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        refused(504, query.format(urllib.parse.quote(endless)))
        refused(413, query.format("SELECT%20" + ",".join(["hex(zeroblob(7000000))"] * 6)))
        slow = "SELECT sum(length(hex(zeroblob(7000000)))) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT * FROM n)"
        refused(504, query.format(urllib.parse.quote(slow)))
        for headers, status in (({"Authorization": "Bearer x"}, 401), ({"Origin": "http://evil.example"}, 403),
                                ({"Host": "evil.example"}, 403)):
            live = Live(server, **headers)
            self.assertEqual(live.status, status)
            live.close()

        # Once in the address, then as a cookie.
        status, headers, _ = server.ask(f"/api/v1/overview?token={server.token}", token="")
        self.assertEqual((status, headers["Location"]), (303, "/api/v1/overview"))
        cookie, *attributes = headers["Set-Cookie"].split("; ")
        self.assertEqual(set(attributes), {"Path=/", "HttpOnly", "SameSite=Strict"})
        self.assertEqual(server.ask("/api/v1/overview", token="", Cookie=cookie)[0], 200)
        self.assertEqual(server.ask("/healthz", token="")[0], 200)
        self.assertEqual(server.get("server")["refused"],
                         {"host": 3, "origin": 3, "method": 2, "token": 5, "malformed": 0, "server": 2})
        server.stop(self)

    def test_what_cannot_be_served_is_said(self):
        store = self.run_job(["true"], "--quiet")
        (self.folder / "open").write_text("0" * 64)
        os.chmod(self.folder / "open", 0o644)
        for words, said in (((self.folder / "none.db",), "none.db"),
                            ((store.path, "--listen", "8080"), "is not ADDRESS:PORT"),
                            ((store.path, "--listen", "192.0.2.1:0"), "192.0.2.1"),
                            ((store.path, "--token-file", self.folder / "open"), "0600")):
            done = self.xylem("view", *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stderr, r"\Axylem view: [^\n]+\n\Z")
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
