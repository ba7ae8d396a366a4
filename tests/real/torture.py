#!/usr/bin/env python3
"""A cluster of three brokers, PostgreSQL and an S3 store under faults, with real clients whose histories are judged: nothing
that was acknowledged is lost, no offset has two values, nothing goes back, and after each fault all clients go on without a
restart. As a test: each fault once. As a program, for as long as one likes (./dev torture):

torture.py [--weir BINARY] [--minutes M] [--fault NAME]... [--seed N] [--folder PATH]"""
import argparse
import os
import pathlib
import random
import secrets
import shutil
import sys
import tempfile
import time
import unittest

import postgres
import rados_gateway
import weir
from faulty_cluster import FAULTS, FaultyCluster, hold
from workload import Workload

CHAPTER_FAULTS = 12
# In the test; the whole minute is for the program.
SHORT = {"database-down": 15}


def step(workload, name, seconds, moments):
    """One fault and what comes after it, as a line."""
    started = time.monotonic()
    during = workload.read_without_the_log if name == "database-down" else time.sleep
    hold(FAULTS[name](workload.cluster, moments), seconds, during)
    held = time.monotonic() - started
    took, last, rate = workload.recover()
    return (f"  {name:28} {held:5.1f} s, all clients went on {took:4.1f} s later, {last} last: {rate:.0f} records/s (normal: "
            f"{workload.normal:.0f})")


def chapter(cluster, folder, number, names, moments, seconds_of, end=float("inf")):
    """Faults one after the other on one topic, none after `end`; what is wrong, as lines."""
    workload = Workload(cluster, folder, moments.randrange(1 << 30), number)
    try:
        workload.settle()
        for name in names:
            if time.monotonic() > end:
                break
            print(step(workload, name, seconds_of(name), moments), flush=True)
            time.sleep(moments.uniform(0, 1))
        wrong, figures = workload.finish()
    except AssertionError as error:
        return [str(error)]
    finally:
        workload.kill()
    print(f"  {figures}", flush=True)
    return wrong


class Torture(weir.RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.seed = int(os.environ.get("TORTURE_SEED", secrets.randbelow(1_000_000)))
        cls.cluster = FaultyCluster(cls.scratch / "cluster", cls.seed)
        try:
            cls.cluster.start()
        except (postgres.Unavailable, rados_gateway.Unavailable) as why:
            raise unittest.SkipTest(str(why)) from None

    @classmethod
    def tearDownClass(cls):
        try:
            if hasattr(cls, "cluster"):
                cls.cluster.stop()
        finally:
            super().tearDownClass()

    def test_1_each_fault(self):
        moments, names = random.Random(self.seed), list(FAULTS)
        moments.shuffle(names)
        print(f"  seed {self.seed}", flush=True)
        wrong = chapter(self.cluster, self.scratch, 1, names, moments, lambda name: SHORT.get(name, FAULTS[name].seconds))
        self.assertEqual(wrong, [], "\n".join(wrong))


def run(cluster, folder, options):
    """Chapters until the time is over or something is wrong; the exit code."""
    moments, end, number = random.Random(options.seed), time.monotonic() + options.minutes * 60, 0
    while time.monotonic() < end:
        number += 1
        names = [moments.choice(options.fault or list(FAULTS)) for _ in range(CHAPTER_FAULTS)]
        print(f"chapter {number}", flush=True)
        wrong = chapter(cluster, folder, number, names, moments,
                        lambda name: FAULTS[name].seconds * moments.uniform(0.5, 1.5), end)
        if wrong:
            print("\n".join(wrong), flush=True)
            return 1
        shutil.rmtree(folder / f"chapter{number}")
    print("nothing is wrong")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default="build/release/weir")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--fault", action="append", choices=list(FAULTS), help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--folder", help="where everything lies; by default a temporary folder, kept if something is wrong")
    options = parser.parse_args()
    weir.BINARY = str(pathlib.Path(options.weir).resolve())
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="weir-torture-"))
    folder.mkdir(exist_ok=True)
    print(f"seed {options.seed}, folder {folder}", flush=True)
    cluster, code = FaultyCluster(folder / "cluster", options.seed), 1
    try:
        cluster.start()
        code = run(cluster, folder, options)
    except (postgres.Unavailable, rados_gateway.Unavailable) as why:
        raise SystemExit(str(why)) from why
    except KeyboardInterrupt:
        print("stopping", flush=True)
    finally:
        cluster.stop()
        if code == 0 and not options.folder:
            shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
