"""InitProducerId without a transactional id, and sequences."""
from .. import bodies
from ..batches import batch

LAST = 2**31 - 1


def send(t, label, topic, producer, epoch, sequence, count=1, version=9, **options):
    data = batch([f"{label} {number}" for number in range(count)], producer=(producer, epoch, sequence), **options)
    t.ask(label, "Produce", version, bodies.produce(topic, {0: data}))


def case_init_in_every_version(t):
    t.producer_id()
    for version in range(6):
        t.ask(f"v{version}", "InitProducerId", version, {"transactional_id": None, "transaction_timeout_ms": 60_000})


def case_init_odd_arguments(t):
    for label, more in (("empty id", {"transactional_id": ""}), ("pid only", {"producer_id": 3}),
                        ("epoch only", {"producer_epoch": 3})):
        t.ask(label, "InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": 60_000, **more})


def case_duplicates_get_their_offset(t):
    topic, pid = t.topic(), t.producer_id()
    for sequence in range(6):
        send(t, f"first {sequence}", topic, pid, 0, sequence)
    for sequence in range(6):
        send(t, f"again {sequence}", topic, pid, 0, sequence)
    t.ask("stored once", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_duplicate_ranges(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "three", topic, pid, 0, 0, 3)
    send(t, "two more", topic, pid, 0, 3, 2)
    send(t, "three again", topic, pid, 0, 0, 3)
    send(t, "part of the three", topic, pid, 0, 0, 2)
    send(t, "across both", topic, pid, 0, 2, 2)
    send(t, "next", topic, pid, 0, 5, 1)


def case_gaps(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "first", topic, pid, 0, 0)
    send(t, "gap", topic, pid, 0, 2)
    send(t, "next", topic, pid, 0, 1)
    send(t, "negative", topic, pid, 0, -1)


def case_unknown_producer_may_start_anywhere(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "sequence 7", topic, pid, 0, 7)
    send(t, "sequence 8", topic, pid, 0, 8)
    send(t, "sequence 0", topic, pid, 0, 0)


def case_epochs(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "epoch 1", topic, pid, 1, 0)
    send(t, "older epoch", topic, pid, 0, 1)
    send(t, "newer epoch in the middle", topic, pid, 2, 1)
    send(t, "newer epoch", topic, pid, 2, 0)
    send(t, "epoch before again", topic, pid, 1, 0)
    send(t, "next", topic, pid, 2, 1)


def case_sequence_wraps(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "near the end", topic, pid, 0, LAST - 2, 2)
    send(t, "across the end", topic, pid, 0, LAST, 3)
    send(t, "after", topic, pid, 0, 2, 1)
    send(t, "across the end again", topic, pid, 0, LAST, 3)
    send(t, "gap", topic, pid, 0, 4, 1)


def case_wraps_to_zero_between_batches(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "last", topic, pid, 0, LAST, 1)
    send(t, "zero", topic, pid, 0, 0, 1)


def case_partitions_are_apart(t):
    topic, pid = t.topic(partitions=2), t.producer_id()
    parts = {0: batch(["a"], producer=(pid, 0, 0)), 1: batch(["b"], producer=(pid, 0, 0))}
    t.ask("both", "Produce", 9, bodies.produce(topic, parts))
    t.ask("both again", "Produce", 9, bodies.produce(topic, parts))


def case_pipelined_failure_fails_what_follows(t):
    topic, pid = t.topic(max_message_bytes=500), t.producer_id()
    batch_of = {0: ["a"], 1: ["x" * 600], 2: ["c"], 3: ["d"]}
    for sequence, values in batch_of.items():
        t.main.send("Produce", 9, bodies.produce(topic, {0: batch(values, producer=(pid, 0, sequence))}))
    for sequence in batch_of:
        t.receive(f"sequence {sequence}", t.main)
    send(t, "in the gap", topic, pid, 0, 1)


def case_duplicate_on_log_append_time_topic(t):
    topic, pid = t.topic(message_timestamp_type="LogAppendTime"), t.producer_id()
    send(t, "first", topic, pid, 0, 0)
    send(t, "again", topic, pid, 0, 0)


def case_delete_records_keeps_the_producer(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "first", topic, pid, 0, 0)
    t.ask("delete", "DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [
        {"partition_index": 0, "offset": -1}]}], "timeout_ms": 5000})
    send(t, "next", topic, pid, 0, 1)
    send(t, "first again", topic, pid, 0, 0)


def case_init_again(t):
    """Without a transactional id there is nothing to go on with: the id is new, whatever was."""
    first = t.producer_id()
    for version in (3, 4, 5):
        answer = t.ask(f"v{version}", "InitProducerId", version, {"transactional_id": None, "transaction_timeout_ms": 60_000,
                                                                  "producer_id": first, "producer_epoch": 2})
        t.note(f"v{version} is new", answer["producer_id"] != first)


def case_init_timeouts(t):
    """They are for transactions only."""
    t.producer_id()
    for timeout in (0, -1, 1, 2**31 - 1):
        answer = t.main.call("InitProducerId", 4, {"transactional_id": None, "transaction_timeout_ms": timeout})
        t.note(str(timeout), answer["error_code"])


def case_older_than_the_last_five(t):
    topic, pid = t.topic(), t.producer_id()
    for sequence in range(0, 14, 2):
        send(t, f"first {sequence}", topic, pid, 0, sequence, 2)
    for sequence in (0, 2, 4, 12):
        send(t, f"again {sequence}", topic, pid, 0, sequence, 2)
    send(t, "next", topic, pid, 0, 14)


def case_higher_epoch_then_duplicate(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "epoch 0", topic, pid, 0, 0)
    send(t, "epoch 3", topic, pid, 3, 0)
    send(t, "epoch 3 again", topic, pid, 3, 0)
    send(t, "epoch 0 again", topic, pid, 0, 0)
    for version in (3, 7, 8):
        send(t, f"epoch 2 v{version}", topic, pid, 2, 1, version=version)
        send(t, f"gap v{version}", topic, pid, 3, 9, version=version)
    send(t, "greatest epoch", topic, pid, 32767, 0)


def case_gap_behind_in_one_request(t):
    """Two partitions of one request: each has its own sequence and its own verdict."""
    topic, pid = t.topic(partitions=2), t.producer_id()
    t.ask("one has a gap", "Produce", 9, bodies.produce(topic, {0: batch(["a"], producer=(pid, 0, 0)),
                                                                1: batch(["b"], producer=(pid, 0, 0))}))
    t.ask("then", "Produce", 9, bodies.produce(topic, {0: batch(["a"], producer=(pid, 0, 5)),
                                                       1: batch(["b"], producer=(pid, 0, 1))}))


def case_recreated_topic_forgets_producers(t):
    topic, pid = t.topic(), t.producer_id()
    send(t, "first", topic, pid, 0, 0)
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.wait_gone(topic)
    t.topic()
    send(t, "first again", topic, pid, 0, 0)
    send(t, "in the new one", topic, pid, 0, 1)


def case_two_connections_share_a_sequence(t):
    topic, pid = t.topic(), t.producer_id()
    other = t.connect("other")
    for sequence in range(4):
        connection = other if sequence % 2 else t.main
        t.ask(f"sequence {sequence}", "Produce", 9, bodies.produce(
            topic, {0: batch(["a"], producer=(pid, 0, sequence))}), connection)
    t.ask("again", "Produce", 9, bodies.produce(topic, {0: batch(["a"], producer=(pid, 0, 3))}))
