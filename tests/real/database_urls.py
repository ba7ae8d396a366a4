"""Metadata logs in PostgreSQL whose URL says more than one address: two servers, of which one follows the other; TLS with a
name that is checked; a service file. What libpq can, a broker can, and goes on by itself when what was wrong is mended."""
import os
import shutil
import unittest

import certificates
import postgres
from load import Log, create_topic, write
from process import wait_until
from weir import RealTest, Weir

PASSWORD = "not the password of the service"


class Databases(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        try:
            cls.start_servers()
        except (postgres.Unavailable, certificates.Unavailable) as why:
            raise unittest.SkipTest(str(why)) from why

    def new_broker(self, url, node=1, **environment):
        """One that is starting."""
        broker = Weir(self.scratch / self._testMethodName / str(node), node_id=node, metadata_log_url=url,
                      object_store_url=f"file:{self.scratch}/objects")
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
        # One that never saw the first.
        other = self.new_broker(url, node=2)
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
        cls.server = postgres.Postgres(cls.scratch / "server").start()
        cls.addClassCleanup(cls.server.kill)
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
