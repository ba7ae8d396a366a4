"""The broker's data on a small file system that fills up: clear errors, no loss, reads go on, and so do writes when there
is room again."""
import os
import subprocess
import time
import unittest

from load import Log, create_topic
from weir import RealTest, Weir
from wire import batches, bodies, client

SIZE_MB, BALLAST_MB = 24, 14
# What a client tries again: storage error, timed out, not enough replicas, unknown leader.
CLEAR = {56, 7, 19, 20}
VALUE = "v" * 100_000


class DiskFull(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.disk = cls.scratch / "disk"
        cls.disk.mkdir()
        if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "weir", str(cls.disk)],
                                              capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest("mounting a small file system takes root")
        (cls.disk / "ballast").write_bytes(b"\0" * BALLAST_MB * 1_000_000)
        cls.broker = Weir(cls.disk / "broker")
        cls.broker.log = cls.scratch / "weir.log"
        cls.broker.start()

    @classmethod
    def tearDownClass(cls):
        if cls.broker:
            cls.broker.stop()
        subprocess.run(["umount", str(cls.scratch / "disk")], capture_output=True, check=False)
        cls.broker = None
        super().tearDownClass()

    def put(self, number):
        """(error, offset) of one record of 100 KB; its value begins with the number."""
        records = batches.batch([f"{number}:0:{number}." + VALUE])
        answer = self.connection.call("Produce", 9, bodies.produce(self.topic, {0: records}, timeout_ms=3000))
        one = answer["responses"][0]["partition_responses"][0]
        return one["error_code"], one["base_offset"]

    def test_a_full_disk(self):
        self.topic = create_topic(self.broker.bootstrap, 1)
        self.connection = client.Connection(self.broker.bootstrap)
        acknowledged, error, number = {}, 0, 0
        while error == 0:
            error, offset = self.put(number)
            if error == 0:
                acknowledged[0, offset] = f"{number}:0:{number}"
            number += 1
            self.assertLess(number, SIZE_MB * 10 * 2, "the disk does not fill up")
        self.assertGreater(len(acknowledged), 50)
        for _ in range(3):
            self.assertIn(error, CLEAR)
            error, offset = self.put(number)
            self.assertEqual(offset, -1)
        self.assertEqual(Log(self.broker.bootstrap, self.topic).compare(acknowledged), [])
        (self.disk / "ballast").unlink()
        deadline = time.monotonic() + 30
        while error != 0 and time.monotonic() < deadline:
            number += 1
            error, offset = self.put(number)
        self.assertEqual(error, 0, "writes do not go on although there is room")
        acknowledged[0, offset] = f"{number}:0:{number}"
        self.assertTrue(self.broker.alive())
        self.assertEqual(Log(self.broker.bootstrap, self.topic).compare(acknowledged), [])
        self.broker.kill()
        self.broker.start()
        self.assertEqual(Log(self.broker.bootstrap, self.topic).compare(acknowledged), [])
