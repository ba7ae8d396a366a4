#!/usr/bin/env python3
"""Checks that the files which the documentation names are there (links, and paths in back quotes), and the pages of the
documentation which sources name."""
import pathlib
import re
import sys

import cpp_files

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`([a-z_0-9]+/[a-z_0-9./]*\.(?:h|cc|py|sh|json|md))`")

PAGE = re.compile(r"\bdocs/[a-z_0-9/-]+\.md\b")
SOURCES = ("*.h", "*.cc", "*.py", "*.sh", "*.cmake", "*.schema", "CMakeLists.txt")


def missing(page, text):
    """The names in a page that are no file: relative to the page, the checkout or src/."""
    found = set(LINK.findall(text)) | set(PATH.findall(text))
    places = (page.parent, cpp_files.ROOT, cpp_files.SRC)
    return sorted(name for name in found if not any((place / name).exists() for place in places))


def main():
    wrong = 0
    for page in cpp_files.tracked("*.md"):
        for name in missing(page, page.read_text()):
            wrong += 1
            print(f"{page.relative_to(cpp_files.ROOT)}: there is no '{name}'", file=sys.stderr)
    for source in (path for kind in SOURCES for path in cpp_files.tracked(kind)):
        for name in sorted(set(PAGE.findall(source.read_text()))):
            if (cpp_files.ROOT / name).exists():
                continue
            wrong += 1
            print(f"{source.relative_to(cpp_files.ROOT)}: there is no '{name}'", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
