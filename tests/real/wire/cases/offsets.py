"""FindCoordinator, OffsetCommit, OffsetFetch, OffsetDelete of groups without members."""
import time

from .. import bodies


def case_find_coordinator(t):
    group = t.coordinate(t.name("g"))
    for version in range(4):
        t.ask(f"v{version}", "FindCoordinator", version, {"key": group, **({"key_type": 0} if version else {})})
    for version in range(4, 7):
        t.ask(f"v{version}", "FindCoordinator", version, {"coordinator_keys": [group, group + "2"], "key_type": 0})
    t.ask("no keys", "FindCoordinator", 4, {"coordinator_keys": [], "key_type": 0})
    t.ask("unknown type", "FindCoordinator", 3, {"key": group, "key_type": 9})


def case_commit_in_every_version(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    for version in range(2, 10):
        t.ask(f"commit v{version}", "OffsetCommit", version, bodies.commit(group, topic, {0: version}, metadata=f"v{version}"))
        t.ask(f"fetch after v{version}", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))
    body = bodies.commit(group, topic, {0: 10})
    del body["topics"][0]["name"]
    body["topics"][0]["topic_id"] = t.topic_id(topic)
    t.ask("commit v10", "OffsetCommit", 10, body)
    body["topics"][0]["topic_id"] = "ab" * 16
    t.ask("unknown id", "OffsetCommit", 10, body)


def case_fetch_in_every_version(t):
    topic, group = t.topic(partitions=2), t.coordinate(t.name("g"))
    t.main.call("OffsetCommit", 8, bodies.commit(group, topic, {0: 7}, epoch=0, metadata="m"))
    for version in range(1, 8):
        t.ask(f"v{version}", "OffsetFetch", version, bodies.offset_fetch(group, topic, [0, 1]))
    one = {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0, 1]}]}
    other = {"group_id": t.name("other"), "topics": [{"name": topic, "partition_indexes": [0]}]}
    for version in (8, 9):
        t.ask(f"v{version}", "OffsetFetch", version, {"groups": [one, other]})
    one["topics"] = [{"topic_id": t.topic_id(topic), "partition_indexes": [0, 1]},
                     {"topic_id": "ab" * 16, "partition_indexes": [0]}]
    t.ask("v10", "OffsetFetch", 10, {"groups": [one]})


def case_answers_keep_the_order_of_the_request(t):
    group, topics = t.coordinate(t.name("g")), [t.topic(base, partitions=2) for base in ("m", "z", "a")]
    body = bodies.commit(group, topics[0], {1: 1, 0: 2})
    for topic in topics[1:]:
        body["topics"] += bodies.commit(group, topic, {1: 3, 0: 4})["topics"]
    t.ask("commit", "OffsetCommit", 8, body, ordered=True)
    t.ask("fetch", "OffsetFetch", 7, {"group_id": group, "topics": [
        {"name": topic, "partition_indexes": [1, 0]} for topic in topics]}, ordered=True)


def case_fetch_all(t):
    first, second, group = t.topic("a"), t.topic("b", partitions=2), t.coordinate(t.name("g"))
    t.main.call("OffsetCommit", 8, bodies.commit(group, first, {0: 7}))
    t.main.call("OffsetCommit", 8, bodies.commit(group, second, {0: 1, 1: 2}))
    for version in (2, 5, 7):
        t.ask(f"v{version}", "OffsetFetch", version, bodies.offset_fetch(group))
    t.ask("v8", "OffsetFetch", 8, {"groups": [{"group_id": group, "topics": None}]})
    t.ask("v8 of nobody", "OffsetFetch", 8, {"groups": [{"group_id": t.name("nobody"), "topics": None}]})
    t.ask("no topics", "OffsetFetch", 7, {"group_id": group, "topics": []})


def case_fetch_what_is_not_there(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    t.ask("no offset", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0, 5]))
    t.ask("unknown topic", "OffsetFetch", 7, bodies.offset_fetch(group, t.name("none"), [0]))
    t.ask("stable", "OffsetFetch", 7, {**bodies.offset_fetch(group, topic, [0]), "require_stable": True})


def case_commit_refuses(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    t.ask("unknown topic", "OffsetCommit", 8, bodies.commit(group, t.name("none"), {0: 1}))
    t.ask("unknown partition", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1, 9: 1}))
    t.ask("long metadata", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}, metadata="m" * 5000))
    t.ask("longest metadata", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}, metadata="m" * 4096))
    t.ask("negative offset", "OffsetCommit", 8, bodies.commit(group, topic, {0: -1}))
    t.ask("member of no group", "OffsetCommit", 8, bodies.commit(t.name("other"), topic, {0: 1}, "someone", 3))
    t.ask("generation of no group", "OffsetCommit", 8, bodies.commit(t.name("other"), topic, {0: 1}, "", 3))
    t.ask("no group", "OffsetCommit", 8, bodies.commit("", topic, {0: 1}))
    t.ask("null metadata", "OffsetCommit", 8, bodies.commit(group, topic, {0: 3}, metadata=None))
    t.ask("stored", "OffsetFetch", 7, bodies.offset_fetch(group))


def case_group_of_offsets_only(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    t.main.call("OffsetCommit", 8, bodies.commit(group, topic, {0: 7}))
    t.ask("describe", "DescribeGroups", 5, {"groups": [group]})
    answer = t.main.call("ListGroups", 4, {})
    t.note("listed", [one for one in answer["groups"] if one["group_id"] == group])
    t.ask("delete", "DeleteGroups", 2, {"groups_names": [group]})
    t.ask("after", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))
    t.ask("delete again", "DeleteGroups", 2, {"groups_names": [group]})


def forget(t, label, group, topic, partitions):
    t.ask(label, "OffsetDelete", 0, {"group_id": group, "topics": [
        {"name": topic, "partitions": [{"partition_index": one} for one in partitions]}]})


def case_offset_delete(t):
    topic, group = t.topic(partitions=2), t.coordinate(t.name("g"))
    t.main.call("OffsetCommit", 8, bodies.commit(group, topic, {0: 7, 1: 8}))
    forget(t, "one", group, topic, [0])
    t.ask("after", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0, 1]))
    forget(t, "again", group, topic, [0])
    forget(t, "unknown partition", group, topic, [9])
    forget(t, "unknown topic", group, t.name("none"), [0])
    forget(t, "unknown group", t.name("nobody"), topic, [0])
    forget(t, "the last", group, topic, [1])
    t.ask("no offsets left", "OffsetFetch", 7, bodies.offset_fetch(group))


def case_deleting_a_topic_drops_its_offsets(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    t.main.call("OffsetCommit", 8, bodies.commit(group, topic, {0: 7}))
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.note("gone", t.wait_gone(topic))
    t.topic()
    t.ask("offsets", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))


def case_find_coordinator_of_other_kinds(t):
    for version in (1, 3, 4, 6):
        key = {"key": "x"} if version < 4 else {"coordinator_keys": ["x"]}
        t.ask(f"unknown kind v{version}", "FindCoordinator", version, {**key, "key_type": 9})
    t.ask("share before its version", "FindCoordinator", 5, {"coordinator_keys": ["x"], "key_type": 2})
    t.ask("share with a bad key", "FindCoordinator", 6, {"coordinator_keys": ["x", "g:t"], "key_type": 2})
    t.coordinate(t.name("g"))
    t.ask("no name", "FindCoordinator", 3, {"key": "", "key_type": 0})
    t.ask("no name among others", "FindCoordinator", 4, {"coordinator_keys": ["", t.name("g")], "key_type": 0})


def case_generation_of_no_group(t):
    topic = t.topic()
    for version in (2, 8, 9):
        t.ask(f"v{version}", "OffsetCommit", version, bodies.commit(t.coordinate(t.name(f"g{version}")), topic, {0: 1}, "m", 3))
    t.ask("unknown member without generation", "OffsetCommit", 8, bodies.commit(t.coordinate(t.name("h")), topic, {0: 1}, "m"))


def case_same_partition_twice(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    body = bodies.commit(group, topic, {0: 1})
    body["topics"] += bodies.commit(group, topic, {0: 2})["topics"]
    t.ask("commit", "OffsetCommit", 8, body, ordered=True)
    t.ask("fetch", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0, 0]))


def case_several_groups(t):
    topic, groups = t.topic(), [t.coordinate(t.name(f"g{number}")) for number in range(3)]
    for number, group in enumerate(groups):
        t.main.call("OffsetCommit", 8, bodies.commit(group, topic, {0: number}, metadata=f"of {number}"))
    asked = [{"group_id": groups[2], "topics": None},
             {"group_id": groups[0], "topics": [{"name": topic, "partition_indexes": [0, 3]}]},
             {"group_id": t.name("nobody"), "topics": [{"name": topic, "partition_indexes": [0]}]}]
    for version in (8, 9):
        t.ask(f"v{version}", "OffsetFetch", version, {"groups": asked}, ordered=True)
    t.ask("stable", "OffsetFetch", 8, {"groups": asked[:1], "require_stable": True})


def case_metadata_comes_back_as_it_was(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    for number, text in enumerate(("", " ", "{\"a\": 1}", "ä€😀", "a\0b", "x" * 4096, "ä" * 2048, "ä" * 2049)):
        t.ask(f"commit {number}", "OffsetCommit", 8, bodies.commit(group, topic, {0: number}, metadata=text))
        answer = t.main.call("OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))
        t.note(f"same {number}", answer["topics"][0]["partitions"][0]["metadata"] == text)


def case_retention_of_a_commit(t):
    """Old versions say how long; it does not matter at once."""
    topic, group = t.topic(), t.coordinate(t.name("g"))
    for version in (2, 4):
        t.ask(f"v{version}", "OffsetCommit", version,
              {**bodies.commit(group, topic, {0: version}), "retention_time_ms": 60_000})
    t.ask("stored", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))


def case_greatest_offsets_and_epochs(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    for offset, epoch in ((2**63 - 1, 2**31 - 1), (0, 0), (5, -1)):
        t.ask(f"commit {offset}", "OffsetCommit", 8, bodies.commit(group, topic, {0: offset}, epoch=epoch))
        answer = t.main.call("OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))["topics"][0]["partitions"][0]
        t.note(f"fetch {offset}", [answer["committed_offset"], answer["committed_leader_epoch"]])


def case_deleted_topic_with_offsets_of_a_live_group(t):
    topic, other, group = t.topic(), t.topic("other"), t.coordinate(t.name("g"))
    for name in (topic, other):
        t.main.call("OffsetCommit", 8, bodies.commit(group, name, {0: 7}))
    t.main.call("DeleteTopics", 5, {"topic_names": [topic], "timeout_ms": 5000})
    t.note("gone", t.wait_gone(topic))
    time.sleep(0.3)
    t.ask("all offsets", "OffsetFetch", 7, bodies.offset_fetch(group))
    t.ask("v8", "OffsetFetch", 8, {"groups": [{"group_id": group, "topics": None}]})
