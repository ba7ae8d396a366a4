"""CreateTopics, DeleteTopics, CreatePartitions."""
from .. import bodies
from ..bodies import create_topic


def without_defaults(answer):
    """A CreateTopics answer with only the configs that the request set."""
    for topic in answer["topics"]:
        topic["configs"] = [one for one in topic["configs"] or [] if one["config_source"] == 1]
    return answer


def create(t, label, version, *topics, validate_only=False):
    answer = t.main.call("CreateTopics", version, bodies.create_topics(*topics, validate_only=validate_only))
    t.note(label, without_defaults(answer) if version >= 5 else answer)


def case_create_in_every_version(t):
    for version in range(2, 8):
        create(t, f"v{version}", version, create_topic(t.name(f"v{version}"), 2, 1, {"retention.ms": "60000"}))


def case_create_existing(t):
    topic = t.topic()
    for version in (2, 5, 7):
        create(t, f"v{version}", version, create_topic(topic))
    create(t, "validate only", 7, create_topic(topic), validate_only=True)


def case_create_bad_names(t):
    for name in ("", ".", "..", "a" * 250, "a b", "a/b", "ä"):
        create(t, repr(name)[:12], 7, create_topic(name))


def case_create_colliding_name(t):
    t.topic("a.b")
    create(t, "underscore for dot", 7, create_topic(t.name("a.b").replace("a.b", "a_b")))


def case_create_bad_counts(t):
    for partitions, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 30)):
        create(t, f"{partitions} partitions {replicas} replicas", 7, create_topic(t.name("t"), partitions, replicas))


def case_create_defaults(t):
    create(t, "v4", 4, create_topic(t.name("a"), -1, -1))
    create(t, "v7", 7, create_topic(t.name("b"), -1, -1))
    create(t, "v3", 3, create_topic(t.name("c"), -1, -1))


def case_create_with_assignments(t):
    node = t.describe(t.topic())["partitions"][0]["leader_id"]
    create(t, "good", 7, create_topic(t.name("a"), -1, -1, assignments=[(0, [node]), (1, [node])]))
    create(t, "with counts", 7, create_topic(t.name("b"), 1, 1, assignments=[(0, [node])]))
    create(t, "unknown broker", 7, create_topic(t.name("c"), -1, -1, assignments=[(0, [node + 70])]))
    create(t, "hole", 7, create_topic(t.name("d"), -1, -1, assignments=[(0, [node]), (2, [node])]))
    create(t, "same broker twice", 7, create_topic(t.name("e"), -1, -1, assignments=[(0, [node, node])]))


def case_create_bad_configs(t):
    for key, value in (("no.such.config", "1"), ("retention.ms", "many"), ("cleanup.policy", "burn"),
                       ("min.insync.replicas", "0"), ("retention.ms", None), ("compression.type", "zip"),
                       ("max.message.bytes", "-1"), ("segment.bytes", "1"), ("message.timestamp.type", "now"),
                       ("cleanup.policy", "compact,delete"), ("compression.gzip.level", "10"), ("", "x")):
        create(t, f"{key}={value}", 7, create_topic(t.name("t" + key + str(value).replace(",", "-")), 1, 1, {key: value}))


def case_create_same_config_twice(t):
    topic = create_topic(t.name("t"))
    topic["configs"] = [{"name": "retention.ms", "value": "1000"}, {"name": "retention.ms", "value": "2000"}]
    create(t, "ask", 7, topic)


def case_create_each_on_its_own(t):
    topic = t.topic("old")
    create(t, "three", 7, create_topic(t.name("new")), create_topic(topic), create_topic("bad name"))


def case_create_same_name_twice(t):
    create(t, "twice and another", 7, create_topic(t.name("a")), create_topic(t.name("a"), 2), create_topic(t.name("b")))
    t.wait_for(t.name("b"), 1)
    t.note("the other", t.describe(t.name("b"))["error_code"])


def case_create_validate_only(t):
    create(t, "ask", 7, create_topic(t.name("t"), 3), validate_only=True)
    t.note("after", t.describe(t.name("t"))["error_code"])


def case_create_lists_all_configs(t):
    answer = t.main.call("CreateTopics", 7, bodies.create_topics(create_topic(t.name("t"), 1, 1, {"retention.ms": "5"})))
    t.note("names", [one["name"] for one in answer["topics"][0]["configs"]])
    t.note("set", [one for one in answer["topics"][0]["configs"] if one["name"] == "retention.ms"])


def delete(t, label, version, *names):
    if version >= 6:
        body = {"topics": [name if isinstance(name, dict) else {"name": name} for name in names]}
    else:
        body = {"topic_names": list(names)}
    t.ask(label, "DeleteTopics", version, {**body, "timeout_ms": 10_000})


def case_delete_in_every_version(t):
    for version in range(1, 7):
        topic = t.topic(f"v{version}")
        delete(t, f"v{version}", version, topic, t.name("none"))
        t.note(f"v{version} gone", t.wait_gone(topic))


def case_delete_by_id(t):
    topic = t.topic()
    identity = t.topic_id(topic)
    delete(t, "unknown id", 6, {"name": None, "topic_id": "ab" * 16})
    delete(t, "id", 6, {"name": None, "topic_id": identity})
    delete(t, "again", 6, {"name": None, "topic_id": identity})


def case_delete_odd_requests(t):
    topic = t.topic()
    delete(t, "same name twice", 6, topic, topic)
    delete(t, "name and id", 6, {"name": topic, "topic_id": t.topic_id(topic)})
    delete(t, "neither", 6, {"name": None})
    delete(t, "bad name", 6, "a b")


def case_recreated_topic_is_another(t):
    topic = t.topic()
    first = t.topic_id(topic)
    t.put(topic, ["a", "b"])
    delete(t, "delete", 6, topic)
    t.wait_gone(topic)
    t.topic()
    t.note("another id", first != t.topic_id(topic))
    t.ask("offsets", "ListOffsets", 6, bodies.list_offsets(topic, [(0, -2), (0, -1)][1:]))
    t.ask("old id", "Fetch", 13, bodies.fetch({"topic_id": first}, {0: 0}))


def grow(t, label, topics, version=3, validate_only=False):
    t.ask(label, "CreatePartitions", version, {"timeout_ms": 10_000, "validate_only": validate_only, "topics": [
        {"name": name, "count": count, "assignments": None if ids is None else [{"broker_ids": one} for one in ids]}
        for name, count, ids in topics]})


def case_create_partitions(t):
    topic = t.topic()
    node = t.describe(topic)["partitions"][0]["leader_id"]
    for version in range(4):
        grow(t, f"v{version}", [(topic, version + 2, None)], version)
        t.wait_for(topic, version + 2)
    grow(t, "same", [(topic, 5, None)])
    grow(t, "fewer", [(topic, 2, None)])
    grow(t, "none", [(topic, 0, None)])
    grow(t, "unknown", [(t.name("none"), 3, None)])
    grow(t, "twice", [(topic, 8, None), (topic, 9, None)])
    grow(t, "validate only", [(topic, 9, None)], validate_only=True)
    grow(t, "assigned", [(topic, 6, [[node]])])
    t.wait_for(topic, 6)
    grow(t, "wrong number of assignments", [(topic, 8, [[node]])])
    grow(t, "unknown broker", [(topic, 7, [[node + 70]])])
    t.note("partitions", len(t.describe(topic)["partitions"]))
    t.put(topic, ["a"], partition=5)
    t.ask("new partition", "ListOffsets", 6, bodies.list_offsets(topic, [(5, -1)]))


def case_create_longest_name(t):
    create(t, "249", 7, create_topic((t.name("n") + "x" * 249)[:249]))


def case_create_internal_looking_names(t):
    for name in ("_x", "__x", "-x", "x.y", "X"):
        create(t, name, 7, create_topic(t.name("t") + name))


def case_create_and_delete_at_once(t):
    """What was answered is true for the next request of the same connection."""
    for number in range(3):
        topic = t.topic()
        delete(t, f"delete {number}", 6, topic)
        t.note(f"gone {number}", t.wait_gone(topic))
        delete(t, f"again {number}", 6, topic)


def case_delete_several(t):
    first, second = t.topic("a"), t.topic("b")
    delete(t, "two and an unknown one", 5, first, t.name("none"), second)
    t.note("gone", [t.wait_gone(first), t.wait_gone(second)])


def case_create_validate_only_tells_what_is_wrong(t):
    for label, topic in (("name", create_topic("a b")), ("partitions", create_topic(t.name("t"), 0)),
                         ("replicas", create_topic(t.name("t"), 1, 0)),
                         ("config", create_topic(t.name("t"), 1, 1, {"retention.ms": "x"}))):
        create(t, label, 7, topic, validate_only=True)
    create(t, "v2", 2, create_topic(t.name("t"), 3), validate_only=True)


def case_create_throttling_configs(t):
    """kafka-reassign-partitions sets them."""
    create(t, "ask", 7, create_topic(t.name("t"), 1, 1, {"leader.replication.throttled.replicas": "*",
                                                        "follower.replication.throttled.replicas": "0:1,1:2"}))


def case_create_partitions_of_several(t):
    first, second = t.topic("a"), t.topic("b", partitions=3)
    grow(t, "good, fewer and unknown", [(first, 2, None), (second, 1, None), (t.name("none"), 2, None)])
    t.wait_for(first, 2)
    t.note("partitions", [len(t.describe(one)["partitions"]) for one in (first, second)])
