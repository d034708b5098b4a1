#!/usr/bin/env python3
"""Checks that the comments of *.h and *.cc name files and functions that exist.

    comments_test.py ROOT        the checkout
    comments_test.py --planted   that a stale name of each kind is found, in folders made for it

A file's name is looked up with its folders, if the comment gives them: `foo.h`, `net/foo.h`, `docs/x.md`.
A function's name is followed by parentheses, `name()` or `Type::name()`: each of its parts must occur as an
identifier in the code, without comments and strings, of any source file of the repository.
"""

import re
import sys

import planted

# Functions of other libraries that comments name and no code calls: name -> reason. None so far.
KNOWN_FUNCTIONS: dict[str, str] = {}
# Files that comments name and that are not in the repository: name -> reason.
KNOWN_FILES = {
    "mpi.h": "of the MPI libraries",
    "sqlite3ext.h": "of SQLite",
    "TMPDIR/probe-HOST.tsv": "written by tests/support/capture_probe.cc",
}

SKIPPED_FOLDERS = {".git", "build", "node_modules"}
COMMENTED = {".h", ".cc"}
# What may hold a function's definition or call. In files that are not C or C++, all text counts.
C_LIKE = COMMENTED | {".c", ".in"}
CODE = C_LIKE | {".py", ".mjs", ".ts", ".js", ".tsv", ".capnp", ".cmake", ".txt", ".sh"}

# One alternative each: raw string, string, character, comment of either kind.
TOKEN = re.compile(
    r'(?P<string>R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![\w\'])\'(?:\\.|[^\'\\\n])+\')'
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)
FILE_NAME = re.compile(r"(?<![\w/.*<>+{}$-])((?:[\w.-]+/)*[\w-]+\.(?:h|cc|c|py|md|mjs|ts|tsv|capnp|cmake))\b(?![\w/*]|\.\w)")
FUNCTION = re.compile(r"(?<![\w:.~>-])((?:~?\w+(?:::|\.|->))*~?[A-Za-z_]\w*)\(\)")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def files_below(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if not SKIPPED_FOLDERS.intersection(relative.parts) and path.is_file():
            yield relative


def without_comments(text):
    return TOKEN.sub(lambda found: " ", text)


def comments(text):
    """(line, text) of each comment; an include's path is no comment."""
    for found in TOKEN.finditer(text):
        if found["comment"]:
            first = text.count("\n", 0, found.start()) + 1
            yield from enumerate(found["comment"].splitlines(), first)


def identifiers(root, paths):
    known = set()
    for path in paths:
        if path.suffix in CODE:
            text = (root / path).read_text(errors="replace")
            known.update(IDENTIFIER.findall(without_comments(text) if path.suffix in C_LIKE else text))
    return known


def endings(paths):
    """Each way to name a file: with all of its folders, some of them, or none."""
    return {"/".join(path.parts[start:]) for path in paths for start in range(len(path.parts))}


def comment_faults(line, file_names, known):
    for name in FILE_NAME.findall(line):
        if name.removeprefix("xylem/") not in file_names and name not in KNOWN_FILES:
            yield f"names the file {name}, which does not exist"
    for name in FUNCTION.findall(line):
        parts = IDENTIFIER.findall(name)
        if any(part not in known and part not in KNOWN_FUNCTIONS for part in parts if part != "std"):
            yield f"names the function {name}(), which occurs nowhere in the code"


def faults(root):
    paths = list(files_below(root))
    file_names, known = endings(paths), identifiers(root, paths)
    for path in paths:
        if path.suffix in COMMENTED:
            for number, line in comments((root / path).read_text()):
                for fault in comment_faults(line, file_names, known):
                    yield f"{path}:{number}: {fault}"


# What a checkout looks like that is in order, and files that make it be out of order, with what is then said.
IN_ORDER = {
    "docs/x.md": "read me\n",
    "net/link.h": "/// See docs/x.md and link.cc; `Link::close()` and run() end it.\nstruct Link { void close(); };\n",
    "net/link.cc": 'int run(); /* like net/link.h */\nconst char* kText = "// no comment: gone.h, gone()";\n',
    "build/old.h": "// gone.h\n",
}
PLANTED = {
    "a header that is gone": ({"net/a.h": "// See gone_internal.h.\n"}, "the file gone_internal.h"),
    "a file in another folder": ({"net/a.h": "// See wire/link.h.\n"}, "the file wire/link.h"),
    "a document that is gone": ({"net/a.cc": "int a;  // docs/y.md\n"}, "the file docs/y.md"),
    "a function that is gone": ({"net/a.h": "/* The last line:\n   open() begins. */\n"}, "a.h:2: names the function open()"),
    "a member that is gone": ({"net/a.h": "/// `Link::open()`\n"}, "the function Link::open()"),
    "a type that is gone": ({"net/a.h": "/// `Chain::close()`\n"}, "the function Chain::close()"),
    "a name that only a comment has": ({"net/a.cc": "// open()\n", "net/b.cc": "// open it\n"}, "the function open()"),
    "a name that only a string has": ({"net/a.cc": 'auto a = "open";  // open()\n'}, "the function open()"),
}


if __name__ == "__main__":
    sys.exit(planted.main(faults, IN_ORDER, PLANTED, all_found="every stale name is found",
                          all_good="every name in a comment exists"))
