"""ApiVersions, headers and what ends a connection."""
import time

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
    for version in range(6):
        answer = t.main.call("ApiVersions", version, SOFTWARE)
        t.note(f"v{version}", {"error": answer["error_code"], "ranges": ranges(answer)})


def raw_versions(t, version, client_software_name="wire"):
    """An ApiVersions request of any version, its answer read as v0: (error code, bytes left over)."""
    connection = t.connect()
    body = codec.encode_request("ApiVersions", min(version, 4), {**SOFTWARE, "client_software_name": client_software_name}, 7)
    connection.send_frame(body[:2] + version.to_bytes(2, "big") + body[4:])
    try:
        correlation, answer = codec.decode_response("ApiVersions", 0, connection.recv_frame())
        return {"correlation": correlation, "error": answer["error_code"], "keys": answer["api_keys"]}
    except Closed:
        return "closed"


def case_unknown_version_of_api_versions(t):
    for version in (6, 99, 2**15 - 1):
        t.note(f"v{version}", raw_versions(t, version))


def case_bad_client_software_name(t):
    for name in ("-bad", "good.name-1", "bad name", ""):
        answer = t.main.call("ApiVersions", 3, {"client_software_name": name, "client_software_version": "1"})
        t.note(repr(name), {"error": answer["error_code"], "any keys": bool(answer["api_keys"])})
    for version in ("-1", "1.0-rc.1", "1 0", "", "1_0", "1"):
        for number in (3, 4):
            answer = t.main.call("ApiVersions", number, {"client_software_name": "wire", "client_software_version": version})
            t.note(f"version {version!r} v{number}", answer["error_code"])


def after(t, frame):
    connection = t.connect()
    connection.send_frame(frame)
    try:
        connection.recv_frame()
        return "answered"
    except Closed:
        return "closed"


def case_unsupported_requests_close(t):
    good = codec.encode_request("Metadata", 12, {}, 1)
    t.note("unknown api", after(t, (9999).to_bytes(2, "big") + good[2:]))
    t.note("unknown version", after(t, good[:2] + (99).to_bytes(2, "big") + good[4:]))
    t.note("cut body", after(t, good[:-2]))
    t.note("empty frame", after(t, b""))
    t.note("Produce v2", after(t, b"\0\0\0\2" + good[4:]))
    t.note("good", after(t, good))


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


def case_what_is_not_offered(t):
    """Nothing that only brokers call, no telemetry without a receiver, no version that is not stable."""
    between_brokers = {4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82}
    for version in (0, 3, 4):
        keys = {one["api_key"] for one in t.main.call("ApiVersions", version, SOFTWARE)["api_keys"]}
        t.note(f"v{version}", {"telemetry": sorted(keys & {71, 72}), "between brokers": sorted(keys & between_brokers)})


def case_features(t):
    for version in (3, 4):
        answer = t.main.call("ApiVersions", version, SOFTWARE)
        t.note(f"v{version}", {
            "from zero": any(one["min_version"] == 0 for one in answer["supported_features"]),
            "transactions": [one["max_version_level"] for one in answer["finalized_features"]
                             if one["name"] == "transaction.version"],
            "epoch": answer["finalized_features_epoch"] >= 0})


def case_request_headers(t):
    """The client's id is never compact and may be null; tags of the header are skipped."""
    for label, name in (("null", None), ("empty", ""), ("long", "x" * 1000), ("not ascii", "ä€")):
        for version in (8, 12):
            connection = t.connect(name)
            frame = codec.encode_request("Metadata", version, {"topics": []}, 5, name)
            if name and not name.isascii():
                raw = name.encode()
                frame = codec.encode_request("Metadata", version, {"topics": []}, 5, "a" * len(raw))
                frame = frame.replace(b"a" * len(raw), raw)
            connection.send_frame(frame)
            answer = codec.decode_response("Metadata", version, connection.recv_frame())
            t.note(f"{label} id v{version}", {"correlation": answer[0], "brokers": len(answer[1]["brokers"])})
    good = codec.encode_request("Metadata", 12, {"topics": []}, 5, "wire")
    head = len(good) - len(codec.encode_request("Metadata", 12, {"topics": []}, 5, "")) + 10
    for label, tags in (("unknown tags", b"\x02\x03\x01a\x4d\x02bc"), ("cut tags", b"\x7f")):
        t.note(label, after(t, good[:head] + tags + good[head + 1:]))


def case_correlation_ids(t):
    for number in (0, -1, 2**31 - 1, -2**31):
        t.main.send_frame(codec.encode_request("Metadata", 9, {"topics": []}, number))
        t.note(str(number), codec.decode_response("Metadata", 9, t.main.recv_frame())[0])


def case_sizes_of_requests(t):
    """What is larger than socket.request.max.bytes is not waited for."""
    for label, size in (("more than the limit", 104_857_601), ("the greatest", 2**31 - 1), ("negative", -1)):
        connection = t.connect()
        connection.socket.sendall(size.to_bytes(4, "big", signed=True))
        try:
            connection.recv_frame()
            t.note(label, "answered")
        except Closed:
            t.note(label, "closed")


def case_versions_before_the_first_close(t):
    """No client gets here: the offered ranges are honest, but for Produce."""
    for api, version in (("Produce", 0), ("Produce", 2), ("Fetch", 3), ("ListOffsets", 0), ("OffsetCommit", 1),
                         ("OffsetFetch", 0), ("CreateTopics", 1), ("DeleteTopics", 0), ("OffsetForLeaderEpoch", 1),
                         ("DescribeConfigs", 0)):
        message = codec.messages()[api, "request"]
        t.note(f"{api} v{version}", after(t, message.key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0" * 60))


def case_a_waiting_request_holds_up_its_connection_only(t):
    topic, other = t.topic(), t.connect()
    t.main.send("Fetch", 12, bodies.fetch(topic, {0: 0}, max_wait_ms=1500))
    started = time.monotonic()
    t.main.send("Metadata", 12, {"topics": []})
    other.call("Metadata", 12, {"topics": []})
    t.note("other connection", time.monotonic() - started < 1)
    t.main.recv()
    t.main.recv()
    t.note("own connection", time.monotonic() - started > 1)


def case_who_the_client_thinks_it_talks_to(t):
    """From version 5 on a client may say which cluster and broker it expects (KIP-1242)."""
    answer = t.main.call("DescribeCluster", 1, {"endpoint_type": 1})
    cluster, node = answer["cluster_id"], answer["brokers"][0]["broker_id"]
    for label, expected in (("nothing", (None, -1)), ("both right", (cluster, node)), ("cluster", (cluster, -1)),
                            ("node only", (None, node)), ("other cluster", ("another", node)),
                            ("other node", (cluster, node + 70)), ("other node only", (None, node + 70)),
                            ("other cluster only", ("another", -1))):
        answer = t.main.call("ApiVersions", 5, {**SOFTWARE, "cluster_id": expected[0], "node_id": expected[1]})
        t.note(label, {"error": answer["error_code"], "keys": [one for one in answer["api_keys"] if one["api_key"] == 18],
                       "any": bool(answer["api_keys"])})
