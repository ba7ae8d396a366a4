#!/usr/bin/env python3
"""House rules that no other tool checks: lengths of files, lines and Python functions, words that must not stay in the
tree, and the calls that only runtime/ may make because the simulator has to own time and chance."""
import ast
import re
import sys

import cpp_files

MAX_COLUMNS = 128  # of scripts; clang-format keeps C++ to 100
MAX_LINES = 500
MAX_TEST_LINES = 800
MAX_FUNCTION_LINES = 60
CODE = ("*.cc", "*.h", "*.py", "*.sh", "*.cmake", "dev", "CMakeLists.txt", ".ci/run")
# Split so that this file does not name what it forbids.
WORDS = [
    (re.compile(r"\b(" + "|".join(("FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b"), "finish it, or file an issue"),
    (re.compile(r"\bTO" + r"DO\b(?!\([^)]{8,}\))"), "say why it stays: TO" + "DO(the reason)"),
    (re.compile(r"(?<![\w.])/(home|root|Users|work)/\w"), "a path of one machine"),
]
BANNED_CALLS = [
    (re.compile(r"\b(system|steady|high_resolution)_clock::now\b"), "runtime/clock.h"),
    (re.compile(r"\bstd::(random_device|mt19937(_64)?)\b|\b(s?rand|drand48)\("), "runtime/rng.h"),
    (re.compile(r"\bsleep_(for|until)\b|\busleep\("), "runtime/clock.h"),
]


def length_rules(name, lines):
    is_test = "_test." in name or name.startswith("tests/") or "/tests/" in name
    limit = MAX_TEST_LINES if is_test else MAX_LINES
    if len(lines) > limit:
        yield f"{name}: {len(lines)} lines, at most {limit}: is it one thing?"
    if name.endswith((".cc", ".h")):
        return
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and "://" not in line:
            yield f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"


def word_rules(name, lines):
    for number, line in enumerate(lines, 1):
        for pattern, advice in WORDS:
            if pattern.search(line):
                yield f"{name}:{number}: '{pattern.search(line).group()}': {advice}"


def call_rules(name, lines):
    if not name.startswith("src/") or name.startswith("src/runtime/") or not name.endswith((".cc", ".h")):
        return
    if name.endswith(("_test.cc", "_bench.cc")):
        return
    for number, line in enumerate(lines, 1):
        for pattern, instead in BANNED_CALLS:
            if pattern.search(line.split("//")[0]):
                yield f"{name}:{number}: '{pattern.search(line).group()}' only in runtime/: use {instead}"


def function_rules(name, text):
    if not name.endswith(".py"):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines, at most {MAX_FUNCTION_LINES}"


def violations(name, text):
    lines = text.splitlines()
    for rule, argument in ((length_rules, lines), (word_rules, lines), (call_rules, lines), (function_rules, text)):
        yield from rule(name, argument)


def main():
    wrong = []
    for path in cpp_files.tracked(*CODE):
        wrong += violations(str(path.relative_to(cpp_files.ROOT)), path.read_text())
    for path in cpp_files.tracked("*.md"):
        wrong += word_rules(str(path.relative_to(cpp_files.ROOT)), path.read_text().splitlines())
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
