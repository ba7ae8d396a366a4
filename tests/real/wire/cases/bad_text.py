"""Text that is not UTF-8: Kafka's decoder puts U+FFFD in its place. "\\udcff" stands for the byte ff on the wire."""
from .. import bodies
from .groups import describe, lone_member

BAD = "b\udcffd"


def list_own(t, label):
    """The groups whose name has this case's in it."""
    answer = t.main.call("ListGroups", 5, {})
    t.note(label, {"error": answer["error_code"],
                   "groups": [one for one in answer["groups"] if f"{t.case}." in one["group_id"] and t.run in one["group_id"]]})


def case_group_id(t):
    topic, group = t.topic(), t.coordinate(t.name(BAD))
    said = group.replace("\udcff", "\ufffd")
    commit = bodies.commit(group, topic, {0: 5}, metadata="m\udcfe\udce2\udc82")
    for version in (7, 8):
        t.ask(f"commit v{version}", "OffsetCommit", version, commit)
        t.ask(f"fetch v{version - 2}", "OffsetFetch", version - 2, bodies.offset_fetch(group, topic, [0]))
    t.ask("fetch by its new name", "OffsetFetch", 7, bodies.offset_fetch(said, topic, [0]))
    t.ask("fetch v8", "OffsetFetch", 8, {"groups": [{"group_id": group, "topics": None}]})
    t.ask("coordinator", "FindCoordinator", 4, {"coordinator_keys": [group], "key_type": 0})
    list_own(t, "list")
    describe(t, "describe", group)
    t.ask("delete its offset", "OffsetDelete", 0, {"group_id": group, "topics": [
        {"name": topic, "partitions": [{"partition_index": 0}]}]})
    t.ask("commit again", "OffsetCommit", 8, bodies.commit(group, topic, {0: 5}))
    t.ask("delete", "DeleteGroups", 2, {"groups_names": [said]})
    list_own(t, "list after")


def case_what_is_replaced_together(t):
    parts = ["80", "c3", "c080", "e282", "e28241", "e08080", "eda080", "eda041", "eda0", "f09f98", "f09f9841", "f0808080",
             "f4908080", "f5808080", "f888808080", "c3a4", "f09f9880"]
    for part in parts:
        text = bytes.fromhex(part).decode("utf-8", "surrogateescape")
        answer = t.main.call("DescribeGroups", 5, {"groups": [text]})
        t.note(part, answer["groups"][0]["group_id"])


def case_members(t):
    group = t.coordinate(t.name("g"))
    client = t.connect("c\udcffd")
    options = {"protocols": (("ran\udcffge", b"\xff\xfe"),), "instance": "i\udcff"}
    joined = t.ask("join", "JoinGroup", 9, bodies.join(group, **options), client)
    member, generation = joined["member_id"], joined["generation_id"]
    t.note("its id begins with that of the instance", member[:3])
    t.ask("sync", "SyncGroup", 5, bodies.sync(group, member, generation, [(member, b"\xff")], instance="i\udcff",
                                            protocol_name="ran\udcffge"), client)
    describe(t, "describe", group)
    t.ask("beat of a bad member", "Heartbeat", 4, bodies.beat(group, "m\udcff", generation))
    t.ask("leave", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": "", "group_instance_id": "i\udcff"}]}, client)
    lone_member(t, t.coordinate(t.name(BAD)))
    list_own(t, "list")


def case_topic_names(t):
    name = t.name(BAD)
    for version in (4, 7):
        t.ask(f"create v{version}", "CreateTopics", version, bodies.create_topics(bodies.create_topic(name)))
    for version in (4, 12):
        t.ask(f"metadata v{version}", "Metadata", version, {"topics": [{"name": name}], "allow_auto_topic_creation": True})
    t.ask("delete", "DeleteTopics", 5, {"topic_names": [name], "timeout_ms": 1000})
    t.ask("offsets", "ListOffsets", 6, bodies.list_offsets(name, [(0, -1)]))
    t.ask("commit", "OffsetCommit", 8, bodies.commit(t.coordinate(t.name("g")), name, {0: 5}))


def case_settings(t):
    topic = t.topic()
    for key, value in (("cleanup.p\udcfflicy", "delete"), ("retention.ms", "\udcff")):
        t.ask(f"alter {ascii(key)}", "IncrementalAlterConfigs", 1, {"resources": [
            {"resource_type": 2, "resource_name": topic, "configs": [{"name": key, "config_operation": 0, "value": value}]}],
            "validate_only": False})
    t.ask("describe", "DescribeConfigs", 4, {"resources": [{"resource_type": 2, "resource_name": topic,
                                                            "configuration_keys": ["cleanup.p\udcfflicy"]}]})


def case_length_of_metadata(t):
    """offset.metadata.max.bytes (4096) counts UTF-16 units."""
    topic, group = t.topic(), t.coordinate(t.name("g"))
    for label, text in (("ascii", "a"), ("two bytes", "\xe4"), ("three bytes", "\u20ac"), ("bad", "\udcff")):
        for count in (4096, 4097):
            t.ask(f"{count} of {label}", "OffsetCommit", 8, bodies.commit(group, topic, {0: 5}, metadata=text * count))
    for count in (2048, 2049):
        t.ask(f"{count} pairs", "OffsetCommit", 8, bodies.commit(group, topic, {0: 5}, metadata="\U0001f600" * count))


def case_longest_text(t):
    """32767 bytes, also where the field's length could say more."""
    topic, group = t.topic(), t.coordinate(t.name("g"))
    t.ask("one byte more", "OffsetCommit", 8, bodies.commit(group.ljust(32768, "g"), topic, {0: 5}))
    longest, other = group.ljust(32767, "g"), t.connect()
    t.note("longest", other.call("OffsetCommit", 8, bodies.commit(longest, topic, {0: 5}))["topics"][0]["partitions"])
    for version in (2, 3):
        answer = other.call("ListGroups", version, {})
        t.note(f"list v{version}", [len(one["group_id"]) for one in answer["groups"] if one["group_id"] == longest])
    t.note("delete", other.call("DeleteGroups", 2, {"groups_names": [longest]})["results"][0]["error_code"])
