"""The cluster of `./dev cluster`, three brokers on PostgreSQL and an S3 store, while each part of it fails in turn: a broker
is killed, the database crashes and starts again, it stands still, the store stands still. Producers go on after each, and
nothing that was acknowledged is lost."""
import os
import signal
import time
import unittest

import postgres
import rados_gateway
from load import IDEMPOTENT, Load, Log, create_topic
from try_cluster import Cluster
from weir import RealTest

# What producers may take after a fault has ended to be acknowledged again.
PATIENCE = 20.0
BETWEEN = 3.0


class ClusterRemote(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.cluster = Cluster(cls.scratch / "cluster", local=False)
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

    def wait_progress(self, loads, what):
        """Until every load was acknowledged something new; how long that took."""
        started, before = time.monotonic(), [load.out.stat().st_size for load in loads]
        while any(load.out.stat().st_size <= size for load, size in zip(loads, before)):
            self.assertLess(time.monotonic() - started, PATIENCE, f"no producer goes on after: {what}")
            time.sleep(0.05)
        return time.monotonic() - started

    def kill_a_broker(self):
        broker = self.cluster.brokers[0]
        broker.kill()
        time.sleep(BETWEEN)
        broker.start()

    def crash_the_database(self):
        self.cluster.database.kill()
        time.sleep(BETWEEN)
        self.cluster.database.start()

    def freeze(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(8)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def freeze_the_database(self):
        self.freeze(self.cluster.database.pids())

    def freeze_the_store(self):
        self.freeze([process.process.pid for process in self.cluster.gateway.processes])

    def test_each_part_fails(self):
        bootstrap = ",".join(broker.bootstrap for broker in self.cluster.brokers)
        topic = create_topic(bootstrap.split(",")[0])
        loads = [Load(bootstrap, topic, "once", self.scratch, *IDEMPOTENT), Load(bootstrap, topic, "plain", self.scratch)]
        for fault in (self.kill_a_broker, self.crash_the_database, self.freeze_the_database, self.freeze_the_store):
            self.wait_progress(loads, "the fault before " + fault.__name__)
            time.sleep(BETWEEN)
            fault()
            print(f"  {fault.__name__}: acknowledged again after {self.wait_progress(loads, fault.__name__):.1f} s", flush=True)
        time.sleep(BETWEEN)
        acknowledged = {}
        for load in loads:
            told, given_up = load.stop()
            self.assertEqual(given_up, [])
            self.assertFalse(told.keys() & acknowledged.keys(), "one offset was acknowledged to two producers")
            acknowledged |= told
        for broker in self.cluster.brokers:
            stored = Log(broker.bootstrap, topic)
            self.assertEqual(stored.errors, {})
            self.assertEqual(stored.compare(acknowledged), [])
            self.assertEqual(stored.out_of_order("once"), [])
        print(f"  {len(acknowledged)} acknowledged, {len(stored.records)} stored")
