"""Fetch without sessions: what is returned, limits, waiting, errors."""
import time

from .. import batches, bodies
from ..batches import batch


def ask(t, label, topic, offsets, version=12, **options):
    return t.ask(label, "Fetch", version, bodies.fetch(topic, offsets, **options), ordered=True)


def case_every_version(t):
    topic = t.topic()
    t.put(topic, ["a", "b"])
    for version in range(4, 13):
        ask(t, f"v{version}", topic, {0: 0}, version)
    identity = {"topic_id": t.topic_id(topic)}
    for version in range(13, 19):
        ask(t, f"v{version}", identity, {0: 0}, version)


def case_the_whole_batch_of_the_offset(t):
    topic = t.topic()
    t.put(topic, ["a", "b", "c"])
    t.put(topic, ["d", "e"])
    for offset in range(6):
        ask(t, f"from {offset}", topic, {0: offset})


def case_out_of_range(t):
    topic = t.topic()
    ask(t, "empty at 0", topic, {0: 0})
    ask(t, "empty at 1", topic, {0: 1})
    t.put(topic, ["a", "b"])
    for offset in (-1, 3, 1000):
        ask(t, f"at {offset}", topic, {0: offset})
    t.main.call("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]}],
                                     "timeout_ms": 5000})
    ask(t, "below the start", topic, {0: 0})
    ask(t, "at the start in a batch", topic, {0: 1})


def case_unknown_topic_partition_id(t):
    topic = t.topic()
    for version in (4, 12):
        ask(t, f"v{version} topic", t.name("none"), {0: 0}, version)
        ask(t, f"v{version} partition", topic, {0: 0, 7: 0}, version)
    ask(t, "id", {"topic_id": "ab" * 16}, {0: 0}, 13)
    ask(t, "partition of id", {"topic_id": t.topic_id(topic)}, {0: 0, 7: 0}, 13)
    ask(t, "zero id", {"topic_id": "0" * 32}, {0: 0}, 13)


def sizes(answer):
    """How many batches each partition of an answer holds."""
    return {f"{topic['topic'] or topic['topic_id']}/{one['partition_index']}": len(batches.read(one["records"] or b""))
            for topic in answer["responses"] for one in topic["partitions"]}


def counted(t, label, topic, offsets, **options):
    answer = t.main.call("Fetch", 12, bodies.fetch(topic, offsets, **options))
    t.note(label, sizes(answer))


def case_limits_by_bytes(t):
    topic = t.topic(partitions=3)
    size = len(batch(["x" * 1000]))
    for partition in range(3):
        for _ in range(4):
            t.put(topic, ["x" * 1000], partition)
    everything = {0: 0, 1: 0, 2: 0}
    counted(t, "no limit", topic, everything)
    counted(t, "one batch a partition", topic, everything, partition_max_bytes=size)
    counted(t, "two batches a partition", topic, everything, partition_max_bytes=2 * size)
    counted(t, "two and a half a partition", topic, everything, partition_max_bytes=2 * size + size // 2)
    counted(t, "less than a batch a partition", topic, everything, partition_max_bytes=10)
    counted(t, "nothing a partition", topic, everything, partition_max_bytes=0)
    counted(t, "five batches in all", topic, everything, max_bytes=5 * size)
    counted(t, "five and a half in all", topic, everything, max_bytes=5 * size + size // 2)
    counted(t, "less than one in all", topic, everything, max_bytes=10)
    counted(t, "other order", topic, {2: 0, 0: 0, 1: 0}, max_bytes=5 * size)
    counted(t, "first one empty", topic, {0: 4, 2: 0, 1: 0}, max_bytes=10)
    counted(t, "first one wrong", topic, {0: 9, 2: 0, 1: 0}, max_bytes=10)


def timed(t, label, topic, offsets, **options):
    """Notes whether the answer came at once, and how many batches it has."""
    started = time.monotonic()
    answer = t.main.call("Fetch", 12, bodies.fetch(topic, offsets, **options))
    t.note(label, {"waited": time.monotonic() - started > 0.4, **sizes(answer)})


def case_waiting(t):
    topic = t.topic(partitions=2)
    timed(t, "empty, no wait", topic, {0: 0}, max_wait_ms=0)
    timed(t, "empty, wait", topic, {0: 0}, max_wait_ms=600)
    timed(t, "empty, no bytes wanted", topic, {0: 0}, max_wait_ms=600, min_bytes=0)
    t.put(topic, ["a"])
    timed(t, "data", topic, {0: 0}, max_wait_ms=600)
    timed(t, "too little", topic, {0: 0}, max_wait_ms=600, min_bytes=100_000)
    timed(t, "too little but limited", topic, {0: 0}, max_wait_ms=600, min_bytes=100_000, max_bytes=50)
    timed(t, "error beside", topic, {0: 1, 1: 5}, max_wait_ms=600)
    timed(t, "unknown partition beside", topic, {0: 1, 9: 0}, max_wait_ms=600)
    timed(t, "no partitions", topic, {}, max_wait_ms=600)


def case_a_waiting_fetch_wakes(t):
    topic = t.topic()
    other = t.connect()
    other.send("Fetch", 12, bodies.fetch(topic, {0: 0}, max_wait_ms=20_000))
    time.sleep(0.3)
    started = time.monotonic()
    t.put(topic, ["a"])
    t.receive("woken", other)
    t.note("soon", time.monotonic() - started < 5)


def case_isolation(t):
    topic = t.topic()
    t.put(topic, ["a", "b"])
    ask(t, "uncommitted", topic, {0: 0}, isolation_level=0)
    ask(t, "committed", topic, {0: 0}, isolation_level=1)
    ask(t, "committed at the end", topic, {0: 2}, isolation_level=1)


def case_epoch_checks(t):
    topic = t.topic()
    t.put(topic, ["a"])
    epoch = t.epoch(topic)
    ask(t, "current", topic, {0: 0}, epoch=epoch)
    ask(t, "newer", topic, {0: 0}, epoch=epoch + 1)


def case_same_partition_twice(t):
    topic = t.topic()
    t.put(topic, ["a"])
    body = bodies.fetch(topic, {0: 0})
    body["topics"] *= 2
    t.ask("twice", "Fetch", 12, body)


def case_order_of_the_answer(t):
    first, second = t.topic("a", partitions=3), t.topic("b")
    t.put(first, ["x"], 2)
    body = bodies.fetch(second, {0: 0})
    body["topics"] += bodies.fetch(first, {2: 0, 0: 0, 1: 0})["topics"]
    t.ask("ask", "Fetch", 12, body, ordered=True)


def with_last_epoch(topic, offset, last, **options):
    body = bodies.fetch(topic, {0: offset}, **options)
    body["topics"][0]["partitions"][0]["last_fetched_epoch"] = last
    return body


def case_last_fetched_epoch(t):
    """Consumers do not send it; who does learns where its log differs (KIP-595)."""
    topic = t.topic()
    t.put(topic, ["a", "b"])
    epoch = t.epoch(topic)
    for label, offset, last in (("the current", 1, epoch), ("the current at the end", 2, epoch), ("later", 1, epoch + 5),
                                ("the current past the end", 9, epoch)):
        t.ask(label, "Fetch", 12, with_last_epoch(topic, offset, last), ordered=True)


def case_rack_of_a_client(t):
    """Without a replica in the client's rack there is none to prefer."""
    topic = t.topic()
    t.put(topic, ["a"])
    for version in (11, 12):
        ask(t, f"v{version}", topic, {0: 0}, version, rack_id="rack-1")


def case_debugging_consumer(t):
    topic = t.topic()
    t.put(topic, ["a"])
    for version in (4, 12):
        ask(t, f"v{version}", topic, {0: 0}, version, replica_id=-2)


def case_waiting_is_bounded(t):
    topic = t.topic()
    timed(t, "a negative wait", topic, {0: 0}, max_wait_ms=-1)
    timed(t, "negative bytes", topic, {0: 0}, max_wait_ms=600, min_bytes=-1)
    timed(t, "no bytes at all", topic, {0: 0}, max_wait_ms=600, max_bytes=0)
    t.put(topic, ["a"])
    timed(t, "no bytes at all with data", topic, {0: 0}, max_wait_ms=600, max_bytes=0)
    timed(t, "newer epoch", topic, {0: 1}, max_wait_ms=600, epoch=t.epoch(topic) + 1)
    timed(t, "read committed", topic, {0: 1}, max_wait_ms=600, isolation_level=1)


def case_as_a_follower(t):
    """Replica ids are not clients'. No broker has this one."""
    topic = t.topic()
    t.put(topic, ["a", "b"])
    ask(t, "replica 5", topic, {0: 0}, replica_id=5)
    ask(t, "at the end", topic, {0: 2}, replica_id=5, max_wait_ms=100)
