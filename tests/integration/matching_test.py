#!/usr/bin/env python3
"""Receives keep what they have posted, collectives what each rank sends and receives, and the trace says what it is short of.
The test program says what it does, in the order of its calls."""

import unittest

from harness import WholeSystemTest, mpirun

LIBRARIES = ("mpich", "openmpi")
RANKS = 4
# The part of MPI_Sendrecv that receives is a row of its own.
POSTS = """SELECT function, posted_bytes, any_source, any_tag, begin_ns FROM {0} WHERE rank = {1}
           AND posted_bytes IS NOT NULL AND function NOT LIKE '%probe'"""
COLLECTIVES = """SELECT function, bytes, received_bytes, coalesce(operation, '-') AS operation, in_place,
                 coalesce(peer, '-') AS root FROM event WHERE rank = {} AND received_bytes IS NOT NULL"""
BLOCKS = "SELECT function, peer, bytes, received_bytes FROM completion WHERE rank = {} AND kind = 'block'"


class Truth:
    """What a rank of the program has written."""

    def __init__(self, text):
        lines = [line.split(" ") for line in text.splitlines()]
        self.posts = [tuple(words) for kind, *words in lines if kind == "post"]
        self.collectives = [tuple(words[:-1]) for kind, *words in lines if kind == "all"]
        self.blocks = [tuple(words) for kind, *words in lines if kind == "block"]
        announced = sum(int(words[-1]) for kind, *words in lines if kind == "all")
        assert announced == len(self.blocks), "the program contradicts itself"


def as_text(row, names):
    return tuple(str(row[name]) for name in names)


class MatchingTest(WholeSystemTest):
    def run_program(self, library, *options):
        prefix = self.folder / "said"
        store = self.run_job(mpirun(library, RANKS, "exchanges", prefix), "--overwrite", *options)
        self.assert_adds_up(store)
        return store, [Truth((self.folder / f"said.{rank}").read_text()) for rank in range(RANKS)]

    def test_what_is_posted_and_exchanged_is_what_the_program_says(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store, truths = self.run_program(library, "--detail", "trace")
                for rank, truth in enumerate(truths):
                    posts = [*store.rows(POSTS.format("event", rank)),
                             *(row for row in store.rows(POSTS.format("completion", rank)) if "Sendrecv" in row["function"])]
                    posts.sort(key=lambda row: row["begin_ns"])
                    self.assertEqual([as_text(row, ("function", "posted_bytes", "any_source", "any_tag")) for row in posts],
                                     truth.posts, f"rank {rank}")
                    found = [as_text(row, ("function", "bytes", "received_bytes", "operation", "in_place", "root"))
                             for row in store.rows(COLLECTIVES.format(rank))]
                    self.assertEqual(found, truth.collectives, f"rank {rank}")
                    blocks = [as_text(row, ("function", "peer", "bytes", "received_bytes")) for row in store.rows(BLOCKS.format(rank))]
                    self.assertEqual(blocks, truth.blocks, f"rank {rank}")
                print(f"{library}: {sum(len(t.posts) for t in truths)} posts, {sum(len(t.collectives) for t in truths)} collective calls,"
                      f" {sum(len(t.blocks) for t in truths)} blocks")
                self.check_collectives(store, truths)
                self.check_sums(store)

    def check_collectives(self, store, truths):
        """Each collective has one row, in which all ranks are together; nothing is without its other half."""
        self.assertEqual([dict(row) for row in store.rows("SELECT * FROM unmatched")], [])
        rows = store.rows("SELECT function, ranks, members, bytes, received_bytes, first_ns, last_ns FROM collective")
        self.assertEqual({(row["ranks"], row["members"]) for row in rows}, {(RANKS, RANKS)})
        self.assertTrue(all(row["first_ns"] <= row["last_ns"] for row in rows))
        self.assertEqual(sum(row["ranks"] for row in rows), sum(len(truth.collectives) for truth in truths))
        for column, at in (("bytes", 1), ("received_bytes", 2)):
            self.assertEqual(sum(row[column] for row in rows), sum(int(c[at]) for truth in truths for c in truth.collectives))
        # An exchange of all with all receives as much as it sends.
        for row in rows:
            if "lltoall" in row["function"]:
                self.assertEqual(row["bytes"], row["received_bytes"], row["function"])

    def check_sums(self, store):
        """Blocks do not count twice in the profile. Processors are those of this machine."""
        wrong = store.rows("""SELECT t.rank, t.function, t.bytes, e.bytes AS traced FROM function_total t
                              JOIN (SELECT rank, function, sum(bytes) AS bytes FROM event GROUP BY rank, function) e USING (rank, function)
                              WHERE t.class = 'collective' AND t.bytes <> e.bytes""")
        self.assertEqual([dict(row) for row in wrong], [])
        cpus = {row["cpu"] for row in store.rows("SELECT DISTINCT cpu FROM event")}
        allowed = set()
        for part in store.value("SELECT group_concat(DISTINCT processors) FROM rank").split(","):
            first, _, last = part.partition("-")
            allowed |= set(range(int(first), int(last or first) + 1))
        self.assertTrue(cpus and cpus <= allowed, f"processors {cpus}, allowed {allowed}")

    def test_a_trace_that_is_not_whole_says_what_is_missing(self):
        for library in LIBRARIES:
            with self.subTest(library):
                # A program with bursts of completions, which a small ring cannot hold.
                store = self.run_job(mpirun(library, RANKS, "requests"), "--detail", "trace", "--overwrite", "--ring", 64)
                kinds = {row["kind"]: row["count"] for row in store.rows(
                    "SELECT kind, sum(count) AS count FROM unmatched WHERE reason LIKE 'there was no room%' GROUP BY kind")}
                lost = {row["part"]: row["lost"] for row in store.rows(
                    "SELECT part, sum(coalesce(messages, calls)) AS lost FROM loss WHERE reason LIKE '%ring was full%' GROUP BY part")}
                names = {"call": "ring", "part": "part", "send": "message", "receive": "receive"}
                self.assertEqual(kinds, {kind: lost[part] for kind, part in names.items() if part in lost})
                self.assertGreater(sum(kinds.values()), 100)
                store, _ = self.run_program(library)
                self.assertEqual([as_text(row, ("rank", "kind", "reason")) for row in store.rows("SELECT * FROM unmatched ORDER BY rank")],
                                 [(str(rank), "call", "the rank has no trace") for rank in range(RANKS)])

    def test_messages_of_threads_are_matched_or_named(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store = self.run_job(mpirun(library, 4, "messages", 5, 20, 3, 10), "--detail", "trace", "--overwrite")
                halves = store.value("SELECT sum((sent_ns IS NULL) + (received_ns IS NULL)) FROM message")
                self.assertEqual(store.value("SELECT coalesce(sum(count), 0) FROM unmatched WHERE kind IN ('send', 'receive')"), halves)


if __name__ == "__main__":
    unittest.main()
