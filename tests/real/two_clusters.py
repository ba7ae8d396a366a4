"""A store belongs to one cluster: another's log is refused before anything is written, and `weir` says what lies in a store."""
import json
import pathlib
import shutil
import subprocess

from load import create_topic
from weir import BINARY, RealTest, Weir
from wire import batches, bodies, client

CORRUPT_MESSAGE = 2
ENTRIES = 20  # between two snapshots


class OwnBrokers(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        """Each test has brokers of its own."""

    def new_broker(self, name, **settings):
        broker = Weir(self.scratch / self._testMethodName / name, **settings)
        self.addCleanup(broker.stop)
        return broker

    def store(self, broker):
        return pathlib.Path(broker.settings["object.store.url"].removeprefix("file:"))

    def files(self, broker):
        folder = self.store(broker)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def produce(self, broker, topic, value="a value"):
        connection = client.Connection(broker.bootstrap)
        answer = connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch([value])}))
        connection.close()
        self.assertEqual(answer["responses"][0]["partition_responses"][0]["error_code"], 0)

    def fetch(self, broker, topic):
        """The error, and the values."""
        connection = client.Connection(broker.bootstrap)
        answer = connection.call("Fetch", 12, bodies.fetch(topic, {0: 0}, max_wait_ms=500))["responses"][0]["partitions"][0]
        connection.close()
        read = batches.read(answer["records"] or b"")
        return answer["error_code"], [record[3] for batch in read for record in batch["records"]]

    def cluster_id(self, broker):
        connection = client.Connection(broker.bootstrap)
        answer = connection.call("Metadata", 12, {"topics": [], "allow_auto_topic_creation": False})
        connection.close()
        return answer["cluster_id"]

    def tool(self, *arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, check=False)

    def used(self, name="first", **settings):
        """A broker with a topic and a record, and its cluster's id."""
        broker = self.new_broker(name, **settings)
        broker.start()
        topic = create_topic(broker.bootstrap)
        self.produce(broker, topic)
        return broker, topic, self.cluster_id(broker)


class Refusals(OwnBrokers):
    def refused(self, broker, *words):
        """That it does not start, says so with these words, and leaves its store as it was."""
        before = self.files(broker)
        with self.assertRaisesRegex(AssertionError, "ended with 1"):
            broker.start()
            broker.process.wait(20)
            raise AssertionError(f"ended with {broker.process.returncode}")
        for word in words:
            self.assertIn(word, broker.tail())
        self.assertEqual(self.files(broker), before)

    def test_a_new_log_on_a_store_in_use(self):
        first, topic, cluster = self.used()
        other = self.new_broker("other", object_store_url=first.settings["object.store.url"])
        other.folder.mkdir(parents=True)
        self.refused(other, other.settings["metadata.log.url"], first.settings["object.store.url"], cluster, "an empty store")
        self.assertEqual(self.fetch(first, topic), (0, ["a value"]))
        # The same for a log that would lie in the store.
        inside = self.new_broker("inside", object_store_url=first.settings["object.store.url"], metadata_log_url="object:",
                             node_id=1)
        self.refused(inside, "object:", cluster)

    def test_a_log_that_is_lost_and_found(self):
        broker, topic, cluster = self.used()
        self.assertEqual(broker.stop(), 0)
        away = broker.folder / "away"
        away.mkdir()
        logs = list(broker.folder.glob("metadata.db*"))
        for file in logs:
            file.rename(away / file.name)
        self.refused(broker, "new log", cluster)
        for file in broker.folder.glob("metadata.db*"):
            file.unlink()
        for file in away.iterdir():
            file.rename(broker.folder / file.name)
        broker.start()
        self.assertEqual(self.fetch(broker, topic), (0, ["a value"]))

    def test_a_store_that_is_not_the_one(self):
        broker, topic, cluster = self.used()
        other, _, others = self.used("other")
        for one in (broker, other):
            self.assertEqual(one.stop(), 0)
        objects = self.store(broker)
        objects.rename(broker.folder / "away")
        objects.mkdir()
        self.refused(broker, cluster, "nothing of any cluster")
        shutil.rmtree(objects)
        self.store(other).rename(objects)
        self.refused(broker, cluster, others)
        done = self.tool("metadata", "stat", "--log", broker.settings["metadata.log.url"], "--store", f"file:{objects}")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(others, done.stderr)
        self.assertIn(cluster, done.stderr)
        # Objects without a marker tell, too.
        (objects / "cluster").unlink()
        self.refused(broker, cluster, others)
        objects.rename(self.store(other))
        (broker.folder / "away").rename(objects)
        (objects / "cluster").unlink()
        for _ in range(2):
            broker.start()
            self.assertEqual(self.fetch(broker, topic), (0, ["a value"]))
            self.assertEqual(broker.stop(), 0)
        self.assertIn(cluster.encode(), self.files(broker)["cluster"])


class ForeignObject(OwnBrokers):
    def test_what_another_cluster_wrote_is_not_served(self):
        """The same key, size and number of records: only the footer tells."""
        broker, topic, _ = self.used()
        other, _, _ = self.used("other")
        for one in (broker, other):
            self.assertEqual(one.stop(), 0)
        own, = [name for name in self.files(broker) if name.startswith("data/")]
        theirs, = [name for name in self.files(other) if name.startswith("data/")]
        content = self.files(other)[theirs]
        self.assertEqual(len(content), len(self.files(broker)[own]))
        (self.store(broker) / own).write_bytes(content)
        broker.start()
        self.assertEqual(self.fetch(broker, topic), (CORRUPT_MESSAGE, []))


class Inspect(OwnBrokers):
    def test_every_object_is_known(self):
        broker, topic, cluster = self.used(metadata_log_url="object:", node_id=1,
                                           metadata_log_max_entries_between_snapshots=ENTRIES)
        for _ in range(4 * ENTRIES):
            self.produce(broker, topic)
        self.assertEqual(broker.stop(), 0)
        seen = set()
        for name in self.files(broker):
            file = str(self.store(broker) / name)
            done = self.tool("inspect", file)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertTrue(done.stdout.endswith("\nintact\n"), done.stdout)
            said = json.loads(self.tool("inspect", "--json", file).stdout)
            self.assertTrue(said["intact"])
            seen.add((name.split("/")[0], said["kind"]))
            if name.startswith("log/entries/"):
                self.assertEqual(said["first"], int(name.split("/")[-1]))
                self.assertEqual([entry["position"] for entry in said["entries"]],
                                 list(range(said["first"], said["last"] + 1)))
            if said["kind"] == "store-marker":
                self.assertEqual(said["cluster_id"], cluster)
        self.assertEqual(seen, {("data", "wal"), ("cluster", "store-marker"), ("log", "store-marker"),
                                ("log", "log-entries"), ("log", "log-mark"), ("snapshots", "snapshot-manifest"),
                                ("snapshots", "snapshot-chunk")})

    def test_what_is_damaged_is_called_so(self):
        broker, topic, _ = self.used(metadata_log_url="object:", node_id=1,
                                     metadata_log_max_entries_between_snapshots=ENTRIES)
        for _ in range(2 * ENTRIES):
            self.produce(broker, topic)
        self.assertEqual(broker.stop(), 0)
        for name, content in self.files(broker).items():
            if name.startswith("log/") and not name.startswith("log/entries/"):
                continue
            changed = bytearray(content)
            changed[len(changed) // 3] ^= 1
            for damaged in (bytes(changed), content[:-1]):
                (self.store(broker) / name).write_bytes(damaged)
                done = self.tool("inspect", str(self.store(broker) / name))
                self.assertEqual(done.returncode, 1, name)
                self.assertRegex(done.stdout + done.stderr, "corrupt|DAMAGED", name)
