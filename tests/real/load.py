"""What a load was told, and what is stored: the acknowledged records compared with the log, record by record."""
import collections
import json
import secrets
import signal
import subprocess
import time

import history
from weir import program
from wire import batches, bodies, client

PARTITIONS = 12
IDEMPOTENT = ("enable.idempotence=true",)


def create_topic(bootstrap, partitions=PARTITIONS):
    topic = f"load-{secrets.token_hex(3)}"
    connection = client.Connection(bootstrap)
    answer = connection.call("CreateTopics", 7, bodies.create_topics(bodies.create_topic(topic, partitions)))
    connection.close()
    assert answer["topics"][0]["error_code"] == 0, answer
    return topic


def write(bootstrap, topic, value, timeout_ms=2000):
    """The error of one record, for partition 0."""
    connection = client.Connection(bootstrap)
    try:
        answer = connection.call("Produce", 9, bodies.produce(topic, {0: batches.batch([value])}, timeout_ms=timeout_ms))
        return answer["responses"][0]["partition_responses"][0]["error_code"]
    finally:
        connection.close()


class Client:
    """A program that works with a topic and writes its history down."""

    def __init__(self, scratch, name, *arguments, command=None):
        self.name, self.out, self.err = name, scratch / f"{name}.history", scratch / f"{name}.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([*(command or [program("rdkafka_client")]), *arguments], stdout=out, stderr=err)

    def finish(self, seconds=90, asks=True):
        """Asks it to end, unless it does so by itself, and waits until it has; it has to end well."""
        if asks:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            code = "no end"
        if code != 0:
            raise AssertionError(f"{self.name}: {code}: {self.err.read_text()[-1000:]}")

    def events(self):
        return (event for event, _ in history.events(self.out))

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Load(Client):
    """A producer process that sends until it is stopped."""

    def __init__(self, bootstrap, topic, name, scratch, *settings, pause_us=5000, value_bytes=0):
        super().__init__(scratch, name, "load", bootstrap, topic, name, str(pause_us), str(value_bytes), *settings)

    def stop(self, seconds=90):
        """Lets it wait for what is under way; returns ({(partition, offset): value}, [events of sends given up])."""
        self.finish(seconds)
        acknowledged, given_up = {}, []
        for event in self.events():
            if event["op"] != "send":
                continue
            if event["is"] != "ok":
                given_up.append(event)
                continue
            where = (event["partition"], event["offset"])
            if where in acknowledged:
                raise AssertionError(f"{where} was acknowledged twice: {acknowledged[where]}, {event['value']}")
            acknowledged[where] = event["value"]
        return acknowledged, given_up


class Follower(Client):
    """A consumer process of a group."""

    def __init__(self, bootstrap, topic, group, name, scratch, *settings):
        super().__init__(scratch, name, "follow", bootstrap, topic, group, name, *settings)


class Tail:
    """The events that are new in histories that still grow."""

    def __init__(self, paths):
        self.read = {path: (0, b"") for path in paths}

    def new(self):
        out = []
        for path, (size, rest) in self.read.items():
            with open(path, "rb") as file:
                file.seek(size)
                got = file.read()
            *whole, rest = (rest + got).split(b"\n")
            self.read[path] = (size + len(got), rest)
            out += [json.loads(line) for line in whole]
        return out


class Pauses:
    """The longest time in which nothing of some partition came, in what clients tell of one operation."""

    def __init__(self, clients, operation, partitions):
        self.tail, self.operation, self.partitions = Tail([client.out for client in clients]), operation, partitions
        self.restart()

    def restart(self):
        self.longest = 0.0
        self.last = dict.fromkeys(range(self.partitions), time.monotonic())

    def look(self):
        now = time.monotonic()
        for partition in {event["partition"] for event in self.tail.new()
                          if event["op"] == self.operation and event["is"] == "ok"}:
            self.longest = max(self.longest, now - self.last[partition])
            self.last[partition] = now

    def so_far(self):
        return max(self.longest, time.monotonic() - min(self.last.values()))


def ends_of(loads):
    """{partition: the end after the last record that was acknowledged}"""
    ends = collections.Counter()
    for load in loads:
        for event in load.events():
            if event["op"] == "send" and event["is"] == "ok":
                ends[event["partition"]] = max(ends[event["partition"]], event["offset"] + 1)
    return ends


def wait_read(consumers, ends, seconds=60):
    """Until the consumers together have read each partition to its end, or the time is over."""
    tail, reached, deadline = Tail([consumer.out for consumer in consumers]), collections.Counter(), time.monotonic() + seconds
    while any(reached[partition] < end for partition, end in ends.items()) and time.monotonic() < deadline:
        time.sleep(0.1)
        for event in tail.new():
            if event["op"] == "poll" and event["is"] == "ok":
                reached[event["partition"]] = max(reached[event["partition"]], event["offset"] + len(event["values"]))


def judge(clients, bootstraps, topic, scratch, more=()):
    """What is wrong in the histories of clients that have ended and in what each broker has stored, as lines of text; `more`
    are files of others. Returns these and how many records were acknowledged and are stored."""
    dumps = [Client(scratch, f"{topic}-dump{number}", "dump", bootstrap, topic, f"dump{number}")
             for number, bootstrap in enumerate(bootstraps, 1)]
    for dump in dumps:
        dump.finish(120, asks=False)
    anomalies, count = history.check([*(client.out for client in (*clients, *dumps)), *more])
    acknowledged = sum(event["op"] == "send" and event["is"] == "ok" for client in clients for event in client.events())
    stored = sum(len(event["values"]) for event in dumps[0].events() if event["op"] == "poll" and event["is"] == "ok")
    return history.explain(anomalies, count), acknowledged, stored


class Log:
    """What is stored: {(partition, offset): value}, and the partitions that answered an error."""

    def __init__(self, bootstrap, topic, *partitions):
        done = subprocess.run([program("rdkafka_client"), "dump", bootstrap, topic, "dump", *map(str, partitions)],
                              capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"dump: {done.stderr[-1000:]}")
        self.records, self.errors = {}, {}
        following = collections.defaultdict(int)
        for event in map(json.loads, done.stdout.splitlines()):
            if event["op"] != "poll":
                continue
            partition = event["partition"]
            if event["is"] != "ok":
                self.errors[partition] = event["error"]
                continue
            for offset, value in enumerate(event["values"], event["offset"]):
                if offset != following[partition]:
                    raise AssertionError(f"partition {partition}: offset {offset} comes after {following[partition] - 1}")
                following[partition] += 1
                self.records[partition, offset] = value

    def compare(self, acknowledged):
        """Lines about acknowledged records that are not stored as they were acknowledged."""
        return [f"partition {where[0]} offset {where[1]}: acknowledged {value}, stored {self.records.get(where)}"
                for where, value in acknowledged.items() if self.records.get(where) != value]

    def changed(self, earlier):
        """Lines about offsets that held something else in an earlier dump."""
        return [f"partition {where[0]} offset {where[1]}: was {value}, is {self.records.get(where)}"
                for where, value in earlier.records.items() if self.records.get(where) != value]

    def out_of_order(self, producer):
        """Lines about the producer's records that are there twice or not in the order they were sent."""
        last, wrong = {}, []
        for where in sorted(self.records):
            name, partition, counter = self.records[where].split(":")
            if name != producer:
                continue
            if int(counter) <= last.get(partition, -1):
                wrong.append(f"partition {where[0]} offset {where[1]}: {counter} after {last[partition]}")
            last[partition] = int(counter)
        return wrong
