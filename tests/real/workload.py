"""Clients at work on a topic of a cluster while it fails: producers, readers, a group and watches, whose histories are judged
when they have ended. Each chapter has a topic of its own, so that neither files nor memory grow with time."""
import collections
import time

from load import IDEMPOTENT, Client, Follower, Load, Tail, create_topic, ends_of, judge, wait_read
from watch import Watch

PARTITIONS = 6
# Who goes back does it this often: after a time in which a broker that has nothing in its cache has answered. So each gets
# something from every partition in this time, log or no log.
JUMP_MS, READ_WITHIN = "4000", 6.0
PAUSE_US = 40_000
PATIENCE = 30.0
# A producer goes on trying for longer than the longest fault. Consumers do not wait the 10 s between attempts to connect that
# librdkafka comes to: how long the cluster takes is to be seen, not how patient a client is.
PRODUCER = ("message.timeout.ms=180000",)
CONSUMER = ("reconnect.backoff.max.ms=500", "session.timeout.ms=6000")


class Flow:
    """Who got something done lately: {(client, partition): how often}."""

    def __init__(self, groups, partitions=PARTITIONS):
        self.tail = Tail([client.out for clients in groups.values() for client in clients])
        self.name = {client.name: name for name, clients in groups.items() for client in clients}
        self.expected = {(name, partition) for name in groups for partition in range(partitions)}

    def take(self):
        done = collections.Counter()
        for event in self.tail.new():
            if event["op"] in ("send", "poll") and event["is"] == "ok":
                done[self.name[event["p"]], event["partition"]] += len(event.get("values", " "))
        return done

    def rate(self, seconds):
        """Records a second, of producers and consumers together."""
        self.take()
        time.sleep(seconds)
        return sum(self.take().values()) / seconds

    def wait_all(self, seconds):
        """Until every client got something done in every partition; how long that took, who was last, and who did not."""
        started, left, last = time.monotonic(), set(self.expected), ""
        while left and time.monotonic() - started < seconds:
            done = left & self.take().keys()
            left -= done
            last = min(done)[0] if done else last
            time.sleep(0.05)
        return time.monotonic() - started, last, sorted(left)


class Workload:
    def __init__(self, cluster, scratch, seed, chapter=1):
        self.cluster, self.scratch = cluster, scratch / f"chapter{chapter}"
        self.patience = PATIENCE * (2 if cluster.log_in_store else 1)  # each entry takes a share of a second
        self.scratch.mkdir()
        bootstrap, nodes = cluster.bootstrap(), cluster.nodes
        self.topic = topic = create_topic(nodes[0].broker.bootstrap, PARTITIONS)
        zones = [f"client.id=zone=zone-{letter}" for letter in "abc"]
        self.loads = [Load(bootstrap, topic, name, self.scratch, *PRODUCER, *more, pause_us=PAUSE_US) for name, more in (
            ("once1", (*IDEMPOTENT, zones[0])), ("once2", (*IDEMPOTENT, zones[1])), ("plain", (zones[2],)))]
        group = [Follower(bootstrap, topic, topic, f"member{number}", self.scratch, *CONSUMER, zones[number])
                 for number in (1, 2)]
        tail = Client(self.scratch, "tail", "read", bootstrap, topic, "tail", "0", "0", *CONSUMER, zones[0])
        back = Client(self.scratch, "back", "read", bootstrap, topic, "back", str(seed), JUMP_MS, *CONSUMER, zones[2])
        self.consumers = {"group": group, "tail": [tail], "back": [back]}
        self.clients = [*self.loads, *group, tail, back]
        self.watches = [Watch(f"broker-{number}", node.broker.bootstrap, topic, PARTITIONS,
                              self.scratch / f"broker-{number}.history") for number, node in enumerate(nodes, 1)]
        self.flow = Flow({load.name: [load] for load in self.loads} | {"group": group, "tail": [tail]})
        self.normal = 0.0

    def settle(self):
        *_, left = self.flow.wait_all(self.patience)
        assert not left, f"nothing was done by {left} within {self.patience:.0f} s, and nothing is broken"
        self.normal = self.flow.rate(2)

    def recover(self):
        """After a fault: how long until every client went on in every partition, who was last, and the rate then."""
        self.flow.take()
        took, last, left = self.flow.wait_all(self.patience)
        dead = self.cluster.dead()
        assert not dead, "\n".join(dead)
        assert not left, f"{self.patience:.0f} s after the fault there is nothing from {left}"
        end, rate = time.monotonic() + self.patience, 0.0
        while rate < self.normal / 2:  # a machine may be busy for a moment
            assert time.monotonic() < end, \
                f"{rate:.0f} records/s {self.patience:.0f} s after the fault, {self.normal:.0f} before"
            rate = self.flow.rate(1)
        return took, last, rate

    def read_without_the_log(self, seconds):
        """Waits that long, while nothing can be appended: who re-reads and who is new must get records all the time."""
        end = time.monotonic() + seconds
        time.sleep(1)
        new = Client(self.scratch, f"new{time.monotonic_ns()}", "read", self.cluster.bootstrap(), self.topic, "new", "0",
                     JUMP_MS, *CONSUMER)
        try:
            tails = [Tail([client.out]) for client in (new, self.consumers["back"][0])]
            tails[1].new()
            while time.monotonic() < end:
                time.sleep(min(READ_WITHIN, seconds - 1))
                for who, tail in zip(("a new reader", "one that goes back"), tails):
                    read = {event["partition"] for event in tail.new() if event["op"] == "poll" and event["is"] == "ok"}
                    assert len(read) == PARTITIONS, f"while the log is down, {who} gets records of partitions {read} only"
        finally:
            new.kill()

    def finish(self):
        """Ends all clients when they have read everything; what is wrong, and a line of figures."""
        for load in self.loads:
            load.finish(200)
        for consumers in self.consumers.values():
            wait_read(consumers, ends_of(self.loads))
        for client in self.clients[len(self.loads):]:
            client.finish()
        for watch in self.watches:
            watch.stop()
        wrong, acknowledged, stored = judge(self.clients, [node.broker.bootstrap for node in self.cluster.nodes], self.topic,
                                            self.scratch, [watch.out for watch in self.watches])
        return wrong, f"{acknowledged} acknowledged, {stored} stored"

    def kill(self):
        for client in self.clients:
            client.kill()
        for watch in self.watches:
            watch.stopping.set()
