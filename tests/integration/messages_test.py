#!/usr/bin/env python3
"""The numbers of messages pair each receive with the send of the same message, in the record and in the timeline at each zoom.
Each message of the test program has a size of its own, so the truth is in the records themselves."""

import collections
import unittest

from harness import WholeSystemTest, mpirun
from view_test import Server

RECORDS = """SELECT rank, function, peer, tag, comm, bytes, number FROM {}
             WHERE bytes > 0 AND peer IS NOT NULL AND kind = '{}'"""
SENDS = {"MPI_Send", "MPI_Isend", "MPI_Issend", "MPI_Start", "MPI_Sendrecv"}
ZOOMS_MS = (None, 50, 5, 1.5)  # None: the whole run.


class Ends:
    """The ends of a run's messages, by the size of the message."""

    def __init__(self, store):
        self.sent = {}      # Rank of the sender, begin of the call that sent.
        self.received = {}  # Rank of the receiver, end of the call that received.
        numbers = {}
        for row in store.rows("SELECT 'event' AS source, rank, function, peer, tag, comm, number, bytes, begin_ns, end_ns FROM event"
                              " WHERE bytes > 0 AND peer IS NOT NULL UNION ALL SELECT 'completion', rank, function, peer, tag,"
                              " comm, number, bytes, begin_ns, end_ns FROM completion WHERE kind <> 'mpi' AND bytes > 0 AND peer IS NOT NULL"):
            is_send = row["source"] == "event" and row["function"] in SENDS
            (self.sent if is_send else self.received)[row["bytes"]] = (row["rank"], row["begin_ns" if is_send else "end_ns"])
            ends = (row["rank"], row["peer"]) if is_send else (row["peer"], row["rank"])
            if row["number"] is not None:
                numbers.setdefault(row["bytes"], []).append((ends, row["comm"], row["tag"], row["number"]))
        self.known = self.sent.keys() & self.received.keys()  # Both records are there.
        self.numbered = {size for size in self.known  # The records also have the same number in the same channel.
                         if len(numbers.get(size, ())) == 2 and len(set(numbers[size])) == 1}

    def in_view(self, begin, end):
        """The messages that are on their way at some time of [begin, end), and those with no end in it."""
        on_their_way = {size for size in self.known if self.sent[size][1] < end and self.received[size][1] > begin}
        return on_their_way, {size for size in on_their_way if self.sent[size][1] < begin and self.received[size][1] > end}

    def zooms(self, store):
        """Name, begin and end of times around the midst of the messages."""
        run = store.rows("SELECT min(begin_ns) AS begin, max(end_ns) AS end FROM event")[0]
        middle = sorted(at for _, at in self.sent.values())[len(self.sent) // 2]
        for ms in ZOOMS_MS:
            half = (run["end"] - run["begin"]) if ms is None else int(ms * 1e6) // 2
            yield ("whole run" if ms is None else f"{ms} ms",
                   max(middle - half, run["begin"]), min(middle + half, run["end"]))


class MessagesTest(WholeSystemTest):
    def halves(self, store):
        """Two lists of the store's records, sends and receives: (channel, number or None, bytes)."""
        sends, receives = [], []
        for table in ("event", "completion"):
            for row in store.rows(RECORDS.format(table, "mpi" if table == "event" else "completion")):
                rank, peer = row["rank"], row["peer"]
                is_send = table == "event" and row["function"] in SENDS
                ends = (rank, peer) if is_send else (peer, rank)
                half = sends if is_send else receives
                half.append(((row["comm"], *ends, row["tag"]), row["number"], row["bytes"]))
        return sends, receives

    def check(self, store, name, known, whole=True):
        """No pair is wrong, and at least the share `known` of the messages is paired."""
        sends, receives = self.halves(store)
        if whole:
            self.assertEqual(sorted(size for *_, size in sends), sorted(size for *_, size in receives), name)
        for half in (sends, receives):
            sizes = collections.Counter(size for *_, size in half)
            self.assertEqual([size for size, times in sizes.items() if times > 1], [], name)
        by_number = {(channel, number): size for channel, number, size in sends if number is not None}
        self.assertEqual(len(by_number), sum(number is not None for _, number, _ in sends), f"{name}: a number twice")
        numbered = [(channel, number) for channel, number, _ in receives if number is not None]
        self.assertEqual(len(numbered), len(set(numbered)), f"{name}: a number twice")
        pairs = wrong = 0
        for channel, number, size in receives:
            if number is None or (channel, number) not in by_number:
                continue
            pairs += 1
            wrong += by_number[channel, number] != size
        self.assertEqual(wrong, 0, f"{name}: {wrong} of {pairs} pairs are wrong")
        both = {size for *_, size in sends} & {size for *_, size in receives}
        print(f"{name}: {pairs} of {len(both)} messages whose two records are there are paired")
        self.assertGreaterEqual(pairs, known * len(both), name)

    def check_table(self, store, name):
        """The table `message` has each message once, with the times of the records that have its size."""
        ends = Ends(store)
        rows = store.rows("SELECT source, destination, bytes, sent_ns, received_ns FROM message WHERE bytes > 0")
        self.assertEqual({row["bytes"]: (row["source"], row["sent_ns"]) for row in rows}, ends.sent, name)
        self.assertEqual({row["bytes"]: (row["destination"], row["received_ns"]) for row in rows}, ends.received, name)
        self.assertEqual(len(rows), len(ends.sent), name)

    def check_timeline(self, store, name):
        """At no zoom an arrow is wrong, and each message whose two records have the same number has an arrow."""
        ends = Ends(store)
        server = Server(self, store.path)
        for zoom, begin, end in ends.zooms(store):
            what = f"{name}, {zoom}"
            answer = server.get("timeline", begin_ns=begin, end_ns=end, most=100000)
            self.assertEqual((answer["detail"], answer["backwards"]), ("calls", 0), what)
            self.assertEqual(len(answer["messages"]), answer["messages_in_all"], what)
            arrows, wrong, backwards, single = {}, 0, 0, 0
            for message in answer["messages"]:
                size, sent_ns, received_ns = message["bytes"], message["sent_ns"], message["received_ns"]
                if size == 0:
                    continue  # Of MPI itself, without payload.
                sent, received = (message["source"], sent_ns), (message["destination"], received_ns)
                if sent_ns is None or received_ns is None:
                    single += 1
                    wrong += ends.received[size] != received if sent_ns is None else ends.sent[size] != sent
                    continue
                self.assertNotIn(size, arrows, f"{what}: two arrows")
                arrows[size] = message
                wrong += ends.sent.get(size) != sent or ends.received.get(size) != received
                backwards += received_ns < sent_ns
            # The ends of a message that crosses the view may be too far away to be found.
            in_view, crossing = ends.in_view(begin, end)
            print(f"{what}: {len(in_view)} messages in view, {len(in_view & ends.numbered)} of them have numbers; {len(arrows)} arrows,"
                  f" {wrong} wrong, {backwards} backwards; {single} single ends; of {len(crossing & ends.numbered)} that cross the"
                  f" view, {len(crossing & ends.numbered - arrows.keys())} have no arrow")
            self.assertEqual((wrong, backwards), (0, 0), what)
            self.assertEqual(in_view & ends.numbered - crossing - arrows.keys(), set(), f"{what}: no arrow")
        server.stop(self)

    def check_order(self, store, name):
        """Calls of a thread never overlap, whatever was learned of the clock meanwhile."""
        calls, overlapping = store.rows(
            "SELECT count(*) AS calls, sum(begin_ns < before) AS overlapping FROM (SELECT begin_ns, lag(end_ns) OVER"
            " (PARTITION BY rank, thread ORDER BY end_ns, begin_ns) AS before FROM event)")[0].values()
        print(f"{name}: {overlapping} of {calls} calls begin before the end of another one of their thread")
        self.assertGreater(calls, 4000)
        self.assertEqual(overlapping, 0)

    def run_messages(self, library, seed, rounds, threads, wild, *options):
        return self.run_job(mpirun(library, 4, "messages", seed, rounds, threads, wild), "--detail", "trace",
                            "--overwrite", *options)

    def test_every_message_without_wildcards_is_paired(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 1, 60, 1, 0)
                self.assert_adds_up(store)
                self.check_order(store, library)
                self.check(store, library, 1)
                self.check_table(store, library)
                self.check_timeline(store, library)

    def test_no_pair_is_wrong_with_wildcards(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 2, 60, 1, 30)
                self.check(store, library, 0.5)
                self.check_timeline(store, f"{library}, wildcards")

    def test_no_pair_is_wrong_with_several_threads(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 3, 20, 3, 10)
                self.check(store, library, 0.5)
                self.check_timeline(store, f"{library}, three threads")

    def test_lost_records_leave_gaps_and_no_wrong_pairs(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 4, 60, 1, 0, "--ring", 64)
                self.assertGreater(store.value("SELECT sum(lost) FROM account"), 0)
                self.check(store, library, 0.9, whole=False)
                self.check_timeline(store, f"{library}, lost records")

    def test_a_collective_has_the_same_number_on_all_ranks(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 6, 30, 1, 0)
                groups = store.rows("SELECT comm, number, count(DISTINCT rank) AS ranks, count(*) AS calls,"
                                    " max(begin_ns) <= min(end_ns) AS overlap FROM event"
                                    " WHERE function = 'MPI_Barrier' GROUP BY 1, 2")
                self.assertGreater(len(groups), 25)
                for group in groups:
                    self.assertIsNotNone(group["number"], group)
                    self.assertEqual((group["ranks"], group["calls"], group["overlap"]), (4, 4, 1), group)


if __name__ == "__main__":
    unittest.main()
