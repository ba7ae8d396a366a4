"""S3: the contracts of object stores and of the metadata log in one on real S3 servers, and a broker that keeps its records
on one."""
import os
import subprocess
import time
import unittest

import certificates
import rados_gateway
import s3_servers
from load import Log, create_topic
from process import free_port, wait_until
from proxy import LOOPBACK, Proxy
from weir import BINARY, RealTest, Weir, program
from wire import batches, bodies, client

BUCKET = "weir-test"
KEYS = {"AWS_ACCESS_KEY_ID": rados_gateway.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": rados_gateway.SECRET_KEY}


def contract(endpoint, *arguments, trusted=None):
    """Runs it, which makes the bucket, too. Returns the exit code and what it said. `trusted`: of whom its certificate is."""
    url = f"s3://{BUCKET}/contract?endpoint={endpoint}" + (f"&ca={trusted}" if trusted else "")
    done = subprocess.run([program("s3_contract"), "--gtest_brief=1", *arguments], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, S3_CONTRACT_URL=url, **KEYS), check=False)
    return done.returncode, done.stdout[-6000:] + done.stderr[-2000:]


class OtherServers(RealTest):
    """They differ in what they get wrong."""

    needs_weir = True

    @classmethod
    def prepare(cls):
        """Each test has a server of its own."""

    def start(self, make, *more):
        try:
            server = make(self.scratch / self._testMethodName, *more)
        except rados_gateway.Unavailable as why:
            self.skipTest(str(why))
        self.addCleanup(server.kill)
        server.start()
        return server.endpoint

    def test_versity_gateway(self):
        code, said = contract(self.start(s3_servers.Versity))
        self.assertEqual(code, 0, said)

    def test_versity_gateway_over_tls(self):
        try:
            authority = certificates.Authority(self.scratch, "authority")
        except certificates.Unavailable as why:
            self.skipTest(str(why))
        code, said = contract(self.start(s3_servers.Versity, authority), "--gtest_filter=-*MetadataLogContract*",
                              trusted=authority.certificate)
        self.assertEqual(code, 0, said)

    def test_moto(self):
        # While an object is replaced, moto answers with the checksum of one body and the bytes of the other. It looks for a
        # key and writes it a moment later: the probe meets that now and then, and the log in the store, which writes all the
        # time, loses entries.
        left_out = "*ReadersSeeOneWholeBody*:*HonoursConditionalPuts*:*MetadataLogContract*"
        code, said = contract(self.start(s3_servers.Moto), f"--gtest_filter=-{left_out}")
        self.assertEqual(code, 0, said)


class S3Store(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.gateway = None
        try:
            cls.gateway = rados_gateway.RadosGateway(cls.scratch / "ceph")
        except rados_gateway.Unavailable as why:
            raise unittest.SkipTest(str(why)) from None
        cls.gateway.start()
        cls.gateway.create_bucket(BUCKET)
        cls.environment = dict(os.environ, **KEYS)
        cls.url = f"s3://{BUCKET}/{{}}?endpoint={cls.gateway.endpoint}"
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.stop)

    def starting(self, name, url, **settings):
        """A broker that is starting."""
        broker = Weir(self.scratch / name, object_store_url=url, **settings)
        broker.environment = self.environment
        self.addCleanup(broker.kill)
        return broker.start(answers=False)

    def start_over_tls(self):
        """Two brokers: the certificate is of an authority that only `ca` names, for one of them another."""
        authorities = [certificates.Authority(self.scratch, name) for name in ("authority", "stranger")]
        link = self.proxy.link((LOOPBACK, self.gateway.port), tls=authorities[0].context("localhost"))
        return (self.starting(one.name, f"s3://{BUCKET}/tls?endpoint=https://localhost:{link.port}&ca={one.certificate}")
                for one in authorities)

    @classmethod
    def tearDownClass(cls):
        try:
            if cls.gateway:
                cls.gateway.stop()
        finally:
            super().tearDownClass()

    def wait_ready(self, broker):
        wait_until(lambda: broker.why() is None, 20, lambda: f"{broker.why()}\n{broker.tail()}")

    def wait_not_ready(self, broker, why):
        """Until it says why, at once, while it goes on."""
        wait_until(lambda: why in (broker.why() or ""), 10, lambda: f"{broker.why()}\n{broker.tail()}")
        self.assertTrue(broker.alive(), broker.tail())

    def test_1_the_contract(self):
        code, said = contract(self.gateway.endpoint)
        self.assertEqual(code, 0, said)

    def put(self, connection, topic, number):
        """The offset of one record, whose value begins with the number."""
        records = batches.batch([f"{number}:0:{number}." + "v" * 10_000])
        answer = connection.call("Produce", 9, bodies.produce(topic, {0: records}, timeout_ms=20_000))
        one = answer["responses"][0]["partition_responses"][0]
        self.assertEqual(one["error_code"], 0)
        return one["base_offset"]

    def test_2_a_broker_on_s3(self):
        broker = Weir(self.scratch / "broker", object_store_url=self.url.format("records"))
        broker.environment = self.environment
        broker.start()
        self.addCleanup(broker.stop)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        acknowledged = {}
        for number in range(20):
            acknowledged[0, self.put(connection, topic, number)] = f"{number}:0:{number}"
        broker.kill()
        broker.start()
        self.assertEqual(Log(broker.bootstrap, topic).compare(acknowledged), [])
        self.assertEqual(len(acknowledged), 20)

    def test_3_a_store_that_stops_answering(self):
        broker = Weir(self.scratch / "stalled", object_store_url=self.url.format("stalled"))
        broker.environment = self.environment
        broker.start()
        self.addCleanup(broker.stop)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        acknowledged = {(0, self.put(connection, topic, 0)): "0:0:0"}
        gateway = self.gateway.processes[-1].process
        gateway.send_signal(19)  # SIGSTOP: connections stay open, and silent
        try:
            records = batches.batch(["99:0:99"])
            answer = connection.call("Produce", 9, bodies.produce(topic, {0: records}, timeout_ms=1500))
            one = answer["responses"][0]["partition_responses"][0]
            self.assertEqual((one["error_code"], one["base_offset"]), (7, -1))
        finally:
            gateway.send_signal(18)
        deadline = time.monotonic() + 60
        offset = self.put(client.Connection(broker.bootstrap), topic, 1)
        self.assertLess(time.monotonic(), deadline)
        acknowledged[0, offset] = "1:0:1"
        self.assertEqual(Log(broker.bootstrap, topic).compare(acknowledged), [])

    def test_4_a_stop_without_the_store(self):
        """It has an end within the 30 s that supervisors give, and loses nothing."""
        broker = Weir(self.scratch / "stopped", object_store_url=self.url.format("stopped"), metadata_log_url="object:",
                      node_id=1)
        broker.environment = self.environment
        broker.start()
        self.addCleanup(broker.stop)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        acknowledged = {(0, self.put(connection, topic, 0)): "0:0:0"}
        gateway = self.gateway.processes[-1].process
        gateway.send_signal(19)
        try:
            connection.send("Produce", 9, bodies.produce(topic, {0: batches.batch(["99:0:99"])}))
            self.assertEqual(broker.stop(30), 1)
            self.assertIn("broker.stop.cut", broker.tail())
        finally:
            gateway.send_signal(18)
        broker.start()
        self.assertEqual(Log(broker.bootstrap, topic).compare(acknowledged), [])

    def test_5_a_start_without_the_store(self):
        """It says what is missing, and is ready as soon as it is there; nobody starts it again."""
        later = free_port()
        broker = self.starting("early", f"s3://{BUCKET}/early?endpoint=http://{LOOPBACK}:{later}")
        self.wait_not_ready(broker, f"connect to http://{LOOPBACK}:{later}: Connection refused")
        with self.assertRaises((client.Closed, ConnectionError)):
            create_topic(broker.bootstrap)
        link = self.proxy.link((LOOPBACK, self.gateway.port), port=later)
        self.wait_ready(broker)
        topic = create_topic(broker.bootstrap, 1)
        acknowledged = {(0, self.put(client.Connection(broker.bootstrap), topic, 0)): "0:0:0"}
        # The same for one that has records in the store.
        self.assertEqual(broker.stop(), 0)
        link.reset()
        broker.start(answers=False)
        self.wait_not_ready(broker, f"{LOOPBACK}:{later}")  # as it connects, or with its first request
        link.mend()
        self.wait_ready(broker)
        self.assertEqual(Log(broker.bootstrap, topic).compare(acknowledged), [])

    def test_6_over_tls(self):
        try:
            broker, distrustful = self.start_over_tls()
        except certificates.Unavailable as why:
            self.skipTest(str(why))
        self.wait_ready(broker)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        acknowledged = {(0, self.put(connection, topic, number)): f"{number}:0:{number}" for number in range(20)}
        self.assertEqual(len(acknowledged), 20)
        broker.kill()
        broker.start()
        self.assertEqual(Log(broker.bootstrap, topic).compare(acknowledged), [])
        self.wait_not_ready(distrustful, "certificate verify failed")

    def fsck(self, broker):
        """(exit code, what it prints, a line each)"""
        ran = subprocess.run([BINARY, "fsck", "--log", "object:", "--store", broker.settings["object.store.url"]],
                             capture_output=True, text=True, env=self.environment, check=False)
        return ran.returncode, (ran.stdout + ran.stderr).splitlines()

    def test_7_what_fsck_finds(self):
        """With the log in the bucket, too, beside a running broker."""
        broker = self.starting("checked", self.url.format("checked"), metadata_log_url="object:", node_id=1)
        self.wait_ready(broker)
        topic = create_topic(broker.bootstrap, 1)
        connection = client.Connection(broker.bootstrap)
        objects = []
        for number in range(3):
            self.assertEqual(self.put(connection, topic, number), number)
            new, = set(self.gateway.keys(BUCKET, "checked/data/")) - set(objects)
            objects.append(new)
        code, lines = self.fsck(broker)
        self.assertEqual((code, len(lines)), (0, 1), lines)
        self.assertIn("3 extents; 0 damaged", lines[0])
        self.gateway.remove(BUCKET, objects[1])
        code, lines = self.fsck(broker)
        self.assertEqual(code, 3, lines)
        self.assertIn("is missing", lines[0])
        self.assertIn(objects[1].rsplit("/", 1)[1], lines[0])
        self.assertTrue(lines[0].endswith(f"; lost: {topic}-0 offset 1"), lines[0])
