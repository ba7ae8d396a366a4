#!/usr/bin/env python3
"""Runs the tests with real clients. run.py [--weir BINARY] [--bootstrap HOST:PORT] [TEST...]

With --bootstrap the tests that can use any broker run against that address, Apache Kafka's for one; the others are skipped."""
import argparse
import os
import pathlib
import sys
import time
import unittest

TESTS = ("wire_cases", "headers_roundtrip", "java_tools", "kill9", "snapshots", "disk_full", "damaged_object",
         "two_clusters", "broker_rules", "settings", "operating", "s3_store", "database", "cluster_sqlite", "zones",
         "killed_broker", "torture", "cluster_object", "idle", "overload", "hostile")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default="build/release/weir")
    parser.add_argument("--bootstrap")
    parser.add_argument("tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    os.environ["TEST_BROKER_BINARY"] = str(pathlib.Path(options.weir).resolve())
    if options.bootstrap:
        os.environ["TEST_BROKER_BOOTSTRAP"] = options.bootstrap
    elif not os.access(options.weir, os.X_OK):
        raise SystemExit(f"{options.weir} is not there: ./dev build")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    passed = failed = skipped = 0
    for name in options.tests:
        started = time.monotonic()
        result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(
            unittest.defaultTestLoader.loadTestsFromName(name))
        wrong = len(result.failures) + len(result.errors)
        failed, skipped = failed + wrong, skipped + len(result.skipped)
        passed += max(0, result.testsRun - wrong - len(result.skipped))
        for _, reason in result.skipped:
            print(f"real: {name}: skipped: {reason}")
        print(f"real: {name}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.exit(main())
