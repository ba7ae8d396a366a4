"""Three brokers of three zones on one SQLite log and one folder of objects: one is killed again and again, one stands still
for longer than its session, and a producer and a group of consumers go on. Nothing that was acknowledged is lost, no offset
has two values, and every acknowledged record is consumed."""
import contextlib
import os
import pathlib
import random
import secrets
import signal
import sqlite3
import time

from load import IDEMPOTENT, PARTITIONS, Follower, Load, Pauses, create_topic, ends_of, judge, wait_read
from weir import RealTest, Weir
from wire import batches, bodies, client

FAULTS = int(os.environ.get("CLUSTER_FAULTS", "4"))
SESSION_MS = 3000
# What clients may take beyond the session to find the others.
PATIENCE = 12.0
NOT_COORDINATOR = 16
UNKNOWN_MEMBER_ID = 25


def stop_outside_of_the_log(victim, path):
    """Who stands still in the middle of a transaction keeps SQLite's lock from everybody: that is not what is tested."""
    while True:
        victim.freeze()
        log = sqlite3.connect(path, timeout=1, isolation_level=None)
        with contextlib.closing(log), contextlib.suppress(sqlite3.OperationalError):
            log.execute("BEGIN IMMEDIATE")
            log.execute("ROLLBACK")
            return
        victim.process.send_signal(signal.SIGCONT)
        time.sleep(0.05)


class OnSqlite(RealTest):
    """Kills its brokers at the end."""
    needs_weir = True
    brokers = ()

    @classmethod
    def tearDownClass(cls):
        try:
            for broker in cls.brokers:
                broker.kill()
        finally:
            super().tearDownClass()


class ClusterSqlite(OnSqlite):
    @classmethod
    def prepare(cls):
        shared = {"object_store_url": f"file:{cls.scratch}/objects",
                  "metadata_log_url": f"sqlite:{cls.scratch}/metadata.db",
                  "broker_session_timeout_ms": SESSION_MS}
        cls.brokers = [Weir(cls.scratch / f"broker{i}", node_id=i, broker_rack=f"zone-{i}", **shared) for i in (1, 2, 3)]
        for broker in cls.brokers:
            broker.start()
        cls.bootstrap = ",".join(broker.bootstrap for broker in cls.brokers)

    def call(self, broker, api, version, body, client_id="test"):
        connection = client.Connection(broker.bootstrap, client_id)
        answer = connection.call(api, version, body)
        connection.close()
        return answer

    def metadata(self, broker, topic=None, client_id="test"):
        return self.call(broker, "Metadata", 12, {
            "topics": [{"topic_id": "0" * 32, "name": topic}] if topic else [],
            "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}, client_id)

    def wait_live(self, broker, count, seconds=30):
        deadline = time.monotonic() + seconds
        while len(self.metadata(broker)["brokers"]) != count:
            self.assertLess(time.monotonic(), deadline, f"there are not {count} live brokers after {seconds} s")
            time.sleep(0.05)

    def watch(self, watched, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for pauses in watched:
                pauses.look()
            time.sleep(0.05)

    def fault(self, moments, watched, is_kill):
        """One broker is killed, or stands still, for longer than its session; what happened in words."""
        victim = moments.choice(self.brokers)
        another = next(broker for broker in self.brokers if broker is not victim)
        name = f"broker {self.brokers.index(victim) + 1}"
        if is_kill:
            victim.kill()
            self.watch(watched, SESSION_MS / 1000 + moments.uniform(4, 6))
            self.wait_live(another, 2)
            victim.start()
            return f"{name} killed"
        stop_outside_of_the_log(victim, self.scratch / "metadata.db")
        self.watch(watched, 8)
        self.wait_live(another, 2)
        victim.process.send_signal(signal.SIGCONT)
        return f"{name} stopped for 8 s"

    def test_1_every_zone_has_its_leaders(self):
        for broker in self.brokers:
            self.wait_live(broker, 3)
        topic = create_topic(self.brokers[0].bootstrap)
        epochs = set()
        for asked in self.brokers:
            for zone in (1, 2, 3):
                answer = self.metadata(asked, topic, f"test,zone=zone-{zone}")
                for partition in answer["topics"][0]["partitions"]:
                    self.assertEqual(partition["leader_id"], zone)
                    self.assertEqual(sorted(partition["replica_nodes"]), [1, 2, 3])
                    epochs.add(partition["leader_epoch"])
        self.assertEqual(len(epochs), 1)

    def test_1_a_consumer_is_sent_to_its_zone(self):
        topic = create_topic(self.brokers[0].bootstrap)
        self.call(self.brokers[0], "Produce", 9, bodies.produce(topic, {0: batches.batch(["a"])}))
        for at, broker in enumerate(self.brokers, 1):
            for zone in (1, 2, 3):
                body = bodies.fetch(topic, {0: 0}, max_wait_ms=10_000, rack_id=f"zone-{zone}")
                part = self.call(broker, "Fetch", 12, body)["responses"][0]["partitions"][0]
                self.assertEqual(part["error_code"], 0)
                self.assertEqual(part["preferred_read_replica"], -1 if zone == at else zone)
                self.assertEqual(bool(part["records"]), zone == at)
            body = bodies.fetch(topic, {0: 0}, rack_id="zone-of-nobody")
            part = self.call(broker, "Fetch", 12, body)["responses"][0]["partitions"][0]
            self.assertEqual(part["preferred_read_replica"], -1)
            self.assertTrue(part["records"])

    def test_1_what_one_broker_did_the_others_know(self):
        one, two, three = self.brokers
        for _ in range(20):
            topic = create_topic(one.bootstrap)
            answer = self.call(two, "Produce", 9, bodies.produce(topic, {0: batches.batch(["a"])}))
            part = answer["responses"][0]["partition_responses"][0]
            self.assertEqual((part["error_code"], part["base_offset"]), (0, 0))
            part = self.call(three, "ListOffsets", 7, bodies.list_offsets(topic, [(0, -1)]))["topics"][0]["partitions"][0]
            self.assertEqual((part["error_code"], part["offset"]), (0, 1))
            # An offset that only the log knows of is waited for, not out of range.
            part = self.call(one, "Fetch", 12, bodies.fetch(topic, {0: 1}))["responses"][0]["partitions"][0]
            self.assertEqual(part["error_code"], 0)
            part = self.call(three, "Fetch", 12, bodies.fetch(topic, {0: 0}))["responses"][0]["partitions"][0]
            self.assertTrue(part["records"])
            # What one deleted, another may make again at once.
            answer = self.call(one, "DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 10_000})
            self.assertEqual(answer["responses"][0]["error_code"], 0)
            answer = self.call(two, "CreateTopics", 7, bodies.create_topics(bodies.create_topic(topic)))
            self.assertEqual(answer["topics"][0]["error_code"], 0)

    def test_1_a_group_has_one_coordinator(self):
        owners = set()
        for number in range(12):
            group = f"group-{number}"
            named = {self.call(broker, "FindCoordinator", 4, {"key_type": 0, "coordinator_keys": [group]})
                     ["coordinators"][0]["node_id"] for broker in self.brokers}
            self.assertEqual(len(named), 1)
            owner = named.pop()
            owners.add(owner)
            for broker in self.brokers:
                answer = self.call(broker, "Heartbeat", 4, {"group_id": group, "generation_id": 1, "member_id": "m",
                                                            "group_instance_id": None})
                is_owner = self.brokers.index(broker) + 1 == owner
                self.assertEqual(answer["error_code"], UNKNOWN_MEMBER_ID if is_owner else NOT_COORDINATOR)
        self.assertEqual(owners, {1, 2, 3})

    def test_2_kills(self):
        seed = int(os.environ.get("CLUSTER_SEED", secrets.randbelow(1_000_000)))
        moments = random.Random(seed)
        topic = create_topic(self.brokers[0].bootstrap)
        followers = [Follower(self.bootstrap, topic, "followers", f"follower{i}", self.scratch,
                              f"client.id=follower,zone=zone-{i + 1}", "session.timeout.ms=10000") for i in range(2)]
        loads = [Load(self.bootstrap, topic, "once", self.scratch, *IDEMPOTENT),
                 Load(self.bootstrap, topic, "plain", self.scratch, "client.id=plain,zone=zone-3")]
        watched = [*(Pauses([load], "send", PARTITIONS) for load in loads), Pauses(followers, "poll", PARTITIONS)]
        print(f"  seed {seed}", flush=True)
        self.watch(watched, 5)
        for number in range(FAULTS):
            for one in watched:
                one.restart()
            what = self.fault(moments, watched, is_kill=number % 2 == 0)
            self.watch(watched, 4)
            for broker in self.brokers:
                self.wait_live(broker, 3)
            producers, consumers = [one.so_far() for one in watched[:2]], watched[2].so_far()
            print(f"  {what}: of some partition nothing was acknowledged for "
                  f"{producers[0]:.1f} s (producer without a zone) and {producers[1]:.1f} s (in zone 3), nothing consumed "
                  f"for {consumers:.1f} s", flush=True)
            for pause in (*producers, consumers):
                self.assertLess(pause, SESSION_MS / 1000 + PATIENCE)
        for load in loads:
            _, given_up = load.stop()
            self.assertEqual(given_up, [], "a producer gave up although two brokers were there all the time")
        wait_read(followers, ends_of(loads))
        for follower in followers:
            follower.finish()
        wrong, acknowledged, stored = judge([*loads, *followers], [broker.bootstrap for broker in self.brokers], topic,
                                            self.scratch)
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertGreater(acknowledged, 100 * PARTITIONS)
        print(f"  {acknowledged} acknowledged, {stored} stored", flush=True)

    def test_3_a_broker_that_stops_leaves_at_once(self):
        for broker in self.brokers:
            self.wait_live(broker, 3)
        topic = create_topic(self.brokers[0].bootstrap)
        leader, epoch = self.leaders(topic)
        self.assertEqual(leader, 3)
        before = time.monotonic()
        self.assertEqual(self.brokers[2].stop(), 0)
        self.wait_live(self.brokers[0], 2)
        self.assertLess(time.monotonic() - before, SESSION_MS / 1000)
        leader, without = self.leaders(topic)
        self.assertIn(leader, (1, 2))
        self.assertGreater(without, epoch)
        self.brokers[2].start()
        self.wait_live(self.brokers[0], 3)
        leader, again = self.leaders(topic)
        self.assertEqual(leader, 3)
        self.assertGreater(again, without)

    def leaders(self, topic):
        """Leader and leader epoch of partition 0 for a client of zone 3."""
        part = self.metadata(self.brokers[0], topic, "zone=zone-3")["topics"][0]["partitions"][0]
        return part["leader_id"], part["leader_epoch"]


class PutBack(OnSqlite):
    """The database is put back to an older state under two brokers, one of which stands still."""
    MORE = 15

    @classmethod
    def prepare(cls):
        cls.path = cls.scratch / "metadata.db"
        cls.brokers = [Weir(cls.scratch / f"broker{i}", node_id=i, object_store_url=f"file:{cls.scratch}/objects",
                            metadata_log_url=f"sqlite:{cls.path}") for i in (1, 2, 3)]
        for broker in cls.brokers[:2]:
            broker.start()

    def wait(self, what, broker, seconds=30):
        """Until it holds; a broker that is built anew takes no connections meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError, client.Closed):
                if what():
                    return
            self.assertLess(time.monotonic(), deadline, f"not within {seconds} s:\n{broker.tail()}")
            time.sleep(0.05)

    def write(self, broker, topic):
        connection = client.Connection(broker.bootstrap)
        with contextlib.closing(connection):
            answer = connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch(["a"])}))
            return answer["responses"][0]["partition_responses"][0]["error_code"] == 0

    def tail_of_log(self):
        with contextlib.closing(sqlite3.connect(self.path)) as log:
            return log.execute("SELECT max(position) FROM log").fetchone()[0]

    def test_who_stood_still_does_not_spoil_the_log(self):
        one, two, three = self.brokers
        topic = create_topic(one.bootstrap)
        self.wait(lambda: self.write(two, topic), two)
        copy = self.scratch / "copy.db"
        with contextlib.closing(sqlite3.connect(self.path)) as log, contextlib.closing(sqlite3.connect(copy)) as to:
            log.backup(to)
        for _ in range(self.MORE):
            self.assertTrue(self.write(two, topic))
        known = self.tail_of_log()
        stop_outside_of_the_log(two, self.path)
        for end in ("-wal", "-shm"):
            pathlib.Path(f"{self.path}{end}").unlink(missing_ok=True)
        copy.rename(self.path)
        self.wait(lambda: self.write(one, topic) and self.tail_of_log() > known + self.MORE, one)
        two.process.send_signal(signal.SIGCONT)
        self.wait(lambda: "diverged" in two.tail(), two)
        for broker in (one, two):
            self.wait(lambda broker=broker: broker.not_ready() is None and self.write(broker, topic), broker)
        three.start()
        self.wait(lambda: three.not_ready() is None and self.write(three, topic), three)
        for broker in self.brokers:
            self.assertNotIn("at or before position", broker.tail(1 << 20))
