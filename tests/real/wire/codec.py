"""Kafka messages as bytes: any request or response of messages.tsv, in any version, to and from plain Python values.

A struct is a dict, an array a list, a uuid its hex string, bytes and records are bytes. A field that a request leaves out
has its default. What the decoder does not know, or what is left over, is an error: this side believes nothing."""
import collections
import functools
import pathlib
import struct

TABLE = pathlib.Path(__file__).with_name("messages.tsv")
FIXED = {"boolean": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "float64": "d"}


def version_range(text, latest):
    """'3+' and '3-7' and '4' as a range; '-' as an empty one."""
    if text == "-":
        return range(0)
    low, _, high = text.rstrip("+").partition("-")
    return range(int(low), (latest if text.endswith("+") else int(high or low)) + 1)


class Field:
    """One field of a message, with the fields of its struct if it is one."""

    def __init__(self, row, latest):
        path, self.type, versions, nullable, tag, self.default = row
        self.array = path.endswith("[]")
        self.name = path.split(".")[-1].removesuffix("[]")
        self.versions, self.nullable = version_range(versions, latest), version_range(nullable, latest)
        self.tag = None if tag == "-" else int(tag)
        self.fields = []

    def absent(self, version):
        """The value of a field that was not given."""
        if self.array:
            return []
        if self.type == "struct":
            return {}
        if self.default == "null" or (self.default == "-" and version in self.nullable):
            return None
        if self.type in ("string", "uuid", "bytes", "records"):
            return {"string": "", "uuid": "0" * 32}.get(self.type, b"")
        return self.default == "true" if self.type == "boolean" else int({"-": 0, "?": 0}.get(self.default, self.default))


Message = collections.namedtuple("Message", "api key kind versions flexible fields")


@functools.cache
def messages():
    """{(api, 'request' or 'response'): Message}"""
    found, parents = {}, {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        api, key, kind, versions, flexible, path, *rest = line.split("\t")
        latest = int(versions.split("-")[-1])
        where = (api, kind)
        if where not in found:
            found[where] = Message(api, int(key), kind, version_range(versions, latest),
                                   version_range(flexible if flexible[0].isdigit() else "-", latest), [])
        field = Field((path, *rest), latest)
        parents[where, path] = field.fields
        above = parents[where, path.rpartition(".")[0]] if "." in path else found[where].fields
        above.append(field)
    return found


class Writer:
    """Bytes of one version of one message."""

    def __init__(self, version, flexible):
        self.version, self.flexible, self.out = version, flexible, bytearray()

    def fixed(self, form, value):
        self.out += struct.pack(">" + form, value)

    def unsigned(self, value):
        while value > 0x7F:
            self.out.append(value & 0x7F | 0x80)
            value >>= 7
        self.out.append(value)

    def length(self, value, form):
        """A length (None: of null) as the encoding in force has it."""
        if self.flexible:
            self.unsigned(0 if value is None else value + 1)
        else:
            self.fixed(form, -1 if value is None else value)

    def one(self, field, value):
        if field.type == "struct":
            self.struct(field.fields, value)
        elif field.type in FIXED:
            self.fixed(FIXED[field.type], value)
        elif field.type == "uuid":
            self.out += bytes.fromhex(value)
        else:
            raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
            self.length(None if raw is None else len(raw), "h" if field.type == "string" else "i")
            self.out += raw or b""

    def value(self, field, value):
        if field.array:
            self.length(None if value is None else len(value), "i")
            for element in value or []:
                self.one(field, element)
        elif field.type == "struct" and self.version in field.nullable:
            self.fixed("b", -1 if value is None else 1)
            if value is not None:
                self.struct(field.fields, value)
        else:
            self.one(field, value)

    def struct(self, fields, values):
        unknown = set(values) - {field.name for field in fields} - {"_tags"}
        if unknown:
            raise KeyError(f"no field {', '.join(sorted(unknown))}; there are {', '.join(f.name for f in fields)}")
        tagged = dict(values.get("_tags", {}))
        for field in fields:
            if self.version not in field.versions:
                continue
            value = values.get(field.name, field.absent(self.version))
            if field.tag is None:
                self.value(field, value)
            elif field.name in values:
                inner = Writer(self.version, True)
                inner.value(field, value)
                tagged[field.tag] = bytes(inner.out)
        if self.flexible:
            self.unsigned(len(tagged))
            for tag, raw in sorted(tagged.items()):
                self.unsigned(tag)
                self.unsigned(len(raw))
                self.out += raw


class Reader:
    """Values of one version of one message."""

    def __init__(self, data, version, flexible):
        self.data, self.at, self.version, self.flexible = data, 0, version, flexible

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise ValueError(f"the answer ends at {len(self.data)}, {count} bytes wanted at {self.at}")
        self.at += count
        return self.data[self.at - count:self.at]

    def fixed(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def length(self, form):
        count = self.unsigned() - 1 if self.flexible else self.fixed(form)
        return None if count < 0 else count

    def one(self, field):
        if field.type == "struct":
            return self.struct(field.fields)
        if field.type in FIXED:
            return self.fixed(FIXED[field.type])
        if field.type == "uuid":
            return self.take(16).hex()
        count = self.length("h" if field.type == "string" else "i")
        if count is None:
            return None
        return self.take(count).decode() if field.type == "string" else bytes(self.take(count))

    def value(self, field):
        if field.array:
            count = self.length("i")
            return None if count is None else [self.one(field) for _ in range(count)]
        if field.type == "struct" and self.version in field.nullable and self.fixed("b") < 0:
            return None
        return self.one(field)

    def struct(self, fields):
        here = [field for field in fields if self.version in field.versions]
        values = {field.name: self.value(field) for field in here if field.tag is None}
        if self.flexible:
            tagged = {field.tag: field for field in here if field.tag is not None}
            values.update({field.name: field.absent(self.version) for field in tagged.values()})
            for _ in range(self.unsigned()):
                tag, end = self.unsigned(), self.unsigned() + self.at
                if tag not in tagged:
                    raise ValueError(f"unknown tag {tag}")
                values[tagged[tag].name] = self.value(tagged[tag])
                if self.at != end:
                    raise ValueError(f"tag {tag} ends at {self.at}, not at {end}")
        return values


def encode_request(api, version, body, correlation, client="wire"):
    """A whole request frame without its length."""
    message = messages()[api, "request"]
    flexible = version in message.flexible
    header = Writer(version, False)
    header.fixed("h", message.key)
    header.fixed("h", version)
    header.fixed("i", correlation)
    header.length(None if client is None else len(client), "h")
    header.out += (client or "").encode("utf-8", "surrogateescape")
    if flexible:
        header.unsigned(0)
    writer = Writer(version, flexible)
    writer.struct(message.fields, body)
    return bytes(header.out + writer.out)


def decode_response(api, version, frame):
    """(correlation id, body) of a response frame without its length."""
    message = messages()[api, "response"]
    flexible = version in message.flexible
    reader = Reader(frame, version, flexible)
    correlation = reader.fixed("i")
    if flexible and api != "ApiVersions":
        if reader.unsigned():
            raise ValueError("the response header has tags")
    body = reader.struct(message.fields)
    if reader.at != len(frame):
        raise ValueError(f"{api} v{version}: {len(frame) - reader.at} bytes are left over")
    return correlation, body
