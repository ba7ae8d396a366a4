#!/usr/bin/env python3
"""Judges what clients saw: reads histories and names the anomalies in them, each with the lines that show it.

history.py FILE...

A history is a file of JSON lines, written by one client (clients/history.h, watch.py). Every line has `t`, microseconds of
the machine's monotonic time when it was known; `p`, the client's name; `op`; mostly `partition`; `is`: ok, fail (certainly
without effect) or unknown; `took`, the microseconds that it took. The operations:

start      kind: idempotent or plain (producers), reader, final (they must get everything), group:NAME (its members together)
           or watcher
send       value NAME:PARTITION:COUNTER, with counters that grow; offset if it is ok (an idempotent producer may not know it:
           the answer was lost, and its next batch could not have been taken without this one)
poll       offset of the first of values, which follow each other
assign     offset that is read from now on; a group's is what it had committed, -1 for nothing; if that is unknown, the client
           asks again by itself and reads from there
revoke     the partition is another's now
commit     offset; `took` since the client was asked to commit it
end        offset: the answer to "where does the partition end", which no broker may give too low
watermark  offset: the high watermark in an answer of the broker `p`"""
import bisect
import collections
import json
import math
import sys
from typing import NamedTuple

MOST_OF_A_KIND = 20


class Anomaly(NamedTuple):
    kind: str
    text: str
    lines: tuple  # (path, number)


class Ranges:
    """Offsets that somebody has read, as ranges that do not touch."""

    def __init__(self):
        self.starts, self.ends = [], []

    def add(self, start, end):
        low, high = bisect.bisect_left(self.ends, start), bisect.bisect_right(self.starts, end)
        if low < high:
            start, end = min(start, self.starts[low]), max(end, self.ends[high - 1])
        self.starts[low:high], self.ends[low:high] = [start], [end]

    def __contains__(self, offset):
        at = bisect.bisect_right(self.starts, offset) - 1
        return at >= 0 and offset < self.ends[at]

    def end(self):
        return self.ends[-1] if self.ends else 0


def too_low(told, asked):
    """Of what was asked, as (time, offset, ...), each that is below what somebody had been told before that time, as (time,
    offset, line); with the highest of that. Who was told at the very time of the question may have been told after it."""
    told = sorted(told, key=lambda one: one[0])
    times, highest = [one[0] for one in told], []
    for one in told:
        highest.append(one if not highest or one[1] > highest[-1][1] else highest[-1])
    for one in asked:
        at = bisect.bisect_left(times, one[0]) - 1
        if at >= 0 and one[1] < highest[at][1]:
            yield one, highest[at]


class Commit(NamedTuple):
    """It took effect, if it did, between these times."""
    start: int
    end: float  # infinite if the outcome is unknown
    offset: int
    line: tuple


class Partition:
    def __init__(self):
        self.values = {}  # offset: (value, line)
        self.acknowledged = {}  # offset: line
        self.unplaced = {}  # value that was acknowledged without its offset: (time, line)
        self.told = []  # (time, end, line): at that time somebody had been told that the partition ends no earlier
        self.asked = []  # (time of the question, end, line)


class Checker:
    """Takes the events of all histories, each with its line; then finish() gives the anomalies."""

    def __init__(self):
        self.anomalies, self.count = [], collections.Counter()
        self.kinds = {}  # process: kind
        self.partitions = collections.defaultdict(Partition)
        self.read = collections.defaultdict(lambda: collections.defaultdict(Ranges))  # reader: {partition: ranges}
        self.position = {}  # (process, partition): (next offset or None, line)
        self.finals = {}  # process: (time of its start, line)
        self.sent = {}  # value of a send that may have happened: (time when it began, line)
        self.failed = {}  # value of a send that certainly did not happen: line
        self.commits = collections.defaultdict(list)  # (group, partition): [Commit]
        self.resumed = collections.defaultdict(list)  # (group, partition): [(time of the question, offset, line)]
        self.asks_itself = {}  # (process, partition): the time from which the client asks for the offset that it was not told
        self.watermark = {}  # (process, partition): (offset, line)

    def note(self, kind, text, *lines):
        self.count[kind] += 1
        if self.count[kind] <= MOST_OF_A_KIND:
            self.anomalies.append(Anomaly(kind, text, lines))

    def feed(self, event, line):
        handler = getattr(self, "on_" + event["op"], None)
        if handler is None:
            raise ValueError(f"{line[0]}:{line[1]}: no operation {event['op']!r}")
        handler(event, line)

    def reader_of(self, process):
        """Who has to get everything: a group as a whole, or a client of its own."""
        kind = self.kinds.get(process, "")
        return kind if kind.startswith("group:") else process

    def holds(self, partition, offset, value, line):
        known, earlier = self.partitions[partition].values.setdefault(offset, (value, line))
        if known != value:
            self.note("inconsistent offsets", f"partition {partition} offset {offset} is {known} and {value}", earlier, line)

    def on_start(self, event, line):
        self.kinds[event["p"]] = event["kind"]
        if event["kind"] in ("reader", "final") or event["kind"].startswith("group:"):
            self.read[self.reader_of(event["p"])]  # it is there, even if it reads nothing
        if event["kind"] == "final":
            self.finals[event["p"]] = (event["t"], line)

    def on_send(self, event, line):
        if event["is"] == "fail":
            self.failed[event["value"]] = line
        else:
            self.sent.setdefault(event["value"], (event["t"] - event["took"], line))
        if event["is"] != "ok":
            return
        partition, offset = self.partitions[event["partition"]], event["offset"]
        if offset < 0 and self.kinds.get(event["p"]) == "idempotent":
            partition.unplaced[event["value"]] = (event["t"], line)
            return
        if offset < 0:
            self.note("no offset", f"{event['value']} was acknowledged without an offset", line)
            return
        self.holds(event["partition"], offset, event["value"], line)
        if offset in partition.acknowledged and partition.values[offset][0] == event["value"]:
            self.note("inconsistent offsets", f"partition {event['partition']} offset {offset} was acknowledged twice",
                      partition.acknowledged[offset], line)
        partition.acknowledged[offset] = line
        partition.told.append((event["t"], offset + 1, line))

    def on_poll(self, event, line):
        partition = event["partition"]
        if event["is"] != "ok":
            if event["error"] in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
                self.note("out of range", f"{event['p']} was told that there is nothing where it reads, in partition "
                          f"{partition}", line)
            return
        first, end = event["offset"], event["offset"] + len(event["values"])
        if (event["p"], partition) in self.asks_itself:
            self.resumed[self.reader_of(event["p"]), partition].append(
                (self.asks_itself.pop((event["p"], partition)), first, line))
        expected, before = self.position.get((event["p"], partition), (None, None))
        if expected is not None and first != expected:
            kind, what = ("poll skip", "passes over") if first > expected else ("nonmonotonic poll", "comes again from")
            self.note(kind, f"{event['p']} {what} partition {partition} offset {min(first, expected)}: {expected} was next, "
                      f"{first} came", before, line)
        self.position[event["p"], partition] = (end, line)
        self.partitions[partition].told.append((event["t"], end, line))
        for offset, value in enumerate(event["values"], first):
            self.holds(partition, offset, value, line)
            if value.split(":")[1:2] != [str(partition)]:
                self.note("misplaced", f"partition {partition} offset {offset} holds {value}", line)
        if self.reader_of(event["p"]) in self.read:
            self.read[self.reader_of(event["p"])][partition].add(first, end)

    def on_assign(self, event, line):
        where, group = (event["p"], event["partition"]), self.reader_of(event["p"])
        self.position[where] = (event["offset"] if event["offset"] >= 0 else None, line)
        self.asks_itself.pop(where, None)
        if group.startswith("group:") and event["is"] == "ok":
            self.resumed[group, event["partition"]].append((event["t"] - event["took"], event["offset"], line))
        elif group.startswith("group:"):
            self.asks_itself[where] = event["t"]

    def on_revoke(self, event, line):
        self.position.pop((event["p"], event["partition"]), None)
        self.asks_itself.pop((event["p"], event["partition"]), None)

    def on_commit(self, event, line):
        end = event["t"] if event["is"] == "ok" else math.inf
        self.commits[self.reader_of(event["p"]), event["partition"]].append(
            Commit(event["t"] - event["took"], end, event["offset"], line))

    def on_end(self, event, line):
        partition = self.partitions[event["partition"]]
        partition.told.append((event["t"], event["offset"], line))
        partition.asked.append((event["t"] - event["took"], event["offset"], line))

    def on_watermark(self, event, line):
        self.partitions[event["partition"]].told.append((event["t"], event["offset"], line))
        where = (event["p"], event["partition"])
        highest, before = self.watermark.get(where, (-1, None))
        if event["offset"] < highest:
            self.note("high watermark goes back", f"partition {event['partition']} on {event['p']}: {event['offset']} after "
                      f"{highest}", before, line)
        else:
            self.watermark[where] = (event["offset"], line)

    def finish(self):
        for number, partition in sorted(self.partitions.items()):
            self.place(number, partition)
            self.find_lost(number, partition)
            self.find_passed_over(number, partition)
            self.find_failed(number, partition)
            self.find_out_of_order(number, partition)
            self.find_overtaking(number, partition)
            self.find_earlier_ends(number, partition)
        for (group, number), resumed in sorted(self.resumed.items()):
            self.find_lost_commits(group, number, resumed, self.commits[group, number])
        return self.anomalies

    def find_lost_commits(self, group, number, resumed, commits):
        """The committed offset is the one of the commit that took effect last. Clients have several under way and send those
        again that got no answer, so a smaller one may come last, as in Kafka; but none takes effect after its answer, nor
        after its generation: when somebody has got the partition anew."""
        told = [(commit.end, commit.offset, commit.line) for commit in commits if commit.end < math.inf]
        asked = sorted(time for time, _, _ in resumed)

        def last_effect(commit):
            at = bisect.bisect_right(asked, commit.start)
            return min(commit.end, asked[at]) if at < len(asked) else commit.end

        def may_be_last(commit, time):
            return commit.start < time and not any(
                later.start > last_effect(commit) and later.end < time for later in commits)

        late = [one for one in resumed
                if not any(commit.offset == one[1] and may_be_last(commit, one[0]) for commit in commits)]
        for (_, offset, line), (_, earlier, before) in too_low(told, late):
            self.note("committed offset goes back", f"{group} partition {number} goes on at {offset}, after it was {earlier}",
                      before, line)

    def place(self, number, partition):
        if not partition.unplaced:
            return
        places = {value: offset for offset, (value, _) in sorted(partition.values.items(), reverse=True)}
        for value, (time, line) in partition.unplaced.items():
            if value in places:
                partition.acknowledged.setdefault(places[value], line)
                partition.told.append((time, places[value] + 1, line))
            else:
                self.note("lost write", f"{value}, acknowledged in partition {number}, was read by nobody", line)

    def find_lost(self, number, partition):
        highest = max((ranges[number].end() for ranges in self.read.values()), default=0)
        for offset, line in sorted(partition.acknowledged.items()):
            without = [reader for reader, ranges in self.read.items() if offset not in ranges[number]]
            if not without:
                continue
            what = f"{partition.values[offset][0]}, acknowledged at partition {number} offset {offset}"
            if len(without) == len(self.read) and offset < highest:
                self.note("lost write", f"{what}, was passed over by everybody", line)
            else:
                self.note("unseen", f"{what}, was not read by {', '.join(sorted(without))}", line)

    def find_passed_over(self, number, partition):
        """What nobody acknowledged, but somebody has read, is stored: who has read behind it, must have got it too."""
        for offset, (value, line) in sorted(partition.values.items()):
            if offset in partition.acknowledged:
                continue
            without = [reader for reader, ranges in self.read.items()
                       if offset not in ranges[number] and offset < ranges[number].end()]
            if without:
                self.note("unseen", f"{value}, read at partition {number} offset {offset}, was passed over by "
                          f"{', '.join(sorted(without))}", line)

    def find_failed(self, number, partition):
        for offset, (value, line) in sorted(partition.values.items()):
            if value in self.failed:
                self.note("failed write", f"partition {number} offset {offset} holds {value}, which was refused",
                          self.failed[value], line)

    def find_out_of_order(self, number, partition):
        """The records of idempotent producers: each once, in the order they were sent."""
        places, last = {}, {}
        for offset, (value, line) in sorted(partition.values.items()):
            name, _, counter = value.partition(f":{number}:")
            if self.kinds.get(name) != "idempotent" or not counter.isdigit():
                continue
            if value in places:
                self.note("duplicate", f"{value} is at partition {number} offsets {places[value][0]} and {offset}",
                          places[value][1], line)
                continue
            places[value] = (offset, line)
            before, earlier = last.get(name, (-1, None))
            if int(counter) < before:
                self.note("nonmonotonic send", f"partition {number} offset {offset} holds {value} after number {before}",
                          earlier, line)
            last[name] = (int(counter), line)

    def find_overtaking(self, number, partition):
        """A record lies behind all that anybody knew of when its send began, whoever sent it and however. Sends that are under
        way at the same time may come in any order: those of one plain producer too, which sends again what got no answer."""
        stored = ((*self.sent[value], offset, value, line) for offset, (value, line) in partition.values.items()
                  if value in self.sent)
        sends = ((began, offset, value, sent, seen) for began, sent, offset, value, seen in stored)
        for (_, offset, value, sent, seen), (_, end, before) in too_low(partition.told, sends):
            self.note("nonmonotonic send", f"partition {number} offset {offset} holds {value}, sent when it had ended at {end}",
                      *dict.fromkeys((before, sent, seen)))

    def find_earlier_ends(self, number, partition):
        finals = ((began, self.read[process][number].end(), line) for process, (began, line) in self.finals.items())
        for (_, offset, line), (_, end, before) in too_low(partition.told, (*partition.asked, *finals)):
            self.note("high watermark goes back", f"partition {number} ends at {offset}, after it was {end}", before, line)


def events(path):
    """(event, (path, number of the line)) of a history; the last line may be unfinished if the client was killed."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith("\n"):
                yield json.loads(line), (str(path), number)


def check(paths):
    """The anomalies of the histories together, and how many there are of each kind."""
    checker = Checker()
    for path in paths:
        for event, line in events(path):
            checker.feed(event, line)
    return checker.finish(), checker.count


def explain(anomalies, count):
    """Lines of text: each anomaly, below it the lines of the histories that show it."""
    wanted = {line for anomaly in anomalies for line in anomaly.lines if line}
    texts = {}
    for path in {path for path, _ in wanted}:
        with open(path, encoding="utf-8") as lines:
            texts |= {(path, number): line.rstrip() for number, line in enumerate(lines, 1) if (path, number) in wanted}
    out = []
    for anomaly in anomalies:
        out.append(f"{anomaly.kind}: {anomaly.text}")
        out += [f"    {path}:{number}: {texts[path, number][:300]}" for path, number in filter(None, anomaly.lines)]
    out += [f"{kind}: {number} in all" for kind, number in count.items() if number > MOST_OF_A_KIND]
    return out


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    anomalies, count = check(sys.argv[1:])
    print("\n".join(explain(anomalies, count)) or "no anomalies")
    return 1 if anomalies else 0


if __name__ == "__main__":
    sys.exit(main())
