#!/usr/bin/env python3
"""Calls from Fortran: one record for each call of the program, with the right function, peer, tag, bytes and line, whatever MPI's
Fortran library does inside. Random programs, in the three interfaces of the standard, on both MPIs; each checks its own results."""

import random
import subprocess
import sys
import unittest

from harness import BUILD, DEADLINE, WholeSystemTest, environment, mpirun, random_seed

LIBRARIES = ("mpich", "openmpi")
INTERFACES = ("mpif.h", "mpi", "mpi_f08")
RANKS = 3
OPERATIONS = 120
KINDS = {"a": ("MPI_INTEGER", 4), "x": ("MPI_DOUBLE_PRECISION", 8), "z": ("MPI_COMPLEX", 8)}
PRELOADED = BUILD / "lib/xylem/libxylem-capture.so"
ANY = ...  # In what is expected: whatever the record says.
CALLS = """SELECT e.function, e.peer, e.tag, coalesce(e.bytes, 0) AS bytes, e.result, c.line, c.offset FROM event e
           LEFT JOIN callsite c ON c.id = e.callsite WHERE e.rank = {} ORDER BY e.begin_ns"""
HANDLES = {"comm": "MPI_Comm", "part": "MPI_Comm", "type": "MPI_Datatype", "op": "MPI_Op", "win": "MPI_Win", "file": "MPI_File",
           "group": "MPI_Group", "whole": "MPI_Group", "reqs(2)": "MPI_Request", "types(0:2)": "MPI_Datatype"}
DECLARATIONS = """
  implicit none
  integer :: e, r, n, i, k, bad = 0, key, level
  integer :: a(64), b(64), c(64), counts(0:2), places(0:2), other(0:2), from(0:2), at(2)
  integer(kind=MPI_ADDRESS_KIND) :: address, addresses(1), value, extra = 0
  integer(kind=MPI_OFFSET_KIND) :: offset = 0
  double precision :: x(64), y(64), t
  complex :: z(64), w(64)
  logical :: flag, periods(1)
  character(len=256) :: name"""
END = """
subroutine complain(line, bad)
  implicit none
  integer :: line, bad
  print *, 'wrong at line', line
  bad = bad + 1
end subroutine
! The compiler cannot know that MPI changes a buffer later.
subroutine hide(of)
  implicit none
  integer :: of(64)
end subroutine
"""
# The function of an operation, in the two forms of the standard.
OLD_ADD = """
subroutine add(in, inout, length, kind)
  implicit none
  integer :: length, kind, in(length), inout(length)
  inout = in + inout
end subroutine"""
NEW_ADD = """
subroutine add(in, inout, length, kind)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: length
  type(MPI_Datatype) :: kind
  integer, pointer :: one(:), two(:)
  call c_f_pointer(in, one, [length])
  call c_f_pointer(inout, two, [length])
  two = one + two
end subroutine"""


class Program:
    """A program and, for each rank, the calls that it makes: (function, peer, tag, bytes, whether it fails, line)."""

    def __init__(self, rng, interface, folder):
        self.rng, self.is_old, self.is_new, self.folder = rng, interface == "mpif.h", interface == "mpi_f08", folder
        self.lines, self.calls, self.messages = [], [[] for _ in range(RANKS)], 0
        self.add("program main")
        self.add("  include 'mpif.h'" if interface == "mpif.h" else f"  use {interface}")
        # An include comes after the implicit statement, and before what uses its constants.
        if self.is_old:
            self.lines[-1:] = ["  implicit none", self.lines[-1]]
        self.add(DECLARATIONS.replace("\n  implicit none", "") if self.is_old else DECLARATIONS)
        for variable, kind in HANDLES.items():
            self.add(f"  type({kind}) :: {variable}" if self.is_new else f"  integer :: {variable}")
        self.add("  type(MPI_Status) :: st, sts(2)" if self.is_new else
                 "  integer :: st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2)")
        if self.is_new:
            self.add("  procedure(MPI_User_function) :: add")
        else:
            self.add("  external :: add")
        self.add("  call MPI_Initialized(flag, e)")  # Before capture starts, so its place is unknown.
        self.call("MPI_Init_thread", "MPI_THREAD_FUNNELED, level")
        self.call("MPI_Comm_rank", "MPI_COMM_WORLD, r")
        self.call("MPI_Comm_size", "MPI_COMM_WORLD, n")
        operations = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("do_")]
        chosen = operations + rng.choices(operations, k=OPERATIONS - len(operations))  # Each at least once.
        rng.shuffle(chosen)
        for operation in chosen:
            operation()
        self.add("  call MPI_Finalize(e)")
        self.note("MPI_Finalize", range(RANKS), None, None, 0)
        self.add("  if (bad /= 0) stop 1")
        self.add("end program")
        self.add(NEW_ADD if self.is_new else OLD_ADD)

    def add(self, text):
        self.lines += text.split("\n")

    def note(self, function, ranks, peer, tag, count, fails=False):
        def of(what, rank):
            return what(rank) if callable(what) else what
        for rank in ranks:
            self.calls[rank].append((function, of(peer, rank), of(tag, rank), of(count, rank), fails, len(self.lines)))

    def call(self, function, arguments, peer=None, tag=None, count=0, ranks=range(RANKS), fails=False):
        """Adds a call on a line of its own. peer, tag and count are what its record has, on each rank."""
        self.add(f"  call {function}({arguments}, e)")
        self.note(function, ranks, peer, tag, count, fails)
        self.check(f"e {'/=' if fails else '=='} MPI_SUCCESS")

    def function(self, function, assignment, arguments=""):
        self.add(f"  {assignment} = {function}({arguments})")
        self.note(function, range(RANKS), None, None, 0)

    def check(self, condition):
        self.add(f"  if (.not. ({condition})) call complain({len(self.lines)}, bad)")

    def on(self, rank, other=False):
        self.add(f"  if (r {'/=' if other else '=='} {rank}) then")
        return [each for each in range(RANKS) if (each != rank) == other]

    def end(self):
        self.add("  end if")

    def buffer(self):
        name = self.rng.choice(sorted(KINDS))
        count = self.rng.randint(1, 64)
        return name, count, *KINDS[name]

    def status(self, new, old):
        return new if self.is_new else old

    # Collectives.

    def do_barrier(self):
        if self.is_new and self.rng.random() < 0.5:  # Without the optional last argument.
            self.add("  call MPI_Barrier(MPI_COMM_WORLD)")
            self.note("MPI_Barrier", range(RANKS), None, None, 0)
        else:
            self.call("MPI_Barrier", "MPI_COMM_WORLD")

    def do_bcast(self):
        name, count, kind, size = self.buffer()
        root = self.rng.randrange(RANKS)
        self.add(f"  {name} = r * 100")
        self.call("MPI_Bcast", f"{name}, {count}, {kind}, {root}, MPI_COMM_WORLD", root, count=lambda r: count * size * (r == root))
        self.check(f"nint(real({name}({count}))) == {root * 100}")

    def do_bcast_from_bottom(self):
        count, root = self.rng.randint(1, 64), self.rng.randrange(RANKS)
        self.add("  b = r * 100")
        self.call("MPI_Get_address", "b, addresses(1)")
        self.call("MPI_Type_create_hindexed", f"1, [{count}], addresses, MPI_INTEGER, type")
        self.call("MPI_Type_commit", "type")
        self.call("MPI_Bcast", f"MPI_BOTTOM, 1, type, {root}, MPI_COMM_WORLD", root, count=lambda r: count * 4 * (r == root))
        self.call("MPI_Type_free", "type")
        self.add("  call hide(b)")
        self.check(f"b({count}) == {root * 100}")

    def do_allreduce(self):
        name, count, kind, size = self.buffer()
        result = {"a": "b", "x": "y", "z": "w"}[name]
        self.add(f"  {name} = r + 1")
        if self.rng.random() < 0.5:
            result = name
            self.call("MPI_Allreduce", f"MPI_IN_PLACE, {name}, {count}, {kind}, MPI_SUM, MPI_COMM_WORLD", count=count * size)
        else:
            self.call("MPI_Allreduce", f"{name}, {result}, {count}, {kind}, MPI_SUM, MPI_COMM_WORLD", count=count * size)
        self.check(f"nint(real({result}({count}))) == 6")

    def do_reduce_in_place(self):
        count, root = self.rng.randint(1, 64), self.rng.randrange(RANKS)
        self.add("  a = r + 1")
        rest = f"{count}, MPI_INTEGER, MPI_SUM, {root}, MPI_COMM_WORLD"
        self.call("MPI_Reduce", f"MPI_IN_PLACE, a, {rest}", root, count=count * 4, ranks=self.on(root))
        self.check(f"a({count}) == 6")
        self.end()
        self.call("MPI_Reduce", f"a, b, {rest}", root, count=count * 4, ranks=self.on(root, other=True))
        self.end()

    def counted(self):
        self.add("  counts = [1, 2, 3]; places = [0, 1, 3]; a = r; c = -1")

    def do_gatherv(self):
        root = self.rng.randrange(RANKS)
        self.counted()
        self.call("MPI_Gatherv", f"a, r + 1, MPI_INTEGER, c, counts, places, MPI_INTEGER, {root}, MPI_COMM_WORLD", root,
                  count=lambda r: (r + 1) * 4)
        self.check(f"r /= {root} .or. all(c(1:6) == [0, 1, 1, 2, 2, 2])")

    def do_gatherv_in_place(self):
        root = self.rng.randrange(RANKS)
        self.counted()
        rest = f"c, counts, places, MPI_INTEGER, {root}, MPI_COMM_WORLD"
        ranks = self.on(root)
        self.add("  c = r")
        self.call("MPI_Gatherv", f"MPI_IN_PLACE, 0, MPI_INTEGER, {rest}", root, count=(root + 1) * 4, ranks=ranks)
        self.check("all(c(1:6) == [0, 1, 1, 2, 2, 2])")
        self.end()
        self.call("MPI_Gatherv", f"a, r + 1, MPI_INTEGER, {rest}", root, count=lambda r: (r + 1) * 4,
                  ranks=self.on(root, other=True))
        self.end()

    def do_scatterv(self):
        root = self.rng.randrange(RANKS)
        self.counted()
        self.call("MPI_Scatterv", f"a, counts, places, MPI_INTEGER, c, r + 1, MPI_INTEGER, {root}, MPI_COMM_WORLD", root,
                  count=lambda r: 24 * (r == root))
        self.check(f"all(c(1:r + 1) == {root})")

    def do_allgatherv(self):
        self.counted()
        self.call("MPI_Allgatherv", "a, r + 1, MPI_INTEGER, c, counts, places, MPI_INTEGER, MPI_COMM_WORLD",
                  count=lambda r: (r + 1) * 4)
        self.check("all(c(1:6) == [0, 1, 1, 2, 2, 2])")

    def do_alltoallv(self):
        self.counted()
        self.add("  other = r + 1; from = [0, r + 1, 2 * (r + 1)]")
        self.call("MPI_Alltoallv", "a, counts, places, MPI_INTEGER, c, other, from, MPI_INTEGER, MPI_COMM_WORLD", count=24)
        self.check("c(1) == 0 .and. c(3 * (r + 1)) == 2")

    def do_alltoallw(self):
        self.counted()
        self.add("  other = r + 1; from = 4 * [0, r + 1, 2 * (r + 1)]; places = 4 * places; types = MPI_INTEGER")
        self.call("MPI_Alltoallw", "a, counts, places, types, c, other, from, types, MPI_COMM_WORLD", count=24)
        self.check("c(1) == 0 .and. c(3 * (r + 1)) == 2")

    def do_reduce_scatter(self):
        self.counted()
        self.call("MPI_Reduce_scatter", "a, c, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD", count=24)
        self.check("all(c(1:r + 1) == 3)")

    def do_scan(self):
        self.add("  a = 1")
        self.call("MPI_Scan", "a, c, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD", count=20)
        self.check("c(5) == r + 1")

    def do_immediate_collective(self):
        self.add("  a = r")
        self.call("MPI_Iallreduce", "a, c, 7, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, reqs(1)", count=28)
        self.call("MPI_Wait", "reqs(1), MPI_STATUS_IGNORE", peer=ANY, tag=ANY)
        self.check("c(7) == 2")

    def do_own_operation(self):
        self.add("  a = r + 1")
        self.call("MPI_Op_create", "add, .true., op")
        self.call("MPI_Allreduce", "a, c, 9, MPI_INTEGER, op, MPI_COMM_WORLD", count=36)
        self.call("MPI_Op_free", "op")
        self.check("c(9) == 6")

    # Point to point.

    def do_ring(self):
        count, tag, from_any = self.rng.randint(0, 64), self.rng.randrange(100), self.rng.random() < 0.5
        source = "MPI_ANY_SOURCE" if from_any else "modulo(r - 1, n)"
        self.add("  a = r; c = -1")
        self.call("MPI_Irecv", f"c, 64, MPI_INTEGER, {source}, {tag}, MPI_COMM_WORLD, reqs(1)",
                  None if from_any else lambda r: (r - 1) % RANKS, tag)
        self.call("MPI_Isend", f"a, {count}, MPI_INTEGER, modulo(r + 1, n), {tag}, MPI_COMM_WORLD, reqs(2)",
                  lambda r: (r + 1) % RANKS, tag, count * 4)
        self.messages += RANKS
        way = self.rng.choice(["all", "all without statuses", "any"])
        if way == "any":
            for _ in range(2):
                self.call("MPI_Waitany", "2, reqs, i, st", peer=ANY, tag=ANY, count=ANY)
                self.check("i >= 0 .and. i <= 2")  # MPICH's mpi_f08 counts from 0 here.
        elif way == "all":
            self.call("MPI_Waitall", "2, reqs, sts", peer=ANY, tag=ANY, count=ANY)
            self.check(self.status("sts(1)%MPI_SOURCE", "sts(MPI_SOURCE, 1)") + " == modulo(r - 1, n)")
        else:
            self.call("MPI_Waitall", "2, reqs, MPI_STATUSES_IGNORE", peer=ANY, tag=ANY, count=ANY)
        self.add("  call hide(c)")
        if count:
            self.check(f"c({count}) == modulo(r - 1, n)")

    def do_chain(self):
        """Each rank sends to the next, and the last one to nobody."""
        self.add("  a = r; c = -1")
        self.add("  i = r + 1; if (r == n - 1) i = MPI_PROC_NULL")
        self.add("  k = r - 1; if (r == 0) k = MPI_PROC_NULL")
        ignore = self.rng.random() < 0.5
        self.call("MPI_Sendrecv", f"a, 8, MPI_INTEGER, i, 5, c, 8, MPI_INTEGER, k, 5, MPI_COMM_WORLD, "
                  f"{'MPI_STATUS_IGNORE' if ignore else 'st'}", lambda r: r + 1 if r + 1 < RANKS else ANY, ANY,
                  lambda r: 32 * (r + 1 < RANKS))
        self.messages += RANKS - 1
        self.check("r == 0 .or. c(8) == r - 1")

    def do_pair(self):
        send = self.rng.choice(["MPI_Send", "MPI_Ssend"])
        count, tag = self.rng.randint(0, 64), self.rng.randrange(100)
        self.add("  x = r + 0.5d0; y = -1")
        self.call(send, f"x, {count}, MPI_DOUBLE_PRECISION, 1, {tag}, MPI_COMM_WORLD", 1, tag, count * 8, ranks=self.on(0))
        self.end()
        ranks = self.on(1)
        self.call("MPI_Recv", "y, 64, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, st", 0, tag, count * 8,
                  ranks=ranks)
        self.check(f"{self.status('st%MPI_TAG', 'st(MPI_TAG)')} == {tag}")
        self.call("MPI_Get_count", "st, MPI_DOUBLE_PRECISION, i", ranks=ranks)
        self.check(f"i == {count}")
        self.end()
        self.messages += 1

    def do_section(self):
        """MPICH's mpi_f08 describes the section of an array by a datatype; elsewhere the compiler copies it."""
        self.add("  a = r + 3; c = -1")
        self.call("MPI_Send", "a(1:20:4), 5, MPI_INTEGER, 1, 7, MPI_COMM_WORLD", 1, 7, 20, ranks=self.on(0))
        self.end()
        self.call("MPI_Recv", "c(1:10:2), 5, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, st", 0, 7, 20, ranks=self.on(1))
        self.check("all(c(1:10:2) == 3) .and. c(2) == -1")
        self.end()
        self.messages += 1

    def do_persistent(self):
        tag = self.rng.randrange(100)
        self.add("  a = r; c = -1")
        self.call("MPI_Recv_init", f"c, 64, MPI_INTEGER, modulo(r - 1, n), {tag}, MPI_COMM_WORLD, reqs(1)",
                  lambda r: (r - 1) % RANKS, tag)
        self.call("MPI_Send_init", f"a, 3, MPI_INTEGER, modulo(r + 1, n), {tag}, MPI_COMM_WORLD, reqs(2)",
                  lambda r: (r + 1) % RANKS, tag)
        for _ in range(2):
            self.call("MPI_Startall", "2, reqs", peer=ANY, tag=ANY, count=ANY)
            self.call("MPI_Waitall", "2, reqs, MPI_STATUSES_IGNORE", peer=ANY, tag=ANY, count=ANY)
            self.messages += RANKS
        for number in (1, 2):
            self.call("MPI_Request_free", f"reqs({number})", peer=ANY, tag=ANY)

    def do_probe_for_nothing(self):
        self.call("MPI_Iprobe", "MPI_ANY_SOURCE, 101, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE", tag=ANY)
        self.check(".not. flag")

    def do_fail(self):
        self.call("MPI_Comm_set_errhandler", "MPI_COMM_SELF, MPI_ERRORS_RETURN")
        self.call("MPI_Cart_coords", "MPI_COMM_SELF, 0, 1, at(1:1)", fails=True)

    # Communicators.

    def do_split(self):
        self.call("MPI_Comm_split", "MPI_COMM_WORLD, modulo(r, 2), r, comm")
        self.add("  a = r")
        self.call("MPI_Bcast", "a, 2, MPI_INTEGER, 0, comm", lambda r: r % 2, count=lambda r: 8 * (r < 2))
        self.check("a(1) == modulo(r, 2)")
        self.call("MPI_Comm_free", "comm")

    def do_duplicate(self):
        self.call("MPI_Comm_dup", "MPI_COMM_WORLD, comm")
        self.call("MPI_Comm_set_name", "comm, 'of Fortran'")
        self.add("  name = ' '")
        self.call("MPI_Comm_get_name", "comm, name, i")
        self.check("name == 'of Fortran'")
        self.call("MPI_Comm_free", "comm")

    def do_grid(self):
        self.add("  periods = .true.")
        self.call("MPI_Cart_create", "MPI_COMM_WORLD, 1, [3], periods, .false., comm")
        self.call("MPI_Cart_coords", "comm, r, 1, at(1:1)")
        self.call("MPI_Cart_rank", "comm, at(1:1), i")
        self.check("i == r")
        self.call("MPI_Cart_shift", "comm, 0, 1, i, k")
        self.call("MPI_Cart_sub", "comm, [.true.], part")
        self.call("MPI_Comm_free", "part")
        self.call("MPI_Comm_free", "comm")

    def do_groups(self):
        self.call("MPI_Comm_group", "MPI_COMM_WORLD, whole")
        self.call("MPI_Group_incl", "whole, 2, [2, 0], group")
        self.call("MPI_Group_size", "group, i")
        self.call("MPI_Group_translate_ranks", "group, 2, [0, 1], whole, at")
        self.check("all(at == [2, 0]) .and. i == 2")
        self.call("MPI_Group_free", "group")
        self.call("MPI_Group_free", "whole")

    # What MPI's Fortran libraries do themselves, and the rest.

    def do_attributes(self):
        self.call("MPI_Comm_create_keyval", "MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, extra")
        self.add("  value = 17")
        self.call("MPI_Comm_set_attr", "MPI_COMM_WORLD, key, value")
        self.add("  value = 0")
        self.call("MPI_Comm_get_attr", "MPI_COMM_WORLD, key, value, flag")
        self.check("flag .and. value == 17")
        self.call("MPI_Comm_delete_attr", "MPI_COMM_WORLD, key")
        self.call("MPI_Comm_free_keyval", "key")

    def do_largest_tag(self):
        self.call("MPI_Comm_get_attr", "MPI_COMM_WORLD, MPI_TAG_UB, value, flag")
        self.check("flag .and. value >= 32767")

    def do_largest_tag_as_in_mpi_1(self):
        if not self.is_new:
            self.call("MPI_Attr_get", "MPI_COMM_WORLD, MPI_TAG_UB, i, flag")
            self.check("flag .and. i >= 32767")

    def do_types(self):
        self.call("MPI_Type_match_size", "MPI_TYPECLASS_REAL, 8, type")
        self.call("MPI_Type_size", "type, i")
        self.check("i == 8")

    def do_addresses(self):
        self.call("MPI_Get_address", "a, address")
        if self.is_old:
            return  # MPICH's mpif.h does not declare the functions.
        self.function("MPI_Aint_add", "value", "address, 4_MPI_ADDRESS_KIND")
        self.function("MPI_Aint_diff", "value", "value, address")
        self.check("value == 4")

    def do_ask(self):
        self.call("MPI_Initialized", "flag")
        self.check("flag")
        self.call("MPI_Query_thread", "i")
        self.check("i == level")
        self.add("  name = ' '")
        self.call("MPI_Get_processor_name", "name, i")
        self.check("len_trim(name) == i")
        self.function("MPI_Wtime", "t")
        self.check("t >= 0")

    def do_pack(self):
        self.add("  a = r; c = -1; i = 0; k = 0")
        self.call("MPI_Pack", "a, 4, MPI_INTEGER, b, 256, i, MPI_COMM_WORLD")
        self.call("MPI_Unpack", "b, 256, k, c, 4, MPI_INTEGER, MPI_COMM_WORLD")
        self.check("i == k .and. c(4) == r")

    def do_window(self):
        self.add("  c = -1; a = r")
        self.call("MPI_Win_create", "c, 256_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win")
        self.call("MPI_Win_fence", "0, win")
        self.call("MPI_Put", "a, 5, MPI_INTEGER, modulo(r + 1, n), 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, win",
                  lambda r: (r + 1) % RANKS, count=20)
        self.call("MPI_Win_fence", "0, win")
        self.add("  call hide(c)")
        self.check("c(5) == modulo(r - 1, n)")
        self.call("MPI_Win_free", "win")

    def do_window_of_others(self):
        """The target is a rank of the window's communicator, in which the ranks are the other way round."""
        self.call("MPI_Comm_split", "MPI_COMM_WORLD, 0, -r, comm")
        self.call("MPI_Win_create", "c, 256_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, win")
        self.call("MPI_Win_lock", "MPI_LOCK_SHARED, 0, 0, win", 2)
        self.call("MPI_Get", "a, 3, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win", 2, count=12)
        self.call("MPI_Win_unlock", "0, win", 2)
        self.call("MPI_Win_free", "win")
        self.call("MPI_Comm_free", "comm")

    def do_file(self):
        self.add(f"  write (name, '(a, i0)') '{self.folder}/', r")
        self.add("  a = r + 7; c = -1")
        self.call("MPI_File_open", "MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file")
        self.call("MPI_File_write_at", "file, offset, a, 6, MPI_INTEGER, MPI_STATUS_IGNORE", count=24)
        self.call("MPI_File_read_at", "file, offset, c, 6, MPI_INTEGER, st", count=24)
        self.check("c(6) == r + 7")
        self.call("MPI_File_close", "file")
        self.call("MPI_File_delete", "name, MPI_INFO_NULL")

    def text(self):
        return "\n".join(self.lines) + END


class FortranTest(WholeSystemTest):
    def setUp(self):
        super().setUp()
        seed = random_seed()
        print("seed", seed)
        self.rng = random.Random(seed)

    def lines_of(self, built, offsets):
        """What the debugging information has. Except with mpif.h, gfortran gives some calls the line of the program's begin or end."""
        said = subprocess.run(["addr2line", "-e", built, *map(hex, offsets)], check=True, capture_output=True, text=True).stdout
        return [int(line.split(":")[1].split(" ")[0]) for line in said.splitlines()]

    def assert_calls(self, store, program, built):
        for rank, expected in enumerate(program.calls):
            first, *found = store.rows(CALLS.format(rank))
            self.assertEqual((first["function"], first["line"]), ("MPI_Initialized", None))
            lines = self.lines_of(built, [row["offset"] for row in found])
            if program.is_old:
                self.assertEqual(lines, [call[5] for call in expected])
            self.assertEqual([(row["function"], row["line"]) for row in found],
                             [(call[0], line) for call, line in zip(expected, lines)])
            for row, (function, peer, tag, count, fails, line) in zip(found, expected):
                for value, wanted in ((row["peer"], peer), (row["tag"], tag), (row["bytes"], count)):
                    if wanted is not ANY:
                        self.assertEqual(value, wanted, f"rank {rank}, line {line}, {function}: {row}")
                self.assertEqual(row["result"] != 0, fails, f"rank {rank}, line {line}, {function}: {row}")

    def test_each_call_has_one_right_record(self):
        for library in LIBRARIES:
            for interface in INTERFACES:
                with self.subTest(library=library, interface=interface):
                    program = Program(self.rng, interface, self.folder)
                    source, built = self.folder / "program.f90", self.folder / f"program.{library}"
                    source.write_text(program.text())
                    subprocess.run([f"mpif90.{library}", "-g", "-O1", "-w", "-fallow-argument-mismatch", source, "-o", built], check=True)
                    store = self.run_job(mpirun(library, RANKS, self.folder / "program"), "--overwrite", "--detail", "trace", "--sample", "none")
                    self.assert_adds_up(store)
                    self.assert_calls(store, program, built)
                    self.assert_operations_complete(store)
                    self.assertEqual(store.value("SELECT count(*) FROM message WHERE sent_ns IS NOT NULL AND received_ns IS NOT NULL"),
                                     program.messages)
                    print(f"{library}, {interface}: {sum(len(calls) for calls in program.calls)} calls, {program.messages} messages")

    def test_a_library_that_an_interpreter_loads_privately_is_recorded(self):
        """Each function ends with its call, which the compiler makes a jump: the place is then in the interpreter, but it is MPI
        that is called."""
        source = self.folder / "go.f90"
        calls = {"init": "MPI_Init(e)", "ask": "MPI_Comm_size(MPI_COMM_WORLD, n, e)", "meet": "MPI_Barrier(MPI_COMM_WORLD, e)",
                 "done": "MPI_Finalize(e)"}
        source.write_text("".join(f"subroutine {name}(n, e) bind(c)\n  use mpi\n  integer :: n, e\n  call {call}\nend subroutine\n"
                                  for name, call in calls.items()))
        script = ("import ctypes; n, e = ctypes.c_int(-5), ctypes.c_int(77); library = ctypes.CDLL({!r}, mode=0)\n"
                  f"for name in {list(calls)}:\n    library[name](ctypes.byref(n), ctypes.byref(e)); assert e.value == 0, name\n"
                  "assert n.value == 2")
        for library in LIBRARIES:
            for level in ("-O0", "-O2"):
                with self.subTest(library=library, level=level):
                    built = self.folder / f"libgo{level}.{library}.so"
                    subprocess.run([f"mpif90.{library}", level, "-g", "-shared", "-fPIC", source, "-o", built], check=True)
                    command = mpirun(library, 2, "numbered")
                    command[-1:] = [sys.executable, "-c", script.format(str(built))]
                    store = self.run_job(command, "--overwrite", "--detail", "trace", "--sample", "none")
                    for rank in range(2):
                        rows = store.rows("SELECT e.function, c.object FROM event e JOIN callsite c ON c.id = e.callsite"
                                          f" WHERE rank = {rank} ORDER BY begin_ns")
                        self.assertEqual([row["function"] for row in rows], [call.split("(")[0] for call in calls.values()])
                        if level == "-O0":
                            self.assertEqual({row["object"] for row in rows}, {str(built)})
                    # The same without a run: the library is only loaded.
                    subprocess.run(command, check=True, env=environment(LD_PRELOAD=str(PRELOADED)), timeout=DEADLINE)

    def test_calls_in_callbacks_are_counted(self):
        source = self.folder / "callback.f90"
        source.write_text("module counted\n  integer :: times = 0\ncontains\nsubroutine add(in, inout, length, kind)\n  use mpi\n"
                          "  integer :: length, kind, in(length), inout(length), n, e\n  call MPI_Comm_size(MPI_COMM_WORLD, n, e)\n"
                          "  times = times + 1\n  inout = in + inout\nend subroutine\nend module\n"
                          "program callback\n  use mpi\n  use counted\n  integer :: e, op, i, x(3)\n  call MPI_Init(e)\n"
                          "  call MPI_Op_create(add, .true., op, e)\n  do i = 1, 20\n    x = 1\n"
                          "    call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_INTEGER, op, MPI_COMM_WORLD, e)\n"
                          "    if (x(1) /= 2) stop 1\n  end do\n  call MPI_Finalize(e)\n  print '(a, i0)', 'times ', times\nend program\n")
        for library in LIBRARIES:
            with self.subTest(library=library):
                subprocess.run([f"mpif90.{library}", "-g", "-w", source, "-o", self.folder / f"callback.{library}"], check=True, cwd=self.folder)
                store = self.run_job(mpirun(library, 2, self.folder / "callback"), "--overwrite", "--detail", "trace", "--sample", "none")
                times = sum(int(line.split()[1]) for line in self.done.stdout.splitlines() if line.startswith("times"))
                self.assertGreaterEqual(times, 20)
                counted = "SELECT coalesce(sum(calls), 0) FROM function_total WHERE function = '{}'"
                self.assertEqual(store.value(counted.format("MPI_Allreduce")), 40)
                self.assertEqual(store.value(counted.format("MPI_Comm_size")), times)

    def test_calls_by_profiling_names_have_one_record_each(self):
        source = self.folder / "other.f90"
        calls = ["MPI_Comm_rank(MPI_COMM_WORLD, r, e)", "PMPI_Comm_rank(MPI_COMM_WORLD, r, e)", "PMPI_Barrier(MPI_COMM_WORLD, e)",
                 "MPI_Barrier(MPI_COMM_WORLD, e)", "PMPI_Allgather(r, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, e)",
                 "PMPI_Allgatherv(r, 1, MPI_INTEGER, all, ones, places, MPI_INTEGER, MPI_COMM_WORLD, e)"]
        source.write_text("program other\n  use mpi\n  integer :: e, r, all(2), ones(2) = 1, places(2) = [0, 1]\n  call MPI_Init(e)\n"
                          + "".join(f"  call {call}\n" for call in calls) + "  call PMPI_Finalize(e)\nend program\n")
        for library in LIBRARIES:
            with self.subTest(library=library):
                subprocess.run([f"mpif90.{library}", "-g", source, "-o", self.folder / f"other.{library}"], check=True)
                store = self.run_job(mpirun(library, 2, self.folder / "other"), "--overwrite", "--detail", "trace", "--sample", "none")
                found = store.rows("SELECT e.function, c.object FROM event e JOIN callsite c ON c.id = e.callsite WHERE rank = 1"
                                   " ORDER BY begin_ns")
                expected = [call.split("(")[0].removeprefix("P") for call in ["MPI_Init", *calls, "MPI_Finalize"]]
                self.assertEqual([row["function"] for row in found], expected)
                self.assertEqual({row["object"] for row in found}, {str(self.folder / f"other.{library}")})


if __name__ == "__main__":
    unittest.main()
