#!/usr/bin/env python3
"""The numbers of messages pair each receive with the send of the same message. Each message of the test program has a size of
its own, so the truth is in the records themselves."""

import collections
import unittest

from harness import WholeSystemTest, mpirun

RECORDS = """SELECT rank, function, peer, tag, comm, bytes, number FROM {}
             WHERE bytes > 0 AND peer IS NOT NULL"""
SENDS = {"MPI_Send", "MPI_Isend", "MPI_Issend", "MPI_Start", "MPI_Sendrecv"}


class MessagesTest(WholeSystemTest):
    def halves(self, store):
        """Two lists of the store's records, sends and receives: (channel, number or None, bytes)."""
        sends, receives = [], []
        for table in ("event", "completion"):
            for row in store.rows(RECORDS.format(table)):
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
        sent, received = {}, {}
        for row in store.rows("SELECT rank, function, bytes, begin_ns, end_ns, 'event' AS source FROM event WHERE bytes > 0 AND"
                              " peer IS NOT NULL UNION ALL SELECT rank, function, bytes, begin_ns, end_ns, 'completion' AS source"
                              " FROM completion WHERE bytes > 0 AND peer IS NOT NULL"):
            is_send = row["source"] == "event" and row["function"] in SENDS
            (sent if is_send else received)[row["bytes"]] = (row["rank"], row["begin_ns" if is_send else "end_ns"])
        rows = store.rows("SELECT source, destination, bytes, sent_ns, received_ns FROM message WHERE bytes > 0")
        self.assertEqual({row["bytes"]: (row["source"], row["sent_ns"]) for row in rows}, sent, name)
        self.assertEqual({row["bytes"]: (row["destination"], row["received_ns"]) for row in rows}, received, name)
        self.assertEqual(len(rows), len(sent), name)

    def run_messages(self, library, seed, rounds, threads, wild, *options):
        return self.run_job(mpirun(library, 4, "messages", seed, rounds, threads, wild), "--detail", "trace",
                            "--overwrite", *options)

    def test_every_message_without_wildcards_is_paired(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 1, 60, 1, 0)
                self.assert_adds_up(store)
                self.check(store, library, 1)
                self.check_table(store, library)

    def test_no_pair_is_wrong_with_wildcards(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                self.check(self.run_messages(library, 2, 60, 1, 30), library, 0.5)

    def test_no_pair_is_wrong_with_several_threads(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                self.check(self.run_messages(library, 3, 20, 3, 10), library, 0.5)

    def test_lost_records_leave_gaps_and_no_wrong_pairs(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_messages(library, 4, 60, 1, 0, "--ring", 64)
                self.assertGreater(store.value("SELECT sum(lost) FROM account"), 0)
                self.check(store, library, 0.9, whole=False)

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
