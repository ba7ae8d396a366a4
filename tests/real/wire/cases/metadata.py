"""Metadata, DescribeTopicPartitions, DescribeCluster."""
import time

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


def case_auto_creation_by_version(t):
    """Before version 4 there is no flag: a name that is asked for is created."""
    for version in range(6):
        name = t.name(f"v{version}")
        t.main.call("Metadata", version, {"topics": [{"name": name}], "allow_auto_topic_creation": True})
        t.wait_for(name, 1)
        ask_for(t, f"v{version}", version, [name])


def case_no_auto_creation_when_not_allowed(t):
    name = t.name("none")
    for version in (4, 8, 12):
        ask_for(t, f"v{version}", version, [name])
    time.sleep(0.3)
    t.note("after", t.describe(name)["error_code"])


def case_creation_is_only_for_names(t):
    t.ask("unknown id", "Metadata", 12, {"topics": [{"topic_id": "12" * 16, "name": None}], "allow_auto_topic_creation": True})


def case_the_cluster_tells_one_story(t):
    """The same cluster, controller and brokers by every API, and the leaders and coordinators among them."""
    topic, group = t.topic(partitions=4), t.coordinate(t.name("g"))
    seen, leaders = set(), set()
    for connection in (t.main, t.connect(), t.connect()):
        for version in (7, 12):
            answer = connection.call("Metadata", version, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
            seen.add((answer["cluster_id"], answer["controller_id"],
                      tuple((one["node_id"], one["host"], one["port"]) for one in answer["brokers"])))
            leaders.add(tuple((one["leader_id"], one["leader_epoch"]) for one in sorted(
                answer["topics"][0]["partitions"], key=lambda one: one["partition_index"])))
    t.note("metadata answers", {"clusters": len(seen), "leaders": len(leaders)})
    (cluster, controller, brokers), = seen
    nodes = {node for node, _, _ in brokers}
    t.note("controller is a broker", controller in nodes)
    t.note("leaders are brokers", {leader for leader, _ in leaders.pop()} <= nodes)
    described = t.main.call("DescribeCluster", 1, {"endpoint_type": 1})
    t.note("DescribeCluster", {"cluster": described["cluster_id"] == cluster, "controller": described["controller_id"] in nodes,
                               "brokers": brokers == tuple((one["broker_id"], one["host"], one["port"])
                                                           for one in described["brokers"])})
    found = t.main.call("FindCoordinator", 3, {"key": group, "key_type": 0})
    t.note("FindCoordinator", (found["node_id"], found["host"], found["port"]) in brokers)
    found = t.main.call("FindCoordinator", 4, {"coordinator_keys": [group], "key_type": 0})["coordinators"][0]
    t.note("FindCoordinator of several", (found["node_id"], found["host"], found["port"]) in brokers)


def case_null_topics_by_version(t):
    """Null is everything from version 1 on."""
    topic = t.topic()
    for version in (1, 4, 9, 12, 13):
        answer = t.main.call("Metadata", version, {"topics": None})
        t.note(f"v{version}", [one["error_code"] for one in answer["topics"] if one["name"] == topic])


def case_rebootstrap_is_not_asked_for(t):
    answer = t.main.call("Metadata", 13, {"topics": []})
    t.note("v13", answer["error_code"])
