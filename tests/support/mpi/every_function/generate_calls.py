#!/usr/bin/env python3
"""Writes the calls of the test program every_function.c for the functions of the shapes in shapes.tsv. Plain Python, run at
each build:

    generate_calls.py LIBRARY OUTPUT_FOLDER        LIBRARY is mpich or openmpi

makes exists.h, which tells the macros CALL and TRY which functions this MPI has, and calls.h: one C function for each MPI function that
this MPI has and whose shape is in shapes.tsv. The functions and their shapes are those of the capture library's wrappers. Stops
with a sentence if an argument has no value.
"""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(SOURCE / "capture/generate"))
from generate_wrappers import CONVERSION, Function, add_meaning, read_table  # pylint: disable=wrong-import-position,import-error

# The value of an argument by its name, unless shapes.tsv gives another one. An array of MPI_Count or MPI_Aint has the same name
# as that of int, with _c at its end.
VALUES = {
    "buf": "buffer", "buffer": "buffer", "sendbuf": "out", "recvbuf": "in", "inbuf": "out", "inoutbuf": "in",
    "origin_addr": "out", "result_addr": "in", "compare_addr": "buffer",
    "count": "5", "sendcount": "5", "recvcount": "1", "origin_count": "5", "result_count": "5", "target_count": "5",
    "datatype": "MPI_INT", "sendtype": "MPI_INT", "recvtype": "five_ints",
    "origin_datatype": "MPI_INT", "result_datatype": "MPI_INT", "target_datatype": "MPI_INT",
    "sendtypes": "types", "recvtypes": "types",
    "op": "MPI_SUM", "root": "turn(root)", "comm": "turned", "info": "MPI_INFO_NULL",
    "dest": "turn(right)", "source": "turn(left)", "target_rank": "turn(right)", "tag": "7", "sendtag": "7", "recvtag": "8",
    "target_disp": "0", "win": "window", "fh": "file", "offset": "4000 * rank", "message": "&message",
    "status": "MPI_STATUS_IGNORE", "request": "&request",
}
TEXTS = ("comm", "operation", "number", "stage")  # Columns whose value is a word. All others are C expressions.
AT_INIT = ("peer", "tag", "comm")  # Columns of the call that makes a persistent request: nothing moves yet.


class Shape:
    """A line of shapes.tsv."""

    def __init__(self, cells):
        self.around, arguments, self.columns, self.completion, self.parts = cells[1:]
        self.arguments = dict(pair.split("=", 1) for pair in arguments.split() if pair != "-")


def columns_of(text):
    """peer=right comm=world -> {'peer': 'right', 'comm': 'world'}"""
    return dict(pair.split("=", 1) for pair in text.split() if pair != "-")


def said(columns):
    """The last arguments of CALL or PART: a format and its values."""
    texts = [f"{name}={value if name in TEXTS else '%lld'}" for name, value in columns.items()]
    values = [f", (long long)({value})" for name, value in columns.items() if name not in TEXTS]
    return f'"{" ".join(texts)}"{"".join(values)}'


def argument(function, shape, name):
    kind = function.types[function.places[name]]
    value = shape.arguments.get(name) or VALUES.get(name)
    if value is None:
        raise ValueError(f"{function.name} has the argument {name}, which has no value: add it to VALUES or to shapes.tsv")
    return value + ("_c" if re.fullmatch(r"const MPI_(Count|Aint)\[\]", kind) else "")


def parts(shape):
    """CONDITION: COLUMNS, for each member j if it begins with `each`."""
    if shape.parts == "-":
        return []
    condition, columns = shape.parts.split(": ")
    is_each = condition.startswith("each ")
    loop = "for (int j = 0; j < size; ++j) " if is_each else ""
    return [f"  {loop}if ({condition.removeprefix('each ')}) PART({said(columns_of(columns))});"]


def scene(function, shape):
    """The C function that calls `function`."""
    columns, completed = columns_of(shape.columns), columns_of(shape.completion)
    arguments = ", ".join(argument(function, shape, name) for name in function.places)
    called = f"CALL({function.name}, ({arguments}), "
    begins = {**columns, "request": "next_id()", "stage": "start"}
    completes = f"complete(&request, {said(completed)});"
    lines = [f"static void call_{function.name}(void) {{", f"  begin_{shape.around}();" if shape.around != "-" else ""]
    if function.mode != "-":
        lines += ["  MPI_Request request = MPI_REQUEST_NULL;"]
    if function.mode == "request":
        lines += [f"  {called}{said(begins)});", *parts(shape), f"  {completes}"]
    elif function.mode == "persistent":
        if "number" in columns and columns["number"] == "collective":
            del begins["number"]  # Starts of persistent collectives have none.
        lines += [f"  {called}{said({n: v for n, v in columns.items() if n in AT_INIT})});", *parts(shape),
                  f"  CALL(MPI_Start, (&request), {said(begins)});",
                  f"  complete(&request, {said({'comm': columns['comm'], **completed})});",
                  "  CALL(MPI_Request_free, (&request));"]
    else:
        lines += [f"  {called}{said(columns)});", *parts(shape)]
    if re.search("_begin(_c)?$", function.name):
        lines += [f"  CALL({re.sub('_begin(_c)?$', '_end', function.name)}, (file, buffer, MPI_STATUS_IGNORE));"]
    lines += [f"  end_{shape.around}();" if shape.around != "-" else "", "}"]
    return "\n".join(filter(None, lines)) + "\n\n"


def generate(library, folder):
    here = pathlib.Path(__file__).parent
    prototypes = SOURCE / "capture/prototypes.tsv"
    functions, present = {}, {}
    for _, line, cells in read_table(prototypes, (4,)):
        functions[cells[0]] = Function(line)
        present[cells[0]] = library in cells[1].split(",")
    add_meaning(functions, SOURCE / "capture/meaning.tsv")
    shapes = {}
    for _, _, cells in read_table(here / "shapes.tsv", (6,)):
        shapes[cells[0]] = Shape(cells)
    wanted = [f for f in functions.values() if present[f.name] and f.shape in shapes]

    def shape_of(function):
        return shapes.get(function.name.removesuffix("_c")) or shapes[function.shape]

    folder.mkdir(parents=True, exist_ok=True)
    kinds = {name: "NOTHING" if not exists else "CONVERSION" if CONVERSION.search(name) else "IT"
             for name, exists in present.items()}
    (folder / "exists.h").write_text("".join(
        f"#define {macro}_{name} {macro}_{kind}\n" for name, kind in kinds.items() for macro in ("CALL", "TRY")))
    calls = "".join(scene(f, shape_of(f)) for f in wanted)
    names = "".join(f"  call_{f.name}();\n" for f in wanted)
    (folder / "calls.h").write_text('#include "scenes.h"\n\n' f"{calls}static void generated_calls(void) {{\n{names}}}\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        generate(sys.argv[1], pathlib.Path(sys.argv[2]))
    except ValueError as mistake:
        sys.exit(str(mistake))


if __name__ == "__main__":
    main()
