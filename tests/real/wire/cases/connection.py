"""ApiVersions, headers and what ends a connection."""
from .. import bodies, codec
from ..client import Closed

SERVED = ("Produce Fetch ListOffsets Metadata OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup "
          "SyncGroup DescribeGroups ListGroups ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId "
          "OffsetForLeaderEpoch DescribeConfigs AlterConfigs CreatePartitions DeleteGroups IncrementalAlterConfigs "
          "OffsetDelete DescribeCluster DescribeTopicPartitions").split()
SOFTWARE = {"client_software_name": "wire", "client_software_version": "1.0"}


def ranges(answer):
    keys = {codec.messages()[api, "request"].key: api for api in SERVED}
    return {keys[one["api_key"]]: [one["min_version"], one["max_version"]] for one in answer["api_keys"]
            if one["api_key"] in keys}


def case_served_versions(t):
    for version in range(5):
        answer = t.main.call("ApiVersions", version, SOFTWARE)
        t.note(f"v{version}", {"error": answer["error_code"], "ranges": ranges(answer)})


def raw_versions(t, version, client_software_name="wire"):
    """An ApiVersions request of any version, its answer read as v0: (error code, bytes left over)."""
    connection = t.connect()
    body = codec.encode_request("ApiVersions", min(version, 4), {**SOFTWARE, "client_software_name": client_software_name}, 7)
    connection.send_frame(body[:2] + version.to_bytes(2, "big") + body[4:])
    try:
        correlation, answer = codec.decode_response("ApiVersions", 0, connection.recv_frame())
        return {"correlation": correlation, "error": answer["error_code"], "keys": answer["api_keys"][:1]}
    except Closed:
        return "closed"


def case_unknown_version_of_api_versions(t):
    t.note("v99", raw_versions(t, 99))


def case_bad_client_software_name(t):
    for name in ("-bad", "good.name-1", "bad name", ""):
        answer = t.main.call("ApiVersions", 3, {"client_software_name": name, "client_software_version": "1"})
        t.note(repr(name), {"error": answer["error_code"], "any keys": bool(answer["api_keys"])})


def case_unsupported_requests_close(t):
    def after(frame):
        connection = t.connect()
        connection.send_frame(frame)
        try:
            connection.recv_frame()
            return "answered"
        except Closed:
            return "closed"

    good = codec.encode_request("Metadata", 12, {}, 1)
    t.note("unknown api", after((9999).to_bytes(2, "big") + good[2:]))
    t.note("unknown version", after(good[:2] + (99).to_bytes(2, "big") + good[4:]))
    t.note("cut body", after(good[:-2]))
    t.note("empty frame", after(b""))
    t.note("Produce v2", after(b"\0\0\0\2" + good[4:]))
    t.note("good", after(good))


def case_answers_in_order(t):
    topic = t.topic()
    for version in (4, 9, 12):
        t.main.send("Metadata", version, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        t.main.send("Fetch", 12, bodies.fetch(topic, {0: 0}, max_wait_ms=300))
        t.main.send("ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))
    for number in range(9):
        t.receive(f"answer {number}", t.main)


def case_unknown_tags_are_skipped(t):
    topic = t.topic()
    t.ask("metadata", "Metadata", 12, {"topics": [{"name": topic, "_tags": {77: b"abc"}}],
                                       "allow_auto_topic_creation": False, "_tags": {0: b"x", 5000: b""}})
