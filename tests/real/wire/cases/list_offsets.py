"""ListOffsets."""
import time

from .. import batches, bodies
from ..case import FIRST_TIMESTAMP as T0


def ask(t, label, topic, times, version=7, isolation=0, epoch=-1):
    t.ask(label, "ListOffsets", version, bodies.list_offsets(topic, times, isolation, epoch))


def case_special_times_of_an_empty_partition(t):
    topic = t.topic()
    for when in (-1, -2, -3, T0):
        ask(t, str(when), topic, [(0, when)])


def case_every_version(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b"), (20, None, b"c")])
    for version in range(1, 12):
        for when in (-1, -2, T0 + 5):
            ask(t, f"v{version} {when}", topic, [(0, when)], version)


def case_special_times_by_version(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b")])
    for when, since in ((-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)):
        for version in (since - 1, since, 11):
            if version <= 11:
                ask(t, f"{when} v{version}", topic, [(0, when)], version)


def case_by_time_is_exact_to_the_record(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b"), (20, None, b"c")])
    t.put(topic, [(30, None, b"d"), (40, None, b"e")])
    for when in (0, 9, 10, 11, 20, 21, 30, 31, 40, 41):
        ask(t, f"+{when}", topic, [(0, T0 + when)])
    ask(t, "zero", topic, [(0, 0)])


def case_by_time_in_compressed_batches(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b"), (20, None, b"c")], attributes=1)
    t.put(topic, [(30, None, b"d"), (40, None, b"e")], attributes=1)
    for when in (5, 15, 35, 45):
        ask(t, f"+{when}", topic, [(0, T0 + when)])
    ask(t, "greatest", topic, [(0, -3)])


def case_by_time_with_times_out_of_order(t):
    topic = t.topic()
    t.put(topic, [(50, None, b"a"), (10, None, b"b"), (90, None, b"c"), (20, None, b"d")])
    t.put(topic, [(5, None, b"e"), (60, None, b"f")])
    t.put(topic, [(95, None, b"g")])
    for when in (5, 20, 50, 51, 60, 90, 91, 95, 96):
        ask(t, f"+{when}", topic, [(0, T0 + when)])
    ask(t, "greatest", topic, [(0, -3)])


def case_greatest_time_takes_the_first_of_equals(t):
    topic = t.topic()
    t.put(topic, ["a", (50, None, b"b"), (50, None, b"c")])
    t.put(topic, [(50, None, b"d")])
    ask(t, "equals", topic, [(0, -3)])
    t.put(topic, [(40, None, b"e")])
    ask(t, "older after", topic, [(0, -3)])
    t.put(topic, [(10, None, b"f"), (60, None, b"g"), (20, None, b"h")])
    ask(t, "newer in the middle", topic, [(0, -3)])


def case_records_without_time(t):
    topic = t.topic()
    t.put(topic, ["a"], first_timestamp=-1, max_timestamp=-1)
    ask(t, "greatest", topic, [(0, -3)])
    ask(t, "at zero", topic, [(0, 0)])
    t.put(topic, ["b"])
    ask(t, "greatest of one", topic, [(0, -3)])
    ask(t, "at zero then", topic, [(0, 0)])


def case_log_append_time(t):
    topic = t.topic(message_timestamp_type="LogAppendTime")
    t.put(topic, ["a", (10, None, b"b")])
    time.sleep(0.05)
    t.put(topic, [(5, None, b"c")])
    ask(t, "long ago", topic, [(0, T0)])
    ask(t, "greatest", topic, [(0, -3)])
    ask(t, "far ahead", topic, [(0, 4_000_000_000_000)])


def case_after_delete_records(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b"), (20, None, b"c")])
    t.main.call("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}],
                                     "timeout_ms": 5000})
    for when in (-1, -2, -3, T0, T0 + 10, T0 + 15, T0 + 20, T0 + 21):
        ask(t, str(when - T0 if when > 0 else when), topic, [(0, when)])


def case_emptied_partition(t):
    topic = t.topic()
    t.put(topic, ["a", (10, None, b"b")])
    t.main.call("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": -1}]}],
                                     "timeout_ms": 5000})
    for when in (-1, -2, T0):
        ask(t, str(when), topic, [(0, when)])


def case_unknown_and_doubled(t):
    topic = t.topic(partitions=2)
    ask(t, "topic", t.name("none"), [(0, -1)])
    ask(t, "partition", topic, [(1, -1), (5, -1), (-1, -1)])
    ask(t, "twice", topic, [(0, -1), (0, -2), (1, -1)])
    ask(t, "bad name", "a b", [(0, -1)])


def case_epoch_checks(t):
    topic = t.topic()
    t.put(topic, ["a"])
    epoch = t.epoch(topic)
    ask(t, "current", topic, [(0, -1)], 7, 0, epoch)
    ask(t, "newer", topic, [(0, -1)], 7, 0, epoch + 1)


def case_read_committed(t):
    topic = t.topic()
    t.put(topic, ["a", "b"])
    for when in (-1, -2, -3, T0):
        ask(t, str(when), topic, [(0, when)], 7, 1)


def case_append_time_of_a_later_batch(t):
    """All records of a batch have its stamp: the first one is found."""
    topic = t.topic(message_timestamp_type="LogAppendTime")
    t.put(topic, ["a", (10, None, b"b")])
    time.sleep(0.05)
    t.put(topic, [(5, None, b"c"), (90, None, b"d")])
    answer = t.main.call("Fetch", 12, bodies.fetch(topic, {0: 0}))
    stamps = [one["max_timestamp"] for one in batches.read(answer["responses"][0]["partitions"][0]["records"])]
    for label, when in (("first", stamps[0]), ("after the first", stamps[0] + 1), ("second", stamps[1]),
                        ("after the second", stamps[1] + 1)):
        ask(t, label, topic, [(0, when)])
    ask(t, "greatest", topic, [(0, -3)])


def case_greatest_time_that_the_client_did_not_set(t):
    topic = t.topic()
    t.put(topic, ["a", (50, None, b"b"), (20, None, b"c")], max_timestamp=-1)
    t.put(topic, ["d", (10, None, b"e")], max_timestamp=T0 + 10_000)
    ask(t, "greatest", topic, [(0, -3)])
    ask(t, "+11", topic, [(0, T0 + 11)])
    ask(t, "+51", topic, [(0, T0 + 51)])


def case_debugging_consumer(t):
    topic = t.topic()
    t.put(topic, ["a"])
    for when in (-1, -2):
        t.ask(str(when), "ListOffsets", 7, {**bodies.list_offsets(topic, [(0, when)]), "replica_id": -2})


def case_no_topics(t):
    for version in (1, 7):
        t.ask(f"v{version}", "ListOffsets", version, {"replica_id": -1, "isolation_level": 0, "topics": []})
