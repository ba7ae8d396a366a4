"""DeleteRecords and OffsetForLeaderEpoch."""
from .. import bodies


def delete(t, label, topic, offsets, version=2):
    t.ask(label, "DeleteRecords", version, {"topics": [{"name": topic, "partitions": [
        {"partition_index": partition, "offset": offset} for partition, offset in offsets]}], "timeout_ms": 5000})


def case_delete_records(t):
    topic = t.topic()
    t.put(topic, ["a", "b", "c", "d"])
    t.put(topic, ["e"])
    delete(t, "to 2", topic, [(0, 2)])
    delete(t, "to 1 is behind", topic, [(0, 1)])
    delete(t, "to the same", topic, [(0, 2)])
    delete(t, "too far", topic, [(0, 6)])
    delete(t, "negative", topic, [(0, -2)])
    t.ask("in the batch", "Fetch", 12, bodies.fetch(topic, {0: 2}))
    delete(t, "all", topic, [(0, -1)])
    t.ask("empty", "Fetch", 12, bodies.fetch(topic, {0: 5}))
    delete(t, "all again", topic, [(0, -1)])
    t.put(topic, ["f"])
    t.ask("goes on", "Fetch", 12, bodies.fetch(topic, {0: 5}))


def case_delete_records_versions(t):
    topic = t.topic()
    t.put(topic, ["a", "b", "c", "d"])
    for version in range(3):
        delete(t, f"v{version}", topic, [(0, version + 1)], version)


def case_delete_records_unknown(t):
    topic = t.topic()
    delete(t, "topic", t.name("none"), [(0, 0)])
    delete(t, "partition", topic, [(0, 0), (4, 0)])
    delete(t, "same twice", topic, [(0, 0), (0, 0)])


def case_delete_records_of_compacted_topic(t):
    topic = t.topic(cleanup_policy="compact")
    t.put(topic, [(0, b"k", b"v")])
    delete(t, "compact", topic, [(0, 1)])
    both = t.topic("both", cleanup_policy="compact,delete")
    t.put(both, [(0, b"k", b"v")])
    delete(t, "both", both, [(0, 1)])


def epochs(t, label, topic, wanted, version=4, current=-1):
    return t.ask(label, "OffsetForLeaderEpoch", version, {"replica_id": -1, "topics": [{"topic": topic, "partitions": [
        {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch} for partition, epoch in wanted]}]})


def case_offset_for_leader_epoch(t):
    topic = t.topic()
    t.put(topic, ["a", "b", "c"])
    now = t.epoch(topic)
    for version in range(2, 5):
        epochs(t, f"current v{version}", topic, [(0, now)], version)
    epochs(t, "newer", topic, [(0, now + 5)])
    epochs(t, "none", topic, [(0, -1)])
    epochs(t, "current leader epoch", topic, [(0, now)], current=now)
    epochs(t, "newer leader epoch", topic, [(0, now)], current=now + 1)
    epochs(t, "unknown partition", topic, [(0, now), (3, now)])
    epochs(t, "unknown topic", t.name("none"), [(0, now)])


def case_offset_for_leader_epoch_of_an_empty_partition(t):
    topic = t.topic()
    epochs(t, "current", topic, [(0, t.epoch(topic))])


def case_offset_for_leader_epoch_after_delete(t):
    topic = t.topic()
    t.put(topic, ["a", "b", "c"])
    delete(t, "delete", topic, [(0, 3)])
    epochs(t, "current", topic, [(0, t.epoch(topic))])


def case_delete_records_of_several(t):
    first, second = t.topic("a", partitions=2), t.topic("b")
    for topic, partition in ((first, 0), (first, 1), (second, 0)):
        t.put(topic, ["x", "y"], partition)
    t.ask("three", "DeleteRecords", 2, {"timeout_ms": 5000, "topics": [
        {"name": first, "partitions": [{"partition_index": 1, "offset": 1}, {"partition_index": 0, "offset": 9}]},
        {"name": second, "partitions": [{"partition_index": 0, "offset": -1}]},
        {"name": t.name("none"), "partitions": [{"partition_index": 0, "offset": 0}]}]})
    for topic in (first, second):
        t.ask("start of one" if topic == first else "start of the other", "ListOffsets", 6,
              bodies.list_offsets(topic, [(0, -2)]))
