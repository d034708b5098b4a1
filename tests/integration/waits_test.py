#!/usr/bin/env python3
"""Wait states of programs whose waits are known: each rank, cause, kind and function within 2 % of what the program's own clock says.
The programs are the patterns of tests/support/mpi/waits.c."""

import collections
import itertools
import unittest

from harness import WholeSystemTest, mpirun

RANKS = range(4)
BETWEEN_NS = 500_000  # A rank's clock and its record may be so far apart in a run, so ranks may seem to come in another order.
RECEIVING = {"MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Sendrecv"}
PROBING = {"late_sender_probe": {"MPI_Probe"}, "late_sender_mprobe": {"MPI_Mprobe"}}
SENDING = {"MPI_Send", "MPI_Ssend", "MPI_Sendrecv", "MPI_Isend"}
COMPLETING = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany"}
BLOCKING_SENDS = {"MPI_Send", "MPI_Ssend"}
POSTING = {"MPI_Recv", "MPI_Irecv", "MPI_Sendrecv", "MPI_Mrecv"}
RING = [(rank, (rank + 1) % 4) for rank in RANKS]
# The channels of a pattern: sender and receiver.
CHANNELS = {"late_sender": [(0, 1)], "late_sender_wait": [(0, 1)], "late_senders_waitall": [(1, 0), (2, 0)],
            "late_receiver": [(0, 1)], "late_receiver_large": [(0, 1)], "slow_rank_in_ring": RING,
            "chain": [(0, 1), (1, 2), (2, 3)],
            "late_receiver_wait": [(0, 1)], "late_receiver_waitany": [(0, 1)], "late_receivers_waitall": [(0, 1), (0, 2)],
            "late_in_exchange": [(0, 1), (2, 0)], "late_sender_probe": [(0, 1)], "late_sender_mprobe": [(0, 1)]}
# Collectives that do not block, the call that completes them, and the root.
NONBLOCKING = {"late_at_ibarrier": ("MPI_Ibarrier", "MPI_Wait", None),
               "late_at_iallreduce_in_turn": ("MPI_Iallreduce", "MPI_Waitall", None),
               "late_root_ibcast": ("MPI_Ibcast", "MPI_Wait", 3)}
COLLECTIVES = {"MPI_Barrier": [RANKS], "MPI_Allreduce": [RANKS], "MPI_Bcast": [RANKS], "MPI_Reduce": [RANKS],
               "MPI_Alltoall": [(0, 1), (2, 3)]}
ROOTS = {"MPI_Bcast": 3, "MPI_Reduce": 0}
# The rank that all waits come from in the end.
CULPRITS = {"slow_rank_in_ring": 2, "chain": 0}
PATTERNS = [*CHANNELS, *NONBLOCKING, "late_at_barrier", "late_at_allreduce_in_turn", "late_root", "early_root", "late_in_pairs"]

Call = collections.namedtuple("Call", "function begin end")


def read_log(path):
    return [Call(name, int(begin), int(end)) for name, begin, end in (line.split() for line in path.read_text().splitlines())]


class Truth:
    """Who waited for whom, by the times that the ranks of a pattern wrote: (rank, cause, kind, function) -> ns."""

    def __init__(self, pattern, logs):
        self.waits = collections.Counter()
        self.has_ties = False
        self.logs = logs
        channels = CHANNELS.get(pattern, [])
        for receiver in {receiver for _, receiver in channels}:
            self.add_receives(receiver, channels, PROBING.get(pattern, RECEIVING))
        for sender, receiver in channels:
            self.add_late_receivers(sender, receiver, channels)
        for sender in {sender for sender, _ in channels}:
            self.add_late_receives_of_requests(sender, channels)
        if pattern in NONBLOCKING:
            self.add_nonblocking(*NONBLOCKING[pattern])
        for function, groups in COLLECTIVES.items():
            for group in groups:
                self.add_collectives(function, group)

    def calls(self, rank, functions):
        return [call for call in self.logs[rank] if call.function in functions]

    def add(self, rank, cause, kind, call, until):
        self.waits[rank, cause, kind, call.function] += max(0, min(call.end, until) - call.begin)

    def sends_to(self, sender, receiver, channels):
        """A rank sends to its receivers in the order of the channels."""
        targets = [to for source, to in channels if source == sender]
        return self.calls(sender, SENDING)[targets.index(receiver)::len(targets)]

    def add_receives(self, receiver, channels, functions):
        senders = [sender for sender, to in channels if to == receiver]
        sends = {sender: self.sends_to(sender, receiver, channels) for sender in senders}
        for k, call in enumerate(self.calls(receiver, functions)):
            since = call.begin
            for begin, sender in sorted((sends[sender][k].begin, sender) for sender in senders):
                self.add(receiver, sender, "late_sender", Call(call.function, since, call.end), begin)
                since = max(since, begin)

    def add_late_receivers(self, sender, receiver, channels):
        posts = self.calls(receiver, POSTING)
        step = sum(to == receiver for _, to in channels) if any(p.function == "MPI_Irecv" for p in posts) else 1
        for k, call in enumerate(self.calls(sender, BLOCKING_SENDS)):
            post = posts[k * step].begin
            if call.begin < post < call.end:
                self.add(sender, receiver, "late_receiver", call, post)

    def add_late_receives_of_requests(self, sender, channels):
        """The rest of a completing call, after its messages, waits for the receives of its sends."""
        if not self.calls(sender, {"MPI_Isend"}):
            return
        posts = {receiver: self.calls(receiver, POSTING) for source, receiver in channels if source == sender}
        sends = [self.calls(source, SENDING) for source, receiver in channels if receiver == sender]
        for k, call in enumerate(self.calls(sender, COMPLETING)):
            since = max([call.begin, *(of[k].begin for of in sends)])
            for begin, receiver in sorted((of[k].begin, receiver) for receiver, of in posts.items()):
                self.add(sender, receiver, "late_receiver", Call(call.function, since, call.end), begin)
                since = max(since, begin)

    def add_nonblocking(self, function, completing, root):
        posts = {rank: self.calls(rank, {function}) for rank in RANKS}
        for rank in RANKS:
            for k, call in enumerate(self.calls(rank, {completing})):
                cause = max(RANKS, key=lambda other: posts[other][k].begin) if root is None else root
                if rank != cause:
                    kind = "wait_at_collective" if root is None else "late_root"
                    self.add(rank, cause, kind, call, posts[cause][k].begin)

    def add_collectives(self, function, group):
        calls = {rank: self.calls(rank, {function}) for rank in group}
        for k in range(len(calls[group[0]])):
            now = {rank: calls[rank][k] for rank in group}
            last = max(group, key=lambda rank: now[rank].begin)
            self.has_ties |= any(now[last].begin - now[rank].begin < 2 * BETWEEN_NS for rank in group if rank != last)
            root = ROOTS.get(function)
            for rank in group:
                if root is None:
                    self.add(rank, last, "wait_at_collective", now[rank], now[last].begin)
                elif function == "MPI_Bcast" and rank != root:
                    self.add(rank, root, "late_root", now[rank], now[root].begin)
                elif function == "MPI_Reduce" and rank == root:
                    self.add(rank, last, "early_root", now[rank], now[last].begin)


def time_between_clocks(store, logs):
    """Time by which the calls of a rank are longer by the program's clock than by the record, ns: that of the rank with the most. A
    call takes 1 µs more, and some 15 µs on a machine with much other work. The rest is time during which the processor was another
    program's just then: between the program's clock and the record's."""
    between = collections.Counter()
    for rank, calls in logs.items():
        recorded = collections.defaultdict(list)
        for row in store.rows(f"SELECT function, end_ns - begin_ns AS time FROM event WHERE rank = {rank} ORDER BY begin_ns"):
            recorded[row["function"]].append(row["time"])
        for call in calls:
            more = call.end - call.begin - recorded[call.function].pop(0)
            assert more >= -1000, f"rank {rank}: {call} is shorter by the program's clock, which is read outside of it, by {-more} ns"
            between[rank] += abs(more)
    return max(between.values())


class WaitsTest(WholeSystemTest):
    def setUp(self):
        super().setUp()
        self.run_numbers = itertools.count()

    def run_pattern(self, library, pattern):
        """A run during which the two clocks were read next to each other, and its logs."""
        for _ in range(20):
            name = f"{pattern}-{library}-{next(self.run_numbers)}"
            prefix = self.folder / name
            store = self.run_job(mpirun(library, 4, "waits", pattern, prefix), "--detail", "trace", name=f"{name}.db")
            logs = {rank: read_log(prefix.with_name(f"{prefix.name}.{rank}")) for rank in RANKS}
            if (between := time_between_clocks(store, logs)) < BETWEEN_NS:
                return store, logs
            print(f"{library} {pattern}: {between / 1e6:.1f} ms between the clocks; once more", flush=True)
        self.fail(f"{library} {pattern}: the processor was taken between the clocks in each of 20 runs")

    def stated_in(self, store):
        """The waits of a run by rank, cause, kind and function, and those outside of barriers by root cause."""
        stated = collections.Counter()
        by_root = collections.Counter()
        for row in store.rows("SELECT * FROM wait_state WHERE function NOT IN ('MPI_Finalize', 'MPI_Init')"):
            self.assertEqual(row["world"], 0)
            stated[row["rank"], row["cause_rank"], row["kind"], row["function"]] += row["time_ns"]
            if row["function"] != "MPI_Barrier":
                by_root[row["root_rank"]] += row["time_ns"]
        return stated, by_root

    def check(self, library, pattern):
        """Compares what is stated with the truth. If two ranks came last to a collective at about the same time, the record may
        have another one of them last: then only the fault of several runs is one."""
        for attempts_left in reversed(range(4)):
            store, logs = self.run_pattern(library, pattern)
            truth = Truth(pattern, logs)
            stated, by_root = self.stated_in(store)
            total = sum(truth.waits.values())
            self.assertGreater(total, 200_000_000)
            # 2 %, and for waits that are next to nothing a thousandth of all.
            wrong = [f"{library} {pattern} {key}: {stated[key]} instead of {truth.waits[key]}"
                     for key in set(truth.waits) | set(stated)
                     if abs(stated[key] - truth.waits[key]) > max(0.02 * truth.waits[key], 0.001 * total)]
            if not wrong or not truth.has_ties or attempts_left == 0:
                break
            print(f"{wrong}, and two ranks came last; once more", flush=True)
        self.assertEqual(wrong, [])
        if pattern in CULPRITS:
            # On a busy machine the other ranks get the processor late, too.
            self.assertGreater(by_root[CULPRITS[pattern]], 0.75 * sum(by_root.values()), (pattern, by_root))

    def test_waits_of_known_programs_are_stated_with_their_cause(self):
        for library in ("mpich", "openmpi"):
            for pattern in PATTERNS:
                with self.subTest(library=library, pattern=pattern):
                    self.check(library, pattern)


if __name__ == "__main__":
    unittest.main()
