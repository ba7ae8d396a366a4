"""What a case works with: connections, names of its own, and the record of the answers it asked for.

Answers are recorded so that two brokers that behave alike give the same record: what differs by nature (ids, addresses,
the wording of messages, the time) is replaced by a symbol that still tells equal from unequal."""
import re
import time

from . import batches, bodies, client

UUID = re.compile(r"[0-9a-zA-Z_.\ufffd-]*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DROPPED = {"throttle_time_ms", "node_endpoints", "port"}
NODES = {"leader_id", "node_id", "controller_id", "broker_id"}
NODE_LISTS = {"replica_nodes", "isr_nodes"}
WORDING = {"error_message", "batch_index_error_message", "topic_config_error_message"}
FIRST_TIMESTAMP = 1_700_000_000_000


class Case:
    """One run of one case against one broker."""

    def __init__(self, name, bootstrap, run):
        self.case, self.bootstrap, self.run = name, bootstrap, run
        self.steps, self.symbols, self.connections = [], {}, []
        self.main = self.connect()

    def connect(self, client_id="wire"):
        self.connections.append(client.Connection(self.bootstrap, client_id))
        return self.connections[-1]

    def close(self):
        for connection in self.connections:
            connection.close()

    def name(self, base):
        """A name that no other case or run uses."""
        return f"{self.case}.{base}.{self.run}"

    # Preparing, not recorded.

    def topic(self, base="t", partitions=1, **configs):
        """Creates a topic that keeps its records for ever; a config's dots are written as underscores."""
        name = self.name(base)
        settings = {"retention.ms": "-1"} | {key.replace("_", "."): str(value) for key, value in configs.items()}
        answer = self.main.call("CreateTopics", 7, bodies.create_topics(
            bodies.create_topic(name, partitions, 1, settings)))
        if answer["topics"][0]["error_code"]:
            raise AssertionError(f"cannot create {name}: {answer['topics'][0]}")
        self.wait_for(name, partitions)
        return name

    def wait_for(self, topic, partitions):
        """A KRaft broker shows a new topic a moment after it is created."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            found = self.describe(topic)
            if found["error_code"] == 0 and len(found["partitions"]) == partitions:
                times = [(index, -2) for index in range(partitions)]
                answer = self.main.call("ListOffsets", 6, bodies.list_offsets(topic, times))
                if all(one["error_code"] == 0 for one in answer["topics"][0]["partitions"]):
                    return
            time.sleep(0.02)
        raise AssertionError(f"{topic} does not get {partitions} partitions that answer")

    def producer_id(self):
        """A new producer id; a KRaft broker may first have to get a block of them."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            answer = self.main.call("InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 60_000})
            if answer["error_code"] == 0:
                return answer["producer_id"]
            time.sleep(0.1)
        raise AssertionError(f"no producer id: {answer}")

    def wait_gone(self, topic):
        """A KRaft broker shows a deletion a moment after it is answered."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if self.describe(topic)["error_code"] == 3:
                return True
            time.sleep(0.02)
        return False

    def describe(self, topic):
        return self.main.call("Metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})["topics"][0]

    def topic_id(self, topic):
        return self.describe(topic)["topic_id"]

    def epoch(self, topic):
        return self.describe(topic)["partitions"][0]["leader_epoch"]

    def put(self, topic, records, partition=0, **options):
        """Produces one batch and returns its base offset."""
        answer = self.main.call("Produce", 9, bodies.produce(topic, {partition: batches.batch(records, **options)}))
        one = answer["responses"][0]["partition_responses"][0]
        if one["error_code"]:
            raise AssertionError(f"cannot produce to {topic}: {one}")
        return one["base_offset"]

    def coordinate(self, group):
        """Waits until the group's coordinator is found and ready."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = self.main.call("FindCoordinator", 3, {"key": group, "key_type": 0})
            if found["error_code"] == 0:
                tried = self.main.call("OffsetFetch", 7, bodies.offset_fetch(group))
                if tried["error_code"] not in (14, 15, 16):
                    return group
            time.sleep(0.1)
        raise AssertionError(f"no coordinator for {group}")

    # Asking: the answer is recorded.

    def ask(self, label, api, version, body, connection=None, ordered=False):
        """Calls and records; returns the answer as it came."""
        try:
            answer = (connection or self.main).call(api, version, body)
        except client.Closed:
            self.note(label, "closed")
            return None
        self.note(label, answer, ordered)
        return answer

    def receive(self, label, connection, ordered=False):
        """Records the next answer of a connection."""
        answer = connection.recv()
        self.note(label, answer, ordered)
        return answer

    def note(self, label, value, ordered=False):
        self.steps.append([label, self.normal(value, "", ordered)])

    def symbol(self, kind, value):
        known = self.symbols.setdefault(kind, {})
        return known.setdefault(value, f"{kind}-{len(known) + 1}")

    def normal(self, value, field, ordered):
        if isinstance(value, dict):
            return {key.replace(f".{self.run}", ""): self.normal(one, key, ordered) for key, one in value.items()
                    if key not in DROPPED}
        if isinstance(value, list):
            items = [self.normal(one, field, ordered) for one in value]
            structs = all(isinstance(one, dict) for one in items)
            return sorted(items, key=repr) if structs and not ordered and field != "records" else items
        if isinstance(value, bytes) and field == "records":
            return [self.normal(one, "", True) for one in batches.read(value)]
        if isinstance(value, bytes):
            return value.decode("latin-1").replace(f".{self.run}", "")
        if isinstance(value, str):
            return self.normal_text(value, field)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.normal_number(value, field)
        return value

    def normal_text(self, value, field):
        value = value.replace(f".{self.run}", "")
        if field in WORDING:
            return "words" if value else ""
        if field in ("host", "cluster_id"):
            return field
        if field == "topic_id":
            return "zero" if set(value) == {"0"} else self.symbol("topic", value)
        found = UUID.fullmatch(value)
        return self.symbol("member", value) if found else value

    def normal_number(self, value, field):
        if field in NODES or field in NODE_LISTS:
            return "node" if value >= 0 else value
        if field == "leader_epoch":
            return "epoch" if value >= 0 else value
        if field == "session_id":
            return self.symbol("session", value) if value else 0
        if field == "producer_id":
            return self.symbol("producer", value) if value >= 0 else value
        if abs(value - time.time() * 1000) < 300_000:
            return "now"
        return value
