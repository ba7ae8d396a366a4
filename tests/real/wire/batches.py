"""Record batches (magic 2) made and read byte by byte, with a CRC-32C of its own."""
import gzip
import struct

HEADER = struct.Struct(">qiibIhiqqqhii")  # up to the records; the CRC covers what follows it
CRC_AT, CRC_FROM = 17, 21


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = tuple(_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(value):
    """Zigzag, as in records."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def sized(raw):
    return varint(-1) if raw is None else varint(len(raw)) + raw


def record(offset_delta, key=None, value=b"", timestamp_delta=0, headers=()):
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + sized(key) + sized(value) + varint(len(headers))
    for name, content in headers:
        body += sized(name.encode()) + sized(content)
    return varint(len(body)) + body


def batch(records, *, first_timestamp=1_700_000_000_000, max_timestamp=None, attributes=0, base_offset=0, magic=2,
          count=None, last_offset_delta=None, producer=(-1, -1, -1), epoch=-1, crc=None, compress=None):
    """A batch of encoded records, or of (timestamp delta, key, value) or plain values. `compress` is what makes the
    bytes of the codec in `attributes`; gzip is made here."""
    encoded, latest = [], 0
    for delta, item in enumerate(records):
        if isinstance(item, tuple):
            latest = max(latest, item[0])
            encoded.append(record(delta, item[1], item[2], item[0]))
        elif isinstance(item, str):
            encoded.append(record(delta, None, item.encode()))
        else:
            encoded.append(item)
    payload = b"".join(encoded)
    if attributes & 7 == 1 and compress is None:
        compress = gzip.compress
    payload = compress(payload) if compress else payload
    count = len(encoded) if count is None else count
    last_offset_delta = len(encoded) - 1 if last_offset_delta is None else last_offset_delta
    max_timestamp = first_timestamp + latest if max_timestamp is None else max_timestamp
    header = HEADER.pack(base_offset, 49 + len(payload), epoch, magic, 0, attributes, last_offset_delta,
                         first_timestamp, max_timestamp, *producer, count)
    whole = bytearray(header + payload)
    whole[CRC_AT:CRC_FROM] = struct.pack(">I", crc32c(whole[CRC_FROM:]) if crc is None else crc)
    return bytes(whole)


class Cursor:
    """Zigzag varints and byte runs."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
            shift += 7

    def sized(self):
        count = self.varint()
        if count < 0:
            return None
        self.at += count
        return self.data[self.at - count:self.at]


def text(raw):
    return None if raw is None else raw.decode("latin-1")


def read(data):
    """The batches of a Fetch answer, each as a dict with its records. A wrong checksum or a cut batch says so."""
    found, at = [], 0
    while at < len(data):
        if len(data) - at < HEADER.size:
            return [*found, {"cut": True}]
        (base, length, _, magic, crc, attributes, last, first_ts, max_ts, producer, producer_epoch, sequence,
         count) = HEADER.unpack_from(data, at)
        raw = data[at:at + 12 + length]
        if len(raw) < 12 + length:
            return [*found, {"cut": True}]
        one = {"base_offset": base, "last_offset_delta": last, "magic": magic, "attributes": attributes,
               "base_timestamp": first_ts, "max_timestamp": max_ts, "count": count,
               "producer_id": producer, "producer_epoch": producer_epoch, "sequence": sequence,
               "crc_ok": crc32c(raw[CRC_FROM:]) == crc}
        payload = raw[HEADER.size:]
        if attributes & 7 == 1:
            payload = gzip.decompress(payload)
        if attributes & 7 in (0, 1):
            cursor, records = Cursor(payload), []
            for _ in range(count):
                cursor.varint()
                cursor.at += 1
                timestamp, offset = cursor.varint(), cursor.varint()
                key, value = cursor.sized(), cursor.sized()
                headers = [[text(cursor.sized()), text(cursor.sized())] for _ in range(cursor.varint())]
                extra = [headers] if headers else []
                records.append([base + offset, first_ts + timestamp, text(key), text(value), *extra])
            one["records"] = records
        found.append(one)
        at += 12 + length
    return found
