"""Rebalances of the classic group protocol with several members."""
import time

from .. import bodies
from .groups import wait_for_state


class Member:
    """A member with a connection of its own."""

    def __init__(self, t, group, label, metadata=b"m", rebalance_timeout_ms=10_000):
        self.t, self.group, self.label = t, group, label
        self.connection, self.metadata, self.timeout = t.connect(label), metadata, rebalance_timeout_ms
        first = self.connection.call("JoinGroup", 9, self.body(""))
        self.id, self.generation = first["member_id"], -1

    def body(self, member):
        return bodies.join(self.group, member, (("range", self.metadata),), rebalance_timeout_ms=self.timeout)

    def start_join(self):
        self.connection.send("JoinGroup", 9, self.body(self.id))

    def joined(self, note=True):
        answer = self.connection.recv()
        self.generation = answer["generation_id"]
        if note:
            self.t.note(f"{self.label} joined", answer)
        return answer

    def sync(self, assignments=()):
        self.connection.send("SyncGroup", 5, bodies.sync(self.group, self.id, self.generation, assignments))

    def synced(self):
        answer = self.connection.recv()
        self.t.note(f"{self.label} synced", answer)

    def beat(self, label):
        self.t.ask(f"{self.label} beats {label}", "Heartbeat", 4, bodies.beat(self.group, self.id, self.generation),
                   self.connection)


def settle(members, note=False):
    """Brings the members to a stable generation, the first one leading."""
    members[0].start_join()
    members[0].joined(note)
    for member in members[1:]:
        member.start_join()
        wait_for_state(member.t, member.group, "PreparingRebalance")
    members[0].start_join()
    for member in members:
        member.joined(note)
    for member in members:
        member.sync([(one.id, one.label.encode()) for one in members] if member is members[0] else ())
    for member in members:
        member.synced()


def pair(t, **options):
    group = t.coordinate(t.name("g"))
    one, two = Member(t, group, "one", **options), Member(t, group, "two", **options)
    settle([one, two])
    return one, two


def case_follower_joins_again_unchanged(t):
    one, two = pair(t)
    before = two.generation
    two.start_join()
    two.joined()
    t.note("generations", two.generation - before)
    one.beat("after")


def case_follower_joins_again_with_other_metadata(t):
    one, two = pair(t)
    before, two.metadata = two.generation, b"other"
    two.start_join()
    wait_for_state(t, one.group, "PreparingRebalance")
    one.beat("while it prepares")
    one.start_join()
    one.joined()
    two.joined()
    t.note("generations", two.generation - before)


def case_who_does_not_join_again_is_dropped(t):
    one, two = pair(t, rebalance_timeout_ms=1500)
    one.metadata = b"new"
    one.start_join()
    one.joined()
    two.beat("too late")
    one.sync([(one.id, b"all")])
    one.synced()


def case_who_does_not_sync_is_dropped(t):
    group = t.coordinate(t.name("g"))
    one, two = Member(t, group, "one", rebalance_timeout_ms=1500), Member(t, group, "two", rebalance_timeout_ms=1500)
    one.start_join()
    one.joined(False)
    two.start_join()
    wait_for_state(t, group, "PreparingRebalance")
    one.start_join()
    one.joined()
    two.joined()
    one.sync([(one.id, b"a"), (two.id, b"b")])
    one.synced()
    wait_for_state(t, group, "PreparingRebalance")
    two.beat("without having synced")


def case_leader_forgets_a_member(t):
    group = t.coordinate(t.name("g"))
    one, two = Member(t, group, "one"), Member(t, group, "two")
    one.start_join()
    one.joined(False)
    two.start_join()
    wait_for_state(t, group, "PreparingRebalance")
    one.start_join()
    one.joined(False)
    two.joined(False)
    two.sync()
    one.sync([(one.id, b"only me"), ("a stranger", b"x")])
    one.synced()
    two.synced()


def case_join_again_before_syncing(t):
    group = t.coordinate(t.name("g"))
    one = Member(t, group, "one")
    one.start_join()
    before = one.joined()["generation_id"]
    one.start_join()
    t.note("generations", one.joined()["generation_id"] - before)
    one.metadata = b"other"
    one.start_join()
    t.note("generations with other metadata", one.joined()["generation_id"] - before)


def case_leader_leaves(t):
    one, two = pair(t)
    t.ask("leaves", "LeaveGroup", 5, {"group_id": one.group, "members": [{"member_id": one.id}]})
    two.beat("after")
    two.start_join()
    t.note("leads now", two.joined()["leader"] == two.id)


def case_three_members(t):
    group = t.coordinate(t.name("g"))
    members = [Member(t, group, label) for label in ("one", "two", "three")]
    settle(members)
    for member in members:
        member.beat("stable")


def case_sync_while_preparing(t):
    one, two = pair(t)
    one.metadata = b"new"
    one.start_join()
    wait_for_state(t, one.group, "PreparingRebalance")
    two.sync()
    two.synced()
    two.start_join()
    one.joined()
    two.joined()


def case_a_heartbeat_keeps_the_session_while_preparing(t):
    """A member that beats but does not join again stays until the rebalance times out."""
    one, two = pair(t, rebalance_timeout_ms=4000)
    one.metadata = b"new"
    one.start_join()
    wait_for_state(t, one.group, "PreparingRebalance")
    for number in range(3):
        two.beat(str(number))
        time.sleep(0.3)
    two.start_join()
    one.joined()
    two.joined()
