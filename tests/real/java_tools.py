"""Kafka's own command-line tools at work on the broker. Skipped, with the reason, where Maven cannot fetch them."""
import re
import secrets
import subprocess
import unittest

import apache_kafka
from weir import RealTest


class JavaTools(RealTest):
    @classmethod
    def prepare(cls):
        try:
            apache_kafka.jars()
        except apache_kafka.Unavailable as reason:
            raise unittest.SkipTest(str(reason)) from None
        super().prepare()

    def tool(self, name, *arguments, stdin="", fails=False, both_streams=False):
        """What the tool printed. Its exit code has to be 0, or not, as `fails` says."""
        done = subprocess.run(apache_kafka.tool(name, "--bootstrap-server", self.broker.bootstrap, *arguments), input=stdin,
                              capture_output=True, text=True, check=False, timeout=120)
        both = done.stdout + done.stderr
        self.assertEqual(done.returncode != 0, fails, f"{name} {' '.join(arguments)}: {both[-3000:]}")
        self.assertNotIn("Exception", "" if fails else both)
        return both if both_streams or fails else done.stdout

    def name(self, base):
        return f"{base}-{secrets.token_hex(3)}"

    def create(self, partitions=3, *more):
        topic = self.name("java")
        self.tool("kafka-topics", "--create", "--topic", topic, "--partitions", str(partitions), "--replication-factor", "1",
                  *more)
        return topic

    def produce(self, topic, lines, *more):
        self.tool("kafka-console-producer", "--topic", topic, *more, stdin="".join(line + "\n" for line in lines))

    def consume(self, topic, count, *more):
        output = self.tool("kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", str(count),
                           "--timeout-ms", "30000", *more)
        return sorted(output.splitlines())

    def test_topics(self):
        topic = self.create(3, "--config", "retention.ms=123456")
        self.assertIn(topic, self.tool("kafka-topics", "--list").split())
        described = self.tool("kafka-topics", "--describe", "--topic", topic)
        self.assertRegex(described, rf"Topic: {topic}\s+TopicId: \S{{22}}\s+PartitionCount: 3\s+ReplicationFactor: 1")
        self.assertIn("retention.ms=123456", described)
        self.assertEqual(len(re.findall(r"Partition: \d+\s+Leader: \d+\s+Replicas: \d+\s+Isr: \d+", described)), 3)
        self.assertIn("already exists", self.tool("kafka-topics", "--create", "--topic", topic, fails=True))
        self.tool("kafka-topics", "--alter", "--topic", topic, "--partitions", "5")
        self.assertIn("PartitionCount: 5", self.tool("kafka-topics", "--describe", "--topic", topic))
        self.tool("kafka-topics", "--alter", "--topic", topic, "--partitions", "2", fails=True)
        self.tool("kafka-topics", "--delete", "--topic", topic)
        self.assertNotIn(topic, self.tool("kafka-topics", "--list").split())
        self.tool("kafka-topics", "--describe", "--topic", topic, fails=True)

    def test_configs(self):
        topic = self.create()
        entity = ("--entity-type", "topics", "--entity-name", topic)
        self.tool("kafka-configs", *entity, "--alter", "--add-config", "max.message.bytes=2000,cleanup.policy=[compact,delete]")
        described = self.tool("kafka-configs", *entity, "--describe")
        self.assertIn("max.message.bytes=2000", described)
        self.assertIn("cleanup.policy=compact,delete", described)
        self.assertIn("DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000", described)
        self.tool("kafka-configs", *entity, "--alter", "--delete-config", "max.message.bytes")
        self.assertNotIn("max.message.bytes=2000", self.tool("kafka-configs", *entity, "--describe"))
        every = self.tool("kafka-configs", *entity, "--describe", "--all")
        self.assertIn("segment.bytes=1073741824", every)
        self.tool("kafka-configs", *entity, "--alter", "--add-config", "retention.ms=often", fails=True)
        self.tool("kafka-configs", *entity, "--alter", "--add-config", "no.such.config=1", fails=True)
        self.assertIn("num.partitions=", self.tool("kafka-configs", "--entity-type", "brokers", "--describe", "--all"))

    def test_console_producer_and_consumer(self):
        topic = self.create(1)
        lines = [f"line {number} äöü" for number in range(100)]
        self.produce(topic, lines)
        self.assertEqual(self.consume(topic, 100), sorted(lines))
        keyed = self.create(3)
        self.produce(keyed, ["k1:v1", "k2:v2", "k3:"], "--reader-property", "parse.key=true",
                     "--reader-property", "key.separator=:", "--compression-codec", "zstd")
        shown = self.consume(keyed, 3, "--formatter-property", "print.key=true", "--formatter-property", "key.separator==")
        self.assertEqual(shown, ["k1=v1", "k2=v2", "k3="])

    def test_consumer_groups(self):
        topic, group = self.create(2), self.name("group")
        self.produce(topic, [f"line {number}" for number in range(50)])
        self.consume(topic, 50, "--group", group)
        self.assertIn(group, self.tool("kafka-consumer-groups", "--list").split())
        described = self.tool("kafka-consumer-groups", "--describe", "--group", group)
        rows = re.findall(rf"{group}\s+{topic}\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", described)
        self.assertEqual(sorted(int(row[0]) for row in rows), [0, 1])
        self.assertEqual(sum(int(row[1]) for row in rows), 50)
        self.assertEqual([row[3] for row in rows], ["0", "0"], "there is no lag")
        self.assertRegex(self.tool("kafka-consumer-groups", "--describe", "--group", group, "--state"), r"Empty\s+0")
        self.tool("kafka-consumer-groups", "--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
        described = self.tool("kafka-consumer-groups", "--describe", "--group", group)
        rows = re.findall(rf"{group}\s+{topic}\s+\d+\s+(\d+)\s+\d+\s+(\d+)", described)
        self.assertEqual(sum(int(row[0]) for row in rows), 0)
        self.assertEqual(sum(int(row[1]) for row in rows), 50)
        self.tool("kafka-consumer-groups", "--group", group, "--delete-offsets", "--topic", topic)
        self.tool("kafka-consumer-groups", "--group", group, "--delete")
        self.assertNotIn(group, self.tool("kafka-consumer-groups", "--list").split())

    def test_get_offsets(self):
        topic = self.create(2)
        self.produce(topic, [f"line {number}" for number in range(30)])
        for time in ("-1", "latest"):
            rows = re.findall(rf"{topic}:\d:(\d+)", self.tool("kafka-get-offsets", "--topic", topic, "--time", time))
            self.assertEqual((len(rows), sum(map(int, rows))), (2, 30))
        rows = re.findall(rf"{topic}:\d:(\d+)", self.tool("kafka-get-offsets", "--topic", topic, "--time", "earliest"))
        self.assertEqual(rows, ["0", "0"])
        rows = re.findall(rf"{topic}:\d:(\d+)", self.tool("kafka-get-offsets", "--topic", topic, "--time", "max-timestamp"))
        self.assertTrue(rows)
        rows = re.findall(rf"{topic}:\d:(\d+)", self.tool("kafka-get-offsets", "--topic", topic, "--time", "1000"))
        self.assertEqual(set(rows), {"0"}, "every record is younger than 1970")

    def test_delete_records(self):
        topic = self.create(1)
        self.produce(topic, [f"line {number}" for number in range(10)])
        plan = self.scratch / "delete.json"
        plan.write_text(f'{{"partitions": [{{"topic": "{topic}", "partition": 0, "offset": 4}}], "version": 1}}')
        output = self.tool("kafka-delete-records", "--offset-json-file", str(plan))
        self.assertRegex(output, rf"partition: {topic}-0\s+low_watermark: 4")
        rows = re.findall(rf"{topic}:0:(\d+)", self.tool("kafka-get-offsets", "--topic", topic, "--time", "earliest"))
        self.assertEqual(rows, ["4"])
        self.assertEqual(self.consume(topic, 6), [f"line {number}" for number in range(4, 10)])

    def test_perf_tools(self):
        topic = self.create(12)
        output = self.tool("kafka-producer-perf-test", "--topic", topic, "--num-records", "50000", "--record-size", "1000",
                           "--throughput", "-1")
        self.assertRegex(output, r"50000 records sent, [\d.]+ records/sec \([\d.]+ MB/sec\)")
        output = self.tool("kafka-consumer-perf-test", "--topic", topic, "--num-records", "50000", "--timeout", "30000")
        row = output.strip().splitlines()[-1].split(", ")
        self.assertEqual(row[4], "50000", output)

    def test_verifiable_clients(self):
        topic, group = self.create(3), self.name("group")
        output = self.tool("kafka-verifiable-producer", "--topic", topic, "--max-messages", "1000", "--acks", "-1")
        self.assertIn('"sent":1000', output)
        self.assertIn('"acked":1000', output)
        output = self.tool("kafka-verifiable-consumer", "--topic", topic, "--group-id", group, "--max-messages", "1000")
        self.assertEqual(sum(map(int, re.findall(r'"name":"records_consumed","count":(\d+)', output))
                             or map(int, re.findall(r'"count":(\d+)', output))), 1000, output[-2000:])

    def test_api_versions(self):
        output = self.tool("kafka-broker-api-versions")
        self.assertRegex(output, r"Produce\(0\): 0 to 13")
        self.assertRegex(output, r"Fetch\(1\): 4 to 18")
