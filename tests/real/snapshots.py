"""Snapshots of the metadata: the log is trimmed, a start goes on from them, and `weir metadata` reads what is left."""
import json
import subprocess
import time

from load import create_topic
from weir import BINARY, RealTest, Weir
from wire import batches, bodies, client

EVERY = 20  # entries
RECORDS = 5 * EVERY


class Snapshots(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        """Each test has a broker of its own."""

    def setUp(self):
        self.broker = Weir(self.scratch / self._testMethodName, metadata_log_max_entries_between_snapshots=EVERY)
        self.addCleanup(self.broker.stop)
        self.broker.start()

    def tool(self, *arguments):
        return subprocess.run([BINARY, "metadata", *arguments, "--log", self.broker.settings["metadata.log.url"]],
                              capture_output=True, text=True, timeout=60, check=False)

    def stat(self):
        done = self.tool("stat", "--store", self.broker.settings["object.store.url"])
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def produce(self, topic, count):
        connection = client.Connection(self.broker.bootstrap)
        for i in range(count):
            answer = connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch([f"value {i}"])}))
            self.assertEqual(answer["responses"][0]["partition_responses"][0]["error_code"], 0)
        connection.close()

    def end_offset(self, topic):
        connection = client.Connection(self.broker.bootstrap)
        answer = connection.call("Fetch", 12, bodies.fetch(topic, {0: 0}, max_wait_ms=0))
        connection.close()
        return answer["responses"][0]["partitions"][0]["high_watermark"]

    def test_trimmed_and_restarted(self):
        topic = create_topic(self.broker.bootstrap)
        self.produce(topic, RECORDS)
        self.assertEqual(self.broker.stop(), 0)
        refused = self.tool("stat")
        self.assertNotEqual(refused.returncode, 0, "the log was not trimmed")
        self.assertIn("--store", refused.stderr)
        stat = self.stat()
        self.assertEqual((stat["topics"], stat["extents"]), (1, RECORDS))
        entries = [json.loads(line) for line in self.tool("dump").stdout.splitlines()]
        positions = [entry["position"] for entry in entries]
        self.assertEqual(positions, list(range(positions[0], stat["position"] + 1)))
        self.assertGreater(positions[0], 1)
        self.assertLessEqual(len(positions), 3 * EVERY)
        self.broker.start()
        self.assertEqual(self.end_offset(topic), RECORDS)
        self.produce(topic, 1)
        self.assertEqual(self.end_offset(topic), RECORDS + 1)

    def test_store_that_is_not_the_one(self):
        topic = create_topic(self.broker.bootstrap)
        self.produce(topic, RECORDS)
        self.assertEqual(self.broker.stop(), 0)
        objects = self.broker.folder / "objects"
        objects.rename(self.broker.folder / "away")
        done = self.tool("stat", "--store", self.broker.settings["object.store.url"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no such folder", done.stderr)
        self.assertFalse(objects.exists(), "the tool made a folder")
        (self.broker.folder / "away").rename(objects)
        self.assertEqual(self.stat()["extents"], RECORDS)

    def test_damaged_snapshot(self):
        topic = create_topic(self.broker.bootstrap)
        self.produce(topic, RECORDS)
        self.assertEqual(self.broker.stop(), 0)
        before = self.stat()
        snapshots = sorted((self.broker.folder / "objects/snapshots").glob("*/manifest-*"))
        damaged = [path for path in snapshots[-1].parent.iterdir() if not path.name.startswith("manifest-")]
        self.assertTrue(damaged)
        for path in damaged:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        done = self.tool("stat", "--store", self.broker.settings["object.store.url"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), before)
        self.assertIn("does not match its digest", done.stderr)
        checked = subprocess.run([BINARY, "fsck", "--log", self.broker.settings["metadata.log.url"],
                                  "--store", self.broker.settings["object.store.url"]],
                                 capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(checked.returncode, 3, checked.stderr)
        self.assertIn("the latest snapshot is lost: ", checked.stdout)
        self.assertIn("; 0 damaged, ", checked.stdout)
        self.broker.start()
        self.assertEqual(self.end_offset(topic), RECORDS)
        self.assertEqual(self.broker.metrics()["weir_metadata_snapshots_lost_total"], 1)
        self.assertIn("metadata.snapshot.fell_back", (self.broker.folder / "weir.log").read_text())
        # A whole one is written at once, and the next start needs nothing else.
        self.produce(topic, 2)
        newest = snapshots[-1]
        deadline = time.monotonic() + 30
        while newest == snapshots[-1] and time.monotonic() < deadline:
            newest = max((self.broker.folder / "objects/snapshots").glob("*/manifest-*"))
            time.sleep(0.05)
        self.assertEqual(self.broker.stop(), 0)
        self.assertNotEqual(newest, snapshots[-1])
        self.broker.start()
        self.assertEqual(self.broker.metrics()["weir_metadata_snapshots_lost_total"], 0)
        self.assertEqual(self.end_offset(topic), RECORDS + 2)
