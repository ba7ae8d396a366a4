"""How long producers stand still when a broker is killed, all with default settings: librdkafka's and Java's."""
import re
import subprocess
import time

import apache_kafka
from load import IDEMPOTENT, PARTITIONS, Load, Pauses, create_topic
from try_cluster import Cluster
from weir import RealTest

GOAL = 5.0
# What librdkafka has when nobody says anything; `load` is more eager.
DEFAULTS = ("message.timeout.ms=300000", "reconnect.backoff.ms=100", "reconnect.backoff.max.ms=10000", "retry.backoff.ms=100",
            "message.send.max.retries=2147483647")
JAVA_RECORDS, JAVA_PER_SECOND = 4000, 200


class KilledBroker(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.cluster = Cluster(cls.scratch / "cluster", local=True)
        cls.cluster.start()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.cluster.stop()
        finally:
            super().tearDownClass()

    def start_java(self, bootstrap, topic):
        try:
            command = apache_kafka.tool("kafka-producer-perf-test", "--topic", topic, "--num-records", str(JAVA_RECORDS),
                                        "--record-size", "100", "--throughput", str(JAVA_PER_SECOND), "--producer-props",
                                        f"bootstrap.servers={bootstrap}")
        except apache_kafka.Unavailable as why:
            print(f"  without Java: {why}", flush=True)
            return None
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_producers_go_on(self):
        brokers = self.cluster.brokers
        bootstrap = ",".join(broker.bootstrap for broker in brokers)
        topic = create_topic(brokers[0].bootstrap)
        loads = [Load(bootstrap, topic, "once", self.scratch, *DEFAULTS, *IDEMPOTENT, pause_us=20_000),
                 Load(bootstrap, topic, "plain", self.scratch, *DEFAULTS, pause_us=20_000)]
        java = self.start_java(bootstrap, topic)
        seen = [Pauses([load], "send", PARTITIONS) for load in loads]
        pauses = {load.name: [] for load in loads}
        time.sleep(4)
        for victim in brokers[:2]:
            for one in seen:
                one.restart()
            victim.kill()
            end = time.monotonic() + 6.5
            while time.monotonic() < end:
                time.sleep(0.05)
                for one in seen:
                    one.look()
            for load, one in zip(loads, seen):
                pauses[load.name].append(one.so_far())
            victim.start()
            time.sleep(1)
        for load in loads:
            self.assertEqual(load.stop()[1], [])
        if java is not None:
            out, _ = java.communicate(timeout=120)
            self.assertEqual(java.returncode, 0, out[-2000:])
            told = re.findall(r"([\d.]+) ms max latency", out)
            self.assertTrue(told, out[-2000:])
            pauses["Java"] = [float(told[-1]) / 1000]
        for name, took in pauses.items():
            print(f"  {name}: the longest pause of a partition was {max(took):.1f} s", flush=True)
        for name, took in pauses.items():
            self.assertLess(max(took), GOAL, name)
