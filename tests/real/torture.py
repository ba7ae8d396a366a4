#!/usr/bin/env python3
"""A cluster of three brokers, PostgreSQL and an S3 store under faults, with real clients whose histories are judged: nothing
that was acknowledged is lost, no offset has two values, nothing goes back, and after each fault all clients go on without a
restart. As a test: each fault once. As a program, for as long as one likes (./dev torture):

torture.py [--weir BINARY] [--minutes M] [--fault NAME]... [--seed N] [--folder PATH] [--object]"""
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
from load import IDEMPOTENT, PARTITIONS, Client, Load, Tail, create_topic
from load import Log as StoredLog
from workload import CONSUMER, PRODUCER, Flow, Workload

CHAPTER_FAULTS = 12
PAIRS = 0.4  # of the steps of the program
# In the test; the whole minute is for database.py, where a group reads through it, and for the program.
SHORT = {"database-down": 15}


def step(workload, names, seconds, moments):
    """Faults at the same time and what comes after them, as a line."""
    started = time.monotonic()
    during = workload.read_without_the_log if names == ["database-down"] else time.sleep
    hold([FAULTS[name](workload.cluster, moments) for name in names], seconds, during)
    held = time.monotonic() - started
    took, last, rate = workload.recover()
    return (f"  {' and '.join(names):28} {held:5.1f} s, all clients went on {took:4.1f} s later, {last} last: {rate:.0f} "
            f"records/s (normal: {workload.normal:.0f})")


def chapter(cluster, folder, number, steps, moments, end=float("inf")):
    """Steps of ([faults], seconds) one after the other on one topic, none after `end`; what is wrong, as lines."""
    workload = Workload(cluster, folder, moments.randrange(1 << 30), number)
    try:
        workload.settle()
        for names, seconds in steps:
            if time.monotonic() > end:
                break
            print(step(workload, names, seconds, moments), flush=True)
            time.sleep(moments.uniform(0, 0.5))
        wrong, figures = workload.finish()
    except AssertionError as error:
        return [str(error)]
    finally:
        workload.kill()
    print(f"  {figures}", flush=True)
    return wrong


class Torture(weir.RealTest):
    needs_weir = True
    log_in_store = False
    seconds = SHORT  # of faults that do not take their own time
    names = None  # of faults; all that can happen

    @classmethod
    def prepare(cls):
        cls.seed = int(os.environ.get("TORTURE_SEED", secrets.randbelow(1_000_000)))
        cls.cluster = FaultyCluster(cls.scratch / "cluster", cls.seed, cls.log_in_store)
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
        moments, names = random.Random(self.seed), list(self.names or self.cluster.faults())
        moments.shuffle(names)
        print(f"  seed {self.seed}", flush=True)
        steps = [([name], self.seconds.get(name, FAULTS[name].seconds)) for name in names]
        wrong = chapter(self.cluster, self.scratch, 1, steps, moments)
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_2_a_failover_to_an_older_copy(self):
        """What docs/operate/cluster.md promises: brokers notice, come back by themselves with what the database has, and
        clients go on, but for what an idempotent producer may be told."""
        database, nodes = self.cluster.database, self.cluster.nodes
        for node in nodes:
            self.wait_for("a broker is not ready", lambda broker=node.broker: broker.not_ready() is None)
        topic = create_topic(nodes[0].broker.bootstrap)
        loads = [Load(self.cluster.bootstrap(), topic, name, self.scratch, *PRODUCER, *more)
                 for name, more in (("older", IDEMPOTENT), ("older-plain", ()))]
        # It may have read what is lost, and then begins again.
        reader = Client(self.scratch, "older-reader", "read", self.cluster.bootstrap(), topic, "older-reader", "0", "0",
                        *CONSUMER, "auto.offset.reset=earliest")
        time.sleep(4)
        copied_at = time.monotonic_ns() // 1000
        copy = database.copy()
        self.wait_acknowledged(loads)
        before = [node.broker.process.pid for node in nodes]
        database.restore(copy)
        restored_at, started = time.monotonic_ns() // 1000, time.monotonic()
        for node in nodes:
            self.wait_for("a broker does not notice that the log went back, or does not come back",
                          lambda broker=node.broker: broker.metrics().get("weir_broker_rebuilds_total", 0) > 0
                          and broker.not_ready() is None)
            log = node.broker.log.read_text()
            self.assertIn("metadata log diverged at position", log)
            self.assertIn("broker.rebuild", log)
        back = time.monotonic() - started
        self.assertEqual([node.broker.process.pid for node in nodes], before)
        plain = Flow({client.name: [client] for client in (loads[1], reader)}, PARTITIONS)
        plain.take()
        took, last, left = plain.wait_all(30)
        self.assertEqual(left, [], "clients do not go on")
        print(f"  all brokers were back {back:.1f} s after the database, and all clients {took:.1f} s later, {last} last",
              flush=True)
        known, lost = {}, 0
        for load in (loads[0], reader):
            load.kill()
        loads[1].finish()
        for event in (event for load in loads for event in load.events()):
            if event["op"] != "send" or event["is"] != "ok":
                continue
            if event["t"] < copied_at or event["t"] > restored_at:
                known[event["partition"], event["offset"]] = event["value"]
            else:
                lost += 1
        self.assertGreater(min(len(known), lost), 100)
        stored = [StoredLog(node.broker.bootstrap, topic) for node in nodes]
        for log in stored:
            self.assertEqual((log.errors, log.compare(known), log.records), ({}, [], stored[0].records))
        self.assertEqual(stored[0].out_of_order("older"), [])
        print(f"  {len(known)} acknowledged before the copy or after the failover are there, {lost} between went with the "
              "database", flush=True)
        wrong = chapter(self.cluster, self.scratch, 2, [], random.Random(0))
        self.assertEqual(wrong, [], "\n".join(wrong))

    def wait_for(self, what, look, seconds=30):
        deadline = time.monotonic() + seconds
        while not (seen := look()):
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)
        return seen

    def wait_acknowledged(self, loads, count=500):
        tail = Tail([load.out for load in loads])
        tail.new()
        for _ in range(0, count, 50):
            self.wait_for("producers do not go on", lambda: sum(event["is"] == "ok" for event in tail.new()) > 50)


def draw(moments, names):
    """One fault, or sometimes two of different parts at the same time; and for how long."""
    drawn = [moments.choice(names)]
    second = moments.choice(names)
    if moments.random() < PAIRS and second.split("-")[0] != drawn[0].split("-")[0]:
        drawn.append(second)
    return drawn, max(FAULTS[name].seconds for name in drawn) * moments.uniform(0.5, 1.5)


def run(cluster, folder, options):
    """Chapters until the time is over or something is wrong; the exit code."""
    moments, end, number = random.Random(options.seed), time.monotonic() + options.minutes * 60, 0
    while time.monotonic() < end:
        number += 1
        print(f"chapter {number}", flush=True)
        steps = [draw(moments, options.fault or cluster.faults()) for _ in range(CHAPTER_FAULTS)]
        wrong = chapter(cluster, folder, number, steps, moments, end)
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
    parser.add_argument("--object", action="store_true", help="the metadata log in the object store: no database")
    parser.add_argument("--folder", help="where everything lies; by default a temporary folder, kept if something is wrong")
    options = parser.parse_args()
    weir.BINARY = str(pathlib.Path(options.weir).resolve())
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="weir-torture-"))
    folder.mkdir(exist_ok=True)
    print(f"seed {options.seed}, folder {folder}", flush=True)
    cluster, code = FaultyCluster(folder / "cluster", options.seed, options.object), 1
    try:
        cluster.start()
        for name in set(options.fault or ()) - set(cluster.faults()):
            raise SystemExit(f"{name} cannot happen here")
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
