#!/usr/bin/env python3
"""Makes prototypes.tsv: every C function of the installed MPI headers, read by libclang.

The table is committed, so that a build needs neither libclang nor a particular MPI. Run this again
when another MPI joins or a header changes:

    extract_prototypes.py --output capture/prototypes.tsv

One line a function: name, the MPIs whose header declares it, return type, arguments ("TYPE NAME",
separated by ", "; "..." for a variadic function). Where headers differ in wording, the first MPI
that has the function decides. Wrappers pass every argument as one machine word, so a
function that takes or returns anything else than integers and pointers is refused, except that
a double may be returned.

Ends with 1 when a header is refused, with 77 when libclang or a header is not installed.
"""

import argparse
import pathlib
import sys

HEADERS = {
    "mpich": "/usr/include/x86_64-linux-gnu/mpich",
    "openmpi": "/usr/lib/x86_64-linux-gnu/openmpi/include",
}
SKIPPED = 77

COMMENT = """\
# Every C function that the installed MPI headers declare. Made by generate/extract_prototypes.py
# from MPICH 4.0.2 and Open MPI 4.1.4; do not edit. A function's number is its place here, from 0.
# name\tin\treturns\targuments
"""


def prototypes(clang, folder):
    """Yields (name, returns, arguments) of each MPI function in folder/mpi.h."""
    source = ("mpi_all.c", "#include <mpi.h>\n")
    unit = clang.Index.create().parse(source[0], unsaved_files=[source], args=["-I", folder])
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    if errors:
        raise ValueError(f"{folder}/mpi.h: {errors[0]}")
    for node in unit.cursor.get_children():
        if node.kind == clang.CursorKind.FUNCTION_DECL:
            if node.spelling.startswith(("MPI_", "MPIX_")):
                yield prototype(clang, node)


def prototype(clang, node):
    arguments = []
    for place, argument in enumerate(node.get_arguments()):
        check_word(clang, node, argument.type)
        arguments.append(f"{argument.type.spelling} {argument.spelling or f'argument{place}'}")
    if node.result_type.get_canonical().kind != clang.TypeKind.DOUBLE:
        check_word(clang, node, node.result_type)
    if node.type.kind == clang.TypeKind.FUNCTIONPROTO and node.type.is_function_variadic():
        arguments.append("...")
    return node.spelling, node.result_type.spelling, ", ".join(arguments)


def check_word(clang, node, kind):
    """One general-purpose register must hold it: the wrappers forward words."""
    canonical = kind.get_canonical()
    pointers = (clang.TypeKind.POINTER, clang.TypeKind.INCOMPLETEARRAY,
                clang.TypeKind.CONSTANTARRAY, clang.TypeKind.FUNCTIONPROTO)  # Passed as pointers.
    integers = (clang.TypeKind.INT, clang.TypeKind.UINT, clang.TypeKind.LONG,
                clang.TypeKind.ULONG, clang.TypeKind.LONGLONG, clang.TypeKind.ENUM)
    if canonical.kind not in pointers + integers:
        raise ValueError(f"{node.spelling}: {kind.spelling} is neither an integer nor a pointer; "
                         "the wrappers cannot forward it")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--output", type=pathlib.Path, required=True)
    wanted = options.parse_args()
    try:
        import clang.cindex as clang
    except ImportError:
        print("libclang for Python is missing: install python3-clang-14")
        return SKIPPED
    missing = [f for f in HEADERS.values() if not pathlib.Path(f, "mpi.h").exists()]
    if missing:
        print(f"no mpi.h in {missing[0]}: install libmpich-dev and libopenmpi-dev")
        return SKIPPED

    table = {}
    try:
        for mpi, folder in HEADERS.items():
            for name, returns, arguments in prototypes(clang, folder):
                table.setdefault(name, ([], returns, arguments))[0].append(mpi)
    except ValueError as refusal:
        print(refusal)
        return 1
    lines = [f"{name}\t{','.join(mpis)}\t{returns}\t{arguments}\n"
             for name, (mpis, returns, arguments) in sorted(table.items())]
    wanted.output.write_text(COMMENT + "".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
