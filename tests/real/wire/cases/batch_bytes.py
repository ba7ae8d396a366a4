"""What a broker may change in a batch, and the forms of batches that it takes or refuses."""
import struct
import time
import zlib

from .. import batches, bodies
from ..batches import batch, record, varint
from ..codecs import FORMS, GZIP, LZ4, SNAPPY, ZSTD, lz4, snappy, zstd

RECORDS = [(0, b"key", b"a" * 40), (3, None, b"b"), (7, b"", None)]


def outcome(answer):
    one = answer["responses"][0]["partition_responses"][0]
    return {"error": one["error_code"], "offset": one["base_offset"]}


def send(t, topic, data, version=9):
    return outcome(t.main.call("Produce", version, bodies.produce(topic, {0: data})))


def stored(t, topic, offset=0, version=12):
    """The bytes of a partition from an offset on."""
    answer = t.main.call("Fetch", version, bodies.fetch(topic, {0: offset}))
    return answer["responses"][0]["partitions"][0]["records"]


def end(t, label, topic):
    t.ask(label, "ListOffsets", 6, bodies.list_offsets(topic, [(0, -1)]))


def compared(sent, got, offset):
    """What became of the fields of a batch that the checksum does not cover, and of the rest."""
    return {"offset": struct.unpack_from(">q", got)[0] - offset, "length": got[8:12] == sent[8:12],
            "rest": got[16:] == sent[16:]}


def is_epoch(batch_bytes, announced):
    """Whether the epoch in a batch is one that may be: none after that of the leader."""
    return 0 <= struct.unpack_from(">i", batch_bytes, 12)[0] <= announced


def case_batches_come_back_as_sent(t):
    topic, producer = t.topic(), t.producer_id()
    epoch = t.epoch(topic)
    forms = {"plain": (0, None), **FORMS}
    for number, (label, (codec, squeeze)) in enumerate(forms.items()):
        data = batch(RECORDS, attributes=codec, compress=squeeze, producer=(producer, 0, 3 * number))
        t.note(f"send {label}", send(t, topic, data))
        got = stored(t, topic, 3 * number)
        t.note(label, {**compared(data, got, 3 * number), "epoch": is_epoch(got, epoch)})


def case_epoch_of_the_sender_is_replaced(t):
    topic = t.topic()
    for number in (-1, 0, 77):
        send(t, topic, batch(["a"], epoch=number))
    epoch = t.epoch(topic)
    t.note("epochs", [is_epoch(stored(t, topic, offset), epoch) for offset in range(3)])


def case_append_time_changes_only_the_stamp(t):
    topic = t.topic(message_timestamp_type="LogAppendTime")
    for number, (label, (codec, squeeze)) in enumerate({"plain": (0, None), **FORMS}.items()):
        data = batch(RECORDS, attributes=codec, compress=squeeze)
        t.note(f"send {label}", send(t, topic, data))
        got = stored(t, topic, 3 * number)
        t.note(label, {"attributes": struct.unpack_from(">h", got, 21)[0], "between": got[23:35] == data[23:35],
                       "stamp": abs(struct.unpack_from(">q", got, 35)[0] / 1000 - time.time()) < 300,
                       "rest": got[43:] == data[43:], "crc": batches.crc32c(got[21:]) == struct.unpack_from(">I", got, 17)[0]})


def case_same_codec_is_kept_whatever_its_level(t):
    for name, codec, squeeze in (("gzip", GZIP, FORMS["gzip level 1"][1]), ("snappy", SNAPPY, snappy), ("lz4", LZ4, lz4),
                                 ("zstd", ZSTD, zstd)):
        topic = t.topic(name, compression_type=name, compression_gzip_level=9)
        data = batch(RECORDS, attributes=codec, compress=squeeze)
        send(t, topic, data)
        t.note(name, compared(data, stored(t, topic), 0))


def case_batches_lie_in_order(t):
    topic = t.topic()
    for number in range(5):
        t.put(topic, ["x"] * (number + 1))
    bases = [one["base_offset"] for one in batches.read(stored(t, topic))]
    t.note("base offsets", {"list": str(bases)})


def case_lengths_that_lie(t):
    topic, good = t.topic(), batch(["a", "b"])
    for length in (-1, 0, 13, 14, 48, 49, 2**31 - 1):
        t.note(f"length {length}", send(t, topic, good[:8] + struct.pack(">i", length) + good[12:]))
    for count in (0, -1, 2**31 - 1):
        t.note(f"count {count}", send(t, topic, batch(["a"], count=count)))
    for delta in (-1, -2, 2**31 - 1):
        t.note(f"last offset delta {delta}", send(t, topic, batch(["a"], last_offset_delta=delta)))
    t.note("both at the end", send(t, topic, batch(["a"], last_offset_delta=2**31 - 1, count=-2**31)))
    t.note("none and before", send(t, topic, batch([], last_offset_delta=-1, count=0)))
    for label, (codec, squeeze) in (("gzip", FORMS["gzip"]), ("zstd", FORMS["zstd"])):
        t.note(f"nothing in {label}", send(t, topic, batch([], attributes=codec, compress=squeeze)))
    end(t, "nothing was written", topic)


def message(magic, value, key=None, attributes=0, offset=0, timestamp=1_700_000_000_000):
    """An entry of a message set, the format before record batches."""
    sized = [struct.pack(">i", -1) if raw is None else struct.pack(">i", len(raw)) + raw for raw in (key, value)]
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"") + b"".join(sized)
    return struct.pack(">qi", offset, len(body) + 4) + struct.pack(">I", zlib.crc32(body)) + body


def case_message_sets_are_refused(t):
    topic = t.topic()
    for magic in (0, 1):
        for version in (3, 9):
            t.note(f"magic {magic} v{version}", send(t, topic, message(magic, b"a"), version))
        t.note(f"several of magic {magic}", send(t, topic, message(magic, b"a") + message(magic, b"b", offset=1)))
        inner = FORMS["gzip"][1](message(magic, b"a"))
        t.note(f"wrapped magic {magic}", send(t, topic, message(magic, inner, attributes=1)))
        t.note(f"batch, then magic {magic}", send(t, topic, batch(["a"]) + message(magic, b"a")))
    end(t, "nothing was written", topic)


def body_of(parts):
    raw = b"".join(parts)
    return varint(len(raw)) + raw


def case_malformed_records_are_refused(t):
    """Kafka answers one error or another here; any will do, so only success and failure are compared."""
    topic = t.topic()
    start = [b"\0", varint(0), varint(0)]
    bad = {"key longer than the record": body_of([*start, varint(50), b"k", varint(-1), varint(0)]),
           "key length -2": body_of([*start, varint(-2), varint(-1), varint(0)]),
           "value longer than the record": body_of([*start, varint(-1), varint(9), b"v", varint(0)]),
           "headers count -1": body_of([*start, varint(-1), varint(-1), varint(-1)]),
           "more headers than there are": body_of([*start, varint(-1), varint(-1), varint(2), varint(1), b"h", varint(-1)]),
           "null header key": body_of([*start, varint(-1), varint(-1), varint(1), varint(-1), varint(-1)]),
           "length 0": varint(0),
           "length -1": varint(-1),
           "bytes after the headers": body_of([*start, varint(-1), varint(-1), varint(0), b"x"]),
           "varint of six bytes": body_of([b"\0", varint(0), b"\x80\x80\x80\x80\x80\0", varint(-1), varint(-1), varint(0)]),
           "varlong of eleven bytes": body_of([b"\0", b"\x80" * 10 + b"\0", varint(0), varint(-1), varint(-1), varint(0)])}
    for label, raw in bad.items():
        for codec in (0, 1):
            t.note(f"{label}, {'gzip' if codec else 'plain'}", send(t, topic, batch([raw], attributes=codec))["error"] != 0)
    end(t, "nothing was written", topic)


def case_odd_records_are_taken(t):
    topic = t.topic()
    odd = [record(0, None, b"a", -5), record(1, b"k", b"b", 3, [("same", b"1"), ("same", b"2"), ("same", b"1"), ("ä", None)])]
    t.note("times going back", send(t, topic, batch(odd)))
    t.note("no time", send(t, topic, batch(["a", "b"], first_timestamp=-1, max_timestamp=-1)))
    t.note("gzip", send(t, topic, batch(odd, attributes=1)))
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_plain_offset_deltas_not_counting_up(t):
    topic = t.topic()
    t.note("gap", send(t, topic, batch([record(0, None, b"a"), record(5, None, b"b")])))
    t.note("all zero", send(t, topic, batch([record(0, None, b"a"), record(0, None, b"b")])))
    t.ask("stored", "Fetch", 12, bodies.fetch(topic, {0: 0}))


def case_record_errors(t):
    """Which records are wrong is told from version 8 on; one wrong time makes the whole a matter of time."""
    topic = t.topic(cleanup_policy="compact")
    future = 4_000_000_000_000 - 1_700_000_000_000
    mixed = [(0, b"k", b"a"), (0, None, b"b"), (future, b"k", b"c"), (future, None, b"d"), (0, None, b"e"), (0, None, b"f")]
    for version in (7, 8, 9):
        t.ask(f"mixed v{version}", "Produce", version, bodies.produce(topic, {0: batch(mixed)}))
    t.ask("mixed gzip", "Produce", 9, bodies.produce(topic, {0: batch(mixed, attributes=1)}))
    t.ask("keys only", "Produce", 9, bodies.produce(topic, {0: batch(mixed[:2] + mixed[4:])}))
    end(t, "nothing was written", topic)


def case_time_window(t):
    now = int(time.time() * 1000)
    standard, narrow = t.topic("standard"), t.topic("narrow", message_timestamp_after_max_ms=60_000,
                                                    message_timestamp_before_max_ms=60_000)
    for minutes in (-100_000, -59, 0, 59, 61):
        t.note(f"standard {minutes} min", send(t, standard, batch(["a"], first_timestamp=now + minutes * 60_000)))
    for seconds in (-70, -50, 0, 50, 70):
        t.note(f"narrow {seconds} s", send(t, narrow, batch(["a"], first_timestamp=now + seconds * 1000)))
    t.note("narrow without a time", send(t, narrow, batch(["a"], first_timestamp=-1, max_timestamp=-1)))
    stamped = t.topic("stamped", message_timestamp_type="LogAppendTime", message_timestamp_after_max_ms=60_000,
                      message_timestamp_before_max_ms=60_000)
    t.note("stamped", send(t, stamped, batch(["a"], first_timestamp=now - 1_000_000)))


def case_larger_than_a_segment(t):
    topic = t.topic(segment_bytes=1_048_576, max_message_bytes=3_000_000)
    t.note("fits", send(t, topic, batch([record(0, None, b"x" * 1_000_000)])))
    t.note("does not fit", send(t, topic, batch([record(0, None, b"x" * 1_100_000)])))
    t.note("too large for both", send(t, topic, batch([record(0, None, b"x" * 3_100_000)])))
    end(t, "one was written", topic)


def case_recompressed_too_large(t):
    """The size counts before and after the broker compresses anew."""
    topic = t.topic(max_message_bytes=1000, compression_type="uncompressed")
    t.note("small when compressed", send(t, topic, batch([record(0, None, b"x" * 5000)], attributes=1)))
    t.note("small either way", send(t, topic, batch([record(0, None, b"x" * 500)], attributes=1)))
    packed = t.topic("packed", max_message_bytes=1000, compression_type="gzip")
    t.note("large when plain", send(t, packed, batch([record(0, None, b"x" * 5000)])))


def case_zstd_is_not_for_old_consumers(t):
    kept, made = t.topic("kept"), t.topic("made", compression_type="zstd")
    send(t, kept, batch(RECORDS, attributes=ZSTD, compress=zstd))
    send(t, made, batch(RECORDS))
    for topic, label in ((kept, "kept"), (made, "made")):
        for version in (4, 9, 10, 12):
            answer = t.main.call("Fetch", version, bodies.fetch(topic, {0: 0}))
            one = answer["responses"][0]["partitions"][0]
            t.note(f"{label} v{version}", {"error": one["error_code"], "records": bool(one["records"]),
                                           "high watermark": one["high_watermark"]})
    answer = t.main.call("Fetch", 13, bodies.fetch({"topic_id": t.topic_id(made)}, {0: 0}))
    t.note("made v13", answer["responses"][0]["partitions"][0]["error_code"])
