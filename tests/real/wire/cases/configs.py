"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs."""
import time

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


def resource(kind, name, keys):
    return {"resource_type": kind, "resource_name": name, "configuration_keys": keys}


def describe(t, label, name, keys, kind=TOPIC, version=4, synonyms=True, documentation=False):
    body = {"resources": [resource(kind, name, keys)], "include_synonyms": synonyms}
    if version >= 3:
        body["include_documentation"] = documentation
    answer = t.main.call("DescribeConfigs", version, body)
    for result in answer["results"]:
        for config in result["configs"]:
            if config.get("documentation"):
                config["documentation"] = "words"
    t.note(label, answer)


def case_topic_configs_that_are_set(t):
    topic = t.topic(cleanup_policy="compact", retention_ms=1000, max_message_bytes=2000)
    keys = ["retention.ms", "cleanup.policy", "max.message.bytes", "no.such.config"]
    for version in range(1, 5):
        describe(t, f"v{version}", topic, keys, version=version)
    describe(t, "without synonyms", topic, keys, synonyms=False)
    describe(t, "with documentation", topic, keys, documentation=True)
    describe(t, "no keys", topic, [])


def case_topic_config_set_to_its_default(t):
    describe(t, "ask", t.topic(retention_ms=604800000), ["retention.ms"])


def case_all_topic_configs(t):
    topic = t.topic()
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(TOPIC, topic, None)]})
    configs = answer["results"][0]["configs"]
    t.note("names", sorted(one["name"] for one in configs))
    for config in sorted(configs, key=lambda one: one["name"]):
        t.note(config["name"], {key: config[key] for key in ("value", "config_source", "config_type", "is_sensitive",
                                                             "read_only")})


def case_unknown_resources(t):
    describe(t, "topic", t.name("none"), None)
    describe(t, "bad topic name", "a b", None)
    describe(t, "no topic name", "", None)
    describe(t, "broker that is not", "777", ["retention.ms"], kind=BROKER)
    describe(t, "broker by word", "first", ["retention.ms"], kind=BROKER)
    describe(t, "unknown type", "x", None, kind=77)


def case_all_broker_configs_have_a_type_and_source(t):
    node = t.describe(t.topic())["partitions"][0]["leader_id"]
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(BROKER, str(node), ["message.max.bytes",
                                                                                           "num.partitions"])]})
    for config in sorted(answer["results"][0]["configs"], key=lambda one: one["name"]):
        t.note(config["name"], {key: config[key] for key in ("config_type", "is_sensitive")})


def alter(t, label, topic, configs, validate_only=False, version=2, kind=TOPIC):
    t.ask(label, "AlterConfigs", version, {"validate_only": validate_only, "resources": [
        {"resource_type": kind, "resource_name": topic,
         "configs": [{"name": key, "value": value} for key, value in configs]}]})


def change(t, label, topic, configs, validate_only=False, version=1, kind=TOPIC):
    t.ask(label, "IncrementalAlterConfigs", version, {"validate_only": validate_only, "resources": [
        {"resource_type": kind, "resource_name": topic,
         "configs": [{"name": key, "config_operation": operation, "value": value}
                     for key, operation, value in configs]}]})


def now(t, label, topic):
    """Notes what is set on the topic; a KRaft broker shows a change a moment after it is answered."""
    time.sleep(0.2)
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(TOPIC, topic, None)]})
    t.note(label, {one["name"]: one["value"] for one in answer["results"][0]["configs"] if one["config_source"] == 1})


def case_alter_replaces_all(t):
    topic = t.topic(max_message_bytes=2000)
    alter(t, "alter", topic, [("cleanup.policy", "compact")])
    now(t, "after", topic)
    alter(t, "to nothing", topic, [])
    now(t, "nothing", topic)


def case_alter_refuses(t):
    topic = t.topic()
    for label, configs in (("unknown", [("no.such", "1")]), ("bad value", [("retention.ms", "x")]),
                           ("null", [("retention.ms", None)]), ("out of range", [("retention.ms", "-2")]),
                           ("twice", [("retention.ms", "5"), ("retention.ms", "6")]),
                           ("one of two", [("retention.ms", "5"), ("no.such", "6")])):
        alter(t, label, topic, configs)
    alter(t, "unknown topic", t.name("none"), [("retention.ms", "5")])
    alter(t, "validate only", topic, [("retention.ms", "5")], validate_only=True)
    now(t, "unchanged", topic)


def case_incremental_operations(t):
    topic = t.topic()
    change(t, "set", topic, [("retention.ms", SET, "5000"), ("max.message.bytes", SET, "2000")])
    now(t, "after set", topic)
    change(t, "append", topic, [("cleanup.policy", APPEND, "compact")])
    now(t, "after append", topic)
    change(t, "append again", topic, [("cleanup.policy", APPEND, "compact")])
    change(t, "subtract", topic, [("cleanup.policy", SUBTRACT, "delete")])
    now(t, "after subtract", topic)
    change(t, "subtract what is not there", topic, [("cleanup.policy", SUBTRACT, "delete")])
    change(t, "delete", topic, [("retention.ms", DELETE, None), ("segment.bytes", DELETE, None)])
    now(t, "after delete", topic)


def case_incremental_refuses(t):
    topic = t.topic()
    for label, configs in (("unknown", [("no.such", SET, "1")]), ("bad value", [("retention.ms", SET, "x")]),
                           ("null", [("retention.ms", SET, None)]), ("append to no list", [("retention.ms", APPEND, "1")]),
                           ("twice", [("retention.ms", SET, "5"), ("retention.ms", SET, "6")]),
                           ("unknown operation", [("retention.ms", 9, "5")]),
                           ("delete unknown", [("no.such", DELETE, None)]),
                           ("append a bad value", [("cleanup.policy", APPEND, "burn")]),
                           ("one of two", [("retention.ms", SET, "5"), ("no.such", SET, "6")])):
        change(t, label, topic, configs)
    change(t, "unknown topic", t.name("none"), [("retention.ms", SET, "5")])
    change(t, "no configs", topic, [])
    change(t, "validate only", topic, [("retention.ms", SET, "5")], validate_only=True)
    change(t, "validate a bad one", topic, [("retention.ms", SET, "x")], validate_only=True)
    change(t, "unknown type", "x", [("retention.ms", SET, "5")], kind=77)
    now(t, "unchanged", topic)


def case_every_topic_config_can_be_set(t):
    """What Connect, Streams and tools set, whether or not it means anything here."""
    topic = t.topic()
    values = {"cleanup.policy": "compact", "compression.type": "lz4", "compression.gzip.level": "5",
              "compression.lz4.level": "3", "compression.zstd.level": "7", "delete.retention.ms": "1",
              "file.delete.delay.ms": "2", "flush.messages": "3", "flush.ms": "4", "index.interval.bytes": "5",
              "max.compaction.lag.ms": "60000", "max.message.bytes": "7", "message.timestamp.after.max.ms": "8",
              "message.timestamp.before.max.ms": "9", "message.timestamp.type": "LogAppendTime",
              "min.cleanable.dirty.ratio": "0.3", "min.compaction.lag.ms": "11", "min.insync.replicas": "1",
              "preallocate": "true", "retention.bytes": "13", "retention.ms": "14", "segment.bytes": "1048576",
              "segment.index.bytes": "17", "segment.jitter.ms": "18", "segment.ms": "19",
              "unclean.leader.election.enable": "true"}
    for key, value in values.items():
        change(t, key, topic, [(key, SET, value)])
    now(t, "all", topic)


def case_default_values_of_a_broker(t):
    """The limits that clients meet."""
    node = str(t.describe(t.topic())["partitions"][0]["leader_id"])
    names = ["message.max.bytes", "log.segment.bytes", "log.retention.ms", "log.retention.hours", "log.retention.bytes",
             "log.cleaner.delete.retention.ms", "log.message.timestamp.after.max.ms", "log.message.timestamp.before.max.ms",
             "offset.metadata.max.bytes", "offsets.retention.minutes", "offsets.retention.check.interval.ms",
             "group.min.session.timeout.ms", "group.max.session.timeout.ms", "group.max.size", "producer.id.expiration.ms",
             "max.incremental.fetch.session.cache.slots", "connections.max.idle.ms", "socket.request.max.bytes",
             "fetch.max.bytes", "auto.create.topics.enable", "delete.topic.enable", "num.partitions",
             "default.replication.factor", "compression.type", "log.message.timestamp.type"]
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(BROKER, node, names)]})
    for config in sorted(answer["results"][0]["configs"], key=lambda one: one["name"]):
        t.note(config["name"], config["value"])


def case_other_kinds_of_resources(t):
    describe(t, "client metrics", "x", None, kind=16)
    describe(t, "group", t.name("g"), ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"], kind=32)
    describe(t, "no group name", "", None, kind=32)
    describe(t, "all brokers", "", None, kind=BROKER)


def case_several_resources(t):
    """Each has its own verdict, and stands where it was asked for."""
    topic = t.topic(retention_ms=5)
    answer = t.main.call("DescribeConfigs", 4, {"resources": [
        resource(TOPIC, t.name("none"), None), resource(TOPIC, topic, ["retention.ms"]), resource(BROKER, "777", None),
        resource(TOPIC, topic, ["retention.bytes"])]})
    t.note("errors", [[one["error_code"], one["resource_type"], len(one["configs"])] for one in answer["results"]])
    changes = [{"name": "retention.ms", "config_operation": SET, "value": "6"}]
    bad = [{"name": "retention.ms", "config_operation": SET, "value": "x"}]
    t.ask("change", "IncrementalAlterConfigs", 1, {"validate_only": False, "resources": [
        {"resource_type": TOPIC, "resource_name": topic, "configs": changes},
        {"resource_type": TOPIC, "resource_name": t.name("none"), "configs": changes}]})
    t.ask("same twice", "IncrementalAlterConfigs", 1, {"validate_only": False, "resources": [
        {"resource_type": TOPIC, "resource_name": topic, "configs": bad},
        {"resource_type": TOPIC, "resource_name": topic, "configs": changes}]})


def case_alter_in_every_version(t):
    topic = t.topic()
    for version in range(3):
        alter(t, f"v{version}", topic, [("retention.ms", str(5 + version))], version=version)
        now(t, f"after v{version}", topic)
    for version in range(2):
        change(t, f"incremental v{version}", topic, [("retention.ms", SET, str(9 + version))], version=version)
        now(t, f"after incremental v{version}", topic)


def until(t, kind, name, key, value):
    """Waits until a config has the value; a KRaft broker shows a change a moment after it is answered."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(kind, name, [key])]})
        if [one["value"] for one in answer["results"][0]["configs"]] == [value]:
            return
        time.sleep(0.05)
    raise AssertionError(f"{key} of {name} does not become {value}: {answer}")


def chain(t, label, kind, name, key):
    """Notes a config's value and source, and its synonyms in the order in which they came."""
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(kind, name, [key])], "include_synonyms": True})
    t.note(label, [[one["value"], one["config_source"], [[s["name"], s["value"], s["source"]] for s in one["synonyms"]]]
                   for one in answer["results"][0]["configs"]])


def case_synonyms_in_their_order(t):
    """The topic's own value, then the broker's, the one for all brokers, the default."""
    topic = t.topic(max_message_bytes=1_000_001)
    node = str(t.describe(topic)["partitions"][0]["leader_id"])
    try:
        change(t, "for all brokers", "", [("message.max.bytes", SET, "1000002")], kind=BROKER)
        change(t, "for the broker", node, [("message.max.bytes", SET, "1000003")], kind=BROKER)
        until(t, BROKER, node, "message.max.bytes", "1000003")
        chain(t, "topic", TOPIC, topic, "max.message.bytes")
        chain(t, "broker", BROKER, node, "message.max.bytes")
        chain(t, "all brokers", BROKER, "", "message.max.bytes")
        change(t, "topic without its own", topic, [("max.message.bytes", DELETE, None)])
        until(t, TOPIC, topic, "max.message.bytes", "1000003")
        chain(t, "topic then", TOPIC, topic, "max.message.bytes")
    finally:
        change(t, "for the broker no more", node, [("message.max.bytes", DELETE, None)], kind=BROKER)
        change(t, "for all brokers no more", "", [("message.max.bytes", DELETE, None)], kind=BROKER)
    until(t, TOPIC, topic, "max.message.bytes", "1048588")
    chain(t, "topic at last", TOPIC, topic, "max.message.bytes")


def case_broker_configs_that_cannot_change(t):
    node = str(t.describe(t.topic())["partitions"][0]["leader_id"])
    change(t, "read only", node, [("auto.create.topics.enable", SET, "false")], kind=BROKER, validate_only=True)
    change(t, "unknown broker", "777", [("message.max.bytes", SET, "5")], kind=BROKER, validate_only=True)
    change(t, "bad value", node, [("message.max.bytes", SET, "x")], kind=BROKER, validate_only=True)


def case_password_is_not_told(t):
    node = str(t.describe(t.topic())["partitions"][0]["leader_id"])
    answer = t.main.call("DescribeConfigs", 4, {"resources": [resource(BROKER, node, None)]})
    told = [one["name"] for one in answer["results"][0]["configs"] if one["is_sensitive"] and one["value"] is not None]
    t.note("told", told)
    t.note("some are sensitive", any(one["is_sensitive"] for one in answer["results"][0]["configs"]))
