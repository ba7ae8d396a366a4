"""Payloads in each codec's plainest form, made by hand: nothing is compressed, only framed. gzip is in batches.py."""
import gzip
import struct

GZIP, SNAPPY, LZ4, ZSTD = range(1, 5)


def snappy(raw):
    """One raw block with one literal of up to 256 bytes, without framing, as C and Go clients write it."""
    literal = bytes([60 << 2, len(raw) - 1]) if len(raw) > 60 else bytes([(len(raw) - 1) << 2])
    length = bytes([len(raw)]) if len(raw) < 0x80 else bytes([len(raw) & 0x7F | 0x80, len(raw) >> 7])
    return length + literal + raw


def xerial(raw, block=200):
    """Snappy blocks behind the header that Java clients write."""
    blocks = [snappy(raw[at:at + block]) for at in range(0, len(raw), block)]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(one)) + one for one in blocks)


def lz4(raw):
    """A frame with one stored block of at most 64 KiB, independent, without checksums."""
    return b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", len(raw) | 1 << 31) + raw + b"\0\0\0\0"


def zstd(raw):
    """A frame with one raw block of up to 255 bytes, which says its size."""
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(raw)]) + (len(raw) << 3 | 1).to_bytes(3, "little") + raw


def two_members(raw):
    return gzip.compress(raw[:5]) + gzip.compress(raw[5:])


FORMS = {"gzip": (GZIP, gzip.compress), "gzip in two members": (GZIP, two_members), "gzip level 1":
         (GZIP, lambda raw: gzip.compress(raw, 1)), "snappy": (SNAPPY, snappy), "xerial": (SNAPPY, xerial),
         "xerial in many blocks": (SNAPPY, lambda raw: xerial(raw, 7)), "lz4": (LZ4, lz4), "zstd": (ZSTD, zstd)}
