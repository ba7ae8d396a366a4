"""A broker with nothing to do: no object is written, and it takes under 1 % of a core."""
import time

from load import create_topic
from weir import RealTest, Weir
from wire import batches, bodies, client

SECONDS = 10


class Idle(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.broker = Weir(cls.scratch / "broker")
        cls.broker.start()

    def check(self, what):
        cpu, puts = self.broker.cpu_seconds(), self.broker.puts()
        time.sleep(SECONDS)
        cpu, puts = self.broker.cpu_seconds() - cpu, self.broker.puts() - puts
        print(f"  {what}: {cpu / SECONDS:.2%} of a core, {puts:.0f} PUTs in {SECONDS} s")
        self.assertEqual(puts, 0)
        self.assertLess(cpu / SECONDS, 0.01)

    def test_untouched(self):
        time.sleep(1)
        self.check("untouched")

    def test_with_waiting_consumers(self):
        topic = create_topic(self.broker.bootstrap)
        connection = client.Connection(self.broker.bootstrap)
        before = self.broker.puts()
        connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch(["a"])}))
        self.assertGreater(self.broker.puts(), before, "the metric does not count PUTs")
        waiting = [client.Connection(self.broker.bootstrap) for _ in range(20)]
        for one in waiting:
            one.send("Fetch", 12, bodies.fetch(topic, {0: 1}, max_wait_ms=60_000))
        time.sleep(1)
        self.check("20 consumers wait")
        for one in waiting:
            one.close()
