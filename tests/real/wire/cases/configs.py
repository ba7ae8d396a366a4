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
