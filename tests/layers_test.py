#!/usr/bin/env python3
"""Checks every #include against docs/layers.txt, and that each folder has a README of <= 30 lines."""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"(\w+)/')
ASIO = re.compile(r'^\s*#\s*include\s+<boost/(asio|beast)')


def read_layers(root):
    layers = {}
    for line in (root / "docs/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            folder, _, allowed = line.partition(":")
            layers[folder] = set(allowed.split())
    return layers


def faults(root):
    layers = read_layers(root)
    for folder, allowed in layers.items():
        unknown = allowed - layers.keys() - {"*"}
        if unknown:
            yield f"docs/layers.txt: {folder} names unknown folders {sorted(unknown)}"
        readme = root / folder / "README.md"
        if not readme.exists():
            yield f"{folder}/README.md is missing"
        elif len(readme.read_text().splitlines()) > 30:
            yield f"{folder}/README.md has more than 30 lines"
        for source in sorted((root / folder).rglob("*")):
            if source.suffix not in (".h", ".cc"):
                continue
            for number, line in enumerate(source.read_text().splitlines(), 1):
                where = f"{source.relative_to(root)}:{number}"
                if ASIO.match(line) and folder not in ("net", "cli"):
                    yield f"{where}: Asio outside net/ and cli/"
                found = INCLUDE.match(line)
                if not found or found[1] not in layers or found[1] == folder or "*" in allowed:
                    continue
                if found[1] not in allowed:
                    yield f"{where}: {folder} may not include {found[1]}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(faults(root))
    print("\n".join(found) or "every include is allowed by docs/layers.txt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
