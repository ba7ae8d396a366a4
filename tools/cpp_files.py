"""What the C++ checks share: the sources of the checkout, who includes whom, how a file is compiled, and a cache of
checks that passed, so that a check of unchanged input costs nothing, in this checkout or in another."""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "weir-lint"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Flags that take the precompiled header in, or that name the output; each with how many arguments follow.
DROPPED = {"-c": 0, "-o": 1, "-include": 1, "-include-pch": 1, "-MF": 1, "-MT": 1, "-MQ": 1, "-MD": 0, "-MMD": 0,
           "-fno-pch-timestamp": 0, "-Winvalid-pch": 0, "-fpch-instantiate-templates": 0}


def tracked(*patterns):
    """Files of the checkout that match, with those that are not yet committed."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()})


def strip_flags(arguments, source):
    """The compiler arguments without launcher, source, output and precompiled header."""
    kept, rest = [], list(arguments)
    while rest and "clang" not in pathlib.Path(rest[0]).name:
        rest.pop(0)
    while rest:
        flag = rest.pop(0)
        plain = flag
        while plain == "-Xclang" and rest:
            plain = rest.pop(0)
            if plain in DROPPED:
                break
            kept.append("-Xclang")
        if plain in DROPPED:
            following = DROPPED[plain]
            while following and rest:
                following -= rest.pop(0) != "-Xclang"
        elif plain != str(source):
            kept.append(plain)
    return kept


@functools.cache
def included_names(path):
    """The names, without folders, of the files that a file includes in quotes."""
    return {name.split("/")[-1] for name in INCLUDE.findall(path.read_text(errors="replace"))}


class Compilation:
    """compile_commands.json of one build folder."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.generated = self.build / "generated"
        self.commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = pathlib.Path(entry["file"])
            self.commands[path] = strip_flags(shlex.split(entry["command"]), path)

    def sources(self):
        """The project's own compiled files that are committed (not generated ones)."""
        return sorted(path for path in self.commands if ROOT in path.parents and self.build not in path.parents)

    def flags_for(self, path):
        """How a file is compiled; for a header, how a source of the nearest folder is, first of all one that includes it
        (a header of tests has definitions that only tests get)."""
        if path in self.commands:
            return self.commands[path]
        for folder in path.parents:
            near = [source for source in self.sources() if folder in source.parents]
            for source in near:
                if path.name in included_names(source):
                    return self.commands[source]
            if near:
                return self.commands[near[0]]
        raise SystemExit(f"no compile command is near {path}")

    def closure(self, path):
        """The file and every file of the project that it includes, directly or not."""
        seen, todo = set(), [path]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            for name in INCLUDE.findall(current.read_text(errors="replace")):
                todo += [base / name for base in (SRC, self.generated, current.parent) if (base / name).is_file()][:1]
        return sorted(seen)

    def fingerprint(self, path, *extra):
        """A hash of all that decides how a check of this file ends."""
        digest = hashlib.sha256()
        flags = " ".join(self.flags_for(path)).replace(str(ROOT), ".")
        for part in (flags, (ROOT / "tools/packages.txt").read_text(), *extra):
            digest.update(part.encode() + b"\0")
        for member in self.closure(path):
            digest.update(member.name.encode() + b"\0" + member.read_bytes())
        return digest.hexdigest()


def run_cached(kind, work, command_for, jobs=None):
    """Runs command_for(path) for each path whose fingerprint is not known to pass. Returns how many were run, and
    (path, output) of each that failed."""
    folder = CACHE / kind
    folder.mkdir(parents=True, exist_ok=True)
    todo = {path: key for path, key in work.items() if not (folder / key).exists()}

    def run(path):
        done = subprocess.run(command_for(path), cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            (folder / todo[path]).touch()
            return None
        return path, done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return len(todo), [failure for failure in pool.map(run, todo) if failure]
