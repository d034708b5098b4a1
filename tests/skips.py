#!/usr/bin/env python3
"""Names the tests that a run of ctest has skipped, and fails when one of them was not expected.

    ctest --output-junit RESULTS --test-output-size-passed 100000000 ...
    skips.py RESULTS expected_skips.txt

Understands tests of GoogleTest and unittest, and what ctest itself skips (SKIP_RETURN_CODE). A list that cannot be
read is an error. So is a skip in a form that this program does not understand: it compares with the number that
unittest prints.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

UNITTEST = re.compile(r"""^.*\bskipped (['"])(?P<reason>.*)\1$""", re.MULTILINE)
UNITTEST_NAME = re.compile(r"^\s*(\w+) \((?:\w+\.)?(\w+)", re.MULTILINE)
UNITTEST_COUNT = re.compile(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)", re.MULTILINE)
GTEST = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)$", re.MULTILINE)
GTEST_REASON = re.compile(r": Skipped\n(.*)$", re.MULTILINE)


def skipped_by_unittest(test, output):
    counted = sum(int(count[1]) for count in UNITTEST_COUNT.finditer(output))
    found = list(UNITTEST.finditer(output)) if counted else []
    for skip in found:
        # The name stands in this line, or, where the test has a docstring or prints, in one before it.
        names = UNITTEST_NAME.findall(output, 0, skip.end())
        method, group = names[-1] if names else ("?", "?")
        yield f"{test}.{group}" if method.startswith("setUp") else f"{test}.{method}", skip["reason"]
    if counted > len(found):
        yield test, f"{counted - len(found)} tests without a reason that is known here"


def skipped_by_gtest(test, output):
    names, reasons = GTEST.findall(output), GTEST_REASON.findall(output)
    # --gtest_brief=1 tells reasons without names.
    for number in range(max(len(names), len(reasons))):
        yield (names[number] if number < len(names) else test,
               reasons[number] if number < len(reasons) else "no reason given")


def skips(results):
    """(name, reason) of each skipped test."""
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        test, output = case.get("name"), case.findtext("system-out") or ""
        found = [*skipped_by_unittest(test, output), *skipped_by_gtest(test, output)]
        if not found and case.find("skipped") is not None:
            lines = output.strip().splitlines()
            found = [(test, lines[-1] if lines else "no reason given")]
        yield from found


def expectations(path):
    """(pattern, where) of each line of the list."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"{path.name}:{number}: not PATTERN | WHERE | WHY")
        yield cells[0], cells[1]


def is_expected(skip, expected):
    return any(fnmatch.fnmatchcase(skip, pattern) and
               subprocess.run(["sh", "-c", where], capture_output=True, check=False).returncode == 0
               for pattern, where in expected)


def main():
    results, path = (pathlib.Path(argument) for argument in sys.argv[1:])
    try:
        expected = list(expectations(path))
    except ValueError as mistake:
        print(f"xylem: {mistake}", file=sys.stderr)
        return 1
    unexpected = 0
    for name, reason in skips(results):
        skip = f"{name}: {reason}"
        if is_expected(skip, expected):
            print(f"xylem: skipped, as expected here: {skip}")
        else:
            unexpected += 1
            print(f"xylem: skipped, but must run here: {skip}", file=sys.stderr)
    if unexpected:
        print(f"xylem: {unexpected} tests were skipped that {path.name} does not expect on this machine; install what "
              f"they need, or add a line there", file=sys.stderr)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
