"""Produce: what is accepted, what is refused and how, what the answer says."""
import gzip

from .. import batches, bodies, codec
from ..batches import batch, record


def send(t, label, topic, data, version=9, acks=-1, partition=0):
    return t.ask(label, "Produce", version, bodies.produce(topic, {partition: data}, acks))


def case_every_version(t):
    topic = t.topic()
    for version in range(3, 13):
        send(t, f"v{version}", topic, batch(["a", "b"]), version)
    t.ask("v13", "Produce", 13, bodies.produce({"topic_id": t.topic_id(topic)}, {0: batch(["c"])}))
    t.ask("all", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_unknown_topic_partition_id(t):
    topic = t.topic()
    for version in (3, 9, 12):
        send(t, f"v{version} topic", t.name("none"), batch(["a"]), version)
        send(t, f"v{version} partition", topic, batch(["a"]), version, partition=5)
    send(t, "negative partition", topic, batch(["a"]), partition=-1)
    t.ask("id", "Produce", 13, bodies.produce({"topic_id": "cd" * 16}, {0: batch(["c"])}))
    t.ask("partition of id", "Produce", 13, bodies.produce({"topic_id": t.topic_id(topic)}, {3: batch(["c"])}))
    send(t, "bad name", "a b", batch(["a"]))


def case_acks(t):
    topic = t.topic()
    for acks in (1, -1, 2, -2, 5):
        send(t, f"acks {acks}", topic, batch(["a"]), acks=acks)


def case_timeout_that_is_too_short_for_anybody(t):
    topic = t.topic()
    for timeout in (0, -5, 1):
        for acks in (-1, 1):
            body = bodies.produce(topic, {0: batches.batch(["a"])}, acks=acks, timeout_ms=timeout)
            t.ask(f"timeout {timeout} acks {acks}", "Produce", 9, body)


def case_acks_none_has_no_answer(t):
    topic = t.topic()
    connection = t.connect()
    connection.send_frame(codec.encode_request("Produce", 9, bodies.produce(topic, {0: batch(["a"])}, 0), 1))
    t.ask("next answer", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -2)]), connection)
    connection.send_frame(codec.encode_request("Produce", 9, bodies.produce(t.name("none"), {0: batch(["a"])}, 0), 2))
    t.ask("after an error", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -2)]), connection)


def case_empty_records(t):
    topic = t.topic()
    send(t, "empty", topic, b"")
    send(t, "two batches", topic, batch(["a"]) + batch(["b"]))


def case_zeros_without_a_producer(t):
    """Some clients leave zeros in the epoch and sequence of batches that have no producer id."""
    topic = t.topic()
    for producer in ((-1, 0, 0), (-1, -1, 0), (-1, 5, 7), (-9, 0, 3), (5, -1, 0)):
        send(t, f"{producer}", topic, batch(["a"], producer=producer))
    t.ask("all", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_bad_headers(t):
    topic = t.topic()
    good = batch(["a", "b"])
    send(t, "crc", topic, batch(["a"], crc=1))
    send(t, "flipped payload", topic, good[:-1] + b"\xff")
    for magic in (0, 1, 3):
        send(t, f"magic {magic}", topic, batch(["a"], magic=magic))
    send(t, "base offset", topic, batch(["a"], base_offset=5))
    send(t, "count too high", topic, batch(["a", "b"], count=3))
    send(t, "count too low", topic, batch(["a", "b"], count=1))
    send(t, "last offset delta", topic, batch(["a", "b"], last_offset_delta=4))
    send(t, "no records", topic, batch([]))
    send(t, "control", topic, batch(["a"], attributes=0x20))
    send(t, "cut", topic, good[:-3])
    send(t, "length too long", topic, good[:8] + (len(good)).to_bytes(4, "big") + good[12:])
    send(t, "only a header start", topic, good[:20])
    send(t, "producer without sequence", topic, batch(["a"], producer=(77, 0, -1)))
    t.ask("nothing was written", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))


def case_bad_records(t):
    topic = t.topic()
    send(t, "trailing bytes", topic, batch([record(0, None, b"a") + b"\0\0"]))
    send(t, "record length too long", topic, batch([b"\x7f" + record(0, None, b"a")[1:]]))
    send(t, "compressed count too high", topic, batch(["a", "b"], attributes=1, count=3, last_offset_delta=2))
    send(t, "compressed count too low", topic, batch(["a", "b"], attributes=1, count=1, last_offset_delta=0))
    send(t, "compressed trailing bytes", topic, batch([record(0, None, b"a") + b"\0\0"], attributes=1))
    t.ask("nothing was written", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))


def case_undecodable_compression_is_refused(t):
    """Kafka answers UNKNOWN_SERVER_ERROR here; any error will do, so only success and failure are compared."""
    topic = t.topic()
    for label, attributes, squeeze in (("not gzip", 1, lambda raw: b"nothing of the kind"), ("not lz4", 3, lambda raw: raw),
                                       ("not zstd", 4, lambda raw: raw), ("unknown codec", 6, lambda raw: raw),
                                       ("cut gzip", 1, lambda raw: gzip.compress(raw)[:-9])):
        data = batch(["a", "b"], attributes=attributes, compress=squeeze)
        answer = t.main.call("Produce", 9, bodies.produce(topic, {0: data}))
        t.note(label, answer["responses"][0]["partition_responses"][0]["error_code"] != 0)
    t.ask("nothing was written", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))


def case_too_large(t):
    topic = t.topic(max_message_bytes=1000)
    fits = 1000 - len(batch([record(0, None, b"")])) - 2
    send(t, "just fits", topic, batch([record(0, None, b"x" * fits)]))
    send(t, "one more", topic, batch([record(0, None, b"x" * (fits + 1))]))
    send(t, "before the crc", topic, batch([record(0, None, b"x" * (fits + 1))], crc=1))
    send(t, "v3", topic, batch([record(0, None, b"x" * 2000)]), 3)


def case_null_key_on_compacted_topic(t):
    topic = t.topic(cleanup_policy="compact")
    for version in (7, 8, 9):
        send(t, f"v{version} one of three", topic, batch([(0, b"k", b"a"), (0, None, b"b"), (0, b"k", b"c")]), version)
    send(t, "several", topic, batch(["a", "b", "c", "d", "e"]))
    send(t, "all keyed", topic, batch([(0, b"k", b"a"), (0, b"l", None)]))
    send(t, "compressed", topic, batch([(0, None, b"b")], attributes=1))


def case_timestamps_out_of_range(t):
    future = batches.batch(["a"], first_timestamp=4_000_000_000_000)
    topic = t.topic()
    for version in (7, 9):
        send(t, f"future v{version}", topic, future, version)
    send(t, "far past", topic, batch(["a"], first_timestamp=1))
    send(t, "none", topic, batch(["a"], first_timestamp=-1, max_timestamp=-1))
    strict = t.topic("strict", message_timestamp_before_max_ms=1000)
    send(t, "past on a strict topic", strict, batch(["a"]))
    send(t, "one of several", topic, batch(["a", (3_000_000_000_000, None, b"b")]))


def case_log_append_time(t):
    topic = t.topic(message_timestamp_type="LogAppendTime")
    send(t, "create time", topic, batch(["a", "b"]))
    send(t, "compressed", topic, batch(["a", "b"], attributes=1))
    send(t, "future", topic, batch(["a"], first_timestamp=4_000_000_000_000))
    send(t, "append time bit from client", topic, batch(["a"], attributes=8))
    send(t, "append time bit on the other kind of topic", t.topic("create"), batch(["a"], attributes=8))
    answer = t.main.call("Fetch", 12, bodies.fetch(topic, {0: 0}))
    found = batches.read(answer["responses"][0]["partitions"][0]["records"])
    t.note("stored", [[one["attributes"], one["crc_ok"], one["max_timestamp"], one["base_timestamp"]] for one in found])


def case_max_timestamp_is_recomputed(t):
    topic = t.topic()
    send(t, "too high", topic, batch([(0, None, b"a"), (7, None, b"b")], max_timestamp=1_700_000_999_999))
    send(t, "too low", topic, batch([(0, None, b"a"), (7, None, b"b")], max_timestamp=1))
    send(t, "compressed", topic, batch([(0, None, b"a"), (7, None, b"b")], max_timestamp=1, attributes=1))
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_unused_attribute_bits(t):
    topic = t.topic()
    send(t, "bit 7", topic, batch(["a"], attributes=0x80))
    send(t, "delete horizon", topic, batch(["a"], attributes=0x40))
    send(t, "record attributes", topic, batch([b"\x10\x01\0\0\1\4ab\0"]))
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_recompression(t):
    for wanted in ("gzip", "snappy", "lz4", "zstd", "uncompressed", "producer"):
        topic = t.topic(wanted, compression_type=wanted)
        send(t, f"plain to {wanted}", topic, batch([(0, b"k", b"a" * 50), (3, None, b"b")]))
        send(t, f"gzip to {wanted}", topic, batch([(0, b"k", b"a" * 50), (3, None, b"b")], attributes=1))
        t.ask(f"stored as {wanted}", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_zstd_needs_version_seven(t):
    topic = t.topic()
    send(t, "v6", topic, batch(["a"], attributes=4, compress=lambda raw: raw), 6)


def case_nulls_and_headers_are_kept(t):
    topic = t.topic()
    records = [record(0, None, None), record(1, b"", b""), record(2, b"k", b"v", 5, [("h", None), ("h", b""), ("", b"x")])]
    send(t, "send", topic, batch(records))
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_offset_deltas_not_counting_up_are_refused(t):
    """Kafka answers UNKNOWN_SERVER_ERROR here; any error will do."""
    topic = t.topic()
    data = batch([record(0, None, b"a"), record(5, None, b"b")], attributes=1)
    answer = t.main.call("Produce", 9, bodies.produce(topic, {0: data}))
    t.note("refused", answer["responses"][0]["partition_responses"][0]["error_code"] != 0)
    t.ask("nothing was written", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))


def case_several_topics_and_partitions(t):
    first, second = t.topic("a", partitions=2), t.topic("b")
    body = bodies.produce(first, {0: batch(["a"]), 1: batch(["b"], crc=3), 7: batch(["c"])})
    body["topic_data"] += bodies.produce(second, {0: batch(["d"])})["topic_data"]
    t.ask("ask", "Produce", 9, body)


def case_transactional_batches_need_an_id(t):
    topic = t.topic(partitions=2)
    body = bodies.produce(topic, {0: batch(["a"], attributes=0x10, producer=(5, 0, 0)), 1: batch(["b"]), 9: batch(["c"])})
    for version in (3, 9):
        t.ask(f"v{version}", "Produce", version, body)
    t.ask("nothing was written", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1), (1, -1)]))
    t.ask("id without a transaction", "Produce", 9, bodies.produce(topic, {1: batch(["b"])}, transactional_id="t"))


def case_pipelined_batches_keep_their_order(t):
    topic = t.topic()
    for number in range(20):
        t.main.send("Produce", 9, bodies.produce(topic, {0: batch([f"v{number}"])}))
    offsets = [t.main.recv()["responses"][0]["partition_responses"][0]["base_offset"] for _ in range(20)]
    t.note("offsets", {"list": str(offsets)})
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_offsets_of_many_producers_are_dense(t):
    topic, connections = t.topic(), [t.connect(f"c{number}") for number in range(5)]
    for number in range(10):
        for connection in connections:
            connection.send("Produce", 9, bodies.produce(topic, {0: batch(["x"] * (number % 3 + 1))}))
    answers = [connection.recv()["responses"][0]["partition_responses"][0] for _ in range(10) for connection in connections]
    t.note("errors", sorted({one["error_code"] for one in answers}))
    t.note("different offsets", len({one["base_offset"] for one in answers}))
    answer = t.main.call("Fetch", 12, bodies.fetch(topic, {0: 0}))
    found = batches.read(answer["responses"][0]["partitions"][0]["records"])
    t.note("stored where it was said", sorted(one["base_offset"] for one in answers) == [one["base_offset"] for one in found])
    offsets = [one["base_offset"] + delta for one in found for delta in range(one["last_offset_delta"] + 1)]
    t.note("dense", offsets == list(range(len(offsets))))


def case_deleted_topic(t):
    topic = t.topic()
    identity = {"topic_id": t.topic_id(topic)}
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.wait_gone(topic)
    send(t, "by name", topic, batch(["a"]))
    t.ask("by id", "Produce", 13, bodies.produce(identity, {0: batch(["a"])}))


def case_acks_none_with_invalid_batch_closes(t):
    topic = t.topic()
    connection = t.connect()
    connection.send_frame(codec.encode_request("Produce", 9, bodies.produce(topic, {0: batch(["a"], crc=1)}, 0), 1))
    t.ask("next", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -2)]), connection)


def case_no_topics(t):
    for version in (3, 9, 13):
        t.ask(f"v{version}", "Produce", version, {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": []})
