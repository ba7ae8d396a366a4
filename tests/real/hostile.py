"""Clients that would use up the memory: what they may take is limited, and others are served meanwhile."""
import socket
import time

import contextlib

from weir import RealTest, Weir
from wire import batches, bodies, client, codec

BUDGET = 64 * 1024 * 1024
MIB = 1024 * 1024
# The budget plus 20 %, and what a broker without clients takes.
MOST = BUDGET * 1.2 + 24 * MIB
PATIENT = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 600_000}


class LittleMemory(RealTest):
    """A broker with a small budget, and connections to it."""
    needs_weir = True
    settings = {}

    @classmethod
    def prepare(cls):
        cls.broker = Weir(cls.scratch / "broker", memory_budget_bytes=BUDGET, **cls.settings)
        cls.broker.start()

    def connections(self, number):
        made = [client.Connection(self.broker.bootstrap, "hostile") for _ in range(number)]
        for connection in made:
            self.addCleanup(connection.close)
        return made

    def connect(self):
        return self.connections(1)[0]

    def unread(self, number):
        """Connections whose answers nobody reads."""
        made = self.connections(number)
        for connection in made:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.socket.settimeout(1)
        return made

    def patient(self):
        """One that waits until the others are closed."""
        connection = self.connect()
        connection.socket.settimeout(60)
        return connection


class Hostile(LittleMemory):
    settings = {"group_initial_rebalance_delay_ms": 600_000}

    def test_joins_that_wait_hold_no_request_memory(self):
        # A megabyte in a tagged field that nobody knows, of static members, whose first join waits for the rebalance.
        junk = b"\x01" + codec_unsigned(1000) + codec_unsigned(MIB) + bytes(MIB)
        for number, connection in enumerate(self.connections(40)):
            body = bodies.join("g", instance=f"i{number}", rebalance_timeout_ms=600_000, session_timeout_ms=600_000)
            connection.send_frame(codec.encode_request("JoinGroup", 6, body, 1)[:-1] + junk)
        answer = self.connect().call("Metadata", 4, {"topics": [], "allow_auto_topic_creation": False})
        self.assertEqual(len(answer["brokers"]), 1)

    def test_requests_that_grow_when_they_are_read(self):
        def fetch_of(number):
            partitions = [{"partition": one, "fetch_offset": 0, "partition_max_bytes": 1} for one in range(number)]
            return bodies.fetch("none", {}) | {"topics": [{"topic": "none", "partitions": partitions}]}

        connections = self.connections(8)
        frame = codec.encode_request("Fetch", 11, fetch_of(20_000), 1)
        for connection in connections:
            connection.send_frame(frame)
        for connection in connections:
            self.assertGreater(len(connection.recv_frame()), 20_000 * 30)
        self.assertLess(self.broker.memory("VmHWM"), MOST)
        with self.assertRaises(client.Closed):
            connections[0].call("Fetch", 11, fetch_of(200_000))

    def test_produce_that_is_all_partitions(self):
        def produce_of(number, records=b""):
            one = codec.encode_request("Produce", 9, bodies.produce("t", {0: None}), 1)
            partition = bytes(4) + codec_unsigned(len(records) + 1) + records + b"\0"
            return one[:-9] + codec_unsigned(number + 1) + partition * number + bytes(2)

        connections = self.connections(20)
        for kind, frame in (("empty", produce_of(100_000)), ("junk", produce_of(20_000, bytes(24)))):
            for connection in connections:
                connection.send_frame(frame)
            for connection in connections:
                self.assertGreater(len(connection.recv_frame()), 20_000 * 30, kind)
        self.assertLess(self.broker.memory("VmHWM"), MOST)
        with self.assertRaises(client.Closed):
            connections[0].send_frame(produce_of(2_500_000))
            connections[0].recv_frame()
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_joins_that_are_all_protocols(self):
        connections = self.connections(20)
        body = bodies.join("j", protocols=(("p", b""),))
        one = codec.encode_request("JoinGroup", 6, body, 1)
        for number, connection in enumerate(connections):
            protocol = codec_unsigned(2) + bytes([ord("a") + number]) + codec_unsigned(1) + b"\0"
            connection.send_frame(one[:-6] + codec_unsigned(100_001) + protocol * 100_000 + b"\0")
        started = time.monotonic()
        for connection in connections:
            error = int.from_bytes(connection.recv_frame()[9:11], "big")
            self.assertEqual(error, 23)  # INCONSISTENT_GROUP_PROTOCOL
        self.assertLess(time.monotonic() - started, 10)
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_answers_that_nobody_reads(self):
        resource = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
        # Each answer is some 50 KB, and the resource that is asked 60 times is answered three times.
        frame = codec.encode_request("DescribeConfigs", 4, {"resources": [resource] * 60, "include_synonyms": True,
                                                            "include_documentation": True}, 1)
        for connection in self.connections(20):
            connection.socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                for _ in range(500):
                    connection.send_frame(frame)
        answer = self.connect().call("Metadata", 4, {"topics": [], "allow_auto_topic_creation": False})
        self.assertEqual(len(answer["brokers"]), 1)
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_long_names_of_topics_that_do_not_exist(self):
        # Every partition would have a copy of the name: 30 KB of 24 bytes.
        partitions = [{"partition": number, "fetch_offset": 0, "partition_max_bytes": 1} for number in range(1000)]
        body = bodies.fetch("none", {}) | {"topics": [{"topic": "n" * 30_000, "partitions": partitions}]}
        answer = self.connect().call("Fetch", 11, body)
        self.assertEqual((answer["error_code"], answer["responses"]), (17, []))  # INVALID_TOPIC_EXCEPTION

    def test_many_partitions_at_once(self):
        many = [bodies.create_topic(f"t{number}", 100_000) for number in range(100)]
        answer = self.connect().call("CreateTopics", 4, bodies.create_topics(*many))
        self.assertEqual({topic["error_code"] for topic in answer["topics"]}, {44})  # POLICY_VIOLATION, as in Kafka


class HostileReaders(LittleMemory):
    def test_records_that_nobody_reads(self):
        writer = self.connect()
        writer.call("CreateTopics", 4, bodies.create_topics(bodies.create_topic("unread", 1)))
        batch = batches.batch(["x" * 50_000] * 16)
        for _ in range(120):
            writer.call("Produce", 8, bodies.produce("unread", {0: batch}))

        def fetch_from(offset):
            return bodies.fetch("unread", {0: offset}, max_bytes=50_000_000, partition_max_bytes=50_000_000)

        for number, connection in enumerate(self.unread(100)):
            for one in range(10):
                with contextlib.suppress(TimeoutError):
                    connection.send("Fetch", 11, fetch_from((number * 10 + one) % 50 * 32))
        # Who reads gets on: those that do not are closed for it.
        reader = self.patient()
        records, end = None, time.monotonic() + 60
        while not records and time.monotonic() < end:
            records = reader.call("Fetch", 11, fetch_from(0))["responses"][0]["partitions"][0]["records"]
        self.assertGreaterEqual(len(records), len(batch))
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_parts_of_objects_that_nobody_reads(self):
        # Each answer is 80 KB of an object of 8 MB.
        writer = self.connect()
        writer.call("CreateTopics", 4, bodies.create_topics(bodies.create_topic("parts", 100)))
        batch = batches.batch(["x" * 5000] * 16)
        for _ in range(25):
            writer.call("Produce", 8, bodies.produce("parts", {number: batch for number in range(100)}))
        for number, connection in enumerate(self.unread(50)):
            for one in range(60):
                place = {(number + one) % 100: (number + one) % 25 * 16}
                with contextlib.suppress(TimeoutError):
                    connection.send("Fetch", 11, bodies.fetch("parts", place, max_bytes=50_000_000, partition_max_bytes=1))
        reader = self.patient()
        answer = reader.call("Fetch", 11, bodies.fetch("parts", {99: 0}))
        self.assertGreaterEqual(len(answer["responses"][0]["partitions"][0]["records"]), len(batch))
        time.sleep(3)  # for what the others make the broker hold
        self.assertLess(self.broker.memory("VmHWM"), MOST)


class HostileLists(LittleMemory):
    """Requests and answers of thousands of partitions that exist."""

    @classmethod
    def prepare(cls):
        super().prepare()
        creator = client.Connection(cls.broker.bootstrap, "hostile")
        creator.call("CreateTopics", 4, bodies.create_topics(bodies.create_topic("many", 10_000)))
        creator.close()

    def test_long_lists_that_wait_for_records(self):
        connections = self.connections(20)
        started = time.monotonic()
        for connection in connections:
            connection.send("Fetch", 11, bodies.fetch("many", dict.fromkeys(range(10_000), 0), max_wait_ms=5000))
        for connection in connections:
            connection.socket.settimeout(60)
            self.assertGreater(len(connection.recv_frame()), 10_000 * 30)
        self.assertLess(time.monotonic() - started, 30)
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_a_long_session_that_many_connections_ask_for(self):
        connections = self.connections(40)
        everything = bodies.fetch("many", dict.fromkeys(range(10_000), 0), session=(0, 0))
        session = connections[0].call("Fetch", 11, everything)["session_id"]
        self.assertNotEqual(session, 0)
        for number, connection in enumerate(connections):
            body = bodies.fetch("many", {}, session=(session, number + 1), max_wait_ms=3000)
            connection.send_frame(codec.encode_request("Fetch", 11, body | {"forgotten_topics_data": []}, 1))
            time.sleep(0.01)  # the broker takes them in this order
        for connection in connections:
            connection.socket.settimeout(60)
            connection.recv_frame()
        self.assertLess(self.broker.memory("VmHWM"), MOST)

    def test_metadata_that_nobody_reads(self):
        frame = codec.encode_request("Metadata", 12, {"topics": None, "allow_auto_topic_creation": False}, 1)
        for connection in self.unread(100):
            for _ in range(20):
                connection.send_frame(frame)
        reader = self.patient()
        answer = reader.call("Metadata", 12, {"topics": None, "allow_auto_topic_creation": False})
        self.assertEqual(len(answer["topics"][0]["partitions"]), 10_000)
        self.assertLess(self.broker.memory("VmHWM"), MOST)


class HostileGroups(LittleMemory):
    def follower_of(self, group):
        """The id of a member that does not lead, and the generation, whose assignment is awaited."""
        first, second = self.connect(), self.connect()
        alone = first.call("JoinGroup", 3, bodies.join(group, **PATIENT))
        leader = alone["member_id"]
        second.send("JoinGroup", 3, bodies.join(group, **PATIENT))
        beat = bodies.beat(group, leader, alone["generation_id"])
        while first.call("Heartbeat", 3, beat)["error_code"] != 27:  # REBALANCE_IN_PROGRESS
            pass
        first.call("JoinGroup", 3, bodies.join(group, member=leader, **PATIENT))
        joined = second.recv()
        return joined["member_id"], joined["generation_id"]

    def test_syncs_that_wait_hold_no_request_memory(self):
        junk = b"\x01" + codec_unsigned(1000) + codec_unsigned(300_000) + bytes(300_000)
        for number in range(40):
            member, generation = self.follower_of(f"s{number}")
            body = bodies.sync(f"s{number}", member, generation)
            self.connect().send_frame(codec.encode_request("SyncGroup", 5, body, 1)[:-1] + junk)
        # A list, which reserves memory for itself.
        partitions = [{"partition": one, "fetch_offset": 0, "partition_max_bytes": 1} for one in range(5000)]
        body = bodies.fetch("none", {}) | {"topics": [{"topic": "none", "partitions": partitions}]}
        answer = self.connect().call("Fetch", 11, body)
        self.assertEqual(len(answer["responses"][0]["partitions"]), 5000)

    def test_the_same_group_many_times(self):
        connection = self.connect()
        joined = connection.call("JoinGroup", 3, bodies.join("d"))
        member, generation = joined["member_id"], joined["generation_id"]
        connection.call("SyncGroup", 3, bodies.sync("d", member, generation, [(member, bytes(100_000))]))
        connection.call("CreateTopics", 4, bodies.create_topics(bodies.create_topic("t", 100)))
        connection.call("OffsetCommit", 8, bodies.commit("o", "t", {number: 1 for number in range(100)}, metadata="m" * 4000))
        answer = connection.call("DescribeGroups", 5, {"groups": ["d"] * 2000, "include_authorized_operations": False})
        self.assertEqual([len(group["members"]) for group in answer["groups"]], [1])
        every = {"group_id": "o", "topics": None}
        answer = connection.call("OffsetFetch", 8, {"groups": [every] * 2, "require_stable": False})
        self.assertEqual([len(group["topics"][0]["partitions"]) for group in answer["groups"]], [100, 100])
        answer = connection.call("OffsetFetch", 8, {"groups": [every] * 2000, "require_stable": False})
        self.assertEqual({(group["error_code"], len(group["topics"])) for group in answer["groups"]}, {(42, 0)})
        named = {"group_id": "o", "topics": [{"name": "t", "partition_indexes": [0] * 10_000}], "require_stable": False}
        self.assertEqual(connection.call("OffsetFetch", 7, named)["error_code"], 42)  # INVALID_REQUEST
        self.assertLess(self.broker.memory("VmHWM"), MOST)


def codec_unsigned(value):
    writer = codec.Writer(0, True)
    writer.unsigned(value)
    return bytes(writer.out)
