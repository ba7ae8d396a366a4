#!/usr/bin/env python3
"""Runs clang-tidy over the sources that changed against main, or over all. run_clang_tidy.py BUILD_FOLDER [--all]"""
import subprocess
import sys

import cpp_files


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=cpp_files.ROOT, capture_output=True, text=True, check=False)


def changed():
    """Files that differ from where this branch left main (on main itself: from the commit before), committed or not."""
    base = git("merge-base", "HEAD", "origin/main").stdout.strip() or git("merge-base", "HEAD", "main").stdout.strip()
    if not base or base == git("rev-parse", "HEAD").stdout.strip():
        base = "HEAD~1" if git("rev-parse", "-q", "--verify", "HEAD~1").returncode == 0 else "HEAD"
    names = git("diff", "--name-only", base).stdout + git("ls-files", "--others", "--exclude-standard").stdout
    return {cpp_files.ROOT / name for name in names.splitlines()}


def main(build, scope="changed"):
    compilation = cpp_files.Compilation(build)
    sources = compilation.sources()
    if scope != "--all":
        touched = changed()
        sources = [source for source in sources if touched & set(compilation.closure(source))]
    configuration = (cpp_files.ROOT / ".clang-tidy").read_text()
    work = {source: compilation.fingerprint(source, configuration) for source in sources}

    def command(source):
        return ["clang-tidy-19", "--quiet", str(source), "--", *compilation.flags_for(source)[1:],
                "-Wno-unknown-warning-option"]

    run, failures = cpp_files.run_cached("clang-tidy", work, command)
    for _, output in failures:
        print(output, file=sys.stderr)
    print(f"{len(sources)} sources, {run} checked, {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
