"""Fetch sessions (KIP-227)."""
from .. import bodies


def ask(t, label, topic, offsets, session, forget=(), version=12, **options):
    name = "topic_id" if version >= 13 else "topic"
    more = {"forgotten_topics_data": [{name: topic[name] if isinstance(topic, dict) else topic, "partitions": list(forget)}]
            if forget else []}
    return t.ask(label, "Fetch", version, bodies.fetch(topic, offsets, session=session, **more, **options), ordered=True)


def case_incremental(t):
    topic = t.topic(partitions=3)
    t.put(topic, ["a"], 1)
    session = ask(t, "full", topic, {0: 0, 1: 0, 2: 0}, (0, 0))["session_id"]
    ask(t, "nothing moved but the offset", topic, {1: 1}, (session, 1))
    t.put(topic, ["b"], 2)
    ask(t, "one has data", topic, {}, (session, 2))
    ask(t, "same data again", topic, {}, (session, 3))
    ask(t, "read it", topic, {2: 1}, (session, 4))
    t.put(topic, ["c"], 2)
    ask(t, "forget it", topic, {}, (session, 5), forget=[2])
    ask(t, "it stays away", topic, {}, (session, 6))
    ask(t, "back again", topic, {2: 1}, (session, 7))


def case_wrong_epochs_and_ids(t):
    topic = t.topic()
    ask(t, "unknown id", topic, {}, (123_456_789, 1))
    session = ask(t, "full", topic, {0: 0}, (0, 0))["session_id"]
    ask(t, "epoch too high", topic, {}, (session, 5))
    ask(t, "right epoch", topic, {}, (session, 1))
    ask(t, "epoch again", topic, {}, (session, 1))
    ask(t, "close", topic, {}, (session, -1))
    ask(t, "closed", topic, {}, (session, 2))


def case_full_request_replaces_the_session(t):
    topic = t.topic(partitions=2)
    session = ask(t, "full", topic, {0: 0, 1: 0}, (0, 0))["session_id"]
    another = ask(t, "full again", topic, {0: 0}, (session, 0))["session_id"]
    ask(t, "old one", topic, {}, (session, 1))
    ask(t, "new one", topic, {}, (another, 1))


def case_sessionless(t):
    topic = t.topic()
    ask(t, "sessionless", topic, {0: 0}, (0, -1))
    ask(t, "epoch without an id", topic, {0: 0}, (0, 5))


def case_errors_are_repeated(t):
    topic = t.topic(partitions=2)
    session = ask(t, "full", topic, {0: 0, 1: 9}, (0, 0))["session_id"]
    ask(t, "still wrong", topic, {}, (session, 1))
    ask(t, "mended", topic, {1: 0}, (session, 2))
    ask(t, "quiet", topic, {}, (session, 3))


def case_log_start_moves(t):
    topic = t.topic()
    t.put(topic, ["a", "b"])
    session = ask(t, "full", topic, {0: 2}, (0, 0))["session_id"]
    ask(t, "quiet", topic, {}, (session, 1))
    t.main.call("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": 1}]}],
                                     "timeout_ms": 5000})
    ask(t, "start moved", topic, {}, (session, 2))
    ask(t, "quiet again", topic, {}, (session, 3))


def case_topic_ids(t):
    topic = t.topic(partitions=2)
    identity = {"topic_id": t.topic_id(topic)}
    session = ask(t, "full", identity, {0: 0}, (0, 0), version=13)["session_id"]
    t.put(topic, ["a"], 0)
    ask(t, "data", identity, {}, (session, 1), version=13)
    ask(t, "another partition", identity, {1: 0}, (session, 2), version=13)
    ask(t, "unknown id", {"topic_id": "ab" * 16}, {0: 0}, (session, 3), version=13)
    ask(t, "names instead", topic, {0: 0}, (session, 4), version=12)
    ask(t, "forget all", identity, {}, (session, 5), forget=[0, 1], version=13)


def case_deleted_topic(t):
    topic = t.topic()
    session = ask(t, "full", topic, {0: 0}, (0, 0))["session_id"]
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.wait_gone(topic)
    ask(t, "gone", topic, {}, (session, 1))


def case_order_moves_to_the_back(t):
    """A partition that was given data goes behind the others, so that a limit does not starve them."""
    topic = t.topic(partitions=3)
    for partition in range(3):
        for _ in range(2):
            t.put(topic, ["x" * 100], partition)
    options = {"max_bytes": 10}
    session = ask(t, "full", topic, {0: 0, 1: 0, 2: 0}, (0, 0), **options)["session_id"]
    for number in range(1, 4):
        ask(t, f"next {number}", topic, {}, (session, number), **options)


def case_watermark_moves_without_records(t):
    """A partition that no record fits for is named when its end moved."""
    topic = t.topic(partitions=2)
    options = {"max_bytes": 10}
    session = ask(t, "full", topic, {0: 0, 1: 0}, (0, 0), **options)["session_id"]
    t.put(topic, ["a"], 0)
    t.put(topic, ["b"], 1)
    ask(t, "only one fits", topic, {}, (session, 1), **options)


def case_recreated_topic(t):
    topic = t.topic()
    identity = {"topic_id": t.topic_id(topic)}
    by_id = ask(t, "full by id", identity, {0: 0}, (0, 0), version=13)["session_id"]
    by_name = ask(t, "full by name", topic, {0: 0}, (0, 0))["session_id"]
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.wait_gone(topic)
    t.topic()
    t.put(topic, ["a"])
    ask(t, "old id", identity, {}, (by_id, 1), version=13)
    ask(t, "new id beside", {"topic_id": t.topic_id(topic)}, {0: 0}, (by_id, 2), version=13)
    ask(t, "same name", topic, {}, (by_name, 1))


def case_odd_session_requests(t):
    topic = t.topic()
    session = ask(t, "full", topic, {0: 0}, (0, 0))["session_id"]
    ask(t, "epoch -2", topic, {}, (session, -2))
    ask(t, "negative id", topic, {}, (-5, 1))
    ask(t, "full for an unknown id", topic, {0: 0}, (123_456_789, 0))
    ask(t, "close with partitions", topic, {0: 0}, (session, -1))
    ask(t, "closed", topic, {}, (session, 1))
    ask(t, "close an unknown id", topic, {0: 0}, (123_456_789, -1))
    ask(t, "close nothing", topic, {}, (0, -1))


def case_old_versions_have_no_sessions(t):
    topic = t.topic()
    ask(t, "v6", topic, {0: 0}, (0, 0), version=6)
    ask(t, "v7", topic, {0: 0}, (0, 0), version=7)


def case_partition_that_comes_to_be(t):
    topic = t.topic()
    session = ask(t, "full", topic, {0: 0, 1: 0}, (0, 0))["session_id"]
    t.main.call("CreatePartitions", 3, {"timeout_ms": 5000, "validate_only": False, "topics": [
        {"name": topic, "count": 2, "assignments": None}]})
    t.wait_for(topic, 2)
    ask(t, "now it is there", topic, {}, (session, 1))
    ask(t, "quiet", topic, {}, (session, 2))
