"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups, ListGroups, DeleteGroups."""
import time

from .. import bodies


def join_new(t, label, group, connection=None, version=9, **options):
    """Joins as a new member: first to learn the id, then with it."""
    first = t.ask(f"{label} gets an id", "JoinGroup", version, bodies.join(group, **options), connection)
    return t.ask(f"{label} joins", "JoinGroup", version, bodies.join(group, first["member_id"], **options), connection)


def lone_member(t, group, label="one"):
    """A stable group of one member: (member id, generation)."""
    joined = join_new(t, label, group)
    t.ask(f"{label} syncs", "SyncGroup", 5, bodies.sync(group, joined["member_id"], joined["generation_id"],
                                                      [(joined["member_id"], b"all")]))
    return joined["member_id"], joined["generation_id"]


def describe(t, label, *groups, version=5):
    answer = t.main.call("DescribeGroups", version, {"groups": list(groups)})
    for group in answer["groups"]:
        for member in group["members"]:
            member["client_host"] = "host" if member["client_host"].startswith("/") else member["client_host"]
    t.note(label, answer)


def case_one_member_from_start_to_end(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    member, generation = lone_member(t, group)
    describe(t, "stable", group)
    t.ask("beat", "Heartbeat", 4, bodies.beat(group, member, generation))
    t.ask("commit", "OffsetCommit", 8, bodies.commit(group, topic, {0: 5}, member, generation))
    t.ask("sync again", "SyncGroup", 5, bodies.sync(group, member, generation))
    t.ask("leave", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": member}]})
    describe(t, "empty", group)
    t.ask("beat after", "Heartbeat", 4, bodies.beat(group, member, generation))
    t.ask("offsets stay", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))
    again = join_new(t, "again", group)
    t.note("next generation", again["generation_id"] - generation)


def case_join_by_version(t):
    for version in range(10):
        group = t.coordinate(t.name(f"g{version}"))
        first = t.ask(f"v{version}", "JoinGroup", version, bodies.join(group))
        if version >= 4:
            first = t.ask(f"v{version} with id", "JoinGroup", version, bodies.join(group, first["member_id"]))
        sync_version = min(version, 5)
        t.ask(f"sync v{sync_version}", "SyncGroup", sync_version, bodies.sync(
            group, first["member_id"], first["generation_id"], [(first["member_id"], b"x")]))
        t.ask(f"beat v{min(version, 4)}", "Heartbeat", min(version, 4), bodies.beat(
            group, first["member_id"], first["generation_id"]))
        leave = min(version, 5)
        body = {"member_id": first["member_id"]} if leave < 3 else {"members": [{"member_id": first["member_id"]}]}
        t.ask(f"leave v{leave}", "LeaveGroup", leave, {"group_id": group, **body})


def case_join_refuses(t):
    group = t.coordinate(t.name("g"))
    for label, options in (("unknown member", {"member": "nobody"}), ("no protocols", {"protocols": ()}),
                           ("no protocol type", {"protocol_type": ""}), ("short session", {"session_timeout_ms": 10}),
                           ("long session", {"session_timeout_ms": 10_000_000})):
        t.ask(label, "JoinGroup", 9, bodies.join(group, **options))
    t.ask("no group", "JoinGroup", 9, bodies.join(""))
    t.ask("sync with nobody", "SyncGroup", 5, bodies.sync(group, "nobody", 1))
    t.ask("beat with nobody", "Heartbeat", 4, bodies.beat(group, "nobody", 1))
    t.ask("leave with nobody", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": "nobody"}]})
    describe(t, "after all", group)


def case_wrong_generation_and_member(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    member, generation = lone_member(t, group)
    for label, who, when in (("old generation", member, generation - 1), ("new generation", member, generation + 1),
                             ("nobody", "nobody", generation)):
        t.ask(f"beat {label}", "Heartbeat", 4, bodies.beat(group, who, when))
        t.ask(f"sync {label}", "SyncGroup", 5, bodies.sync(group, who, when))
        t.ask(f"commit {label}", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}, who, when))
    t.ask("commit from outside", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}))
    t.ask("other protocol name", "SyncGroup", 5, bodies.sync(group, member, generation, protocol_name="sticky"))
    t.ask("other protocol type", "SyncGroup", 5, bodies.sync(group, member, generation, protocol_type="connect"))


def case_two_members_rebalance(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    first, generation = lone_member(t, group)
    other = t.connect("other")
    second = t.ask("two gets an id", "JoinGroup", 9, bodies.join(group), other)["member_id"]
    other.send("JoinGroup", 9, bodies.join(group, second))
    wait_for_state(t, group, "PreparingRebalance")
    t.ask("beat of one", "Heartbeat", 4, bodies.beat(group, first, generation))
    t.ask("commit of one", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}, first, generation))
    t.ask("one joins again", "JoinGroup", 9, bodies.join(group, first))
    joined = t.receive("two joined", other)
    now = joined["generation_id"]
    t.note("generations", now - generation)
    describe(t, "completing", group)
    other.send("SyncGroup", 5, bodies.sync(group, second, now))
    t.ask("beat while syncing", "Heartbeat", 4, bodies.beat(group, first, now))
    t.ask("commit while syncing", "OffsetCommit", 8, bodies.commit(group, topic, {0: 2}, first, now))
    t.ask("leader syncs", "SyncGroup", 5, bodies.sync(group, first, now, [(first, b"first"), (second, b"second")]))
    t.receive("two synced", other)
    describe(t, "stable", group)
    t.ask("two leaves", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": second}]})
    t.ask("beat of one then", "Heartbeat", 4, bodies.beat(group, first, now))


def wait_for_state(t, group, state):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if t.main.call("DescribeGroups", 5, {"groups": [group]})["groups"][0]["group_state"] == state:
            return
        time.sleep(0.02)
    raise AssertionError(f"{group} does not come to {state}")


def case_protocol_choice(t):
    group = t.coordinate(t.name("g"))
    join_new(t, "one", group, protocols=(("range", b"1r"), ("sticky", b"1s")))
    other = t.connect("other")
    t.ask("nothing in common", "JoinGroup", 9, bodies.join(group, protocols=(("other", b""),)), other)
    t.ask("another type", "JoinGroup", 9, bodies.join(group, protocol_type="connect"), other)
    describe(t, "as before", group)


def case_join_again_unchanged(t):
    group = t.coordinate(t.name("g"))
    member, generation = lone_member(t, group)
    again = t.ask("leader joins again", "JoinGroup", 9, bodies.join(group, member))
    t.note("generations", again["generation_id"] - generation)


def case_static_member(t):
    group = t.coordinate(t.name("g"))
    first = t.ask("joins", "JoinGroup", 9, bodies.join(group, instance="i1"))
    t.ask("syncs", "SyncGroup", 5, bodies.sync(group, first["member_id"], first["generation_id"],
                                               [(first["member_id"], b"all")], instance="i1"))
    second = t.ask("restarts", "JoinGroup", 9, bodies.join(group, instance="i1"))
    t.note("same id", second["member_id"] == first["member_id"])
    t.note("generations", second["generation_id"] - first["generation_id"])
    t.ask("old id beats", "Heartbeat", 4, bodies.beat(group, first["member_id"], first["generation_id"], "i1"))
    t.ask("new id beats", "Heartbeat", 4, bodies.beat(group, second["member_id"], second["generation_id"], "i1"))
    t.ask("new id syncs", "SyncGroup", 5, bodies.sync(group, second["member_id"], second["generation_id"], instance="i1"))
    t.ask("old id joins", "JoinGroup", 9, bodies.join(group, first["member_id"], instance="i1"))
    t.ask("unknown instance beats", "Heartbeat", 4, bodies.beat(group, second["member_id"], second["generation_id"], "i2"))
    describe(t, "described", group)
    t.ask("removed by instance", "LeaveGroup", 5, {"group_id": group, "members": [
        {"member_id": "", "group_instance_id": "i1"}, {"member_id": "", "group_instance_id": "i2"}]})
    describe(t, "empty", group)


def case_session_expires(t):
    group = t.coordinate(t.name("g"))
    joined = join_new(t, "one", group, session_timeout_ms=6000, rebalance_timeout_ms=6000)
    t.ask("syncs", "SyncGroup", 5, bodies.sync(group, joined["member_id"], joined["generation_id"],
                                               [(joined["member_id"], b"all")]))
    time.sleep(7.5)
    t.ask("too late", "Heartbeat", 4, bodies.beat(group, joined["member_id"], joined["generation_id"]))
    describe(t, "empty", group)


def case_describe_and_delete(t):
    group, empty = t.coordinate(t.name("g")), t.name("none")
    member, _ = lone_member(t, group)
    for version in range(7):
        describe(t, f"v{version}", group, empty, version=version)
    for version in range(4):
        t.ask(f"delete v{version}", "DeleteGroups", version, {"groups_names": [group, empty]})
    t.ask("leave", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": member}]})
    t.ask("delete", "DeleteGroups", 2, {"groups_names": [group]})
    describe(t, "gone", group)


def case_list_with_filters(t):
    group = t.coordinate(t.name("g"))
    lone_member(t, group)
    for version in range(6):
        options = [{}]
        if version >= 4:
            options += [{"states_filter": ["Stable"]}, {"states_filter": ["stable", "Empty"]},
                        {"states_filter": ["Empty"]}, {"states_filter": ["NoSuchState"]}]
        if version >= 5:
            options += [{"types_filter": ["classic"]}, {"types_filter": ["consumer"]}, {"types_filter": ["Classic"]}]
        for option in options:
            answer = t.main.call("ListGroups", version, option)
            t.note(f"v{version} {option}", {"error": answer["error_code"], "groups": [
                one for one in answer["groups"] if one["group_id"] == group]})


def case_offsets_of_subscribed_topics_stay(t):
    """A consumer's metadata names its topics: their offsets cannot be deleted while it lives."""
    topic, other, group = t.topic(), t.topic("other"), t.coordinate(t.name("g"))
    names = topic.encode()
    subscription = b"\0\0" + (1).to_bytes(4, "big") + len(names).to_bytes(2, "big") + names + b"\xff\xff\xff\xff"
    joined = join_new(t, "one", group, protocols=(("range", subscription),))
    t.main.call("SyncGroup", 5, bodies.sync(group, joined["member_id"], joined["generation_id"]))
    for name in (topic, other):
        t.main.call("OffsetCommit", 8, bodies.commit(group, name, {0: 1}, joined["member_id"], joined["generation_id"]))
    t.ask("delete", "OffsetDelete", 0, {"group_id": group, "topics": [
        {"name": topic, "partitions": [{"partition_index": 0}]}, {"name": other, "partitions": [{"partition_index": 0}]}]})
    connect = t.coordinate(t.name("connect"))
    join_new(t, "worker", connect, protocol_type="connect")
    t.ask("other type of group", "OffsetDelete", 0, {"group_id": connect, "topics": [
        {"name": topic, "partitions": [{"partition_index": 0}]}]})


def case_static_member_by_version(t):
    """From version 9 on a leader that returns is told that it leads, but need not assign anew."""
    for version in (5, 8, 9):
        group = t.coordinate(t.name(f"g{version}"))
        first = t.ask(f"v{version} joins", "JoinGroup", version, bodies.join(group, instance="i1"))
        t.ask(f"v{version} syncs", "SyncGroup", 3, bodies.sync(group, first["member_id"], first["generation_id"],
                                                               [(first["member_id"], b"all")], instance="i1"))
        t.ask(f"v{version} returns", "JoinGroup", version, bodies.join(group, instance="i1"))
        t.ask(f"v{version} returns with other metadata", "JoinGroup", version, bodies.join(
            group, protocols=(("range", b"new"),), instance="i1"))


def case_fenced_instance(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    first = t.main.call("JoinGroup", 9, bodies.join(group, instance="i1"))
    old, generation = first["member_id"], first["generation_id"]
    t.main.call("SyncGroup", 5, bodies.sync(group, old, generation, [(old, b"all")], instance="i1"))
    t.main.call("JoinGroup", 9, bodies.join(group, instance="i1"))
    t.ask("beats", "Heartbeat", 4, bodies.beat(group, old, generation, "i1"))
    t.ask("syncs", "SyncGroup", 5, bodies.sync(group, old, generation, instance="i1"))
    for version in (7, 9):
        t.ask(f"commits v{version}", "OffsetCommit", version,
              bodies.commit(group, topic, {0: 1}, old, generation, instance="i1"))
    t.ask("leaves", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": old, "group_instance_id": "i1"}]})
    t.ask("beats without its name", "Heartbeat", 4, bodies.beat(group, old, generation))


def case_no_group_id(t):
    topic = t.topic()
    t.ask("beat", "Heartbeat", 4, bodies.beat("", "m", 1))
    t.ask("sync", "SyncGroup", 5, bodies.sync("", "m", 1))
    for version in (2, 5):
        body = {"member_id": "m"} if version < 3 else {"members": [{"member_id": "m"}]}
        t.ask(f"leave v{version}", "LeaveGroup", version, {"group_id": "", **body})
    t.ask("forget", "OffsetDelete", 0, {"group_id": "", "topics": []})
    # Old consumers commit without naming a group: such a group has no members, but offsets.
    t.ask("commit", "OffsetCommit", 8, bodies.commit("", topic, {0: 1}))
    t.ask("commit of a member", "OffsetCommit", 8, bodies.commit("", topic, {0: 1}, "m", 1))
    named = [{"name": topic, "partition_indexes": [0]}]
    t.ask("fetch", "OffsetFetch", 7, bodies.offset_fetch("", topic, [0]))
    t.ask("fetch of several", "OffsetFetch", 8, {"groups": [{"group_id": "", "topics": named}]})
    for version in (5, 6):
        describe(t, f"describe v{version}", "", version=version)
    t.ask("delete", "DeleteGroups", 2, {"groups_names": [""]})
    t.ask("fetch then", "OffsetFetch", 7, bodies.offset_fetch("", topic, [0]))
    describe(t, "describe then", "", version=6)


def case_described_while_it_rebalances(t):
    group = t.coordinate(t.name("g"))
    first, generation = lone_member(t, group)
    other = t.connect("other")
    second = t.main.call("JoinGroup", 9, bodies.join(group))["member_id"]
    other.send("JoinGroup", 9, bodies.join(group, second))
    wait_for_state(t, group, "PreparingRebalance")
    describe(t, "preparing", group)
    for version in (4, 5):
        answer = t.main.call("ListGroups", version, {"states_filter": ["PreparingRebalance"]})
        t.note(f"listed v{version}", [one for one in answer["groups"] if one["group_id"] == group])
    t.ask("sync of one", "SyncGroup", 5, bodies.sync(group, first, generation))
    t.ask("sync of the new one", "SyncGroup", 5, bodies.sync(group, second, generation))
    t.ask("delete", "DeleteGroups", 2, {"groups_names": [group]})
    t.main.call("JoinGroup", 9, bodies.join(group, first))
    other.recv()


def case_empty_group_answers(t):
    topic, group = t.topic(), t.coordinate(t.name("g"))
    member, generation = lone_member(t, group)
    t.main.call("LeaveGroup", 5, {"group_id": group, "members": [{"member_id": member}]})
    t.ask("beat", "Heartbeat", 4, bodies.beat(group, member, generation))
    t.ask("sync", "SyncGroup", 5, bodies.sync(group, member, generation))
    t.ask("join", "JoinGroup", 9, bodies.join(group, member))
    t.ask("leave", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": member}]})
    t.ask("commit with generation", "OffsetCommit", 8, bodies.commit(group, topic, {0: 1}, member, generation))
    t.ask("commit from outside", "OffsetCommit", 8, bodies.commit(group, topic, {0: 2}))
    t.ask("commit with a member only", "OffsetCommit", 8, bodies.commit(group, topic, {0: 3}, member))
    t.ask("stored", "OffsetFetch", 7, bodies.offset_fetch(group, topic, [0]))


def case_session_bounds(t):
    group = t.coordinate(t.name("g"))
    for timeout in (5999, 6000, 1_800_000, 1_800_001):
        t.ask(str(timeout), "JoinGroup", 9, bodies.join(group, session_timeout_ms=timeout))


def case_errors_by_version(t):
    group, unknown = t.coordinate(t.name("g")), t.name("unknown")
    lone_member(t, group)
    for where, name in (("a group", group), ("no group", unknown)):
        for version in range(10):
            t.ask(f"join {where} v{version}", "JoinGroup", version, bodies.join(name, "nobody"))
            t.ask(f"mismatch {where} v{version}", "JoinGroup", version, bodies.join(name, "nobody", protocol_type=""))
        for version in range(6):
            t.ask(f"sync {where} v{version}", "SyncGroup", version, bodies.sync(name, "nobody", 1))
            body = {"member_id": "nobody"} if version < 3 else {"members": [{"member_id": "nobody"}]}
            t.ask(f"leave {where} v{version}", "LeaveGroup", version, {"group_id": name, **body})
        for version in range(5):
            t.ask(f"beat {where} v{version}", "Heartbeat", version, bodies.beat(name, "nobody", 1))


def case_many_leave_at_once(t):
    group = t.coordinate(t.name("g"))
    member, _ = lone_member(t, group)
    for version in (3, 4):
        t.ask(f"v{version}", "LeaveGroup", version, {"group_id": group, "members": [
            {"member_id": "nobody"}, {"member_id": member}, {"member_id": "", "group_instance_id": "none"}]}, ordered=True)


def case_opaque_metadata(t):
    """Other clients than consumers put what they like into their metadata and assignments."""
    group = t.coordinate(t.name("g"))
    noise = bytes(range(256)) * 3
    joined = join_new(t, "worker", group, protocol_type="connect", protocols=(("eager", noise), ("other", b"")))
    t.ask("syncs", "SyncGroup", 5, bodies.sync(group, joined["member_id"], joined["generation_id"],
                                               [(joined["member_id"], noise[::-1])], protocol_type="connect",
                                               protocol_name=joined["protocol_name"]))
    describe(t, "described", group)


def case_pending_member_expires(t):
    """An id that was given out and not used is forgotten after its session; static members are no exception."""
    group, static = t.coordinate(t.name("g")), t.coordinate(t.name("static"))
    first = t.main.call("JoinGroup", 9, bodies.join(static, instance="i1", session_timeout_ms=6000))
    t.main.call("SyncGroup", 5, bodies.sync(static, first["member_id"], 1, [(first["member_id"], b"all")], instance="i1"))
    given = t.ask("gets an id", "JoinGroup", 9, bodies.join(group, session_timeout_ms=6000))["member_id"]
    left = t.ask("gets another", "JoinGroup", 9, bodies.join(group, session_timeout_ms=6000))["member_id"]
    t.ask("leaves before it joined", "LeaveGroup", 5, {"group_id": group, "members": [{"member_id": left}]})
    t.ask("joins after that", "JoinGroup", 9, bodies.join(group, left, session_timeout_ms=6000))
    time.sleep(7.5)
    t.ask("joins too late", "JoinGroup", 9, bodies.join(group, given, session_timeout_ms=6000))
    t.ask("static member comes back too late", "Heartbeat", 4, bodies.beat(static, first["member_id"], 1, "i1"))
    describe(t, "static members expire too", static)
