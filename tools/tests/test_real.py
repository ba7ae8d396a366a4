"""The judges of tests/real find what they are there to find."""
import json
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests/real"))

import bench_kafka  # noqa: E402
import load  # noqa: E402


def lines(*events):
    return "\n".join(json.dumps(event) for event in events)


def poll(partition, offset, *values):
    return {"op": "poll", "partition": partition, "offset": offset, "values": values, "is": "ok"}


def send(partition, value, offset=None):
    return {"op": "send", "partition": partition, "value": value, "offset": offset, "is": "fail" if offset is None else "ok"}


def log_of(*events):
    """A Log read from what a dump printed."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "dump")
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{lines(*events)}\nEND\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        with unittest.mock.patch.object(load, "program", lambda _: str(script)):
            return load.Log("nowhere", "topic")


class Loss(unittest.TestCase):
    LOG = ({"op": "start"}, poll(0, 0, "a:0:0", "a:0:1"), poll(1, 0, "a:1:0"))

    def test_a_lost_or_changed_record_is_named(self):
        log = log_of(*self.LOG)
        self.assertEqual(log.compare({(0, 0): "a:0:0", (1, 0): "a:1:0"}), [])
        self.assertIn("offset 1: acknowledged a:0:9, stored a:0:1", log.compare({(0, 1): "a:0:9"})[0])
        self.assertIn("stored None", log.compare({(1, 1): "a:1:1"})[0])

    def test_an_offset_with_two_values_is_named(self):
        later = log_of(poll(0, 0, "a:0:0", "b:0:1"), poll(1, 0, "a:1:0"))
        self.assertIn("offset 1: was a:0:1, is b:0:1", later.changed(log_of(*self.LOG))[0])

    def test_a_hole_is_an_error(self):
        with self.assertRaisesRegex(AssertionError, "offset 2 comes after 0"):
            log_of(poll(0, 0, "a:0:0"), poll(0, 2, "a:0:1"))

    def test_doubled_and_swapped_records_are_named(self):
        self.assertEqual(log_of(*self.LOG).out_of_order("a"), [])
        self.assertIn("0 after 0", log_of(poll(0, 0, "a:0:0", "a:0:0")).out_of_order("a")[0])
        self.assertIn("0 after 1", log_of(poll(0, 0, "a:0:1", "a:0:0")).out_of_order("a")[0])
        self.assertEqual(log_of(poll(0, 0, "b:0:0", "b:0:0")).out_of_order("a"), [])

    def test_errors_of_partitions_are_kept(self):
        refused = {"op": "poll", "partition": 3, "is": "fail", "error": "KAFKA_STORAGE_ERROR"}
        self.assertEqual(log_of(refused, poll(0, 0, "a:0:0")).errors, {3: "KAFKA_STORAGE_ERROR"})


class Load(unittest.TestCase):
    def stopped(self, *events):
        with tempfile.TemporaryDirectory() as folder:
            scratch, script = pathlib.Path(folder), pathlib.Path(folder, "load")
            script.write_text(f"#!/bin/sh\ncat <<'END'\n{lines(*events)}\nEND\nexec sleep 0.1\n")
            script.chmod(0o755)
            with unittest.mock.patch.object(load, "program", lambda _: str(script)):
                one = load.Load("nowhere", "topic", "name", scratch)
            one.process.wait()
            with unittest.mock.patch.object(one.process, "send_signal"):
                return one.stop()

    def test_what_was_told(self):
        self.assertEqual(self.stopped({"op": "start"}, send(0, "a:0:0", 5), send(0, "a:0:1")),
                         ({(0, 5): "a:0:0"}, [send(0, "a:0:1")]))

    def test_an_offset_told_twice_is_an_error(self):
        with self.assertRaisesRegex(AssertionError, "acknowledged twice"):
            self.stopped(send(0, "a:0:0", 5), send(0, "a:0:1", 5))


class Tail(unittest.TestCase):
    def test_events_come_once_and_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "history")
            whole = lines(send(0, "a:0:0", 0), send(0, "a:0:1", 1)) + "\n"
            path.write_text(whole[:70])
            tail = load.Tail([path])
            first = tail.new()
            path.write_text(whole)
            self.assertEqual([*first, *tail.new()], [send(0, "a:0:0", 0), send(0, "a:0:1", 1)])
            self.assertEqual(tail.new(), [])


class Bench(unittest.TestCase):
    def test_figures_of_the_perf_tools(self):
        produced = ("200 records sent, 5.0 records/sec (1.00 MB/sec), 3.0 ms avg latency, 9.0 ms max latency, "
                    "2 ms 50th, 5 ms 95th, 7 ms 99th, 9 ms 99.9th.\n")
        self.assertEqual(bench_kafka.java_produce(produced), {"MB/s": 1.048576, "P50 ms": 2.0, "P99 ms": 7.0})
        consumed = "start.time, end.time, ...\n2026-01-01 00:00:00:000, 2026-01-01 00:00:01:000, 95.4, 100.0, 1, 1.0\n"
        self.assertAlmostEqual(bench_kafka.java_consume(consumed)["MB/s"], 104.8576)

