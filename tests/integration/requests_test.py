#!/usr/bin/env python3
"""Each operation with a request has a number of its own, from its start to its completion, whatever starts and completes it.
The test program says what it does, in the order of its calls."""

import unittest

from harness import WholeSystemTest, mpirun

LIBRARIES = ("mpich", "openmpi")
RANKS = 4
STARTS = """SELECT function, request, begin_ns FROM event WHERE rank = {0} AND stage = 'start' UNION ALL
            SELECT function, request, begin_ns FROM completion WHERE rank = {0} AND stage = 'start'"""
COMPLETIONS = "SELECT function, request FROM completion WHERE rank = {} AND stage = 'completion'"
ANSWERS = """SELECT function, sum(success = 1) AS found, sum(success = 0) AS without FROM event
             WHERE rank = {} AND success IS NOT NULL GROUP BY function"""


class Truth:
    """What a rank of the program has written."""

    def __init__(self, text):
        self.started, self.completed, self.freed, self.polls = [], [], [], {}
        for line in text.splitlines():
            kind, *words = line.split(" ")
            if kind == "start":
                self.started.append((words[1], int(words[0])))
            elif kind == "done":
                self.completed.append((words[1], int(words[0])))
            elif kind == "freed":
                self.freed.append(int(words[0]))
            elif int(words[1]) + int(words[2]) > 0:
                self.polls[words[0]] = (int(words[1]), int(words[2]))


class RequestsTest(WholeSystemTest):
    def check(self, store, truth, rank):
        """The record has the same starts and completions in the same order. Returns the number of each operation."""
        # Those that MPI_Startall has started are rows of their own, in the order of its array.
        rows = sorted(store.rows(STARTS.format(rank)), key=lambda row: row["begin_ns"])
        self.assertEqual([row["function"] for row in rows], [function for function, _ in truth.started], f"rank {rank}")
        numbers = {id_: row["request"] for (_, id_), row in zip(truth.started, rows)}
        self.assertNotIn(None, numbers.values())
        self.assertEqual(len(set(numbers.values())), len(numbers), f"rank {rank}: a number twice")
        # A call that has failed may complete its operation, or not; see the program.
        found = [(row["function"], row["request"]) for row in store.rows(COMPLETIONS.format(rank))]
        expected = [(function, numbers[id_]) for function, id_ in truth.completed]
        # A single wait or test has one row, that of its call. Calls for several have further rows, after it.
        self.assertEqual(found, expected, f"rank {rank}")
        return numbers

    def run_program(self, library, *options):
        store = self.run_job(mpirun(library, RANKS, "requests"), "--detail", "trace", "--overwrite", *options)
        self.assert_adds_up(store)
        return store, [Truth((self.folder / f"said.{rank}").read_text()) for rank in range(RANKS)]

    def test_every_operation_has_one_start_and_one_completion_in_the_order_of_the_calls(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store, truths = self.run_program(library, "--sample", "none")
                for rank, truth in enumerate(truths):
                    numbers = self.check(store, truth, rank)
                    freed = store.rows(f"SELECT request FROM event WHERE rank = {rank} AND function = 'MPI_Request_free'"
                                       " AND request IS NOT NULL")
                    self.assertEqual([row["request"] for row in freed], [numbers[id_] for id_ in truth.freed])
                    cancelled = store.rows(f"SELECT e.request, c.bytes, c.peer FROM event e JOIN completion c USING (rank, request)"
                                           f" WHERE e.rank = {rank} AND e.function = 'MPI_Cancel'")
                    self.assertEqual([(row["bytes"], row["peer"]) for row in cancelled], [(0, None)])
                    answers = {row["function"]: (row["found"], row["without"]) for row in store.rows(ANSWERS.format(rank))}
                    self.assertEqual(answers, truth.polls, f"rank {rank}")
                print(f"{library}: {sum(len(truth.started) for truth in truths)} operations,"
                      f" {sum(len(truth.completed) for truth in truths)} completions,"
                      f" {sum(nothing for truth in truths for _, nothing in truth.polls.values())} polls that found nothing")

    def test_lost_starts_and_completions_are_named(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store, truths = self.run_program(library, "--ring", 64)
                for rank, truth in enumerate(truths):
                    kept = store.value(f"SELECT (SELECT count(*) FROM event WHERE rank = {rank} AND stage = 'start')"
                                       f" + (SELECT count(*) FROM completion WHERE rank = {rank} AND stage IS NOT NULL)")
                    lost = store.value(f"SELECT coalesce(sum(messages), 0) FROM loss WHERE rank = {rank} AND part IN ('receive', 'part')")
                    calls = store.value(f"SELECT coalesce(sum(calls), 0) FROM loss WHERE rank = {rank} AND part = 'ring'")
                    self.assertGreater(lost, 100)
                    # Those that are in no row are lost parts of calls, or calls that are lost themselves.
                    missing = len(truth.started) + len(truth.completed) - kept
                    self.assertLessEqual(missing, lost + calls)

    def test_polls_that_sampling_leaves_out_complete_operations_too(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store, truths = self.run_program(library)
                for rank, truth in enumerate(truths):
                    self.check(store, truth, rank)

    def test_threads_complete_what_they_start(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store = self.run_job(mpirun(library, 4, "messages", 5, 20, 3, 10), "--detail", "trace", "--overwrite")
                self.assertGreater(self.assert_operations_complete(store), 100)


if __name__ == "__main__":
    unittest.main()
