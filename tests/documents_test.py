#!/usr/bin/env python3
"""Checks that every file which a document names is there: links, and names in backquotes.

    documents_test.py SOURCE_FOLDER
"""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#]+)")
# `NAME.cc` and `*_internal.h` stand for many.
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:h|cc|c|py|md|txt|topo|capnp|tsv|sh|sql|hex|json))`")
FOREIGN = {"mpi.h"}  # MPI's.


def documents(root):
    listing = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True)
    if listing.returncode == 0:
        return [root / name for name in listing.stdout.split()]
    return [p for p in root.rglob("*.md") if "build" not in p.relative_to(root).parts]


def faults(root):
    files = [p.relative_to(root).as_posix() for p in root.rglob("*")
             if p.is_file() and p.relative_to(root).parts[0] not in ("build", ".git")]
    for document in documents(root):
        if document.name == "CHANGELOG.md":
            continue  # Tells of files as they were.
        for number, line in enumerate(document.read_text().splitlines(), 1):
            where = f"{document.relative_to(root)}:{number}"
            for target in LINK.findall(line):
                if "://" not in target and not (document.parent / target).exists():
                    yield f"{where}: the link to {target} leads nowhere"
            for name in NAMED.findall(line):
                if name in FOREIGN or pathlib.PurePath(name).stem.isupper():
                    continue
                if not any(f == name or f.endswith("/" + name) for f in files):
                    yield f"{where}: there is no {name}"


def main():
    found = list(faults(pathlib.Path(sys.argv[1]).resolve()))
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print("every file that a document names is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
