"""Three brokers on PostgreSQL and an S3 store in which every connection can fail: each broker reaches the metadata log and the
store, and clients reach each broker, by a link of the proxy. Where it may be, each broker has a network namespace of its own,
which can be cut off. FAULTS are the ways in which it fails."""
import contextlib
import os
import signal
import time
import unittest

import try_cluster
from namespaces import Zones, address, outside
from proxy import LOOPBACK, HttpLink, Proxy
from weir import Weir

FAULTS = {}  # name: what makes it happen


class HitNothing(AssertionError):
    """A fault that nobody noticed: it is not what was tested."""


class Node:
    """A broker and its links. Clients use `bootstrap`, which the broker also tells them; judges ask the broker itself."""

    def __init__(self, broker, clients, log, store):
        self.broker, self.clients, self.log, self.store = broker, clients, log, store
        self.bootstrap = clients.address

    def signal(self, number):
        self.broker.process.send_signal(number)


class FaultyCluster(try_cluster.Cluster):
    def __init__(self, folder, seed=0, log_in_store=False, **settings):
        super().__init__(folder, local=False, log_in_store=log_in_store)
        self.seed, self.settings, self.nodes, self.proxy, self.zones = seed, settings, [], None, None

    def start(self):
        try:
            self.zones = Zones(len(try_cluster.ZONES))
        except unittest.SkipTest as why:
            print(f"no network-cut: {why}", flush=True)
        self.proxy = Proxy(self.seed)
        super().start()

    def start_broker(self, number, zone):
        host, here, within = LOOPBACK, LOOPBACK, ()
        if self.zones:
            host, here, within = address(number), outside(number), self.zones.inside(number)
        broker = Weir(self.folder / f"broker{number}", host, within, node_id=number, broker_rack=zone, **self.settings)
        clients = self.proxy.link((host, broker.port), host=here)
        store, log = self.proxy.link((LOOPBACK, self.gateway.port), HttpLink, here), None
        broker.settings |= {"advertised.listeners": f"PLAINTEXT://{clients.address}", "metadata.log.url": self.log,
                            "object.store.url": self.store.replace(f"{LOOPBACK}:{self.gateway.port}", store.address)}
        if not self.log_in_store:
            log = self.proxy.link((LOOPBACK, self.database.port), host=here)
            broker.settings["metadata.log.url"] = self.log.replace(f"{LOOPBACK}:{self.database.port}", log.address)
        node = Node(broker, clients, log, store)
        self.nodes.append(node)
        self.started.append(broker)
        return broker.start()

    def stop(self):
        self.mend()
        super().stop()
        if self.proxy:
            self.proxy.stop()
        if self.zones:
            self.zones.close()

    def mend(self):
        for zone in self.zones.numbers if self.zones else ():
            self.zones.join(zone)
        for node in self.nodes:
            for link in filter(None, (node.clients, node.log, node.store)):
                link.mend()

    def faults(self):
        """The names of those that can happen to it."""
        left_out = (("log-", "database-") if self.log_in_store else ()) + (() if self.zones else ("network-",))
        return [name for name in FAULTS if not name.startswith(left_out)]

    def bootstrap(self):
        return ",".join(node.bootstrap for node in self.nodes)

    def dead(self):
        """What the brokers that are not there any more said last."""
        return [f"broker {number} ended:\n{node.broker.tail()}" for number, node in enumerate(self.nodes, 1)
                if not node.broker.alive()]


def fault(name, seconds):
    """A fault is a generator over a cluster and random choices: it breaks something, yields while it stays so, and mends it.
    `seconds` is for how long, if nobody says otherwise."""
    def register(how):
        how.seconds = seconds
        FAULTS[name] = how
        return how
    return register


@fault("broker-killed", 5)
def broker_killed(cluster, random):
    node = random.choice(cluster.nodes)
    node.broker.kill()
    yield
    node.broker.start()


@fault("broker-paused", 5)
def broker_paused(cluster, random):
    """For longer than its session."""
    node = random.choice(cluster.nodes)
    node.signal(signal.SIGSTOP)
    yield
    node.signal(signal.SIGCONT)


@fault("network-cut", 5)
def network_cut(cluster, random):
    """Of a broker from everything, below all connections."""
    zone = random.choice(cluster.zones.numbers)
    cluster.zones.cut(zone)
    yield
    cluster.zones.join(zone)


def on_links(name, kind, seconds, everywhere, change):
    """A fault that changes the links of one kind, those of one broker or of all. It has to hit something where it can tell."""
    def how(cluster, random):
        links = [getattr(node, kind) for node in (cluster.nodes if everywhere else [random.choice(cluster.nodes)])]
        before = sum(link.hits for link in links)
        for link in links:
            change(link)
        yield
        is_idle = any(link.fault not in (None, "reset") for link in links) and sum(link.hits for link in links) == before
        for link in links:
            link.mend()
        if is_idle:
            raise HitNothing(f"{name} hit nothing")
    fault(name, seconds)(how)


for place in ("store", "log", "clients"):
    on_links(f"{place}-cut", place, 5, False, lambda link: link.cut())
    on_links(f"{place}-reset", place, 2, False, lambda link: link.reset())
    on_links(f"{place}-slow-network", place, 2, True, lambda link: link.delay(0.1))
on_links("store-unavailable", "store", 5, True, lambda link: link.bend("unavailable"))
on_links("store-sometimes-unavailable", "store", 3, True, lambda link: link.bend("unavailable", 0.5))
on_links("store-truncated", "store", 4, True, lambda link: link.bend("truncated", 0.7))
on_links("store-slow-bodies", "store", 5, True, lambda link: link.bend("slow", 0.7))
on_links("store-lost-puts", "store", 3, True, lambda link: link.bend("lost-puts", 0.7))
on_links("store-failed-puts", "store", 3, True, lambda link: link.bend("failed-puts", 0.7))
on_links("log-lost-answers", "log", 3, True, lambda link: link.bend("lost-answers", 0.1))


def freeze(pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@fault("store-frozen", 5)
def store_frozen(cluster, _):
    yield from freeze([process.process.pid for process in cluster.gateway.processes])


@fault("database-frozen", 5)
def database_frozen(cluster, _):
    yield from freeze(cluster.database.pids())


@fault("database-crash", 0)
def database_crash(cluster, _):
    """It writes nothing more and comes back at once."""
    cluster.database.kill()
    yield
    cluster.database.start()


@fault("database-down", 60)
def database_down(cluster, _):
    cluster.database.kill()
    yield
    cluster.database.start()


@fault("broker-restarted", 1)
def broker_restarted(cluster, random):
    node = random.choice(cluster.nodes)
    code = node.broker.stop()
    assert code == 0, f"a broker that was asked to stop ended with {code}:\n{node.broker.tail()}"
    yield
    node.broker.start()


def hold(faults, seconds, during=time.sleep):
    """Runs faults together for that long, in which `during` is called with it. A fault that hits nothing is only right where
    another one is in its way."""
    faults = list(faults)
    for one in faults:
        next(one)
    try:
        during(seconds)
    finally:
        for one in reversed(faults):
            with contextlib.suppress(*([HitNothing] if len(faults) > 1 else [])):
                next(one, None)
