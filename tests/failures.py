#!/usr/bin/env python3
"""Prints how the tests that a run of ctest has seen fail have ended: it stands last, where a reader of a log looks first.

    ctest --output-junit RESULTS ...
    failures.py RESULTS
"""

import sys
import xml.etree.ElementTree

LINES = 30  # Of each test: the assertion and what follows it.


def failures(results):
    """(name, output) of each test that failed."""
    for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
        if case.find("failure") is not None:
            yield case.get("name"), case.findtext("system-out") or ""


def main():
    for name, output in failures(sys.argv[1]):
        lines = output.strip().splitlines()
        print(f"xylem: the end of {name}, which failed:")
        print("\n".join(f"  {line}" for line in lines[-LINES:] or ["it printed nothing"]))


if __name__ == "__main__":
    main()
