#!/usr/bin/env python3
"""Reads tools/packages.txt: which pinned Debian packages are missing, and whether those installed are the pinned ones.

packages.py missing GROUP...   prints the names of packages that are not installed
packages.py check GROUP...     fails, naming each package whose version is not the pinned one
"""
import pathlib
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("packages.txt")


def read_list(text, groups):
    """{package: version prefix} of the groups; a malformed line or an unknown group is an error."""
    pinned, known = {}, set()
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) != 3:
            raise SystemExit(f"packages.txt:{number}: want 'group package version', got '{line}'")
        known.add(fields[0])
        if fields[0] in groups:
            pinned[fields[1]] = fields[2]
    unknown = set(groups) - known
    if unknown:
        raise SystemExit(f"no group {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return pinned


def installed(names):
    """{package: version} of those that are installed."""
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\t${db:Status-Status}\t${Version}\n", *names],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    rows = [line.split("\t") for line in query.stdout.splitlines()]
    return {name: version for name, status, version in rows if status == "installed"}


def wrong_versions(pinned, have):
    """One line for each package that is missing or has another version than the pinned one."""
    return [f"{name}: {have.get(name, 'not installed')}, pinned to {prefix}*"
            for name, prefix in pinned.items() if not have.get(name, "").startswith(prefix)]


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("missing", "check"):
        raise SystemExit(__doc__)
    pinned = read_list(LIST.read_text(), arguments[1:])
    have = installed(pinned)
    if arguments[0] == "missing":
        print("\n".join(name for name in pinned if name not in have), end="\n" if len(have) < len(pinned) else "")
        return
    wrong = wrong_versions(pinned, have)
    if wrong:
        raise SystemExit("packages are not what is pinned in tools/packages.txt:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
