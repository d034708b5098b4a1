#!/usr/bin/env python3
"""Makes manual pages of public headers from the headers themselves, so that both always agree.

    header_page.py VERSION FOLDER HEADER...

Writes FOLDER/xylem_DIRECTORY_NAME.3 for each HEADER (DIRECTORY/NAME.h, in the current folder). The comment at the head
of the header becomes the name and the description. The declarations follow, with their comments and without private
parts.
"""

import pathlib
import re
import sys

# Lines that concern the compiler only.
COMPILER = re.compile(r"#(pragma|include|ifndef XYLEM_FILTERS|define XYLEM_FILTERS\w*_H_$|ifdef __cplusplus|endif)"
                      r'|namespace [\w:]+ {$|}  // namespace|extern "C" {$|\s*// NOLINT')


def without(lines, begin, end):
    """The lines without the parts from one that `begin` matches to the next that equals `end(match)`; that one stays."""
    until = None
    for line in lines:
        if until is not None:
            if line != until:
                continue
            until = None
        match = begin.match(line)
        if match:
            until = end(match)
        else:
            yield line


def parts(text):
    """(the comment at the head, the declarations), as lists of lines."""
    # C++'s own names for what stands in a C header.
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.DOTALL)
    text = re.sub(r"namespace (xylem::)?internal {.*?}  // namespace (xylem::)?internal\n", "", text, flags=re.DOTALL)
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(("//", "/*")))
    last = first
    while re.match(r"//|/\*| \*", lines[last]):
        last += 1
    head = [re.sub(r"^(//|/\*| \*/?) ?", "", line) for line in lines[first:last]]
    body = without(lines[last:], re.compile(r"( *) private:$"), lambda match: match[1] + "};")
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in body if not COMPILER.match(line)))
    return head, body.strip().splitlines()


def escaped(line):
    line = line.replace("\\", "\\e").replace("'", "\\(aq").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^([.'])", r"\\&\1", line.replace("-", "\\-"))


def verbatim(lines):
    return [".PP", ".nf", *map(escaped, lines), ".fi"]


def prose(lines):
    """Paragraphs, lists of lines that begin with `- `, and code, which is indented."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        if paragraph.startswith("  "):
            yield from verbatim(paragraph.splitlines())
            continue
        yield ".PP"
        for line in paragraph.splitlines():
            if line.startswith("- "):
                yield ".IP \\(bu 2"
            yield escaped(re.sub(r"^(- | +)", "", line))


def page(version, header):
    head, body = parts(pathlib.Path(header).read_text())
    name, rest = (re.split(r"\.\s|:\n\n", "\n".join(head) + "\n", maxsplit=1) + [""])[:2]
    title = f"xylem_{header.removesuffix('.h').replace('/', '_')}"
    return "\n".join([
        f'.TH {title.upper()} 3 "" "xylem {version}" "Library Functions"',
        ".SH NAME", f"{title} \\- {escaped(' '.join(name.split()))}",
        ".SH SYNOPSIS", ".nf", f"#include <xylem/{header}>", ".fi",
        *([".SH DESCRIPTION", *prose(rest.splitlines())] if rest.strip() else []),
        ".SH DECLARATIONS", *verbatim(body),
        ".SH SEE ALSO", "docs/streams.md, docs/filters.md", ""])


def main():
    version, folder, *headers = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for header in headers:
        (folder / f"xylem_{header.removesuffix('.h').replace('/', '_')}.3").write_text(page(version, header))


if __name__ == "__main__":
    main()
