"""A group of consumers that reads a backlog while the metadata log is down for a minute."""
import time

import postgres
from load import Follower, Load, Tail, create_topic, ends_of
from process import free_port, wait_until
from proxy import LOOPBACK
from weir import Weir
from wire import bodies, client

SECONDS = 60
PARTITIONS = 4
# What keeps the group busy for longer than that: a piece of 64 KiB takes so long to a consumer, and it asks for little at a
# time, so that it gets on every other second.
SLOWNESS, LITTLE = 0.5, "fetch.message.max.bytes=100000"
BACKLOG, VALUE_BYTES = 500, 10_000  # records in each partition
GROUP = "minute"
NOT_COORDINATOR = 16


class Minute:
    """Two brokers, a database that is down for a minute, and a group of two members with librdkafka's defaults."""

    def __init__(self, folder, proxy):
        self.folder, self.proxy = folder, proxy
        self.database = postgres.Postgres(folder / "postgres")
        self.brokers, self.links, self.clients = [], [], []

    def begin(self):
        """Returns when the group reads and the database has just died."""
        self.database.start()
        self.brokers = [self.start_broker(number) for number in (1, 2)]
        fast = ",".join(broker.bootstrap for broker in self.brokers)
        self.topic = create_topic(self.brokers[0].bootstrap, PARTITIONS)
        slow = ",".join(link.address for link in self.links)
        self.group = [Follower(slow, self.topic, GROUP, f"member{number}", self.folder, LITTLE) for number in (1, 2)]
        self.clients += self.group
        tail, owners = Tail([member.out for member in self.group]), {}
        wait_until(lambda: self.is_shared(tail, owners), 30, lambda: f"the group does not come together: {owners}")
        for link in self.links:
            link.delay(SLOWNESS)
        self.load = Load(fast, self.topic, "backlog", self.folder, "batch.size=100000", pause_us=4000,
                         value_bytes=VALUE_BYTES)
        self.clients.append(self.load)
        wait_until(lambda: sum(ends_of([self.load]).values()) > BACKLOG * PARTITIONS, 30, self.load.err.read_text)
        self.load.stop()
        seen = set()
        wait_until(lambda: seen.update(event["partition"] for event in tail.new() if event["op"] == "poll")
                   or len(seen) == PARTITIONS, 30, lambda: f"only partitions {seen} are read")
        self.database.kill()
        self.began = time.monotonic()

    def start_broker(self, number):
        """It tells those who come by its second listener to come through the proxy."""
        within = free_port()
        self.links.append(self.proxy.link((LOOPBACK, within)))
        broker = Weir(self.folder / f"broker{number}", node_id=number, metadata_log_url=self.database.url,
                      object_store_url=f"file:{self.folder}/objects", cache_max_bytes=VALUE_BYTES * BACKLOG)
        first = broker.settings["listeners"]
        broker.settings |= {"listeners": f"{first},SLOW://{LOOPBACK}:{within}",
                            "advertised.listeners": f"{first},SLOW://{self.links[-1].address}",
                            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SLOW:PLAINTEXT"}
        return broker.start()

    @staticmethod
    def is_shared(tail, owners):
        """Whether each member has its half; `owners` is {partition: member}."""
        for event in tail.new():
            if event["op"] == "assign":
                owners[event["partition"]] = event["p"]
            elif event["op"] == "revoke":
                owners.pop(event["partition"], None)
        return len(owners) == PARTITIONS and len(set(owners.values())) == 2

    def during(self):
        """What the group told since the database died."""
        return [event for member in self.group for event in member.events() if event["t"] > self.began * 1e6]

    def pauses(self):
        """{partition: the longest time without a record from it}, since then."""
        last, longest = dict.fromkeys(range(PARTITIONS), self.began), dict.fromkeys(range(PARTITIONS), 0.0)
        polls = [(event["t"] / 1e6, event["partition"]) for event in self.during() if event["op"] == "poll"]
        for at, partition in sorted(polls) + [(time.monotonic(), partition) for partition in range(PARTITIONS)]:
            longest[partition] = max(longest[partition], at - last[partition])
            last[partition] = at
        return longest

    def unread(self):
        """{partition: records}"""
        read = {event["partition"]: event["offset"] + len(event["values"]) for event in self.during() if event["op"] == "poll"}
        return {partition: end - read.get(partition, 0) for partition, end in ends_of([self.load]).items()}

    def disturbances(self):
        """What a group that just reads has none of."""
        return [event for event in self.during() if event["op"] in ("assign", "revoke")
                or event["op"] == "poll" and event["is"] != "ok"]

    def end(self):
        self.database.start()
        for link in self.links:
            link.mend()

    def committed(self):
        """{partition: offset}, by the broker that coordinates the group."""
        for broker in self.brokers:
            connection = client.Connection(broker.bootstrap)
            answer = connection.call("OffsetFetch", 7, bodies.offset_fetch(GROUP))
            connection.close()
            if answer["error_code"] != NOT_COORDINATOR:
                return {part["partition_index"]: part["committed_offset"]
                        for topic in answer["topics"] for part in topic["partitions"]}
        raise AssertionError("no broker coordinates the group")

    def kill(self):
        for one in (*self.clients, *self.brokers, self.database):
            one.kill()
