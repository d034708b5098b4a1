#!/usr/bin/env python3
"""Checks every #include, and what each library of the build uses, against docs/layers.txt, and where third-party headers are
included; each source includes its own public header first; our headers stand in quotes, by their path from the top; each
folder has a README of <= 30 lines.

    layers_test.py ROOT        the checkout
    layers_test.py --planted   that a breach of each kind is found, in folders made for it
"""

import pathlib
import re
import sys

import planted

USES = re.compile(r"xylem_library\((\w+)[^)]*?USES ([^)]*?)(?:LINKS[^)]*)?\)", re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([\w/.]+)"')
OUTER_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"(\w+\.capnp\.h)")')
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
# Headers of the standard library and of the system. A public header includes no others that are not ours.
PLAIN = re.compile(r"\w+|sys/\w+\.h|(?:signal|stddef|stdint|termios|unistd)\.h")
# Libraries that only some folders may use.
CONFINED = ((re.compile(r"boost/(asio|beast)"), "Asio", ("net", "cli")),
            (re.compile(r"Eigen/"), "Eigen", ("placement", "predict")))
LONGEST_README = 30
BESIDE = {"build", "examples", "tests"}  # Not parts of the library.


def read_layers(root):
    """{folder: names of what it may include}, in the order of the file."""
    layers = {}
    for line in (root / "docs/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            room, _, allowed = line.partition(":")
            layers[room] = allowed.split()
    return layers


def room_of(path, layers):
    """The innermost folder of docs/layers.txt that has this file; None for files that are not our sources."""
    parts = pathlib.PurePosixPath(path).parts[:-1]
    for depth in range(len(parts), 0, -1):
        if "/".join(parts[:depth]) in layers:
            return "/".join(parts[:depth])
    return parts[0] if parts and any(room.startswith(parts[0] + "/") for room in layers) else None


def allows(name, room):
    """Whether a name of docs/layers.txt covers a folder."""
    if name == "*" or name == room:
        return True
    return room == name[:-2] if name.endswith("/.") else room.startswith(name + "/")


def include_fault(path, header, layers):
    """Why a file may not include another, or None."""
    if ".." in pathlib.PurePosixPath(header).parts:
        return f"{header} is not the path from the top"
    room, other = room_of(path, layers), room_of(header, layers)
    if other is None:
        return None
    if header.endswith("_internal.h") and room.split("/")[0] != other.split("/")[0]:
        return f"{header} is internal to {other.split('/')[0]}"
    if room == other or any(allows(name, other) for name in layers.get(room, [])):
        return None
    return f"{room} may not include {other}"


def rows_faults(layers):
    """The rows themselves: what they name is there, and stands above."""
    seen = []
    folders = {room.split("/")[0] for room in layers}
    for room, allowed in layers.items():
        for name in allowed:
            plain = name.removesuffix("/.")
            if name != "*" and plain not in layers and plain not in folders:
                yield f"docs/layers.txt: {room} names the unknown folder {name}"
            elif name != "*" and not any(allows(name, other) for other in seen):
                yield f"docs/layers.txt: {room} names {name}, which stands below it in the file"
        seen.append(room)


def outer_fault(path, room, name):
    """Why a file of a folder may not include a header that is not ours, or None."""
    for library, called, rooms in CONFINED:
        if library.match(name) and room.split("/")[0] not in rooms:
            return f"{called} outside {' and '.join(it + '/' for it in rooms)}"
    # Programs in C include what is in capture/region.
    is_public = path.endswith(".h") and not path.endswith("_internal.h") and room != "capture/region"
    return f"the public header includes {name}" if is_public and not PLAIN.fullmatch(name) else None


def room_faults(root, room, layers):
    for source in sorted((root / room).rglob("*")):
        path = str(source.relative_to(root))
        if source.suffix not in (".h", ".cc") or room_of(path, layers) != room:
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found, outer = INCLUDE.match(line), OUTER_INCLUDE.match(line)
            fault = include_fault(path, found[1], layers) if found else None
            if outer and outer[1] and (root / outer[1]).exists():
                fault = f"{outer[1]} is ours: it stands in quotes"
            outer_said = outer_fault(path, room, outer[1] or outer[2]) if outer else None
            for said in filter(None, (fault, outer_said)):
                yield f"{path}:{number}: {said}"


def order_faults(root, layers):
    """Sources that do not include their own public header first. If they do, it compiles alone: nothing is before it."""
    tops = sorted({room.split("/")[0] for room in layers})
    for source in (path for top in tops for path in sorted((root / top).rglob("*.cc"))):
        header = source.with_suffix(".h")
        if header.exists():
            first = FIRST_INCLUDE.search(source.read_text())
            if not first or first[1] != str(header.relative_to(root)):
                yield f"{source.relative_to(root)} does not include {header.relative_to(root)} first"


def included(root, layers):
    """{folder: folders whose headers it includes}."""
    rooms = {room: set() for room in layers}
    folders = sorted({room.split("/")[0] for room in layers})
    for source in (path for folder in folders for path in (root / folder).rglob("*")):
        room = room_of(str(source.relative_to(root)), layers) if source.suffix in (".h", ".cc") else None
        if room in rooms:
            found = (INCLUDE.match(line) for line in source.read_text().splitlines())
            rooms[room].update(room_of(line[1], layers) for line in found if line)
    return rooms


def unused_permissions(root, layers):
    """What a row or a library of the build names though no file includes it."""
    rooms = included(root, layers)
    for room, allowed in layers.items():
        for name in allowed:
            if name != "*" and not any(other and allows(name, other) for other in rooms[room]):
                yield f"docs/layers.txt: {room} names {name}, but includes nothing of it"
    for build in sorted(root.glob("*/CMakeLists.txt")):
        library = USES.search(build.read_text())
        folder = build.parent.name
        used = {other.split("/")[0] for room in rooms if room.split("/")[0] == folder for other in rooms[room] if other}
        for name in re.findall(r"xylem::(\w+)", library[2]) if library else ():
            if name not in used:
                yield f"{folder}/CMakeLists.txt: the library uses {name}, but includes nothing of it"


def unnamed_folders(root, layers):
    """Folders and subfolders with sources and without a row: nobody has said what they may include."""
    tops = [path for path in root.iterdir() if path.is_dir() and path.name not in BESIDE and not path.name.startswith(".")]
    sources = (source for top in tops for source in top.rglob("*") if source.suffix in (".h", ".cc"))
    for folder in sorted({source.parent.relative_to(root).as_posix() for source in sources} - set(layers)):
        yield f"docs/layers.txt has no row for {folder}"


def readme_faults(root, layers):
    """Each folder of a row has a README, and `tests`, each folder directly in one of these, and each folder of these (but
    `tests`) that has sources of the page. All READMEs there are short."""
    tops = sorted({room.split("/")[0] for room in layers} | {"tests"})
    inner = {f"{top}/{path.name}" for top in tops for path in (root / top).glob("[a-z]*") if path.is_dir()}
    inner |= {str(source.parent.relative_to(root)) for top in tops if top != "tests" for source in (root / top).rglob("*.ts")}
    for folder in sorted({*layers, *tops} | inner):
        if not (root / folder / "README.md").exists():
            yield f"{folder}/README.md is missing"
    for readme in sorted(path for top in tops for path in (root / top).rglob("README.md")):
        if len(readme.read_text().splitlines()) > LONGEST_README:
            yield f"{readme.relative_to(root)} has more than {LONGEST_README} lines"


def faults(root):
    layers = read_layers(root)
    yield from readme_faults(root, layers)
    yield from rows_faults(layers)
    yield from unnamed_folders(root, layers)
    yield from unused_permissions(root, layers)
    for room in layers:
        yield from room_faults(root, room, layers)
    yield from order_faults(root, layers)


# What a checkout looks like that is in order, and files that make it be out of order, with what is then said.
IN_ORDER = {
    "docs/layers.txt": "base:\nstore: base\nstore/read: store/. base\nstore/write: store/. store/read base\nends: store/read\n",
    **{f"{folder}/README.md": "what it is\n" for folder in (
        "base", "store", "store/read", "store/write", "store/make", "ends", "tests", "tests/unit")},
    "base/a.h": "#include <string>\n",
    "store/table.h": '#include <sys/types.h>\n\n#include "base/a.h"\n',
    "store/table.cc": '#include "store/table.h"\n\n#include <sqlite3.h>\n',
    "store/table_internal.h": '#include <sqlite3.h>\n#include "tables.capnp.h"\n',
    "store/make/m.py": "",
    "store/read/r_internal.h": '#include "store/table.h"\n#include "base/a.h"\n',
    "store/write/w.cc": '#include "store/read/r_internal.h"\n#include "store/table.h"\n#include "base/a.h"\n',
    "store/CMakeLists.txt": "xylem_library(store\n  SOURCES w.cc\n  USES xylem::base LINKS zlib)\n",
    "ends/e.cc": '#include "store/read/r.h"\n',
}
PLANTED = {
    "a folder above": ({"base/b.h": '#include "ends/e.h"\n'}, "base may not include ends"),
    "a subfolder above": ({"store/read/s.h": '#include "store/write/w.h"\n'}, "store/read may not include store/write"),
    "a subfolder from beside it": ({"store/t.h": '#include "store/read/r.h"\n'}, "store may not include store/read"),
    "a folder that is not named": ({"ends/f.cc": '#include "store/write/w.h"\n'}, "ends may not include store/write"),
    "files beside a named subfolder": ({"ends/f.cc": '#include "store/table.h"\n'}, "ends may not include store"),
    "internals of a folder": ({"ends/f.cc": '#include "store/read/r_internal.h"\n'}, "is internal to store"),
    "a path from beside": ({"ends/f.cc": '#include "../store/write/w.h"\n'}, "is not the path from the top"),
    "our header in angle brackets": ({"ends/f.cc": "#include <store/table.h>\n"}, "it stands in quotes"),
    "Asio": ({"store/n.cc": "#include <boost/asio.hpp>\n"}, "Asio outside"),
    "Eigen": ({"store/n.cc": "#include <Eigen/Core>\n"}, "Eigen outside"),
    "a library's header in a public header": ({"store/n.h": "#include <sqlite3.h>\n"}, "public header includes sqlite3.h"),
    "a library's folder in a public header": ({"ends/n.h": "#include <fmt/format.h>\n"}, "public header includes fmt/format.h"),
    "a generated header in a public header": ({"ends/n.h": '#include "n.capnp.h"\n'}, "public header includes n.capnp.h"),
    "a folder of tests without README": ({"tests/new/n.py": ""}, "tests/new/README.md is missing"),
    "a folder of the page without README": ({"ends/page/src/new/n.ts": ""}, "ends/page/src/new/README.md is missing"),
    "a folder of tools without README": ({"store/make/README.md": None}, "store/make/README.md is missing"),
    "a long README below": ({"tests/unit/deep/README.md": "line\n" * 31}, "has more than 30 lines"),
    "a source with its header second": ({"base/a.cc": '#include <map>\n#include "base/a.h"\n'}, "not include base/a.h first"),
    "a source without its header": ({"base/a.cc": "int a;\n"}, "base/a.cc does not include base/a.h first"),
    "no README": ({"store/read/README.md": None}, "store/read/README.md is missing"),
    "a long README": ({"store/README.md": "line\n" * 31}, "has more than 30 lines"),
    "an unknown folder": ({"docs/layers.txt": "base: nowhere\n"}, "unknown folder nowhere"),
    "a folder without a row": ({"new/n.cc": ""}, "has no row for new"),
    "a subfolder without a row": ({"store/make/m.cc": ""}, "has no row for store/make"),
    "a permission that nothing needs": ({"base/a.h": "", "docs/layers.txt": "base:\nstore:\nends: store base\n"}, "ends names base, but"),
    "a library that nothing needs": ({"store/CMakeLists.txt": "xylem_library(store USES xylem::ends)"}, "the library uses ends, but"),
    "a row in the wrong order": ({"docs/layers.txt": "store: base\nbase:\n"}, "names base, which stands below"),
}


if __name__ == "__main__":
    sys.exit(planted.main(faults, IN_ORDER, PLANTED, all_found="every breach is found",
                          all_good="every include is allowed by docs/layers.txt"))
