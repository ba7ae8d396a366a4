"""Rules of the protocol that show only with settings of the broker, after a restart, or while its log is away."""
import time

from process import free_port
from weir import RealTest, Weir
from wire import batches, bodies, client

NONE, UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE, REQUEST_TIMED_OUT, METADATA_TOO_LARGE = 0, 3, 5, 7, 12
COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST, STORAGE_ERROR, LISTENER_NOT_FOUND, DELETION_DISABLED = 15, 42, 56, 72, 73
OFFSET_NOT_AVAILABLE, GROUP_MAX_SIZE_REACHED = 78, 81


class RulesTest(RealTest):
    needs_weir = True

    def connect(self, bootstrap=None):
        connection = client.Connection(bootstrap or self.broker.bootstrap)
        self.addCleanup(connection.close)
        return connection

    def call(self, api, version, body, bootstrap=None):
        return self.connect(bootstrap).call(api, version, body)

    def create(self, name, partitions=1, bootstrap=None):
        answer = self.call("CreateTopics", 7, bodies.create_topics(bodies.create_topic(name, partitions)), bootstrap)
        self.assertEqual(answer["topics"][0]["error_code"], NONE)
        return name

    def describe(self, topic, version=12):
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        return self.call("Metadata", version, body)["topics"][0]

    def produce(self, topic, timeout_ms=10_000, **options):
        data = batches.batch(["a"], **options)
        answer = self.call("Produce", 9, bodies.produce(topic, {0: data}, timeout_ms=timeout_ms))
        return answer["responses"][0]["partition_responses"][0]

    def list_offsets(self, topic, version, when=-1):
        return self.call("ListOffsets", version, bodies.list_offsets(topic, [(0, when)]))["topics"][0]["partitions"][0]


class Settings(RulesTest):
    settings = {"auto_create_topics_enable": "false", "delete_topic_enable": "false", "offset_metadata_max_bytes": 10,
                "group_max_size": 1, "max_incremental_fetch_session_cache_slots": 0, "socket_request_max_bytes": 100_000,
                "connections_max_idle_ms": 1500, "num_partitions": 3, "default_replication_factor": 2,
                "message_max_bytes": 2000}

    def test_topics_are_not_created_by_metadata(self):
        for version in (0, 1, 4, 9, 12):
            name = f"none{version}"
            body = {"topics": [{"name": name}], "allow_auto_topic_creation": True}
            self.assertEqual(self.call("Metadata", version, body)["topics"][0]["error_code"], UNKNOWN_TOPIC)
            self.assertEqual(self.describe(name)["error_code"], UNKNOWN_TOPIC)

    def test_topics_are_not_deleted(self):
        topic = self.create("kept")
        for version in range(1, 7):
            named = {"topics": [{"name": topic}]} if version == 6 else {"topic_names": [topic]}
            answer = self.call("DeleteTopics", version, {**named, "timeout_ms": 5000})
            self.assertEqual(answer["responses"][0]["error_code"], INVALID_REQUEST if version < 3 else DELETION_DISABLED)
        self.assertEqual(self.describe(topic)["error_code"], NONE)

    def test_defaults_of_new_topics(self):
        answer = self.call("CreateTopics", 7, bodies.create_topics(bodies.create_topic("defaults", -1, -1)))["topics"][0]
        self.assertEqual((answer["num_partitions"], answer["replication_factor"]), (3, 2))
        configs = {one["name"]: one["value"] for one in answer["configs"]}
        self.assertEqual(configs["max.message.bytes"], "2000")

    def test_metadata_of_a_commit_is_limited(self):
        topic = self.create("commits")
        for length, error in ((10, NONE), (11, METADATA_TOO_LARGE)):
            answer = self.call("OffsetCommit", 8, bodies.commit("g", topic, {0: 1}, metadata="m" * length))
            self.assertEqual(answer["topics"][0]["partitions"][0]["error_code"], error)

    def test_a_full_group_takes_nobody(self):
        connection = self.connect()
        first = connection.call("JoinGroup", 3, bodies.join("full"))
        self.assertEqual(first["error_code"], NONE)
        for version in (3, 9):
            other = self.call("JoinGroup", version, bodies.join("full", instance="i" if version == 9 else None))
            self.assertEqual(other["error_code"], GROUP_MAX_SIZE_REACHED)

    def test_without_room_there_is_no_session(self):
        topic = self.create("sessions")
        for version in (7, 12):
            answer = self.call("Fetch", version, bodies.fetch(topic, {0: 0}, session=(0, 0)))
            self.assertEqual((answer["error_code"], answer["session_id"]), (NONE, 0))
            self.assertEqual(answer["responses"][0]["partitions"][0]["error_code"], NONE)

    def test_a_request_may_be_as_large_as_the_limit(self):
        for size, closed in ((100_000, False), (100_001, True)):
            connection = self.connect()
            name_of_client = "x" * 30_000
            frame = client.codec.encode_request("Metadata", 9, {"topics": []}, 1, name_of_client)
            # The rest is one tagged field that nobody knows.
            rest = size - len(frame)
            tag = b"\x01\x63" + self.unsigned(rest - 4) + bytes(rest - 4)
            frame = frame[:-1] + tag
            self.assertEqual(len(frame), size)
            if closed:
                with self.assertRaises((client.Closed, BrokenPipeError, ConnectionResetError)):
                    connection.send_frame(frame)
                    connection.recv_frame()
            else:
                connection.send_frame(frame)
                self.assertEqual(connection.recv_frame()[:4], b"\0\0\0\x01")

    @staticmethod
    def unsigned(value):
        """A varint of three bytes."""
        return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14])

    def test_an_idle_connection_is_closed(self):
        connection = self.connect()
        connection.call("Metadata", 9, {"topics": []})
        started = time.monotonic()
        with self.assertRaises(client.Closed):
            connection.recv_frame()
        self.assertGreater(time.monotonic() - started, 1)


class Listeners(RulesTest):
    """Two brokers on one log; only the first has the listener OUTSIDE."""

    @classmethod
    def prepare(cls):
        cls.outside = free_port()
        shared = {"metadata_log_url": f"sqlite:{cls.scratch}/metadata.db", "object_store_url": f"file:{cls.scratch}/objects"}
        cls.broker = Weir(cls.scratch / "one", node_id=1, **shared)
        cls.broker.settings |= {
            "listeners": f"PLAINTEXT://127.0.0.1:{cls.broker.port},OUTSIDE://127.0.0.1:{cls.outside}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{cls.broker.port},OUTSIDE://kafka.example:7777"}
        cls.other = Weir(cls.scratch / "two", node_id=2, **shared)
        cls.broker.start()
        cls.other.start()

    @classmethod
    def tearDownClass(cls):
        cls.other.stop()
        super().tearDownClass()

    def setUp(self):
        self.inside, self.from_outside = self.broker.bootstrap, f"127.0.0.1:{self.outside}"
        deadline = time.monotonic() + 10
        while len(self.call("Metadata", 9, {"topics": []})["brokers"]) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)

    def addresses(self, brokers):
        return {(one["host"], one["port"]) for one in brokers}

    def test_brokers_are_told_by_the_listener_that_was_asked(self):
        inside = {("127.0.0.1", self.broker.port), ("127.0.0.1", self.other.port)}
        for version in range(14):
            body = {"topics": [] if version else [{"name": "none"}], "allow_auto_topic_creation": False}
            self.assertEqual(self.addresses(self.call("Metadata", version, body, self.inside)["brokers"]), inside)
            self.assertEqual(self.addresses(self.call("Metadata", version, body, self.from_outside)["brokers"]),
                             {("kafka.example", 7777)})
        for version, body in ((0, {}), (1, {"endpoint_type": 1}), (2, {"endpoint_type": 1})):
            self.assertEqual(self.addresses(self.call("DescribeCluster", version, body, self.inside)["brokers"]), inside)
            self.assertEqual(self.addresses(self.call("DescribeCluster", version, body, self.from_outside)["brokers"]),
                             {("kafka.example", 7777)})

    def test_leaders_that_the_listener_does_not_reach(self):
        topic = self.create("spread", 8)
        body = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
        for version in range(14):
            for bootstrap in (self.inside, self.from_outside):
                answer = self.call("Metadata", version, body, bootstrap)
                reached = {one["node_id"] for one in answer["brokers"]}
                partitions = answer["topics"][0]["partitions"]
                self.assertEqual(len(partitions), 8)
                for one in partitions:
                    missing = LEADER_NOT_AVAILABLE if version < 6 else LISTENER_NOT_FOUND
                    if one["error_code"] == NONE:
                        self.assertIn(one["leader_id"], reached)
                    else:
                        self.assertEqual((one["error_code"], one["leader_id"], bootstrap), (missing, -1, self.from_outside))

    def test_coordinators_that_the_listener_does_not_reach(self):
        for number in range(8):
            for version in (0, 3, 4, 6):
                key = {"key": f"g{number}"} if version < 4 else {"coordinator_keys": [f"g{number}"]}
                body = {**key, **({"key_type": 0} if version else {})}
                answer = self.call("FindCoordinator", version, body, self.from_outside)
                found = answer if version < 4 else answer["coordinators"][0]
                told = (found["error_code"], found["host"], found["port"])
                self.assertIn(told, {(NONE, "kafka.example", 7777), (COORDINATOR_NOT_AVAILABLE, "", -1)})

    def test_both_brokers_are_one_cluster(self):
        topic = self.create("shared", 8)
        seen, leaders = set(), {}
        for bootstrap in (self.inside, self.other.bootstrap):
            answer = self.call("Metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False}, bootstrap)
            self.assertIn(answer["controller_id"], {1, 2})
            described = self.call("DescribeCluster", 1, {"endpoint_type": 1}, bootstrap)
            self.assertEqual(described["cluster_id"], answer["cluster_id"])
            seen.add((answer["cluster_id"], answer["topics"][0]["topic_id"]))
            for one in answer["topics"][0]["partitions"]:
                # One leader for an epoch, whoever is asked: clients ignore another at the same epoch.
                known = leaders.setdefault((one["partition_index"], one["leader_epoch"]), one["leader_id"])
                self.assertEqual(one["leader_id"], known)
        self.assertEqual(len(seen), 1)


class Restart(RulesTest):
    def test_what_clients_remember_stays_true(self):
        topic = self.create("kept", 2)
        before = self.call("Metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        producer = self.call("InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 1000})["producer_id"]
        sent = [self.produce(topic, producer=(producer, 0, sequence)) for sequence in range(2)]
        self.assertEqual([one["base_offset"] for one in sent], [0, 1])
        self.call("OffsetCommit", 8, bodies.commit("g", topic, {0: 2}, metadata="here"))
        self.assertEqual(self.broker.stop(), 0)
        self.broker.start()
        after = self.call("Metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        self.assertEqual(after["cluster_id"], before["cluster_id"])
        self.assertEqual(after["topics"][0]["topic_id"], before["topics"][0]["topic_id"])
        for one, other in zip(before["topics"][0]["partitions"], after["topics"][0]["partitions"]):
            self.assertGreaterEqual(other["leader_epoch"], one["leader_epoch"])
            if other["leader_id"] != one["leader_id"]:
                self.assertGreater(other["leader_epoch"], one["leader_epoch"])
        again = self.produce(topic, producer=(producer, 0, 1))
        self.assertEqual((again["error_code"], again["base_offset"]), (NONE, 1))
        self.assertEqual(self.produce(topic, producer=(producer, 0, 2))["base_offset"], 2)
        new = self.call("InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 1000})["producer_id"]
        self.assertNotEqual(new, producer)
        fetched = self.call("OffsetFetch", 7, bodies.offset_fetch("g", topic, [0]))["topics"][0]["partitions"][0]
        self.assertEqual((fetched["committed_offset"], fetched["metadata"]), (2, "here"))


class WithoutTheLog(RulesTest):
    """What needs the log fails in ways that clients try again; nothing is made up, and nothing hangs."""

    def setUp(self):
        self.topic = self.create("kept") if self.describe("kept")["error_code"] else "kept"
        self.database, self.away = self.broker.folder / "metadata.db", self.broker.folder / "away"
        self.away.mkdir(exist_ok=True)
        deadline = time.monotonic() + 20  # the test before may have taken the log away
        while (produced := self.produce(self.topic))["error_code"] and time.monotonic() < deadline:
            time.sleep(0.1)
        self.end = produced["base_offset"] + 1
        for file in self.broker.folder.glob("metadata.db*"):
            file.rename(self.away / file.name)
        self.addCleanup(self.bring_back)

    def bring_back(self):
        for file in self.away.iterdir():
            file.rename(self.broker.folder / file.name)

    def test_list_offsets(self):
        for version in range(1, 12):
            for when in (-1, -2):
                found = self.list_offsets(self.topic, version, when)
                self.assertEqual(found["error_code"], LEADER_NOT_AVAILABLE if version < 5 else OFFSET_NOT_AVAILABLE)
                self.assertEqual(found["offset"], -1)

    def test_fetch_serves_what_is_known_and_never_says_out_of_range(self):
        got = {offset: self.call("Fetch", 12, bodies.fetch(self.topic, {0: offset}))["responses"][0]["partitions"][0]
               for offset in (self.end - 1, self.end + 5)}
        self.assertEqual(got[self.end - 1]["error_code"], NONE)
        self.assertEqual(len(batches.read(got[self.end - 1]["records"])), 1)
        self.assertEqual(got[self.end + 5]["error_code"], OFFSET_NOT_AVAILABLE)

    def test_produce_is_not_acknowledged(self):
        answer = self.produce(self.topic, timeout_ms=2000)
        self.assertIn(answer["error_code"], {REQUEST_TIMED_OUT, STORAGE_ERROR})
        self.assertEqual(answer["base_offset"], -1)

    def test_a_topic_that_may_exist_is_not_called_unknown(self):
        """What was sent behind it would be tried though it was not: the connection closes."""
        connection = client.Connection(self.broker.bootstrap)
        self.addCleanup(connection.close)
        connection.send("Produce", 9, bodies.produce(f"new{time.time_ns()}", {0: batches.batch(["a"])}))
        with self.assertRaises(client.Closed):
            connection.recv()

    def test_admin_and_groups(self):
        body = bodies.create_topics(bodies.create_topic(f"new{time.time_ns()}"))
        created = self.call("CreateTopics", 7, {**body, "timeout_ms": 1000})
        self.assertEqual(created["topics"][0]["error_code"], REQUEST_TIMED_OUT)
        grown = self.call("CreatePartitions", 3, {"timeout_ms": 1000, "validate_only": False, "topics": [
            {"name": self.topic, "count": 9, "assignments": None}]})
        self.assertEqual(grown["results"][0]["error_code"], REQUEST_TIMED_OUT)
        deleted = self.call("DeleteTopics", 5, {"topic_names": [self.topic], "timeout_ms": 2000})
        self.assertEqual(deleted["responses"][0]["error_code"], REQUEST_TIMED_OUT)
        trimmed = self.call("DeleteRecords", 2, {"timeout_ms": 2000, "topics": [
            {"name": self.topic, "partitions": [{"partition_index": 0, "offset": 1}]}]})
        self.assertEqual(trimmed["topics"][0]["partitions"][0]["error_code"], REQUEST_TIMED_OUT)
        committed = self.call("OffsetCommit", 8, bodies.commit("g", self.topic, {0: 1}))
        self.assertEqual(committed["topics"][0]["partitions"][0]["error_code"], COORDINATOR_NOT_AVAILABLE)
        fetched = self.call("OffsetFetch", 7, bodies.offset_fetch("g", self.topic, [0]))
        self.assertEqual(fetched["error_code"], COORDINATOR_NOT_AVAILABLE)
        fetched = self.call("OffsetFetch", 1, bodies.offset_fetch("g", self.topic, [0]))
        self.assertEqual(fetched["topics"][0]["partitions"][0]["error_code"], COORDINATOR_NOT_AVAILABLE)
        fetched = self.call("OffsetFetch", 8, {"groups": [{"group_id": "g", "topics": None}]})
        self.assertEqual(fetched["groups"][0]["error_code"], COORDINATOR_NOT_AVAILABLE)
        joined = self.call("JoinGroup", 3, bodies.join("h"))
        self.assertEqual(joined["error_code"], COORDINATOR_NOT_AVAILABLE)

    def test_what_timed_out_may_be_done_yet(self):
        name = f"late{time.time_ns()}"
        body = bodies.create_topics(bodies.create_topic(name))
        started = time.monotonic()
        created = self.call("CreateTopics", 7, {**body, "timeout_ms": 1000})
        self.assertEqual(created["topics"][0]["error_code"], REQUEST_TIMED_OUT)
        self.assertLess(time.monotonic() - started, 10)
        self.bring_back()
        deadline = time.monotonic() + 20
        while self.describe(name)["error_code"] and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.describe(name)["error_code"], NONE)
        self.assertGreaterEqual(self.list_offsets(self.topic, 7)["offset"], self.end)
        self.assertEqual(self.produce(self.topic)["error_code"], NONE)
