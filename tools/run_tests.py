#!/usr/bin/env python3
"""Runs the tests that CTest knows of a build folder, as many at once as there are cores, and counts the cases inside
the GoogleTest binaries. run_tests.py BUILD_FOLDER [NAME_PART...]

Prints the output of what failed, and as its last line `N passed, N failed, N skipped`."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Outcome:
    """What one test binary came to."""

    def __init__(self, name, passed=0, failed=0, skipped=0, output="", seconds=0.0):
        self.name, self.passed, self.failed, self.skipped = name, passed, failed, skipped
        self.output, self.seconds = output, seconds


def count_cases(report):
    """(passed, failed, skipped) of a GoogleTest JSON report."""
    cases = [case for suite in report["testsuites"] for case in suite["testsuite"]]
    ran = [case for case in cases if case["status"] == "RUN" and case["result"] != "SKIPPED"]
    failed = sum("failures" in case for case in ran)
    return len(ran) - failed, failed, len(cases) - len(ran)


def run_one(test, build):
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    limit = float(properties.get("TIMEOUT", 600))
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        environment = dict(os.environ, GTEST_OUTPUT=f"json:{report}", GTEST_COLOR="no")
        environment.update(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        started = time.monotonic()
        try:
            done = subprocess.run(test["command"], cwd=properties.get("WORKING_DIRECTORY", build), env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False)
            code, output = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            code, output = -1, (late.stdout or b"").decode(errors="replace") + f"\nno end within {limit:.0f} s\n"
        seconds = time.monotonic() - started
        passed, failed, skipped = count_cases(json.loads(report.read_text())) if report.exists() else (code == 0, 0, 0)
    if code != 0 and failed == 0:
        failed = 1  # it crashed, or was stopped, or is not a GoogleTest binary
    return Outcome(test["name"], int(passed), failed, skipped, output, seconds)


def known_tests(build, parts):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    tests = json.loads(listed.stdout)["tests"]
    return [test for test in tests if not parts or any(part in test["name"] for part in parts)]


def main(build, *parts):
    tests = known_tests(build, parts)
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(lambda test: run_one(test, build), tests):
            outcomes.append(outcome)
            print(f"  {outcome.name}: {outcome.passed} passed, {outcome.failed} failed, {outcome.seconds:.1f} s")
            if outcome.failed:
                print(outcome.output)
    totals = [sum(getattr(outcome, key) for outcome in outcomes) for key in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
