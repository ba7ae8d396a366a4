"""Objects that are gone, cut or changed: their partitions answer an error, others are served, and `weir fsck` names them."""
import subprocess

from load import create_topic
from weir import BINARY, RealTest, Weir
from wire import batches, bodies, client

CORRUPT_MESSAGE, NOT_LEADER, STORAGE_ERROR = 2, 6, 56


class DamagedObject(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.broker = Weir(cls.scratch / "broker")
        cls.broker.start()

    def objects(self):
        return {path for path in (self.broker.folder / "objects").rglob("*") if path.is_file() and "/data/" in str(path)}

    def put(self, partition, value):
        """Produces one record and returns the object that came with it."""
        before, connection = self.objects(), client.Connection(self.broker.bootstrap)
        answer = connection.call("Produce", 9, bodies.produce(self.topic, {partition: batches.batch([value])}))
        connection.close()
        self.assertEqual(answer["responses"][0]["partition_responses"][0]["error_code"], 0)
        new, = self.objects() - before
        return new

    def fetch(self, offsets, version=12):
        """{partition: (error, values)}"""
        connection = client.Connection(self.broker.bootstrap)
        answer = connection.call("Fetch", version, bodies.fetch(self.topic, offsets, max_wait_ms=500))
        connection.close()
        return {one["partition_index"]: (one["error_code"], [record[3] for batch in batches.read(one["records"] or b"")
                                                             for record in batch["records"]])
                for one in answer["responses"][0]["partitions"]}

    def fsck(self, *options):
        """(exit code, what it prints, a line each, without the folders of the objects' names)"""
        ran = subprocess.run([BINARY, "fsck", "--log", self.broker.settings["metadata.log.url"],
                              "--store", self.broker.settings["object.store.url"], *options],
                             capture_output=True, text=True, check=False)
        return ran.returncode, [line.removeprefix("data/").split("/", 1)[-1] for line in ran.stdout.splitlines()]

    def test_damage(self):
        self.topic = create_topic(self.broker.bootstrap, 4)
        objects = [self.put(partition, f"value of {partition} " + "x" * 1000) for partition in range(4)]
        self.assertEqual(self.broker.stop(), 0)
        objects[0].unlink()
        objects[1].write_bytes(objects[1].read_bytes()[:200])
        changed = bytearray(objects[2].read_bytes())
        changed[changed.index(b"xxxxx") + 100] ^= 1
        objects[2].write_bytes(changed)
        self.broker.start()
        found = self.fetch({0: 0, 1: 0, 2: 0, 3: 0})
        # An object that is gone is trouble of the store; one that is cut or changed is corrupt.
        for partition, error in enumerate((STORAGE_ERROR, CORRUPT_MESSAGE, CORRUPT_MESSAGE)):
            self.assertEqual(found[partition], (error, []), f"partition {partition}")
        # Clients of the first versions do not know the error of the store.
        self.assertEqual([self.fetch({0: 0}, version)[0][0] for version in (4, 5, 6, 7)],
                         [NOT_LEADER, NOT_LEADER, STORAGE_ERROR, STORAGE_ERROR])
        self.assertEqual(found[3], (0, ["value of 3 " + "x" * 1000]))
        for partition in range(4):
            self.put(partition, f"later {partition}")
        self.assertEqual(self.fetch({0: 1, 1: 1, 2: 1, 3: 1}),
                         {partition: (0, [f"later {partition}"]) for partition in range(4)})
        self.assertEqual(self.fetch({0: 0})[0][0], STORAGE_ERROR)
        # Beside the running broker.
        code, lines = self.fsck()
        self.assertEqual((code, len(lines)), (3, 4), lines)
        for partition, line in enumerate(lines[:3]):
            self.assertTrue(line.endswith(f"; lost: {self.topic}-{partition} offset 0"), line)
        self.assertIn("is missing", lines[0])
        self.assertIn("has 200 bytes", lines[1])
        self.assertIn("; 3 damaged, 0 could not be read; ", lines[3])
        code, lines = self.fsck("--sizes-only")
        self.assertEqual((code, len(lines)), (3, 3), lines)
