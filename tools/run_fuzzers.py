#!/usr/bin/env python3
"""Runs every libFuzzer target of a build for a few seconds each, from its corpus. run_fuzzers.py BUILD_FOLDER SECONDS

New inputs go to BUILD_FOLDER/fuzz, so that the committed corpus in tests/fuzz_corpus changes only on purpose. An input
that crashes is left there too, and named."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests/fuzz_corpus"


def fuzz(binary, seconds, scratch):
    name = binary.name.removesuffix("_fuzz")
    grown = scratch / name
    grown.mkdir(parents=True, exist_ok=True)
    seeds = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
    command = [str(binary), f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-malloc_limit_mb=256",
               "-timeout=10", "-print_final_stats=1",
               f"-artifact_prefix={grown}/crash-", str(grown), *seeds]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    units = [line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line]
    print(f"  {binary.name}: {units[0] if units else 'no'} inputs, {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode != 0:
        print(done.stderr[-8000:])
    return done.returncode == 0


def main(build, seconds):
    build = pathlib.Path(build)
    binaries = sorted(path for path in build.glob("*_fuzz") if os.access(path, os.X_OK))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = sum(pool.map(lambda binary: fuzz(binary, int(seconds), build / "fuzz"), binaries))
    print(f"{passed} passed, {len(binaries) - passed} failed, 0 skipped")
    return 0 if passed == len(binaries) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
