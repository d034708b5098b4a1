#!/usr/bin/env python3
"""Writes golden hex files as the binary files that libFuzzer starts from: seeds.py FOLDER HEX..."""

import pathlib
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        source = pathlib.Path(name)
        (folder / source.stem).write_bytes(bytes.fromhex(source.read_text()))


if __name__ == "__main__":
    main()
