"""Producers that never pause: memory stays within the budget plus 20 %, and nothing is dropped."""
import subprocess
import time

from load import IDEMPOTENT, Load, create_topic
from weir import RealTest, Weir, program
from wire import bodies, client

BUDGET = 256 * 1024 * 1024
PRODUCERS, SECONDS = 20, 10
DEFAULT_BUDGET = 1024 * 1024 * 1024


class Overload(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.broker = Weir(cls.scratch / "broker", memory_budget_bytes=BUDGET)
        cls.broker.start()

    def test_twenty_producers(self):
        topic = create_topic(self.broker.bootstrap)
        loads = [Load(self.broker.bootstrap, topic, f"p{number}", self.scratch, *IDEMPOTENT, "linger.ms=5",
                      "queue.buffering.max.kbytes=20480", pause_us=0, value_bytes=10_000) for number in range(PRODUCERS)]
        time.sleep(SECONDS)
        told = 0
        for load in loads:
            acknowledged, given_up = load.stop(120)
            self.assertEqual(given_up, [])
            told += len(acknowledged)
        most = self.broker.memory("VmHWM")
        print(f"  {told} records of 10 KB, {most / 1e6:.0f} MB at most, the budget is {BUDGET / 1e6:.0f} MB")
        connection = client.Connection(self.broker.bootstrap)
        answer = connection.call("ListOffsets", 7, bodies.list_offsets(topic, [(number, -1) for number in range(12)]))
        self.assertEqual(sum(one["offset"] for one in answer["topics"][0]["partitions"]), told)
        self.assertLess(most, BUDGET * 1.2)
        self.assertGreater(told, 1000)


class LargeAfterSmall(RealTest):
    """A cache that is full of small requests' buffers, which objects from the store and large requests drive out: they
    do not fit into the holes."""
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.broker = Weir(cls.scratch / "broker")
        cls.broker.start()

    def client(self, verb, topic, *arguments):
        subprocess.run([program("rdkafka_client"), verb, self.broker.bootstrap, topic, *map(str, arguments)],
                       check=True, timeout=120, stdout=subprocess.DEVNULL)

    def test_the_default_budget(self):
        for batch in 16_384, 1_000_000:
            topic = create_topic(self.broker.bootstrap)
            self.client("bench-produce", topic, 1_000_000, 1000, f"batch.size={batch}")
            self.client("bench-consume", topic, 1_000_000)
        most = self.broker.memory("VmHWM")
        print(f"  {most / 1e6:.0f} MB at most, the budget is {DEFAULT_BUDGET / 1e6:.0f} MB")
        self.assertLess(most, DEFAULT_BUDGET * 1.2)
        self.assertGreater(most, DEFAULT_BUDGET * 0.7, "the cache was not full and then replaced")
