#!/usr/bin/env python3
"""Runs a linter on all files of its language; fails if it finds something, and if it is not installed.

    linters_test.py FOLDER LINTER        LINTER: clang-format, pylint, shellcheck, or tsc (FOLDER: where the page is built)
    linters_test.py --planted LINTER     that the linter, as it is configured here, finds faults in folders made for it

`.clang-format`, `.pylintrc` and `viz/page/tsconfig.json` say what is looked for, shellcheck looks for all that it knows. tsc of
the page's packages is found with XYLEM_PAGE_WORK, the folder in which the page is built.
"""

import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

import planted

SOURCE = pathlib.Path(__file__).resolve().parents[1]
SKIPPED_FOLDERS = {".git", "build", "node_modules"}
PACKAGES = os.environ.get("XYLEM_PAGE_WORK", ".") + "/node_modules"


def files_below(root):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not SKIPPED_FOLDERS.intersection(path.relative_to(root).parts):
            yield path


def first_line(path):
    with path.open("rb") as file:
        return file.readline(200)


def is_cpp(path):
    return path.suffix in (".cc", ".c", ".h")


def is_python(path):
    return path.suffix == ".py" or (not path.suffix and re.match(rb"#!.*\bpython", first_line(path)))


def is_shell(path):
    return re.match(rb"#!.*[/ ](ba)?sh\s*$", first_line(path))


# Command and its files. tsc reads the names of its files from tsconfig.json.
LINTERS = {
    "clang-format": (["clang-format", f"--style=file:{SOURCE}/.clang-format", "--dry-run", "--Werror"], is_cpp),
    "pylint": (["pylint", f"--rcfile={SOURCE}/.pylintrc"], is_python),
    "shellcheck": (["shellcheck", "--external-sources"], is_shell),
    "tsc": (["node", f"{PACKAGES}/typescript/bin/tsc", "--typeRoots", f"{PACKAGES}/@types", "-p", "tsconfig.json"], None),
}


def faults_of(linter, root):
    command, is_its_own = LINTERS[linter]
    files = [path.relative_to(root) for path in files_below(root) if is_its_own and is_its_own(path)]
    if is_its_own and not files:
        yield f"there is no file for {linter} below {root}"
        return
    try:
        done = subprocess.run([*command, *files], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        yield f"{command[0]} is not installed: scripts/install-packages build"
        return
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if not line.startswith("*****")]  # pylint's headings.
        yield from said or [f"{command[0]} ended with {done.returncode}"]


IN_ORDER = {
    "clang-format": {"a.cc": "int a;\n"},
    "pylint": {"a.py": "def twice(number):\n    return 2 * number\n\n\nprint(twice(1))\n",
               "run": "#!/usr/bin/env python3\nprint(1)\n"},
    "shellcheck": {"run": "#!/usr/bin/env bash\necho \"$1\"\n"},
    "tsc": {"tsconfig.json": f'{{"extends": "{SOURCE}/viz/page/tsconfig.json", "include": ["*.ts"]}}',
            "a.ts": "export function twice(number: number): number {\n  return 2 * number;\n}\n"},
}
# A file with a fault, and what is said of it.
PLANTED = {
    "clang-format": [
        ("b.cc", "int  b;\n", "b.cc:1:"),
    ],
    "pylint": [
        ("b", "#!/usr/bin/env python3\nprint(number)\n", "b:2: Undefined variable"),
        ("c.py", "import a\n\na.thrice(1)\n", "c.py:3: Module 'a' has no"),
        ("d.py", "import a\n\na.twice(1, 2)\n", "d.py:3: Too many positional arguments"),
        ("e.py", "import os\n", "e.py:1: Unused import"),
        ("f.py", "def f():\n    unused = 1\n", "f.py:2: Unused variable"),
        ("g.py", "def g(number):\n    if number:\n        return 1\n", "g.py:1: Either all return statements"),
        ("h.py", "H = 1  # pylint: disable=eval-used\n", "h.py:1: Useless suppression"),
    ],
    "shellcheck": [
        ("b", "#!/bin/sh\nrm $1\n", "SC2086"),
        ("c.sh", "#!/usr/bin/env bash\ncd x\nrm y\n", "SC2164"),
    ],
    "tsc": [
        ("b.ts", 'export const b: number = "b";\n', "b.ts(1,14): error TS2322"),
        ("c.ts", "export const c = (items: string[]): string => items[0];\n", "c.ts(1,47): error TS2322"),
        ("d.ts", "export function d(b: boolean): number | undefined {\n  if (b) return 1;\n}\n", "d.ts(1,32): error TS7030"),
        ("e.ts", "export function e(): number {\n  return 1;\n  return 2;\n}\n", "e.ts(3,3): error TS7027"),
        ("f.ts", "export function f(): void {\n  unused: for (;;) break;\n}\n", "f.ts(2,3): error TS7028"),
        ("g.ts", "try {\n  throw 1;\n} catch (error) {\n  console.log(error.message);\n}\n", "g.ts(4,15): error TS18046"),
        ("h.ts", "export function h(): void {\n  const unused = 1;\n}\n", "h.ts(2,9): error TS6133"),
    ],
}


def planted_faults(linter):
    def found_in(files):
        return planted.found_in(files, lambda root: faults_of(linter, root))

    in_order, faults = IN_ORDER[linter], PLANTED[linter]
    if said := found_in(in_order):
        yield f"in order, and yet: {said}"
    said = found_in({**in_order, **{name: text for name, text, _ in faults}})
    for name, _, expected in faults:
        if not any(expected in line for line in said):
            yield f"the fault in {name} was not found; {linter} says: {said}"
    with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
        if (said := found_in(in_order)) != [f"{LINTERS[linter][0][0]} is not installed: scripts/install-packages build"]:
            yield f"it cannot be found, and yet: {said}"


def main():
    where, linter = sys.argv[1:]
    found = list(planted_faults(linter) if where == "--planted" else faults_of(linter, pathlib.Path(where)))
    print("\n".join(found) or f"{linter} finds {'every planted fault' if where == '--planted' else 'nothing'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
