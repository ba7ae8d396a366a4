#!/usr/bin/env python3
"""Runs the Python tests of a folder and closes with `N passed, N failed, N skipped`. run_unittests.py FOLDER"""
import sys
import unittest


def main(folder):
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.discover(folder, top_level_dir=folder))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
