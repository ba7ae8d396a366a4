#!/usr/bin/env python3
"""Compiles every header of src/ alone: a header includes what it needs. check_headers.py BUILD_FOLDER"""
import sys

import cpp_files


def main(build):
    compilation = cpp_files.Compilation(build)
    headers = cpp_files.tracked("src/*.h")
    work = {header: compilation.fingerprint(header) for header in headers}

    def command(header):
        quiet = ["-Wno-pragma-once-outside-header", "-Wno-unused"]  # of a header as the main file
        return [*compilation.flags_for(header), *quiet, "-fsyntax-only", "-x", "c++", str(header)]

    run, failures = cpp_files.run_cached("headers", work, command)
    for header, output in failures:
        print(f"{header.relative_to(cpp_files.ROOT)} does not compile alone:\n{output}", file=sys.stderr)
    print(f"{len(headers)} headers, {run} compiled, {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
