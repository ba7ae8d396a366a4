#!/usr/bin/env python3
"""Writes wal_object.bin beside it, a WAL object made from docs/formats/wal-object.md and Kafka's batch format alone, and the
corpus of the fuzz target wal_object. The tests expect the same bytes of Weir's own writer."""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parents[1] / "fuzz_corpus/wal_object"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def zigzag(value):
    value = (value << 1) ^ (value >> 63)
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def record(offset_delta, key, value):
    body = b"\0" + zigzag(0) + zigzag(offset_delta) + zigzag(len(key)) + key + zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(body)) + body


class Batch:
    def __init__(self, values, time, producer=(-1, -1, -1), attributes=0):
        self.attributes, self.delta, self.time, self.producer = attributes, len(values) - 1, time, producer
        records = b"".join(record(i, b"k", value) for i, value in enumerate(values))
        covered = struct.pack(">hiqqqhii", attributes, self.delta, time, time, *producer, len(values)) + records
        rest = struct.pack(">ibI", -1, 2, crc32c(covered)) + covered
        self.bytes = struct.pack(">qi", 0, len(rest)) + rest

    def entry(self):
        return struct.pack(">IHiqqhi", len(self.bytes), self.attributes, self.delta, self.time, *self.producer)


def wal_object(cluster, epoch, sequence, runs):
    data = index = b""
    for topic, partition, batches in runs:
        run = b"".join(batch.bytes for batch in batches)
        index += topic + struct.pack(">iIIII", partition, len(batches), len(data), len(run), crc32c(run))
        index += b"".join(batch.entry() for batch in batches)
        data += run
    footer = cluster + struct.pack(">qqIIBBH", epoch, sequence, len(index), crc32c(index), 1, 1, 0)
    return data + index + footer + struct.pack(">I", crc32c(footer)) + b"WEIR-OBJ"


def main():
    low, high = bytes(range(16)), bytes([0xFF] * 16)
    cluster = bytes.fromhex("0123456789abcdeffedcba9876543210")
    one = Batch([b"a", b"bb", b"ccc"], 1_700_000_000_000)
    two = Batch([b"x" * 40], 1_700_000_000_123, producer=(4711, 3, 2**31 - 1))
    three = Batch([b"y"] * 2, -1, producer=(5, 0, 0), attributes=0x10)
    runs = [(low, 0, [one, two]), (low, 7, [three]), (high, 0, [one])]
    whole = wal_object(cluster, 7, 42, runs)
    (HERE / "wal_object.bin").write_bytes(whole)
    CORPUS.mkdir(parents=True, exist_ok=True)
    (CORPUS / "four_batches").write_bytes(whole)
    (CORPUS / "one_batch").write_bytes(wal_object(cluster, 0, 0, runs[1:2]))
    (CORPUS / "no_batch").write_bytes(wal_object(cluster, 1, 1, []))


if __name__ == "__main__":
    main()
