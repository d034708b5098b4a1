#!/usr/bin/env python3
"""Checks that every file which a document names is there: links, and names in backquotes; that every label of
ctest which documents and scripts name belongs to a test; and that they let ctest fail where no test matches;
that docs/protocol.md has each message; that the table of locks in docs/contributing.md has each lock, and that
the files of a recipe's step have the names that the step mentions; that docs/performance.md has a command for each
benchmark and for each table, and that these commands exist.

    documents_test.py SOURCE_FOLDER [BUILD_FOLDER]
    documents_test.py --planted     that locks without a row, stale steps and benchmarks without a command are found, in folders
                                    made for it

Labels are looked up in the build folder. Without one they are left out: a build of a part lacks some tests.
"""

import collections
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys

import planted

LINK = re.compile(r"\]\(([^)#]+)")
# `NAME.cc` and `*_internal.h` stand for many.
NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:h|cc|c|py|md|txt|topo|capnp|tsv|sh|sql|hex|json))`")
FOREIGN = {"mpi.h", "xylem/region.h", "PREFIX/include/xylem/region.h"}  # MPI's, and as it is installed.
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


LOCK_KIND = re.compile(r"SharedState|Turn|mutex|LockState|atomic")


def unit_of(path):
    """What belongs to one source: `x/y.cc`, `x/y.h` and `x/y_internal.h` are `x/y`."""
    return path.rsplit(".", 1)[0].removesuffix("_internal")


def locks_found(root, command):
    """The kinds of locks that the command finds, {unit: kinds}. Comments are no locks."""
    git, grep, *rest = shlex.split(command)
    outside = [] if (root / ".git").exists() else ["--no-index"]
    lines = subprocess.run([git, grep, *outside, *rest, ":!build"], cwd=root, capture_output=True, text=True).stdout
    kinds = collections.defaultdict(set)
    for path, _, line in (line.split(":", 2) for line in lines.splitlines()):
        if not line.lstrip().startswith("//"):
            kinds[unit_of(path)].add(LOCK_KIND.search(line)[0])
    return kinds


def lock_faults(root):
    """The locks that the command in docs/contributing.md finds and those of the table below it are in the same files. A
    file with several kinds of locks has as many rows."""
    before, mark, after = (root / "docs/contributing.md").read_text().partition("| lock | file |")
    greps = re.findall(r"^    (git grep .*)$", before, re.MULTILINE)
    if not mark or not greps:
        yield "docs/contributing.md: there is no table of locks with a git grep above it"
        return
    rows = collections.Counter(unit_of(re.search(r"`(.+)`", row.split("|")[2])[1])
                               for row in after.split("\n\n")[0].splitlines()[2:])
    found = locks_found(root, greps[-1])
    for unit, kinds in sorted(found.items()):
        if rows[unit] < len(kinds):
            yield f"docs/contributing.md: {unit} has locks ({', '.join(sorted(kinds))}), and the table {rows[unit]} rows for it"
    for unit in sorted(rows.keys() - found.keys()):
        yield f"docs/contributing.md: the table of locks names {unit}, which has none"


STEP = re.compile(r"^\| \d+ \|.*", re.MULTILINE)
# Constants, functions and types. Names of files and of tests are looked up elsewhere.
CODE_NAME = re.compile(r"`(k[A-Z]\w*|\w+(?=\()|[A-Z]\w*[a-z]\w*(?![\w.:]))[^`]*`")
PLACEHOLDER = re.compile(r"[A-Z]{4}|\.\.\.$")


def recipe_faults(root):
    """Each step of a recipe in docs/contributing.md is a row. The names of code in its first two columns are in the files that
    the row names."""
    for step in STEP.findall((root / "docs/contributing.md").read_text()):
        named = [root / name for name in re.findall(r"`(\w[\w./-]*)`", step) if (root / name).is_file()]
        text = "".join(file.read_text() for file in named)
        for name in CODE_NAME.findall("|".join(step.split("|")[2:4])):
            if named and not PLACEHOLDER.search(name) and not re.search(rf"\b{name}\b", text):
                files = ", ".join(file.relative_to(root).as_posix() for file in named)
                yield f"docs/contributing.md: a step about {files} mentions {name}, which is not there"


PROGRAM = re.compile(r"\bbuild/\w+/tests/([a-z]\w*)")
SCRIPT = re.compile(r"python3 (\S+\.py)((?: [^`#]*)?)")
OPTION = re.compile(r"(?<!\S)--[a-z-]+")


def sections(text):
    """(number of the first line, text) of each section of a document."""
    starts = [match.start() for match in re.finditer(r"^##", text, re.MULTILINE)]
    for begin, end in itertools.pairwise([0, *starts, len(text)]):
        yield text.count("\n", 0, begin) + 1, text[begin:end]


def options_of(root, script):
    """Text that has each option of a script in quotes. `tree_bench.py` hands options to the program in `tree/`."""
    program = (root / script.removesuffix("_bench.py")).glob("*.cc")
    return "".join(file.read_text() for file in [root / script, *program])


def command_faults(root, text):
    for program in sorted(set(PROGRAM.findall(text))):
        if not (root / f"tests/bench/{program}.cc").exists():
            yield f"there is no program {program}"
    for script, arguments in SCRIPT.findall(text):
        if not (root / script).exists():
            yield f"there is no {script}"
        else:
            known = options_of(root, script)
            yield from (f"{script} has no option {option}" for option in OPTION.findall(arguments) if f'"{option}"' not in known)


def benchmark_faults(root):
    """Each benchmark has a command in docs/performance.md that repeats it, each table stands in a section with a command, and
    what the commands name exists."""
    document = root / "docs/performance.md"
    text = document.read_text()
    programs, scripts = set(PROGRAM.findall(text)), {script for script, _ in SCRIPT.findall(text)}
    for file in sorted((root / "tests/bench").glob("*bench*")):
        name = file.relative_to(root).as_posix()
        if (file.match("bench_*.cc") and file.stem not in programs) or (file.match("*_bench.py") and name not in scripts):
            yield f"docs/performance.md: no command repeats {name}"
    yield from (f"docs/performance.md: {fault}" for fault in command_faults(root, text))
    for number, section in sections(text):
        # The first table only names figures of the others.
        if number > 1 and "\n|" in section and not re.search(r"^\*Repeat", section, re.MULTILINE):
            yield f"docs/performance.md:{number}: no *Repeat* says how the figures of this section are repeated"


TABLE = r"""These commands find them:

    git grep -nE '(std::[a-z_]*mutex&?|SharedState<.+>|Turn)( [a-z_]+)?[;{]' -- '*.h' '*.cc' ':!tests'

| lock | file | reason |
|---|---|---|
| a queue | `net/queue.h` | two threads share it |
| `Turn` of a queue | `net/queue_internal.h` | a signal may come |

More text.

| | file | what must hold |
|---|---|---|
| 1 | `net/queue.h` | a line in `queue_`, and `kNAME` |
| 2 | `net/queue.h`, and its neighbours | the `SharedState` of `Queue`; `top()` stays |
"""
FIGURES = """# Performance

| question | answer |

## Net

*Repeat:* `build/release/tests/bench_net FILE`, then `python3 tests/bench/tree_bench.py --build build/release`.

| row | figure |
"""
# A checkout that is in order, and files that make it be out of order, with what is then said.
IN_ORDER = {
    "docs/contributing.md": TABLE,
    "net/queue.h": "SharedState<Queue> queue_;\n// std::mutex mutex_;\nint top();\n",
    "net/queue.cc": "Turn turn_;\nconst Turn turn = turns.top();\n",
    "tests/lock.cc": "std::mutex mutex;\n",
    "docs/performance.md": FIGURES,
    "tests/bench/bench_net.cc": "",
    "tests/bench/tree_bench.py": 'add_argument("--build")\n',
}
PLANTED = {
    "a lock without a row": ({"wire/a.h": "mutable std::mutex mutex_;\n"}, "wire/a has locks (mutex), and the table 0 rows"),
    "an alias without a row": ({"wire/a.h": "using Kept = SharedState<int>;\n"}, "wire/a has locks (SharedState)"),
    "one more kind of lock in a file": ({"net/queue_internal.h": "std::shared_mutex mutex_;\n"}, "and the table 2 rows"),
    "a row without a lock": ({"net/queue.h": "Queue queue_;\n", "net/queue.cc": None}, "names net/queue, which has none"),
    "a table without a command": ({"docs/contributing.md": TABLE.replace("git grep", "grep")}, "there is no table of locks"),
    "a name that a recipe's file has lost": ({"net/queue.h": "SharedState<Row> queue_;\n"}, "net/queue.h mentions Queue, which"),
    "a function that a recipe's file has lost": ({"net/queue.h": "SharedState<Queue> q;\n"}, "net/queue.h mentions top, which"),
    "a program without a command": ({"tests/bench/bench_tree.cc": ""}, "no command repeats tests/bench/bench_tree.cc"),
    "a script without a command": ({"tests/bench/net_bench.py": ""}, "no command repeats tests/bench/net_bench.py"),
    "a program that is gone": ({"docs/performance.md": FIGURES + "`build/dev/tests/bench_old`"}, "there is no program bench_old"),
    "a script that is gone": ({"docs/performance.md": FIGURES + "`python3 tests/old.py`"}, "there is no tests/old.py"),
    "an option that is gone": ({"docs/performance.md": FIGURES.replace("--build", "--folder")}, "has no option --folder"),
    "figures without a command": ({"docs/performance.md": FIGURES + "\n## Tree\n\n| row |\n"}, ":11: no *Repeat* says"),
}


def main():
    if sys.argv[1] == "--planted":
        return planted.main(lambda root: [*lock_faults(root), *recipe_faults(root), *benchmark_faults(root)], IN_ORDER, PLANTED,
                            all_found="every planted fault is found", all_good="")
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [*faults(root), *silent_commands(root), *message_faults(root), *lock_faults(root), *recipe_faults(root),
             *benchmark_faults(root)]
    if len(sys.argv) > 2:
        found += label_faults(root, sys.argv[2])
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print("every file and label that a document names is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
