"""Three brokers in three zones, each a network namespace of its own, with a producer and a consumer in each: no record goes
from one zone to another. What lies between the zones is the clients' small talk (Metadata, heartbeats of groups)."""
import socket
import time

from load import IDEMPOTENT, Client, create_topic, ends_of, wait_read
from namespaces import Zones, address
from weir import RealTest, Weir, program

SECONDS = 6
VALUE_BYTES = 5000
MARK = "record-of-zone"


class ZoneClient(Client):
    """A client program in a zone."""

    def __init__(self, zones, zone, scratch, name, *arguments):
        super().__init__(scratch, name, *arguments, command=zones.inside(zone, program("rdkafka_client")))


class ZonesTest(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        cls.zones = Zones(3)
        cls.addClassCleanup(cls.zones.close)
        cls.brokers = []
        for zone in cls.zones.numbers:
            broker = Weir(cls.scratch / f"broker{zone}", address(zone), cls.zones.inside(zone), node_id=zone,
                          broker_rack=f"zone-{zone}", object_store_url=f"file:{cls.scratch}/objects",
                          metadata_log_url=f"sqlite:{cls.scratch}/metadata.db")
            broker.settings |= {"listeners": f"PLAINTEXT://0.0.0.0:{broker.port}",
                                "advertised.listeners": f"PLAINTEXT://10.77.{zone}.1:{broker.port}"}
            cls.brokers.append(broker)
            cls.addClassCleanup(broker.kill)
            broker.start()
        cls.addresses = ",".join(f"10.77.{zone}.1:{broker.port}" for zone, broker in enumerate(cls.brokers, 1))

    def traffic(self, zone_of_producers):
        """Producers and consumers of every zone for a while. Returns how many bytes of records were read, how many bytes of
        whatever went between the zones, and how many packets there had records in them."""
        topic = create_topic(self.brokers[0].bootstrap)
        self.zones.look_for(MARK)
        before = self.zones.bytes_between()
        producers, consumers = [], []
        for zone in self.zones.numbers:
            consumers.append(ZoneClient(self.zones, zone, self.scratch, f"{topic}-c{zone}", "follow", self.addresses, topic,
                                        f"{topic}-g{zone}", f"c{zone}", f"client.rack=zone-{zone}"))
            producers.append(ZoneClient(self.zones, zone, self.scratch, f"{topic}-p{zone}", "load", self.addresses, topic,
                                        f"{MARK}-{zone}", "20000", str(VALUE_BYTES), *IDEMPOTENT,
                                        f"client.id=p{zone_of_producers(zone)}"))
        time.sleep(SECONDS)
        for producer in producers:
            producer.finish()
        ends = ends_of(producers)
        for consumer in consumers:
            wait_read([consumer], ends)
            consumer.finish()
        between, found = self.zones.bytes_between() - before, self.zones.found()
        read = [sum(len(event["values"]) for event in consumer.events() if event["op"] == "poll" and event["is"] == "ok")
                for consumer in consumers]
        self.assertEqual(read, [sum(ends.values())] * 3)
        return sum(read) * VALUE_BYTES, between, found

    def test_no_record_leaves_its_zone(self):
        records, between, found = self.traffic(lambda zone: f",zone=zone-{zone}")
        print(f"  {records / 1e6:.0f} MB of records read, {between / 1e6:.2f} MB between the zones, "
              f"{found} packets with records")
        self.assertGreater(records, 20e6)
        self.assertEqual(found, 0)
        self.assertLess(between, records * 0.01)

    def test_a_zone_that_is_cut_off(self):
        """What others do to a zone, does what it says."""
        first = (address(1), self.brokers[0].port)
        self.zones.cut(1)
        with self.assertRaises(OSError):
            socket.create_connection(first, 1).close()
        self.zones.join(1)
        socket.create_connection(first, 5).close()

    def test_records_between_zones_would_be_seen(self):
        records, between, found = self.traffic(lambda zone: f",zone=zone-{zone % 3 + 1}")
        self.assertGreater(found, 100)
        self.assertGreater(between, records / 3)
