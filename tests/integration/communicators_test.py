#!/usr/bin/env python3
"""The record knows every communicator of a job: identity, kind, parent, members, name, grid and neighbours. The test program
says what each communicator is, and calls MPI_Allreduce with a number of bytes of its own on it."""

import collections
import json
import unittest

from harness import WholeSystemTest, mpirun

RANKS = 6
LIBRARIES = ("mpich", "openmpi")
ID_OF_PARENT = {0: 0, -1: None, -2: 1}  # The parents that the program does not make.


class Truth:
    """What the program has written."""

    def __init__(self, text):
        self.made = collections.defaultdict(dict)  # (label, instance): {rank: (kind, parent, place, side, size, second size)}
        self.names, self.grids, self.neighbours = {}, {}, set()
        for line in text.splitlines():
            kind, *words = line.split(" ")
            if kind == "comm":
                label, instance, what, parent, rank, place, side, size, second = words
                self.made[int(label), int(instance)][int(rank)] = (what, int(parent), int(place), int(side), int(size), int(second))
            elif kind == "name":
                self.names[int(words[0]), int(words[1])] = " ".join(words[2:])
            elif kind == "grid":
                self.grids[int(words[0])] = [[int(n) for n in list_.split(",")] for list_ in words[1:]]
            elif kind == "neighbour":
                self.neighbours.add((int(words[0]), int(words[1]), words[2], int(words[3]), int(words[4])))


class CommunicatorsTest(WholeSystemTest):
    def run_program(self, library, *options):
        store = self.run_job(mpirun(library, RANKS, "communicators"), *options)
        said = "".join(file.read_text() for file in sorted(self.folder.glob("said.*")))
        self.assertNotIn("unexpected success", said)
        return store, Truth(said)

    def ids(self, store, truth):
        """The id of each communicator, by label and instance: all its members have recorded the same one."""
        recorded = collections.defaultdict(set)
        for row in store.rows("SELECT rank, bytes, comm FROM event WHERE function = 'MPI_Allreduce'"):
            recorded[row["bytes"], row["rank"]].add(row["comm"])
        ids = {}
        for (label, instance), members in truth.made.items():
            seen = {comm for rank in members for comm in recorded[label, rank]}
            if next(iter(members.values()))[0] == "unknown":
                self.assertEqual(seen, {None}, f"{label} {instance}")
                continue
            self.assertEqual(len(seen), 1, f"{label} {instance}: its members have recorded {seen}")
            ids[label, instance] = seen.pop()
        self.assertNotIn(None, ids.values())
        self.assertEqual(len(set(ids.values())), len(ids), "two communicators have one id")
        return ids

    def check(self, store, truth):
        ids = self.ids(store, truth)
        rows = {row["id"]: row for row in store.rows("SELECT * FROM communicator WHERE world = 0")}
        members = collections.defaultdict(dict)
        for row in store.rows("SELECT * FROM communicator_member WHERE world = 0"):
            self.assertNotIn(row["rank"], members[row["id"]], row)
            members[row["id"]][row["rank"]] = (row["place"], row["is_second"])
        parents = {label: id for (label, instance), id in ids.items() if instance == 0}
        for label, instance in ids:
            facts = truth.made[label, instance]
            row = rows[ids[label, instance]]
            kind, parent, *_ = next(iter(facts.values()))
            turned = kind == "inter" and members[row["id"]][0][1] != facts[0][3]
            with self.subTest(label=label, instance=instance, kind=kind):
                self.assertEqual(row["kind"], kind)
                parent_ids = {ids[key] for key in ids if key[0] == parent and set(facts) <= set(truth.made[key])}
                wanted = ID_OF_PARENT[parent] if parent in ID_OF_PARENT else parent_ids.pop()
                self.assertEqual(row["parent"], wanted)
                self.assertEqual(row["is_ambiguous"], 0)
                self.assertEqual(members[row["id"]], {rank: (place, side ^ turned)
                                                      for rank, (_, _, place, side, _, _) in facts.items()})
                sizes = {(size, second) for *_, size, second in facts.values()}
                self.assertEqual(sizes, {(row["second_size"], row["size"]) if turned else (row["size"], row["second_size"])})
                self.assertEqual(row["name"], truth.names.get((label, instance)))
                grid = [json.loads(row[column]) if row[column] else None for column in ("dimensions", "periodic")]
                if label in truth.grids:
                    self.assertEqual(grid, truth.grids[label])
                elif kind != "cartesian":
                    self.assertEqual(grid, [None, None])
        self.assertEqual({(row["kind"], row["name"], row["size"]) for row in rows.values() if row["id"] < 2},
                         {("world", "MPI_COMM_WORLD", RANKS), ("self", "MPI_COMM_SELF", 1)})
        found = {(row["id"], row["rank"], row["direction"], row["position"], row["neighbor"])
                 for row in store.rows("SELECT * FROM communicator_neighbor")}
        self.assertEqual(found, {(parents[label], *rest) for label, *rest in truth.neighbours})
        self.assertEqual(store.rows("SELECT * FROM loss WHERE part = 'definition'"), [])
        return rows

    def test_every_communicator_is_known_in_every_process(self):
        for library in LIBRARIES:
            with self.subTest(library):
                store, truth = self.run_program(library, "--detail", "trace", "--overwrite")
                self.assert_adds_up(store)
                rows = self.check(store, truth)
                self.assertEqual(len(truth.made), 37, "the program makes so many")
                print(f"{library}: {len(truth.made)} communicators of {len(rows)} checked")

    def test_a_profile_has_the_same_communicators_as_a_trace(self):
        store, _ = self.run_program("openmpi", "--detail", "profile", "--overwrite")
        columns = "kind, parent, size, name, second_size, dimensions"
        profile = store.rows(f"SELECT id, {columns} FROM communicator ORDER BY id")
        trace, _ = self.run_program("openmpi", "--detail", "trace", "--overwrite")
        self.assertEqual(profile, trace.rows(f"SELECT id, {columns} FROM communicator ORDER BY id"))

    def test_processes_that_are_started_later_are_a_world_with_communicators_of_its_own(self):
        # Debian's MPICH aborts in MPI_Comm_spawn.
        store = self.run_job(mpirun("openmpi", 4, "communicators", "dynamic"), "--detail", "trace", "--overwrite")
        self.assert_adds_up(store)
        made = []
        for row in store.rows("SELECT * FROM communicator WHERE id > 1"):
            members = store.rows(f"SELECT rank, is_second FROM communicator_member WHERE world = {row['world']} AND id = {row['id']}"
                                 " ORDER BY rank")
            sides = len({member["is_second"] for member in members})
            made.append((row["world"], row["kind"], *sorted((row["size"], row["second_size"])), row["parent"] is None, sides,
                         tuple(member["rank"] for member in members)))
        self.assertEqual(sorted(made), [
            (0, "inter", 2, 2, True, 2, (0, 1, 2, 3)),   # MPI_Comm_accept, MPI_Comm_connect.
            (0, "inter", 2, 4, False, 1, (0, 1, 2, 3)),  # MPI_Comm_spawn.
            (0, "intra", 0, 2, False, 1, (0, 2)), (0, "intra", 0, 2, False, 1, (1, 3)),  # The halves.
            (0, "intra", 0, 6, False, 1, (0, 1, 2, 3)),  # MPI_Intercomm_merge.
            (1, "inter", 2, 4, True, 1, (0, 1)), (1, "intra", 0, 6, False, 1, (0, 1))])

    def test_each_definition_is_stored_or_counted_as_lost(self):
        loops = 40000  # The log of definitions has room for 26,000.
        store = self.run_job(mpirun("openmpi", 1, "communicators", loops), "--overwrite")
        stored = store.value("SELECT count(*) FROM communicator WHERE id > 1")
        lost = sum(int(row["reason"].split(" ")[0]) for row in store.rows("SELECT reason FROM loss WHERE part = 'definition'"))
        print(f"{stored} stored, {lost} lost")
        self.assertEqual(stored + lost, loops)
        self.assertEqual(store.rows("SELECT * FROM communicator WHERE id > 1 AND (is_ambiguous OR parent <> 0 OR size <> 1)"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
