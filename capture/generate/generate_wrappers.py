#!/usr/bin/env python3
"""Writes the capture library's wrappers from prototypes.tsv and meaning.tsv. Plain Python, run at
each build:

    generate_wrappers.py prototypes.tsv meaning.tsv OUTPUT_FOLDER

makes xylem_capture_functions.h (numbers of functions), xylem_capture_functions.cc (names and
classes), xylem_capture_wrappers_N.cc and xylem_capture_fortran.cc. Stops with a sentence when the tables do not fit each
other: an unknown function, shape, class or argument.
"""

import pathlib
import re
import sys

WRAPPER_FILES = 4  # Compiled side by side.
REGISTERS = 6  # Arguments that x86-64 passes in registers.
POINTER_BYTES = 8


def read_classes():
    """point_to_point -> kPointToPoint, as the header declares them."""
    header = (pathlib.Path(__file__).resolve().parents[1] / "core/ring.h").read_text()
    body = re.search(r"enum class FunctionClass[^{]*\{(.*?)\};", header, re.DOTALL)[1]
    names = re.findall(r"^  k(\w+) =", body, re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): "k" + name for name in names}


CLASSES = read_classes()

MODES = {"-": "Mode::kBlocking", "request": "Mode::kRequest", "persistent": "Mode::kPersistent"}

# A shape: its lines before and after the real call. {role} is the argument of that name, as an
# integer, a count, an array of counts or a word by its type; {role!} is the bare argument; {mode}
# stands for the mode and the request.
SHAPES = {
    "send": ("", "after_send(call, {mode}, {count}, {datatype}, {dest}, {tag}, {comm});"),
    "psend": ("", "after_psend(call, {mode}, {partitions}, {count}, {datatype}, {dest}, {tag}, "
                  "{comm});"),
    "recv": ("{status!} = own_status(call, {status});", "after_recv(call, {comm}, {source}, {tag}, {count}, {datatype}, {status});"),
    "irecv": ("", "after_irecv(call, {mode}, {count}, {datatype}, {source}, {tag}, {comm});"),
    "precv": ("", "after_precv(call, {mode}, {partitions}, {count}, {datatype}, {source}, {tag}, "
                  "{comm});"),
    "sendrecv": ("{status!} = own_status(call, {status});",
                 "after_sendrecv(call, {sendcount}, {sendtype}, {dest}, {sendtag}, {recvcount}, "
                 "{recvtype}, {source}, {recvtag}, {comm}, {status});"),
    "isendrecv": ("", "after_isendrecv(call, {mode}, {sendcount}, {sendtype}, {dest}, {sendtag}, "
                      "{source}, {recvtag}, {comm});"),
    "mrecv": ("before_mrecv(call, {message}); {status!} = own_status(call, {status});",
              "after_mrecv(call, {count}, {datatype}, {status});"),
    "imrecv": ("before_mrecv(call, {message});", "after_imrecv(call, {count}, {datatype}, {request});"),
    "start": ("", "after_start(call, {request});"),
    "startall": ("", "after_startall(call, {count}, {requests});"),
    "new_request": ("", "after_new_request(call, {mode});"),
    "on_request": ("", "after_request(call, {request});"),
    "asks_request": ("", "after_request(call, {request}, {flag});"),
    "at_request": ("", "after_request(call, load_handle({request}));"),
    "request_free": ("before_request_free(call, {request});", "after_request_free(call);"),
    "probe": ("{status!} = own_status(call, {status});",
              "after_probe(call, {source}, {tag}, {comm}, {status}, 0, 0);"),
    "iprobe": ("{status!} = own_status(call, {status});",
               "after_probe(call, {source}, {tag}, {comm}, {status}, {flag}, 0);"),
    "mprobe": ("{status!} = own_status(call, {status});",
               "after_probe(call, {source}, {tag}, {comm}, {status}, 0, {message});"),
    "improbe": ("{status!} = own_status(call, {status});",
                "after_probe(call, {source}, {tag}, {comm}, {status}, {flag}, {message});"),
    "wait": ("{status!} = before_wait(call, {request}, {status});",
             "after_wait(call, {request}, {status}, 0);"),
    "test": ("{status!} = before_wait(call, {request}, {status});",
             "after_wait(call, {request}, {status}, {flag});"),
    "waitall": ("{statuses!} = before_completion(call, {count}, {requests}, {statuses}, "
                "process.abi.statuses_ignore);",
                "after_waitall(call, {count}, {requests}, {statuses}, 0);"),
    "testall": ("{statuses!} = before_completion(call, {count}, {requests}, {statuses}, "
                "process.abi.statuses_ignore);",
                "after_waitall(call, {count}, {requests}, {statuses}, {flag});"),
    "waitany": ("{status!} = before_completion(call, {count}, {requests}, {status}, "
                "process.abi.status_ignore);",
                "after_waitany(call, {count}, {requests}, {index}, {status}, 0);"),
    "testany": ("{status!} = before_completion(call, {count}, {requests}, {status}, "
                "process.abi.status_ignore);",
                "after_waitany(call, {count}, {requests}, {index}, {status}, {flag});"),
    "waitsome": ("{statuses!} = before_completion(call, {incount}, {requests}, {statuses}, "
                 "process.abi.statuses_ignore);",
                 "after_waitsome(call, {incount}, {requests}, {outcount}, {indices}, "
                 "{statuses}, false);"),
    "testsome": ("{statuses!} = before_completion(call, {incount}, {requests}, {statuses}, "
                 "process.abi.statuses_ignore);",
                 "after_waitsome(call, {incount}, {requests}, {outcount}, {indices}, "
                 "{statuses}, true);"),
    "barrier": ("", "after_barrier(call, {mode}, {comm});"),
    "bcast": ("", "after_bcast(call, {mode}, {comm}, {root}, {count}, {datatype});"),
    "gather": ("", "after_gather(call, {mode}, {comm}, {root}, {sendbuf}, {sendcount}, "
                   "{sendtype}, {recvcount}, {recvtype});"),
    "gatherv": ("", "after_gatherv(call, {mode}, {comm}, {root}, {sendbuf}, {sendcount}, "
                    "{sendtype}, {recvcounts}, {recvtype});"),
    "scatter": ("", "after_scatter(call, {mode}, {comm}, {root}, {sendcount}, {sendtype}, "
                    "{recvbuf}, {recvcount}, {recvtype});"),
    "scatterv": ("", "after_scatterv(call, {mode}, {comm}, {root}, {sendcounts}, {sendtype}, "
                     "{recvbuf}, {recvcount}, {recvtype});"),
    "allgather": ("", "after_allgather(call, {mode}, {comm}, {sendbuf}, {sendcount}, {sendtype}, "
                      "{recvcount}, {recvtype});"),
    "allgatherv": ("", "after_allgatherv(call, {mode}, {comm}, {sendbuf}, {sendcount}, "
                       "{sendtype}, {recvcounts}, {recvtype});"),
    "alltoall": ("", "after_alltoall(call, {mode}, {comm}, {sendbuf}, {sendcount}, {sendtype}, "
                     "{recvcount}, {recvtype});"),
    "alltoallv": ("", "after_alltoallv(call, {mode}, {comm}, {sendbuf}, {sendcounts}, "
                      "{sendtype}, {recvcounts}, {recvtype});"),
    "alltoallw": ("", "after_alltoallw(call, {mode}, {comm}, {sendbuf}, {sendcounts}, "
                      "{sendtypes}, {recvcounts}, {recvtypes});"),
    "reduce": ("", "after_reduce(call, {mode}, {comm}, {root}, {sendbuf}, {count}, {datatype}, "
                   "{op});"),
    "allreduce": ("", "after_allreduce(call, {mode}, {comm}, {sendbuf}, {count}, {datatype}, {op});"),
    "reduce_local": ("", "after_reduce_local(call, {count}, {datatype});"),
    "reduce_scatter": ("", "after_reduce_scatter(call, {mode}, {comm}, {sendbuf}, {recvcounts}, "
                           "{datatype}, {op});"),
    "reduce_scatter_block": ("", "after_reduce_scatter_block(call, {mode}, {comm}, {sendbuf}, {recvcount}, "
                                 "{datatype}, {op});"),
    "neighbor_allgather": ("", "after_neighbor_allgather(call, {mode}, {comm}, {sendcount}, {sendtype}, "
                              "{recvcount}, {recvtype});"),
    "neighbor_allgatherv": ("", "after_neighbor_allgatherv(call, {mode}, {comm}, {sendcount}, {sendtype}, "
                               "{recvcounts}, {recvtype});"),
    "neighbor_alltoall": ("", "after_neighbor_alltoall(call, {mode}, {comm}, {sendcount}, {sendtype}, "
                             "{recvcount}, {recvtype});"),
    "neighbor_alltoallv": ("", "after_neighbor_alltoallv(call, {mode}, {comm}, {sendcounts}, {sendtype}, "
                              "{recvcounts}, {recvtype});"),
    "neighbor_alltoallw": ("", "after_neighbor_alltoallw(call, {mode}, {comm}, {sendcounts}, {sendtypes}, "
                              "{recvcounts}, {recvtypes});"),
    "one_sided": ("", "after_one_sided(call, {mode}, {origin_count}, {origin_datatype}, {target_rank}, {win});"),
    "one_element": ("", "after_one_sided(call, {mode}, 1, {datatype}, {target_rank}, {win});"),
    "window": ("", "after_window(call, kNoPeer, {win});"),
    "window_target": ("", "after_window(call, {rank}, {win});"),
    "window_new": ("", "after_window_new(call, {comm}, {win});"),
    "window_free": ("before_window_free(call, {win});", "after_window_free(call);"),
    "file_open": ("", "after_file_open(call, {comm});"),
    "file_transfer": ("{status!} = own_status(call, {status});", "after_file_transfer(call, {status});"),
    "file_start": ("", "after_file_start(call, {mode}, {count}, {datatype});"),
    "comm_new": ("", "after_comm_new(call, {mode}, {comm}, {newcomm});"),
    "comm_dup": ("", "after_comm_dup(call, {mode}, {comm}, {newcomm});"),
    "comm_new_by_group": ("", "after_comm_new_by_group(call, {mode}, {comm}, {tag}, {newcomm});"),
    "comm_new_from_group": ("", "after_comm_new_from_group(call, {mode}, {stringtag}, {newcomm});"),
    "intercomm_new": ("", "after_intercomm_new(call, {mode}, {tag}, {newcomm});"),
    "comm_join": ("", "after_comm_join(call, {mode}, {newcomm});"),
    "comm_set_name": ("", "after_comm_set_name(call, {comm}, {comm_name});"),
    "comm_free": ("before_comm_free(call, {comm});", "after_comm_free(call);"),
}

# Shapes that are followed while capture is switched off, too: otherwise communicators would have
# other identities in processes that were switched off earlier.
MAKING = ("comm_new", "comm_dup", "comm_new_by_group", "comm_new_from_group", "intercomm_new",
          "comm_join")
WATCHED = (*MAKING, "comm_set_name", "comm_free", "window_new", "window_free")

# A shape: its line that tells the agent what a blocking call waits for, and takes the numbers of the
# call's messages if there are several threads. It comes last before the real call.
PLACES = {
    "send": "at(call, {comm}, {dest}); number_early(call, {comm}, {dest}, {tag});",
    "recv": "at(call, {comm}, {source}); post_early(call, {comm}, {source}, {tag});",
    "sendrecv": "at_source_or(call, {comm}, {source}, {dest}); "
                "number_early(call, {comm}, {dest}, {sendtag}); "
                "post_early(call, {comm}, {source}, {recvtag});",
    "probe": "at(call, {comm}, {source});",
    "mprobe": "at(call, {comm}, {source});",
    "mrecv": "at_request(call);",
    "wait": "at_request(call);",
    "window": "at_window(call, {win});",
    "window_target": "at_window(call, {win}, {rank});",
    "window_new": "at(call, {comm});",
    "one_sided": "at_window(call, {win}, {target_rank});",
    "one_element": "at_window(call, {win}, {target_rank});",
    "file_open": "at(call, {comm});",
} | dict.fromkeys(("bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"),
                  "at(call, {comm}, {root});") | dict.fromkeys(
    ("barrier", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "allreduce",
     "reduce_scatter", "reduce_scatter_block", "neighbor_allgather", "neighbor_allgatherv",
     "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"), "at(call, {comm});")

BY_HAND = "by_hand"

# The Fortran names of MPI_X: what stands before and after _x. With a result of type(c_ptr); of the module mpi_f08, with counts of
# kind MPI_COUNT_KIND, with buffers as descriptors, with both. The profiling names of the module are those of Open MPI and MPICH.
MODULE_ENDS = ("_f08_", "_f08_large_", "_f08ts_", "_f08ts_large_")
FORTRAN_NAMES = (("mpi", "_"), ("mpi", "_cptr_"), *(("mpi", end) for end in MODULE_ENDS),
                 ("pmpi", "_"), ("pmpi", "_f08_"), *(("pmpir", end) for end in MODULE_ENDS))
WITH_C_POINTER = ("MPI_Alloc_mem", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_shared_query")
# Functions for which the Fortran library of MPICH or of Open MPI calls no function MPI_X in C.
WITHOUT_C = ("MPI_(Comm|Type|Win)_[gs]et_attr", "MPI_Attr_(get|put)", "MPI_(Comm|Type|Win)_create_keyval", "MPI_Keyval_create",
             "MPI_(Comm|File|Win)_create_errhandler", "MPI_Errhandler_create", "MPI_Type_match_size", "MPI_Aint_(add|diff)")
CONVERSION = re.compile("_(c2f|f2c|f2f08|f082f|c2f08|f082c)$")
# Functions whose int is no return code: a handle of Fortran, which is an int in Open MPI's header, or an answer.
ANSWERS = re.compile("(?<!Status)_c2f$|^MPIX_Query_")
MADE_BY = "// Made by capture/generate/generate_wrappers.py; do not edit.\n"


class Function:
    """A line of prototypes.tsv with what meaning.tsv adds to it."""

    def __init__(self, line):
        self.name, _, self.returns, arguments = line.split("\t")
        self.types, self.places = [], {}
        for argument in filter(None, arguments.split(", ")):
            kind, _, name = argument.rpartition(" ")
            self.places[name] = len(self.types)
            self.types.append(kind)
        self.function_class, self.shape, self.mode, self.renamed = "other", "-", "-", {}

    def word(self, role):
        name = self.renamed.get(role, role)
        if name not in self.places:
            raise ValueError(f"{self.name} has no argument {name}, which its shape {self.shape} "
                             f"needs; name it in meaning.tsv as {role}=ARGUMENT")
        return self.places[name]

    def argument(self, role):
        """The argument of `role` as the shape's function takes it."""
        place = self.word(role)
        kind = self.types[place].removeprefix("const ").strip()
        conversion = {"int": "to_int(a{})", "MPI_Count": "to_count(a{})",
                      "int[]": "Counts{{a{}, false}}", "MPI_Count[]": "Counts{{a{}, true}}"}
        if role in ("indices",):
            return f"a{place}"
        return conversion.get(kind, "a{}").format(place)

    def fill(self, lines):
        def replace(found):
            role = found[1]
            if role == "mode":
                request = "0" if self.mode == "-" else f"a{self.word('request')}"
                return f"{MODES[self.mode]}, {request}"
            if role.endswith("!"):
                return f"a{self.word(role[:-1])}"
            return self.argument(role)
        return re.sub(r"\{(\w+!?)\}", replace, lines)


def read_table(path, columns):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) not in columns:
                raise ValueError(f"{path.name}:{number}: {len(cells)} columns")
            yield number, line, cells


def add_meaning(functions, path):
    for number, _, cells in read_table(path, (4, 5)):
        names, function_class, shape, mode = cells[:4]
        if function_class not in CLASSES:
            raise ValueError(f"{path.name}:{number}: no class {function_class}")
        if shape not in SHAPES and shape not in ("-", BY_HAND):
            raise ValueError(f"{path.name}:{number}: no shape {shape}")
        if mode not in MODES:
            raise ValueError(f"{path.name}:{number}: no mode {mode}")
        for pattern in names.split():
            found = [functions[n] for n in matching(functions, pattern)]
            if not found:
                raise ValueError(f"{path.name}:{number}: no function {pattern}")
            for function in found:
                function.function_class = function_class
                if shape != "-":
                    function.shape, function.mode = shape, mode
                    function.renamed = dict(c.split("=") for c in "".join(cells[4:]).split())


def matching(functions, pattern):
    if "*" in pattern:
        wanted = re.compile(pattern.replace("*", ".*") + "$")
        return [n for n in functions if wanted.match(n)]
    return [n for n in (pattern, pattern + "_c") if n in functions]


def wrapper(function, number):
    """The parts of a wrapper, see capture/core/wrapper_internal.h; `number` is the function's."""
    name = function.name
    words = [f"a{i}" for i in range(len(function.types))]
    declared = ", ".join(f"Word {w}" for w in words)
    passed = ", ".join(words)
    returns_double = function.returns == "double"
    returned = "double" if returns_double else "Word"
    real = f"{'real_double' if returns_double else 'real'}({', '.join([f'k{name}'] + words)})"
    goes_on = f"pass<{returned}>({', '.join(['call'] + words)})"
    passes = f"pass_unrecorded<{returned}>({', '.join(['call'] + words)})"
    own = f"own<{returned}>({', '.join([f'k{name}'] + words)})"
    before, after = SHAPES.get(function.shape, ("", ""))
    place = PLACES.get(function.shape, "") if function.mode == "-" else ""
    code = "result" if function.returns == "int" and not ANSWERS.search(name) else "0"
    lines = [f"XYLEM_RECORDING {returned} record_{name}({declared}) {{",
             "  Call call;",
             f"  if (!enter(call, k{name})) return {passes};"]
    lines += [f"  {function.fill(line)}" for line in (before, place) if line]
    lines += [f"  const {returned} result = {goes_on};",
              f"  if (!call.stop({code})) return result;"]
    lines += [f"  {function.fill(after)}", "  leave();"] if after else ["  close_plain(call);"]
    lines += ["  return result;", "}",
              f"XYLEM_FIRST {returned} first_{name}({declared}) {{", f"  return {real};", "}"]
    is_watched = function.shape in WATCHED
    if is_watched:
        lines += [f"XYLEM_RECORDING {returned} watch_{name}({declared}) {{",
                  "  Call call;",
                  f"  if (!begin_watch(call, k{name})) return {passes};"]
        lines += [f"  {function.fill(before)}"] if before else []
        lines += [f"  const {returned} result = {goes_on};",
                  "  call.result = static_cast<std::int32_t>(result);",
                  f"  {function.fill(after)}", "  leave();", "  return result;", "}"]
    if len(words) > REGISTERS and not is_watched:
        unused = ", ".join(f"[[maybe_unused]] Word {w}" for w in words)
        lines += [f"XYLEM_WRAPPER_OF_MANY({name}, {number * POINTER_BYTES}, ({unused}), "
                  f"({passed}))"]
    else:
        # MPI's libraries for other languages convert handles, several in each call of the program's.
        by_program = " && !is_called_by_mpi(__builtin_return_address(0))" if CONVERSION.search(name) else ""
        on = [f"  if (is_on(){by_program}) return record_{name}({passed});"]
        if is_watched:
            on = ["  const CaptureState state = capture_state();",
                  f"  if (state == CaptureState::kRecords) return record_{name}({passed});",
                  f"  if (state == CaptureState::kWatches) return watch_{name}({passed});"]
        lines += [f"XYLEM_WRAPPER {returned} {name}({declared}) {{", *on,
                  f"  if (!is_found(k{name})) return first_{name}({passed});",
                  f"  return {real.replace('real', 'found', 1)};", "}"]
    lines += [f"XYLEM_WRAPPER {returned} P{name}({declared}) {{"]
    if not CONVERSION.search(name):
        lines += [f"  if (is_on() && enter_by_profiling_name(k{name})) "
                  f"return record_{name}({passed});"]
        if is_watched:
            lines += ["  if (capture_state() == CaptureState::kWatches && "
                      f"(!is_called_by_mpi(__builtin_return_address(0)) || is_called_for_fortran(k{name})) &&",
                      f"      enter_by_profiling_name(k{name})) {{",
                      f"    return watch_{name}({passed});", "  }"]
    lines += [f"  return {own};", "}\n\n"]
    return "\n".join(lines)


def is_in_fortran(function):
    return not (CONVERSION.search(function.name) or function.name.startswith("MPI_T_") or function.name.endswith("_c"))


def fortran_names(function, functions):
    """The number, from 0, and the name of each entry of a function, see capture/core/fortran_internal.h."""
    for number, (before, end) in enumerate(FORTRAN_NAMES):
        exists = (function.name in WITH_C_POINTER if end == "_cptr_" else
                  function.name + "_c" in functions if "_large_" in end else True)
        if exists:
            yield number, before + function.name[len("MPI"):].lower() + end


def fortran_entry(function, number, of_function, name):
    """An entry that only notes the caller, or one that records the call of a function that MPI's
    Fortran library may do without C."""
    entry = number * len(FORTRAN_NAMES) + of_function
    if not any(re.fullmatch(pattern, function.name) for pattern in WITHOUT_C):
        kind = "XYLEM_FORTRAN_PROFILING_ENTRY" if name.startswith("p") else "XYLEM_FORTRAN_ENTRY"
        return f"{kind}({name}, {number}, {entry}, {entry * POINTER_BYTES})\n"
    words = [f"a{i}" for i in range(len(function.types) + (function.returns == "int"))]
    declared, passed = ", ".join(f"Word {w}" for w in words), ", ".join([str(entry), "__builtin_return_address(0)"] + words)
    code = f"fortran_result({words[-1]})" if function.returns == "int" else "0"
    return "\n".join([
        f"XYLEM_WRAPPER Word {name}({declared}) {{",
        f"  if (!is_on()) return pass_fortran({passed});",
        "  Call call;",
        f"  if (!enter(call, k{function.name})) {{",
        f"    const Word result = pass_fortran({passed});",
        "    leave_unrecorded();", "    return result;", "  }",
        f"  const Word result = pass_fortran({passed});",
        f"  if (call.stop({code})) close_plain(call);",
        "  return result;", "}\n"])


def write(path, text):
    """Leaves an unchanged file alone, so that nothing is compiled for nothing."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(prototypes, meaning, folder):
    functions = {f.name: f for f in (Function(line) for _, line, _ in read_table(prototypes, (4,)))}
    add_meaning(functions, meaning)
    folder.mkdir(parents=True, exist_ok=True)

    numbers = "\n".join(f"constexpr std::uint16_t k{n} = {i};" for i, n in enumerate(functions))
    write(folder / "xylem_capture_functions.h",
          f"#pragma once\n\n{MADE_BY}\n#include <cstdint>\n\n#include \"capture/core/ring.h\"\n\n"
          f"namespace xylem::capture {{\n\n{numbers}\n\n"
          f"constexpr std::uint32_t kFunctionCount = {len(functions)};\n"
          "static_assert(kFunctionCount <= kMaxFunctions);\n\n"
          "extern const char* const function_names[kFunctionCount];\n"
          "extern const FunctionClass function_classes[kFunctionCount];\n"
          "/// True for functions that make communicators.\n"
          "extern const bool makes_communicator[kFunctionCount];\n\n"
          "/// What stands before and after _x in a Fortran name of MPI_X.\n"
          "struct FortranName {\n  const char* before;\n  const char* after;\n};\n"
          f"constexpr unsigned kFortranNames = {len(FORTRAN_NAMES)};\n"
          "extern const FortranName fortran_names[kFortranNames];\n\n"
          "}  // namespace xylem::capture\n")
    names = "".join(f'    "{n}",\n' for n in functions)
    classes = "".join(f"    FunctionClass::{CLASSES[f.function_class]},\n"
                      for f in functions.values())
    making = "".join(f"    {'true' if f.shape in MAKING else 'false'},\n"
                     for f in functions.values())
    forms = "".join(f'    {{"{before}", "{after}"}},\n' for before, after in FORTRAN_NAMES)
    write(folder / "xylem_capture_functions.cc",
          f"{MADE_BY}\n#include \"xylem_capture_functions.h\"\n\nnamespace xylem::capture {{\n\n"
          f"const char* const function_names[kFunctionCount] = {{\n{names}}};\n\n"
          f"const FunctionClass function_classes[kFunctionCount] = {{\n{classes}}};\n\n"
          f"const bool makes_communicator[kFunctionCount] = {{\n{making}}};\n\n"
          f"const FortranName fortran_names[kFortranNames] = {{\n{forms}}};\n\n"
          "}  // namespace xylem::capture\n")

    wrapped = [(f, number) for number, f in enumerate(functions.values()) if f.shape != BY_HAND]
    for part in range(WRAPPER_FILES):
        bodies = "".join(wrapper(*f) for f in wrapped[part::WRAPPER_FILES])
        write(folder / f"xylem_capture_wrappers_{part}.cc",
              f"{MADE_BY}\n#include \"capture/mpi/hot_shapes_internal.h\"\n"
              "#include \"capture/core/wrapper_internal.h\"\n\n"
              f"using namespace xylem::capture;\n\n{bodies}")
    entries = "".join(fortran_entry(f, number, *names) for number, f in enumerate(functions.values()) if is_in_fortran(f)
                      for names in fortran_names(f, functions))
    write(folder / "xylem_capture_fortran.cc",
          f"{MADE_BY}\n#include \"capture/core/fortran_internal.h\"\n\n#if defined(__x86_64__)\n\n"
          f"using namespace xylem::capture;\n\n{entries}\n#endif\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        generate(*(pathlib.Path(a) for a in sys.argv[1:]))
    except ValueError as mistake:
        sys.exit(str(mistake))


if __name__ == "__main__":
    main()
