"""What stands in a broker's own configuration counts where nothing else is set; requests about very many resources."""
import time

from load import create_topic
from weir import RealTest
from wire import batches, bodies, client

LOG_APPEND_TIME = 8  # the bit in a batch's attributes


class AppendTimeByDefault(RealTest):
    needs_weir = True
    settings = {"log_message_timestamp_type": "LogAppendTime"}

    def produce(self, connection, topic):
        answer = connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch(["a", "b"])}))
        return answer["responses"][0]["partition_responses"][0]["log_append_time_ms"]

    def fetch(self, connection, topic):
        answer = connection.call("Fetch", 12, bodies.fetch(topic, {0: 0}))
        return batches.read(answer["responses"][0]["partitions"][0]["records"])

    def test_batches_get_the_time_of_their_commit(self):
        connection = client.Connection(self.broker.bootstrap)
        topic = create_topic(self.broker.bootstrap)
        before = time.time() * 1000
        stamp = self.produce(connection, topic)
        self.assertLess(abs(stamp - before), 600_000)
        batch, = self.fetch(connection, topic)
        self.assertTrue(batch["crc_ok"])
        self.assertEqual(batch["attributes"], LOG_APPEND_TIME)
        self.assertEqual(batch["max_timestamp"], stamp)

    def test_a_change_counts_for_batches_that_come_after_it(self):
        connection = client.Connection(self.broker.bootstrap)
        topic = create_topic(self.broker.bootstrap)
        self.produce(connection, topic)
        connection.call("IncrementalAlterConfigs", 1, {"validate_only": False, "resources": [
            {"resource_type": 2, "resource_name": topic, "configs": [
                {"name": "message.timestamp.type", "config_operation": 0, "value": "CreateTime"}]}]})
        self.assertEqual(self.produce(connection, topic), -1)
        first, second = self.fetch(connection, topic)
        self.assertEqual([first["attributes"], second["attributes"]], [LOG_APPEND_TIME, 0])


class ManyResources(RealTest):
    needs_weir = True

    def test_altering_takes_time_in_proportion(self):
        connection = client.Connection(self.broker.bootstrap)
        names = [f"topic-that-is-not-{number:06}" for number in range(100_000)]
        before = self.broker.cpu_seconds()
        answer = connection.call("AlterConfigs", 2, {"validate_only": False, "resources": [
            {"resource_type": 2, "resource_name": name, "configs": []} for name in names + names[:1]]})
        took = self.broker.cpu_seconds() - before
        print(f"  {len(names)} resources: {took:.2f} s of a core")
        self.assertEqual(len(answer["responses"]), 100_001)
        twice = [one["resource_name"] for one in answer["responses"] if one["error_code"] == 42]
        self.assertEqual(twice, names[:1] * 2)
        # Comparing each with each takes most of a minute.
        self.assertLess(took, 5)
