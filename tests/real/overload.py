"""Twenty producers that never pause: memory stays within the budget plus 20 %, and nothing is dropped."""
import time

from load import IDEMPOTENT, Load, create_topic
from weir import RealTest, Weir
from wire import bodies, client

BUDGET = 256 * 1024 * 1024
PRODUCERS, SECONDS = 20, 10


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
