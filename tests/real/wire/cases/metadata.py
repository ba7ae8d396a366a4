"""Metadata, DescribeTopicPartitions, DescribeCluster."""

ZERO = "0" * 32


def ask_for(t, label, version, names, create=False):
    topics = None if names is None else [{"name": name} for name in names]
    t.ask(label, "Metadata", version, {"topics": topics, "allow_auto_topic_creation": create})


def case_by_name_in_every_version(t):
    topic = t.topic(partitions=2)
    for version in range(14):
        ask_for(t, f"v{version}", version, [topic])


def case_no_topics(t):
    for version in (1, 4, 9, 12):
        ask_for(t, f"v{version}", version, [])


def case_all_topics_are_listed(t):
    topic = t.topic()
    for version, names in ((0, []), (1, None), (12, None)):
        answer = t.main.call("Metadata", version, {"topics": None if names is None else []})
        t.note(f"v{version}", [one for one in answer["topics"] if one["name"] == topic])


def case_unknown_and_invalid_names(t):
    for version in (4, 5, 9, 12):
        ask_for(t, f"v{version}", version, [t.name("none"), "bad/name", "..", "x" * 250])


def case_invalid_names_with_creation(t):
    ask_for(t, "ask", 9, ["bad/name", ".", "", "x" * 250], create=True)


def case_auto_creation(t):
    name = t.name("auto")
    ask_for(t, "first", 9, [name], create=True)
    t.wait_for(name, 1)
    ask_for(t, "later", 9, [name])


def case_by_topic_id(t):
    topic = t.topic()
    identity = t.topic_id(topic)
    for version in (12, 13):
        t.ask(f"v{version}", "Metadata", version, {"topics": [{"topic_id": identity, "name": None}]})
    t.ask("unknown", "Metadata", 12, {"topics": [{"topic_id": "12" * 16, "name": None}]})
    t.ask("both unknown", "Metadata", 12, {"topics": [{"topic_id": "12" * 16, "name": None},
                                                     {"topic_id": identity, "name": None}]})


def case_id_together_with_name(t):
    topic = t.topic()
    t.ask("id and name", "Metadata", 12, {"topics": [{"topic_id": t.topic_id(topic), "name": topic}]})
    t.ask("null name before v12", "Metadata", 10, {"topics": [{"topic_id": t.topic_id(topic), "name": None}]})


def case_same_name_twice(t):
    topic = t.topic()
    ask_for(t, "twice", 9, [topic, topic])


def case_authorized_operations(t):
    topic = t.topic()
    for version in (8, 10, 12):
        more = {"include_cluster_authorized_operations": True} if version < 11 else {}
        t.ask(f"v{version}", "Metadata", version,
              {"topics": [{"name": topic}], "include_topic_authorized_operations": True, **more})


def describe(t, label, names, limit=2000, cursor=None):
    t.ask(label, "DescribeTopicPartitions", 0,
          {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": cursor})


def case_describe_topic_partitions(t):
    first, second = t.topic("a", partitions=3), t.topic("b", partitions=2)
    describe(t, "both", [second, first])
    describe(t, "unknown", [first, t.name("none"), "bad/name"])
    describe(t, "limit", [first, second], limit=4)
    describe(t, "from a cursor", [first, second], cursor={"topic_name": first, "partition_index": 2})
    describe(t, "from the second topic", [first, second], cursor={"topic_name": second, "partition_index": 1})
    describe(t, "limit and cursor", [first, second], limit=1, cursor={"topic_name": first, "partition_index": 1})
    describe(t, "cursor past the end", [first, second], cursor={"topic_name": second, "partition_index": 9})
    describe(t, "negative cursor", [first], cursor={"topic_name": first, "partition_index": -1})
    describe(t, "same twice", [first, first])


def case_describe_cluster(t):
    t.ask("v0", "DescribeCluster", 0, {})
    t.ask("v1", "DescribeCluster", 1, {"endpoint_type": 1})
    t.ask("v2", "DescribeCluster", 2, {"endpoint_type": 1, "include_fenced_brokers": True})
    t.ask("operations", "DescribeCluster", 1, {"endpoint_type": 1, "include_cluster_authorized_operations": True})
    t.ask("controllers", "DescribeCluster", 1, {"endpoint_type": 2})
    t.ask("unknown endpoint type", "DescribeCluster", 1, {"endpoint_type": 7})
