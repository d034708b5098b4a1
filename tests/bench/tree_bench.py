#!/usr/bin/env python3
"""What a tree of tools costs, measured with the package as it is installed.

tree_bench.py --build BUILD [what bench_tree takes: tests/bench/tree/bench_tree.cc]

Installs the build below BUILD/bench_tree, builds the program there against it and becomes it. BUILD is to be
optimised: preset release.
"""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent / "tree"


def quietly(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"tree_bench: {' '.join(map(str, words))}\n{done.stdout}")


def main():
    if len(sys.argv) < 3 or sys.argv[1] != "--build":
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[2]).resolve()
    prefix, own = build / "bench_tree/prefix", build / "bench_tree/build"
    quietly("cmake", "--install", build, "--prefix", prefix)
    quietly("cmake", "-S", SOURCE, "-B", own, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    quietly("cmake", "--build", own)
    program = own / "bench_tree"
    os.execv(program, [str(program), *sys.argv[3:]])


if __name__ == "__main__":
    main()
