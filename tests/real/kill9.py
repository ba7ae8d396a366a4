"""Kills the broker at random moments under load, and compares what was acknowledged with what is read.

KILL9_ROUNDS (50) kills; KILL9_SEED replays their moments; KILL9_BROKER=apache tries the test itself."""
import os
import random
import secrets
import time

from apache_kafka import ApacheKafka
from load import IDEMPOTENT, Load, Log, create_topic
from weir import RealTest, Weir

ROUNDS = int(os.environ.get("KILL9_ROUNDS", "50"))
KILLS_PER_LOAD = 10
MOST_SECONDS = 2.0


class Kill9(RealTest):
    needs_weir = True

    @classmethod
    def prepare(cls):
        if os.environ.get("KILL9_BROKER") == "apache":
            cls.broker = ApacheKafka(cls.scratch / "broker")
        else:  # snapshots often, so that some kills meet one
            cls.broker = Weir(cls.scratch / "broker", metadata_log_max_entries_between_snapshots=50)
        cls.broker.start()

    def test_what_was_acknowledged_stays(self):
        seed = int(os.environ.get("KILL9_SEED", secrets.randbelow(1_000_000)))
        print(f"  seed {seed}, {ROUNDS} rounds", flush=True)
        moments = random.Random(seed)
        topic = create_topic(self.broker.bootstrap)
        acknowledged, before, kills = {}, None, 0
        while kills < ROUNDS:
            number = kills // KILLS_PER_LOAD
            loads = [Load(self.broker.bootstrap, topic, f"once{number}", self.scratch, *IDEMPOTENT),
                     Load(self.broker.bootstrap, topic, f"plain{number}", self.scratch)]
            for _ in range(min(KILLS_PER_LOAD, ROUNDS - kills)):
                time.sleep(moments.uniform(0.05, MOST_SECONDS))
                self.broker.kill()
                self.broker.start()
                kills += 1
            for load in loads:
                told, given_up = load.stop()
                self.assertEqual(given_up, [], "a producer gave up although the broker came back")
                clash = told.keys() & acknowledged.keys()
                self.assertFalse(clash, f"offsets were given twice: {sorted(clash)[:5]}")
                acknowledged |= told
            log = Log(self.broker.bootstrap, topic)
            self.assertEqual(log.errors, {})
            self.assertEqual(log.compare(acknowledged)[:10], [])
            self.assertEqual(log.changed(before)[:10] if before else [], [])
            self.assertEqual(log.out_of_order(f"once{number}")[:10], [])
            before = log
            print(f"  {kills} kills, {len(acknowledged)} acknowledged, {len(log.records)} stored", flush=True)
        self.assertGreater(len(acknowledged), 100 * ROUNDS)
