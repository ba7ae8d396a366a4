"""Three brokers whose metadata log lies in the S3 store: what they ask of it when nothing happens, how soon a dead broker is
noticed, and, as torture, that nothing is lost while parts of it fail."""
import collections
import re
import time

import torture
from wire import client

IDLE_SECONDS = 60
SESSION_SECONDS = 30
# A look at the log, when nothing happens, and what whoever noticed it then asks of the store.
LOOK_SECONDS, FENCING_SECONDS = 4, 4


class ClusterObject(torture.Torture):
    log_in_store = True
    # What is special where the log is in the store, too; ./dev torture --object does the others.
    names = ("broker-killed", "broker-paused", "store-frozen", "store-lost-puts", "store-unavailable")
    # Longer than a session.
    seconds = {"broker-killed": 40, "broker-paused": 40}
    test_2_a_failover_to_an_older_copy = None  # of the database

    def live(self, node):
        connection = client.Connection(node.broker.bootstrap)
        answer = connection.call("Metadata", 12, {"topics": [], "allow_auto_topic_creation": False,
                                                  "include_topic_authorized_operations": False})
        connection.close()
        return len(answer["brokers"])

    def wait_live(self, node, count, seconds):
        """How long it took until the broker names so many."""
        started = time.monotonic()
        while self.live(node) != count:
            self.assertLess(time.monotonic() - started, seconds, f"there are not {count} live brokers after {seconds} s")
            time.sleep(0.1)
        return time.monotonic() - started

    def requests(self):
        """{operation: how many the brokers made together since they were started}"""
        made = collections.Counter()
        for node in self.cluster.nodes:
            for name, value in node.broker.metrics().items():
                if found := re.match(r'weir_object_store_requests_total.*operation="(\w+)"', name):
                    made[found[1]] += int(value)
        return made

    def carried(self):
        """How many appends of the brokers another one made for them."""
        name = 'weir_metadata_carried_appends_total{outcome="appended"}'
        return sum(node.broker.metrics().get(name, 0) for node in self.cluster.nodes)

    def test_2_one_appends_for_all(self):
        self.assertGreater(self.carried(), 0)

    def idle(self):
        """Ten PUTs and a hundred GETs a minute, and nothing else."""
        time.sleep(20)
        before = self.requests()
        time.sleep(IDLE_SECONDS)
        made = self.requests() - before
        rates = {name: count * 60 / IDLE_SECONDS for name, count in made.items()}
        print(f"  idle, a minute: {rates}", flush=True)
        self.assertEqual(rates.keys(), {"put", "get", "head"})
        self.assertLessEqual(rates["put"], 10)
        self.assertLessEqual(rates["get"] + rates["head"], 100)

    def test_0_a_fresh_cluster_is_idle(self):
        """Heartbeats of brokers that were started together come one right after the other."""
        self.idle()

    def test_0_broker_dies(self):
        victim, watcher = self.cluster.nodes[1:]
        self.wait_live(watcher, 3, 10)
        victim.broker.kill()
        took = self.wait_live(watcher, 2, SESSION_SECONDS + LOOK_SECONDS + FENCING_SECONDS)
        print(f"  a killed broker was noticed after {took:.1f} s", flush=True)
        victim.broker.start()

    def test_0_cluster_that_one_came_back_to_is_idle(self):
        self.idle()
