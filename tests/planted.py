"""What tests of the sources' order share: they look at a folder for faults, and are tried on small folders with planted ones."""

import pathlib
import sys
import tempfile


def found_in(files, faults):
    """The faults of a folder with these files, {path: text}; a text of None stands for no file."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        return list(faults(root))


def planted_faults(faults, in_order, planted):
    """What `faults` finds in a folder that is in order, and what it does not find of `planted`, {name: (files, sentence)}."""
    if said := found_in(in_order, faults):
        yield f"in order, and yet: {said}"
    for what, (files, expected) in planted.items():
        said = found_in({**in_order, **files}, faults)
        if not any(expected in line for line in said):
            yield f"{what}: not found among {said}"


def main(faults, in_order, planted, *, all_found, all_good):
    """The program: --planted or the folder to look at. Prints what is wrong, or the sentence for all is well."""
    try_planted = sys.argv[1] == "--planted"
    found = list(planted_faults(faults, in_order, planted) if try_planted else faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or (all_found if try_planted else all_good))
    return 1 if found else 0
