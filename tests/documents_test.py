#!/usr/bin/env python3
"""Checks that every file which a document names is there: links, and names in backquotes; that every label of
ctest which documents and scripts name belongs to a test; and that they let ctest fail where no test matches;
that docs/protocol.md has each message.

    documents_test.py SOURCE_FOLDER [BUILD_FOLDER]

Labels are looked up in the build folder. Without one they are left out: a build of a part lacks some tests.
"""

import itertools
import json
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#]+)")
# `NAME.cc` and `*_internal.h` stand for many.
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:h|cc|c|py|md|txt|topo|capnp|tsv|sh|sql|hex|json))`")
FOREIGN = {"mpi.h"}  # MPI's.
CTEST = re.compile(r"\bctest -[^`#|]*")
LABEL = re.compile(r"""-L ["'^]*([A-Za-z_]\w*)|\blabels? `(\w+)`""")
OTHER_BUILD = re.compile(r"--test-dir build/(\w+)")
REGISTERED = re.compile(r'LABELS? +"?([a-z;]+)')  # In a CMakeLists.txt.


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


def commands(root):
    """(where, line) of each line of documents and scripts that tells how to run tests."""
    scripts = [p for p in [*(root / "scripts").iterdir(), *(root / ".ci").glob("*")] if p.is_file()]
    for file in [*documents(root), *scripts]:
        if file.name != "CHANGELOG.md":
            for number, line in enumerate(file.read_text().splitlines(), 1):
                yield f"{file.relative_to(root)}:{number}", line


def labels_of_table(lines):
    """(where, label) of each row of a table that has a column `label`."""
    column = None
    for where, line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = cells.index("label") if "label" in cells else -1
        elif column > 0 and re.fullmatch(r"\w+", cells[column]):
            yield where, cells[column]


def registered_labels(build):
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                             check=True)
    properties = itertools.chain.from_iterable(test["properties"] for test in json.loads(listing.stdout)["tests"])
    return set(itertools.chain.from_iterable(p["value"] for p in properties if p["name"] == "LABELS"))


def label_faults(root, build):
    here = registered_labels(build)
    anywhere = {label for file in (root / "tests").rglob("CMakeLists.txt")
                for labels in REGISTERED.findall(file.read_text()) for label in labels.split(";")}
    lines = list(commands(root))
    named = list(labels_of_table(lines))
    for where, line in lines:
        other = OTHER_BUILD.search(line)
        known = anywhere if other and other[1] not in ("dev", "release") else here
        for label in filter(None, itertools.chain.from_iterable(LABEL.findall(line))):
            if label not in known:
                yield f"{where}: no test has the label {label}"
    for where, label in named:
        if label not in here:
            yield f"{where}: no test has the label {label}"


def silent_commands(root):
    for where, line in commands(root):
        for command in CTEST.findall(line):
            selects = re.search(r" -[LR] ", command)
            if selects and "--no-tests=error" not in command and "--preset" not in command:
                yield f"{where}: this ctest succeeds when no test matches; --no-tests=error is missing"


def message_faults(root):
    """The messages of the schema and those of the table in docs/protocol.md are the same."""
    schema = (root / "wire/xylem.capnp").read_text()
    messages = set(re.findall(r"(\w+) @\d+ :", schema.split("struct Message {")[1].split("\n}")[0]))
    rows = (root / "docs/protocol.md").read_text().split("| message |")[1].split("\n\n")[0].splitlines()
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} if rows else set()
    for name in sorted(messages ^ described):
        where = "docs/protocol.md" if name in messages else "wire/xylem.capnp"
        yield f"{where}: there is no message {name}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [*faults(root), *silent_commands(root), *message_faults(root)]
    if len(sys.argv) > 2:
        found += label_faults(root, sys.argv[2])
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print("every file and label that a document names is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
