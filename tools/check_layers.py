#!/usr/bin/env python3
"""Checks that src/ keeps its layers: a folder includes only folders before it in the list of src/CMakeLists.txt, and
the domain folders do not include each other; they meet in the folders before them, or in broker/."""
import re
import sys

import cpp_files

DOMAINS = ("produce", "cache", "fetch", "compaction", "groups", "transactions", "security")


def layers(cmake_text):
    """The folders of src/, lowest first."""
    found = re.search(r"foreach\(module\s+([^)]*)\)", cmake_text)
    if not found:
        raise SystemExit("src/CMakeLists.txt has no foreach(module ...) with the layers")
    return found.group(1).split()


def violations(name, text, order):
    """What is wrong with the includes of the file `name` (a path below src/)."""
    folder = name.split("/")[0]
    if folder not in order:
        return [f"src/{name}: folder '{folder}' is not in the list of src/CMakeLists.txt"]
    wrong = []
    for included in cpp_files.INCLUDE.findall(text):
        target = included.split("/")[0]
        if "/" not in included or target not in order:
            wrong.append(f'src/{name}: "{included}" is not named from src/')
        elif order.index(target) > order.index(folder):
            wrong.append(f'src/{name}: {folder}/ may not include {target}/ ("{included}"), which is above it')
        elif target != folder and {target, folder} <= set(DOMAINS):
            wrong.append(f'src/{name}: the domain folders {folder}/ and {target}/ may not meet ("{included}")')
    return wrong


def main():
    order = layers((cpp_files.SRC / "CMakeLists.txt").read_text())
    wrong = []
    for path in cpp_files.tracked("src/*.cc", "src/*.h"):
        wrong += violations(str(path.relative_to(cpp_files.SRC)), path.read_text(), order)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
