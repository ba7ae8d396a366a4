"""What an operator sees and does: a store that takes nothing, signals, a first start, a small budget."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import postgres
from load import create_topic, write
from process import wait_until
from weir import BINARY, RealTest, Weir
from wire import batches, bodies, client

NOBODY = 65534
MIB = 1024 * 1024


class TakesNothing(RealTest):
    """A broker that is not root, on files that become somebody else's."""
    needs_weir = True

    @classmethod
    def prepare(cls):
        if os.getuid() != 0:
            raise unittest.SkipTest("running a broker as another user takes root")
        cls.scratch.chmod(0o755)

    def setUp(self):
        self.folder = self.scratch / self.id().rpartition(".")[2]
        self.folder.mkdir()
        os.chown(self.folder, NOBODY, NOBODY)
        self.broker = Weir(self.folder)
        self.broker.launch_options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        # Its own: the scratch folder of the test may lie where nobody else may look.
        binary = self.scratch / "weir"
        if not binary.exists():
            shutil.copy2(BINARY, binary)
            binary.chmod(0o755)
        self.broker.binary = str(binary)
        self.addCleanup(self.broker.stop)

    def lines(self, event):
        return [line for line in self.broker.log.read_text().splitlines() if event in line]

    def wait_ready(self):
        wait_until(lambda: self.broker.not_ready() is None, 20, self.broker.not_ready)

    def test_a_store_that_takes_no_writes(self):
        self.broker.start()
        self.wait_ready()
        topic = create_topic(self.broker.bootstrap, 1)
        self.assertEqual(write(self.broker.bootstrap, topic, "a"), 0)
        folders = [self.folder / "objects", *(path for path in (self.folder / "objects").rglob("*") if path.is_dir())]
        for path in folders:
            path.chmod(0o555)
            os.chown(path, 0, 0)
        self.assertNotEqual(write(self.broker.bootstrap, topic, "b"), 0)
        wait_until(lambda: "object store" in (self.broker.not_ready() or ""), 8,
                   lambda: f"/readyz: {self.broker.not_ready()}\n{self.broker.tail()}")
        self.assertIn("ermission denied", self.broker.not_ready())
        self.assertEqual(len(self.lines("store.down")), 1, self.broker.tail())
        for path in folders:
            path.chmod(0o755)
            os.chown(path, NOBODY, NOBODY)
        wait_until(lambda: write(self.broker.bootstrap, topic, "c", 10_000) == 0, 30, self.broker.tail)
        self.assertIsNone(self.broker.not_ready())
        self.assertEqual((len(self.lines("store.down")), len(self.lines("store.up"))), (1, 1), self.broker.tail())


class Starts(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        pass

    def start(self, **settings):
        broker = Weir(self.scratch / self.id().rpartition(".")[2], **settings)
        self.addCleanup(broker.kill)
        return broker

    def test_hangup_stops_cleanly(self):
        broker = self.start().start()
        broker.process.send_signal(signal.SIGHUP)
        self.assertEqual(broker.process.wait(30), 0)
        self.assertIn("broker.stopped", broker.tail())

    def test_hangup_that_was_ignored_at_the_start_still_is(self):
        broker = self.start()
        broker.launch_options = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
        broker.start()
        broker.process.send_signal(signal.SIGHUP)
        time.sleep(1)
        self.assertTrue(broker.alive())
        self.assertEqual(broker.stop(), 0)

    def test_a_stop_answers_what_waits_for_its_object(self):
        broker = self.start(diskless_append_commit_interval_ms=40_000, diskless_append_early_puts_per_second=0).start()
        wait_until(lambda: broker.not_ready() is None, 20, broker.not_ready)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        connection.send("Produce", 9, bodies.produce(topic, {0: batches.batch(["a"])}))
        wait_until(lambda: broker.metrics().get("weir_request_memory_bytes", 0) > 0, 20, broker.tail)
        broker.process.send_signal(signal.SIGTERM)
        answer = connection.recv()["responses"][0]["partition_responses"][0]
        self.assertEqual((answer["error_code"], answer["base_offset"]), (0, 0))
        connection.close()
        self.assertEqual(broker.process.wait(8), 0)

    def test_the_folder_of_the_default_log_is_made(self):
        broker = self.start()
        broker.folder.mkdir()
        del broker.settings["metadata.log.url"]
        broker.launch_options = {"cwd": broker.folder}
        broker.start()
        wait_until(lambda: broker.not_ready() is None, 20, broker.not_ready)
        self.assertTrue((broker.folder / "data" / "metadata.db").exists())

    def test_requests_stay_within_a_small_budget(self):
        budget = 64 * MIB
        broker = self.start(memory_budget_bytes=budget).start()
        self.assertEqual(broker.tail().count("socket.request.max.bytes (104857600)"), 1)
        wait_until(lambda: broker.not_ready() is None, 20, broker.not_ready)
        topic = create_topic(broker.bootstrap, 1)
        self.assertEqual(write(broker.bootstrap, topic, "x" * (15 * MIB)), 10)  # more than max.message.bytes
        for size in (17, 95):
            connection = client.Connection(broker.bootstrap)
            with self.assertRaises((client.Closed, BrokenPipeError, ConnectionResetError)):
                connection.call("Produce", 9, bodies.produce(topic, {0: b"x" * (size * MIB)}))
            connection.close()
        self.assertIn("16777216", broker.tail())
        self.assertLess(broker.memory("VmHWM"), budget * 1.2)


class LosesItsDatabase(RealTest):
    """Brokers whose database is dropped, made anew, and restored."""
    needs_weir = True

    @classmethod
    def prepare(cls):
        try:
            cls.server = postgres.Postgres(cls.scratch / "postgres").start()
        except postgres.Unavailable as why:
            raise unittest.SkipTest(str(why)) from why
        cls.addClassCleanup(cls.server.kill)

    def start(self, node):
        broker = Weir(self.scratch / f"broker{node}", node_id=node, object_store_url=f"file:{self.scratch}/objects",
                      metadata_log_url=self.server.url.rpartition("/")[0] + "/weir")
        self.addCleanup(broker.kill)
        return broker.start(answers=False)

    def test_a_broker_that_starts_leaves_an_empty_database_to_the_restore(self):
        self.server.run("psql", "-d", "postgres", "-c", "CREATE DATABASE weir")
        brokers = [self.start(node) for node in (1, 2)]

        def is_ready(broker):
            self.assertTrue(broker.alive(), broker.tail())
            try:
                return broker.not_ready() is None
            except OSError:
                return False  # the page is not there yet

        def wait_ready():
            for broker in brokers:
                wait_until(lambda b=broker: is_ready(b), 40, broker.tail)

        wait_ready()
        topic = create_topic(brokers[0].bootstrap, 1)
        self.assertEqual(write(brokers[0].bootstrap, topic, "a"), 0)
        dump = self.scratch / "dump"
        self.server.run("pg_dump", "-Fc", "-f", str(dump), "weir")
        self.server.run("psql", "-d", "postgres", "-c", "DROP DATABASE weir WITH (FORCE)", "-c", "CREATE DATABASE weir")
        for broker in brokers:
            wait_until(lambda b=broker: "are gone" in (b.not_ready() or ""), 20, broker.tail)
        late = self.start(3)
        self.assertEqual(late.process.wait(30), 1, late.tail())
        self.assertIn("is a new log", late.tail())
        tables = "SELECT count(*) FROM pg_class WHERE relname ~ '^weir'"
        self.assertEqual(self.server.run("psql", "-d", "weir", "-Atc", tables), "0")
        self.server.run("pg_restore", "--single-transaction", "-d", "weir", str(dump))
        brokers.append(self.start(3))
        wait_ready()
        self.assertEqual(write(brokers[0].bootstrap, topic, "b", 10_000), 0)
