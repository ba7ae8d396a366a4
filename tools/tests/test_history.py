"""The judge of histories finds each anomaly where it was planted, names the lines that show it, and nothing else."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REAL = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/real"
sys.path.insert(0, str(REAL))

import history  # noqa: E402


def start(client, kind):
    return {"t": 0, "p": client, "op": "start", "kind": kind}


def send(time, value, offset=None, outcome="ok"):
    event = {"t": time, "p": value.split(":")[0], "op": "send", "took": 5, "partition": int(value.split(":")[1]),
             "value": value, "is": outcome}
    return event if offset is None else event | {"offset": offset}


def poll(time, client, offset, *values, partition=0):
    return {"t": time, "p": client, "op": "poll", "partition": partition, "offset": offset, "values": list(values), "is": "ok"}


def assign(time, client, offset, partition=0, outcome="ok"):
    return {"t": time, "p": client, "op": "assign", "took": 2, "partition": partition, "offset": offset, "is": outcome}


def commit(time, client, offset, outcome="ok", took=1):
    return {"t": time, "p": client, "op": "commit", "took": took, "partition": 0, "offset": offset, "is": outcome}


def told(operation, time, client, offset):
    return {"t": time, "p": client, "op": operation, "took": 2, "partition": 0, "offset": offset, "is": "ok"}


def clean():
    """Two producers, a reader, a group of two members that hand over, a dump and two brokers that are watched."""
    return [
        start("once", "idempotent"), start("plain", "plain"), start("reader", "reader"), start("dump", "final"),
        start("m1", "group:g"), start("m2", "group:g"), start("broker-1", "watcher"), start("broker-2", "watcher"),
        send(10, "once:0:0", 0), send(20, "plain:0:0", 1), send(30, "once:0:1", 2), send(37, "plain:0:1", outcome="unknown"),
        assign(12, "reader", 0), poll(33, "reader", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1"),
        assign(50, "reader", 1), poll(60, "reader", 1, "plain:0:0", "once:0:1"),
        assign(13, "m1", -1), poll(22, "m1", 0, "once:0:0", "plain:0:0"), commit(23, "m1", 2),
        {"t": 24, "p": "m1", "op": "revoke", "partition": 0},
        assign(30, "m2", 2), poll(41, "m2", 2, "once:0:1", "plain:0:1"), commit(42, "m2", 4),
        told("watermark", 25, "broker-1", 2), told("watermark", 45, "broker-1", 4), told("watermark", 26, "broker-2", 0),
        told("end", 35, "broker-2", 3), told("end", 46, "broker-1", 4),
        assign(70, "dump", 0), poll(71, "dump", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1"),
    ]


class Planted(unittest.TestCase):
    def check(self, events):
        """{kind: [anomalies]}; the lines of an anomaly are made the events that they hold."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "history")
            path.write_text("".join(json.dumps(event) + "\n" for event in events) + '{"t":1,"unfini')
            anomalies, count = history.check([path])
            self.assertEqual(sum(count.values()), len(anomalies))
            self.text = "\n".join(history.explain(anomalies, count))
        found = {}
        for anomaly in anomalies:
            lines = [events[line[1] - 1] for line in anomaly.lines if line]
            found.setdefault(anomaly.kind, []).append(anomaly._replace(lines=lines))
        return found

    def only(self, kind, events, *lines):
        """There is this one anomaly, and these are its lines."""
        found = self.check(events)
        self.assertEqual(list(found), [kind], self.text)
        self.assertEqual(len(found[kind]), 1, self.text)
        self.assertEqual(found[kind][0].lines, list(lines))
        for line in lines:
            self.assertIn(json.dumps(line)[:100], self.text)
        return found[kind][0].text

    def test_a_clean_history(self):
        self.assertEqual(self.check(clean()), {})

    def test_lost_write(self):
        lost = send(48, "plain:0:9", 3)
        events = [event for event in clean() if event.get("value") != "plain:0:1"]
        for event in events:
            if "plain:0:1" in event.get("values", ()):
                event["values"] = event["values"][:-1]
        after = [send(49, "plain:0:10", 4)]
        for client in ("reader", "m2", "dump"):
            after += [assign(80, client, 4), poll(81, client, 4, "plain:0:10")]
        self.only("lost write", [*events, lost, *after], lost)

    def test_unseen(self):
        new = send(48, "plain:0:9", 4)
        text = self.only("unseen", [*clean(), new], new)
        self.assertIn("dump, group:g, reader", text)

    def test_a_record_that_nobody_acknowledged_is_unseen_by_one_who_read_on(self):
        """The outcome of plain:0:1 is unknown, but others have read it."""
        again = "plain:0:0"
        events = [*clean(), poll(72, "m2", 4, again), start("hasty", "reader"), assign(80, "hasty", 0),
                  poll(81, "hasty", 0, "once:0:0", "plain:0:0", "once:0:1")]
        self.assertEqual(self.check(events), {})
        jump = [assign(82, "hasty", 4), poll(83, "hasty", 4, again)]
        read = poll(33, "reader", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1")
        self.assertIn("passed over by hasty", self.only("unseen", [*events, *jump], read))

    def test_unseen_by_one_reader(self):
        stuck = [*clean(), start("stuck", "reader"), assign(20, "stuck", 0), poll(21, "stuck", 0, "once:0:0", "plain:0:0")]
        self.assertIn("stuck", self.only("unseen", stuck, send(30, "once:0:1", 2)))
        nothing = self.check([*clean(), start("silent", "group:other")])
        self.assertEqual([one.text for one in nothing["unseen"] if "group:other" not in one.text], [])
        self.assertEqual(len(nothing["unseen"]), 3)

    def test_duplicate(self):
        again, events = "once:0:1", clean()
        for client in ("reader", "m2", "dump"):
            events += [assign(80, client, 4), poll(81, client, 4, again)]
        self.only("duplicate", events, send(30, again, 2), poll(81, "reader", 4, again))

    def test_a_plain_producer_may_repeat(self):
        self.assertEqual(self.check([*clean(), poll(72, "dump", 4, "plain:0:0")]), {})

    def test_inconsistent_offsets(self):
        other = poll(72, "late", 2, "plain:0:7")
        self.only("inconsistent offsets", [*clean(), other], send(30, "once:0:1", 2), other)

    def test_an_offset_acknowledged_to_two(self):
        twice = send(44, "plain:0:5", 0)
        self.only("inconsistent offsets", [*clean(), twice], send(10, "once:0:0", 0), twice)

    def test_an_acknowledgement_without_an_offset(self):
        without = send(44, "plain:0:5", -1)
        self.only("no offset", [*clean(), without], without)

    def test_an_idempotent_producer_may_not_know_the_offset(self):
        self.assertEqual(self.check([*clean(), send(44, "once:0:1", -1)]), {})
        lost = send(44, "once:0:9", -1)
        self.only("lost write", [*clean(), lost], lost)

    def test_nonmonotonic_send(self):
        old, new = send(47, "once:0:5", 4), send(48, "once:0:4", 5)
        events = [*clean(), old, new]
        for client in ("reader", "m2", "dump"):
            events += [assign(80, client, 4), poll(81, client, 4, "once:0:5", "once:0:4")]
        self.only("nonmonotonic send", events, old, new)

    def overtaking(self, before, after, *events):
        """`after` is below `before`, which is an anomaly if it began when that was known, and only then."""
        starts = [start("plain", "plain"), start("other", "plain"), start("once", "idempotent"), start("another", "idempotent")]
        self.only("nonmonotonic send", [*starts, *events, before, after], before, after)
        at_once = after | {"t": before["t"] + after["took"]}
        self.assertEqual(self.check([*starts, *events, before, at_once]), {})

    def test_nonmonotonic_sends_of_a_plain_producer(self):
        self.overtaking(send(100, "plain:0:0", 7), send(200, "plain:0:1", 6))

    def test_nonmonotonic_sends_of_two_producers(self):
        for one, two in (("plain", "other"), ("another", "plain"), ("plain", "another"), ("once", "another")):
            self.overtaking(send(100, f"{one}:0:0", 7), send(200, f"{two}:0:1", 6))
        events = [send(100, "plain:0:0", 7), send(200, "plain:1:1", 6)]
        self.assertEqual(self.check([start("plain", "plain"), *events]), {})

    def test_a_send_that_began_when_a_higher_end_was_known(self):
        for before in (told("end", 100, "broker-1", 7), told("watermark", 100, "broker-1", 7),
                       poll(100, "late", 6, "other:0:0")):
            self.overtaking(before, send(200, "plain:0:1", 5))

    def test_an_unknown_send_that_lies_below_what_was_acknowledged_before_it(self):
        first, unknown = send(100, "plain:0:0", 7), send(200, "plain:0:1", outcome="unknown")
        read = poll(300, "late", 6, "plain:0:1", "plain:0:0")
        self.only("nonmonotonic send", [start("plain", "plain"), first, unknown, read], first, unknown, read)
        self.assertEqual(self.check([start("plain", "plain"), first, unknown | {"took": 100}, read]), {})

    def test_a_record_that_was_read_before_it_was_sent(self):
        read, late = poll(100, "late", 6, "plain:0:0"), send(106, "plain:0:0", 6)
        self.only("nonmonotonic send", [start("plain", "plain"), read, late], read, late)
        self.assertEqual(self.check([start("plain", "plain"), read, late | {"t": 105}]), {})

    def test_an_acknowledgement_without_an_offset_places_what_is_sent_later(self):
        known, later = send(100, "once:0:0", -1), send(200, "plain:0:1", 6)
        read = [start("late", "reader"), poll(300, "late", 6, "plain:0:1", "once:0:0")]
        starts = [start("once", "idempotent"), start("plain", "plain")]
        self.only("nonmonotonic send", [*starts, known, later, *read], known, later)
        # Of two places it is at least at the first.
        copies = [poll(300, "copy", 5, "once:0:0"), poll(301, "another copy", 7, "once:0:0")]
        self.assertEqual(set(self.check([*starts, known, later, *copies])), {"duplicate"})

    def test_an_idempotent_producer_goes_on_without_what_it_gave_up(self):
        """It takes a new epoch then, and the given up record may be stored or not, but not after the next one."""
        sends = [start("once", "idempotent"), send(100, "once:0:0", 0), send(150, "once:0:1", outcome="unknown"),
                 send(200, "once:0:2", 1)]
        read = [start("late", "reader"), poll(301, "late", 0, "once:0:0", "once:0:2")]
        self.assertEqual(self.check([*sends, *read]), {})
        after = poll(302, "late", 2, "once:0:1")
        self.only("nonmonotonic send", [*sends, *read, after], sends[-1], after)

    def test_poll_skip(self):
        before, skips = poll(60, "reader", 1, "plain:0:0", "once:0:1"), poll(61, "reader", 4, "plain:0:9")
        self.only("poll skip", [*clean(), skips], before, skips)

    def test_poll_skip_after_an_assignment(self):
        begins, skips = assign(62, "reader", 1), poll(63, "reader", 2, "once:0:1")
        self.only("poll skip", [*clean(), begins, skips], begins, skips)

    def test_nonmonotonic_poll(self):
        before, back = poll(60, "reader", 1, "plain:0:0", "once:0:1"), poll(61, "reader", 2, "once:0:1")
        self.only("nonmonotonic poll", [*clean(), back], before, back)

    def test_a_rebalance_may_repeat(self):
        again = [{"t": 80, "p": "m2", "op": "revoke", "partition": 0}, poll(82, "m2", 0, "once:0:0")]
        self.assertEqual(self.check([*clean(), *again]), {})

    def test_a_watermark_goes_back_on_a_broker(self):
        high, low = told("watermark", 45, "broker-1", 4), told("watermark", 47, "broker-1", 3)
        self.only("high watermark goes back", [*clean(), low], high, low)

    def test_an_end_below_what_another_broker_told(self):
        for operation in ("end", "watermark"):
            high, low = told(operation, 47, "broker-1", 5), told("end", 50, "broker-2", 4)
            self.only("high watermark goes back", [*clean(), high, low], high, low)

    def test_an_end_below_what_was_read(self):
        low = told("end", 36, "broker-2", 3)
        read = poll(33, "reader", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1")
        self.only("high watermark goes back", [*clean(), low], read, low)

    def test_a_record_that_was_read_is_gone_from_the_end(self):
        """Nobody has acknowledged it: a dump that begins later has to find it all the same."""
        later = start("later", "final") | {"t": 34}
        read = poll(33, "reader", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1")
        shorter = [assign(90, "later", 0), poll(91, "later", 0, "once:0:0", "plain:0:0", "once:0:1")]
        self.only("high watermark goes back", [*clean(), later, *shorter], read, later)
        self.assertEqual(self.check([*clean(), later | {"t": 33}, *shorter]), {})

    def test_a_dump_finds_nothing_in_a_partition(self):
        empty, end = start("later", "final") | {"t": 34}, told("end", 20, "broker-1", 1) | {"partition": 3}
        whole = poll(92, "later", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1")
        dump = {"t": 0, "p": "dump", "op": "start", "kind": "reader"}
        events = [dump if event == start("dump", "final") else event for event in clean()]
        self.only("high watermark goes back", [*events, empty, whole, end], end, empty)

    def test_an_end_below_what_was_acknowledged(self):
        low = told("end", 34, "broker-2", 2)
        self.only("high watermark goes back", [*clean(), low], send(30, "once:0:1", 2), low)
        # Asked before the record was acknowledged, the answer is right.
        self.assertEqual(self.check([*clean(), told("end", 31, "broker-2", 2)]), {})

    def test_a_committed_offset_goes_back(self):
        back = assign(90, "m1", 2)
        self.only("committed offset goes back", [*clean(), back], commit(42, "m2", 4), back)

    def test_a_commit_that_is_sent_again_may_arrive_last(self):
        back = assign(90, "m1", 2)
        for late in (commit(80, "m2", 2, took=40), commit(80, "m2", 2), commit(55, "m2", 2, outcome="unknown", took=15)):
            self.assertEqual(self.check([*clean(), late, back]), {}, late)

    def test_a_commit_takes_no_effect_after_its_answer(self):
        back, high = assign(90, "m1", 2), commit(80, "m2", 4, took=25)
        self.assertEqual(self.check([*clean(), commit(60, "m2", 2), high, back]), {})
        high["took"] = 15
        self.only("committed offset goes back", [*clean(), commit(60, "m2", 2), high, back], commit(42, "m2", 4), back)

    def test_a_commit_takes_no_effect_after_its_generation(self):
        """That of m1 may be lost or stand until m2 asks, but not come after what m2 commits."""
        old, back = commit(29, "m1", 0, outcome="unknown", took=4), assign(90, "m1", 0)
        self.only("committed offset goes back", [*clean(), old, back], commit(42, "m2", 4), back)
        self.assertEqual(self.check([*clean(), old | {"t": 35}, back | {"offset": 0}]), {})

    def test_a_committed_offset_vanishes(self):
        gone = assign(90, "m1", -1)
        self.only("committed offset goes back", [*clean(), gone], commit(42, "m2", 4), gone)
        self.assertEqual(self.check([*clean(), assign(90, "m1", -1, outcome="unknown")]), {})

    def test_a_member_that_was_not_told_the_committed_offset_reads_from_it(self):
        asks = assign(90, "m1", -1, outcome="unknown")
        low, right = poll(95, "m1", 3, "plain:0:1"), poll(95, "m1", 4, "plain:0:0")
        self.only("committed offset goes back", [*clean(), asks, low], commit(42, "m2", 4), low)
        revoke = {"t": 91, "p": "m1", "op": "revoke", "partition": 0}
        on = poll(96, "m1", 3, "plain:0:1")
        told_later = (commit(92, "m2", 2), assign(96, "m1", 2), poll(97, "m1", 2, "once:0:1", "plain:0:1"))
        for events in ((asks, right), (asks, revoke, low), (asks, right, revoke, on), (asks, *told_later),
                       (asks | {"t": 41}, low)):
            self.assertEqual(self.check([*clean(), *events]), {}, events)

    def test_failed_write(self):
        refused = send(45, "plain:0:1", outcome="fail")
        read = poll(33, "reader", 0, "once:0:0", "plain:0:0", "once:0:1", "plain:0:1")
        events = [event for event in clean() if event.get("value") != "plain:0:1"]
        self.only("failed write", [*events, refused], refused, read)

    def test_misplaced(self):
        wrong = poll(83, "late", 0, "plain:0:7", partition=3)
        self.only("misplaced", [*clean(), wrong], wrong)

    def test_out_of_range(self):
        told_so = {"t": 83, "p": "reader", "op": "poll", "partition": 0, "is": "fail", "error": "_AUTO_OFFSET_RESET"}
        self.only("out of range", [*clean(), told_so], told_so)
        self.assertEqual(self.check([*clean(), told_so | {"error": "_TRANSPORT", "partition": -1}]), {})

    def test_an_unknown_operation_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no operation 'sned'"):
            self.check([{"t": 1, "p": "x", "op": "sned"}])


class Ranges(unittest.TestCase):
    def test_ranges_join(self):
        for order in ([(0, 2), (4, 6), (2, 4)], [(4, 6), (0, 2), (1, 5)], [(0, 6), (2, 3)], [(2, 3), (0, 6)]):
            ranges = history.Ranges()
            for start_of, end in order:
                ranges.add(start_of, end)
            self.assertEqual((ranges.starts, ranges.ends), ([0], [6]), order)
        self.assertNotIn(6, ranges)
        self.assertIn(5, ranges)

    def test_gaps_stay(self):
        ranges = history.Ranges()
        ranges.add(7, 9)
        ranges.add(1, 3)
        self.assertEqual([offset for offset in range(10) if offset in ranges], [1, 2, 7, 8])


class Command(unittest.TestCase):
    def run_on(self, events):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "history")
            path.write_text("".join(json.dumps(event) + "\n" for event in events))
            return subprocess.run([sys.executable, str(REAL / "history.py"), str(path)], capture_output=True, text=True,
                                  check=False)

    def test_it_tells(self):
        done = self.run_on(clean())
        self.assertEqual((done.returncode, done.stdout), (0, "no anomalies\n"))
        done = self.run_on([*clean(), poll(83, "late", 0, "plain:0:7", partition=3)])
        self.assertEqual(done.returncode, 1)
        self.assertIn("misplaced: partition 3 offset 0 holds plain:0:7", done.stdout)


if __name__ == "__main__":
    unittest.main()
