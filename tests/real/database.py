"""Brokers and their metadata log in PostgreSQL: URLs that say more than one address, starts without it, a broker that dies
between the PUT of an object and its commit, and a minute without it. The minute begins first and is judged last, the others
happen meanwhile."""
import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path

import certificates
import postgres
from load import Log, create_topic, ends_of, judge, wait_read, write
from minute import SECONDS, Minute
from process import wait_until
from proxy import LOOPBACK, Proxy
from weir import BOOTSTRAP, RealTest, Weir
from wire import batches, bodies, client

PASSWORD = "not the password of the service"
GRACE_MS = 10_000  # well above the time in which a broker is missed
LONGEST_PAUSE = 12.0
proxy, minute = None, None


def setUpModule():
    global proxy, minute
    if BOOTSTRAP:
        raise unittest.SkipTest("needs a Weir of its own, and an address was given")
    scratch = Path(tempfile.mkdtemp(prefix="weir-real-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch, ignore_errors=True)
    proxy = Proxy()
    unittest.addModuleCleanup(proxy.stop)
    try:
        minute = Minute(scratch, proxy)
    except postgres.Unavailable as why:
        raise unittest.SkipTest(str(why)) from why
    unittest.addModuleCleanup(minute.kill)
    minute.begin()


class Databases(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        try:
            cls.start_servers()
        except (postgres.Unavailable, certificates.Unavailable) as why:
            raise unittest.SkipTest(str(why)) from why

    @classmethod
    def start_servers(cls):
        cls.server = postgres.Postgres(cls.scratch / "server").start()
        cls.addClassCleanup(cls.server.kill)

    def new_broker(self, url, node=1, settings=None, **environment):
        """One that is starting."""
        broker = Weir(self.scratch / self._testMethodName / str(node), node_id=node, metadata_log_url=url,
                      object_store_url=f"file:{self.scratch}/objects", **(settings or {}))
        broker.environment = os.environ | environment
        self.addCleanup(broker.kill)
        return broker.start(answers=False)

    def wait_not_ready(self, broker, *whys):
        """Until it says why, while it goes on."""
        wait_until(lambda: any(why in (broker.why() or "") for why in whys), 20, lambda: f"{broker.why()}\n{broker.tail()}")
        self.assertTrue(broker.alive(), broker.tail())

    def wait_ready(self, broker):
        wait_until(lambda: broker.why() is None, 20, lambda: f"{broker.why()}\n{broker.tail()}")

    def serves(self, broker):
        """Records in and out."""
        self.wait_ready(broker)
        topic = create_topic(broker.bootstrap, 1)
        self.assertEqual(write(broker.bootstrap, topic, "a"), 0)
        self.assertEqual(Log(broker.bootstrap, topic).records, {(0, 0): "a"})


class SeveralHosts(Databases):
    @classmethod
    def start_servers(cls):
        cls.first = postgres.Postgres(cls.scratch / "first", "synchronous_standby_names=*").start()
        cls.addClassCleanup(cls.first.kill)
        cls.second = cls.first.standby(cls.scratch / "second").start()
        cls.addClassCleanup(cls.second.kill)

    def test_the_second_takes_over(self):
        url = f"postgres://weir@{self.first.address},{self.second.address}/postgres?target_session_attrs=read-write"
        broker = self.new_broker(url)
        self.wait_ready(broker)
        topic = create_topic(broker.bootstrap, 1)
        for offset in range(20):
            self.assertEqual(write(broker.bootstrap, topic, str(offset)), 0)
        self.first.kill()
        self.wait_not_ready(broker, "session is read-only", "Connection refused")
        self.assertNotEqual(write(broker.bootstrap, topic, "lost"), 0)
        self.assertEqual(self.second.query("SELECT pg_promote()"), "t")
        wait_until(lambda: write(broker.bootstrap, topic, "20", 5000) == 0, 20, broker.tail)
        self.wait_ready(broker)
        # One that never saw the first, which is silent now.
        silent = proxy.link((LOOPBACK, self.first.port))
        silent.cut()
        other = self.new_broker(url.replace(self.first.address, silent.address), node=2)
        self.wait_ready(other)
        self.assertEqual(write(other.bootstrap, topic, "21"), 0)
        for one in (broker, other):
            stored = Log(one.bootstrap, topic)
            self.assertEqual(stored.compare({(0, offset): str(offset) for offset in range(20)}), [])
            self.assertIn("21", stored.records.values())
            self.assertNotIn("diverged", one.tail(1 << 20))


class OverTls(Databases):
    """A server that wants TLS and a password from everybody."""

    @classmethod
    def start_servers(cls):
        cls.authority = certificates.Authority(cls.scratch, "authority")
        cls.stranger = certificates.Authority(cls.scratch, "stranger")
        certificate, key = cls.authority.server("localhost")
        super().start_servers()
        cls.server.query(f"ALTER ROLE weir PASSWORD '{PASSWORD}'")
        cls.server.kill()
        cls.server.give(key)
        (cls.server.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")
        cls.server.settings += ["ssl=on", f"ssl_cert_file={certificate}", f"ssl_key_file={key}"]
        cls.server.environment = os.environ | {"PGPASSWORD": PASSWORD}
        cls.server.start()

    def test_the_servers_name_is_checked(self):
        trusted = self.scratch / "trusted.pem"
        shutil.copy(self.stranger.certificate, trusted)
        rest = f":{self.server.port}/postgres?sslmode=verify-full&sslrootcert={trusted}"
        named, misnamed = (self.new_broker(f"postgres://weir@{host}{rest}", node, PGPASSWORD=PASSWORD)
                           for node, host in enumerate(("localhost", "127.0.0.1"), 1))
        for broker in (named, misnamed):
            self.wait_not_ready(broker, "certificate verify failed")
        shutil.copy(self.authority.certificate, trusted)
        self.wait_not_ready(misnamed, 'does not match host name "127.0.0.1"')
        self.serves(named)
        encrypted = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'weir'"
        self.assertEqual(self.server.query(encrypted), "t")

    def test_a_service_file(self):
        file = self.scratch / "services"
        service = (f"[metadata]\nhost=localhost\nport={self.server.port}\nuser=weir\ndbname=postgres\nsslmode=verify-full\n"
                   f"sslrootcert={self.authority.certificate}\npassword=")
        file.write_text(service + "wrong\n")
        broker = self.new_broker("postgres://?service=metadata", PGSERVICEFILE=str(file))
        self.wait_not_ready(broker, "password authentication failed")
        file.write_text(service + PASSWORD + "\n")
        self.serves(broker)
        self.assertNotIn(PASSWORD, broker.tail(1 << 20))


class Start(Databases):
    """Without a server."""

    @classmethod
    def start_servers(cls):
        postgres.programs()

    def test_it_gets_ready_by_itself(self):
        """It says what is missing, and is ready when it is there; nobody starts it again. The first start of a cluster, and
        that of one with records."""
        database = postgres.Postgres(self.scratch / "postgres")
        self.addCleanup(database.kill)
        refused, stored = f"port {database.port} failed: Connection refused", {}
        for value in ("a", "b"):
            broker = self.new_broker(database.url)
            self.wait_not_ready(broker, refused)
            with self.assertRaises((client.Closed, ConnectionError)):
                create_topic(broker.bootstrap)
            database.start()
            self.wait_ready(broker)
            topic = topic if stored else create_topic(broker.bootstrap, 1)
            self.assertEqual(write(broker.bootstrap, topic, value, 10_000), 0)
            stored[0, len(stored)] = value
            self.assertEqual(Log(broker.bootstrap, topic).records, stored)
            self.assertEqual(broker.stop(), 0)
            database.kill()


class Orphan(Databases):
    """An object that a broker wrote before it died, and did not commit."""

    def objects(self):
        """{object of records: when it was written}"""
        folder = self.scratch / "objects" / "data"
        return {path: path.stat().st_mtime for path in folder.rglob("*") if path.is_file()}

    def test_it_is_removed_after_its_time(self):
        """By another broker; what is committed stays."""
        link = proxy.link((LOOPBACK, self.server.port))
        often = {"object_orphan_grace_ms": GRACE_MS, "object_orphan_scan_interval_ms": 1000}
        cut_off = self.server.url.replace(self.server.address, link.address)
        brokers = [self.new_broker(url, node, often) for node, url in enumerate((cut_off, self.server.url, self.server.url), 1)]
        victim, *others = brokers
        for broker in brokers:
            self.wait_ready(broker)
        topic = create_topic(victim.bootstrap, 1)
        for number in range(9):
            self.assertEqual(write(brokers[number % 3].bootstrap, topic, str(number), 10_000), 0)
        before = self.objects()
        link.cut()
        connection = client.Connection(victim.bootstrap)
        connection.send("Produce", 9, bodies.produce(topic, {0: batches.batch(["orphan"])}))
        wait_until(lambda: len(self.objects()) > len(before), 10, victim.tail)
        victim.kill()
        with self.assertRaises(client.Closed):
            connection.recv()
        orphans = {path: written for path, written in self.objects().items() if path not in before}
        self.assertEqual(len(orphans), 1)
        (orphan, written), = orphans.items()
        wait_until(lambda: all(broker.metrics()["weir_metadata_live_brokers"] == 2 for broker in others), 20, others[0].tail)
        self.assertTrue(orphan.exists(), "it went before its time, or a broker is noticed too late for this test")
        wait_until(lambda: not orphan.exists(), GRACE_MS / 1000 + 10, others[0].tail)
        self.assertGreater(time.time() - written, GRACE_MS / 1000)
        for number in range(9, 12):
            self.assertEqual(write(others[number % 2].bootstrap, topic, str(number), 10_000), 0)
        removed = [broker.metrics()["weir_orphan_objects_total"] for broker in others]
        self.assertEqual(sum(removed), 1)
        self.assertEqual(before.keys() - self.objects().keys(), set())
        for broker in others:
            self.assertEqual(Log(broker.bootstrap, topic).records, {(0, offset): str(offset) for offset in range(12)})


class TheMinute(RealTest):
    """The last of these classes, by its name."""

    @classmethod
    def prepare(cls):
        """It runs since the module was set up."""

    def test_a_group_reads_on(self):
        time.sleep(max(0, minute.began + SECONDS - time.monotonic()))
        pauses, unread = minute.pauses(), minute.unread()
        self.assertNotEqual(write(minute.brokers[0].bootstrap, minute.topic, "x"), 0, "the log was there")
        self.assertGreater(min(unread.values()), 0, "the backlog was too small")
        self.assertLess(max(pauses.values()), LONGEST_PAUSE)
        minute.end()
        ends = ends_of([minute.load])
        wait_read(minute.group, ends)
        wait_until(lambda: minute.committed() == ends, 20, lambda: f"committed is {minute.committed()}, the end is {ends}")
        self.assertEqual(minute.disturbances(), [])
        for member in minute.group:
            member.finish()
        self.assertEqual(minute.committed(), ends)
        wrong, acknowledged, _ = judge([minute.load, *minute.group], [broker.bootstrap for broker in minute.brokers],
                                       minute.topic, minute.folder)
        self.assertEqual(wrong, [], "\n".join(wrong))
        print(f"  {acknowledged} records, {sum(unread.values())} of them not read in {SECONDS} s without a log; the longest "
              f"pause of a partition was {max(pauses.values()):.1f} s", flush=True)
