"""Messages, structs and fields, built from parsed lines and checked."""
import re
from dataclasses import dataclass, field

from .parser import SchemaError
from .versions import Range

# Type name: bytes on the wire where fixed, else None.
SCALARS = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "varint": None,
    "varlong": None,
    "uuid": 16,
    "string": None,
    "bytes": None,
    "records": None,
}
INTEGERS = {"int8", "int16", "uint16", "int32", "uint32", "int64", "varint", "varlong"}
MAX_TAG = 63


@dataclass
class Field:
    """A field of a struct. `struct` is set where the type is one; `versions` None: as long as its struct."""

    line: object
    name: str
    type: str
    array: bool
    struct: object = None
    versions: Range | None = None
    nullable: Range | None = None
    default: str | None = None
    tag: int | None = None
    cast: str | None = None
    secret: bool = False


@dataclass
class Struct:
    """A named list of fields; shared ones (`common`) live beside the messages, others inside them."""

    name: str
    fields: list = field(default_factory=list)
    common: bool = False


@dataclass
class Message:
    """What is encoded as a whole: a request, a response, a struct or an entry."""

    name: str
    kind: str
    versions: Range
    flexible: Range | None
    doc: str
    root: Struct = None
    structs: list = field(default_factory=list)
    entry_id: int | None = None
    api: object = None

    @property
    def title(self):
        """The words an error message calls it by."""
        if self.kind in ("request", "response"):
            return f"{self.api.name} {self.kind}"
        return self.name


@dataclass
class Api:
    """An API of the Kafka protocol: a request and a response with the same versions."""

    name: str
    key: int
    versions: Range
    flexible: Range | None
    served: Range | None
    advertised_from: int | None
    doc: str
    request: Message = None
    response: Message = None


@dataclass
class Unit:
    """Everything of one schema file."""

    stem: str
    path: str
    namespace: str
    includes: list
    commons: list = field(default_factory=list)
    messages: list = field(default_factory=list)
    api: Api | None = None


def build(parsed, stem):
    unit = Unit(stem, parsed.path, parsed.namespace, parsed.includes)
    commons, i = {}, 0
    while i < len(parsed.blocks):
        line = parsed.blocks[i]
        kind = line.text.split()[0]
        if kind == "api":
            _build_api(unit, parsed, line, parsed.blocks[i + 1 : i + 3])
            i += 2
        elif kind in ("struct", "entry"):
            unit.messages.append(_build_struct(line, kind, commons))
        elif kind == "common":
            name = line.text.split()[1]
            struct = Struct(name, common=True)
            _fill(struct, line.children, commons, _Scope(unit.commons, commons, True))
            unit.commons.append(struct)
            commons[name] = struct
        else:
            raise line.error(f"'{kind}' is none of api, struct, entry, common, namespace, include")
        i += 1
    _check_unit(unit)
    return unit


class _Scope:
    """Where nested structs go while the fields of one message are read."""

    def __init__(self, structs, known, common=False):
        self.structs = structs
        self.known = dict(known)
        self.common = common


def _attributes(line, words, allowed):
    """`key value` pairs of a block's first line."""
    if len(words) % 2:
        raise line.error("after the name stand pairs of a word and its value")
    found = dict(zip(words[::2], words[1::2]))
    for word in found:
        if word not in allowed:
            raise line.error(f"'{word}' is none of {', '.join(allowed)}")
    return found


def _range(line, text, what):
    result = Range.parse(text)
    if result is None:
        raise line.error(f"{what} '{text}' is not a range like 3+, 3-7 or 3")
    return result


def _versions(line, found):
    if "versions" not in found or "flexible" not in found:
        raise line.error("versions and flexible are required, like 'versions 0-3 flexible 2+'")
    versions = _range(line, found["versions"], "versions")
    if versions.high is None:
        raise line.error("versions need an end, like 0-3")
    flexible = None
    if found["flexible"] != "none":
        flexible = _range(line, found["flexible"], "flexible").clip(versions)
    return versions, flexible


def _first_advertised(line, found, served):
    """The first version that ApiVersions names; nothing: it does not name the API."""
    word = found.get("advertised-from", str(served.low))
    if word != "none" and not word.isdigit():
        raise line.error(f"advertised-from {word} is neither a version nor none")
    return None if word == "none" else int(word)


def _build_api(unit, parsed, line, bodies):
    words = line.text.split()
    found = _attributes(line, words[2:], ("key", "versions", "flexible", "served", "advertised-from"))
    versions, flexible = _versions(line, found)
    served = _range(line, found["served"], "served") if "served" in found else None
    if served and (served.low < versions.low or served.high is None or served.high > versions.high):
        raise line.error(f"served {served} is not within versions {versions}")
    first = _first_advertised(line, found, served or versions)
    api = Api(words[1], int(found["key"]), versions, flexible, served, first, parsed.doc)
    if [b.text for b in bodies] != ["request", "response"]:
        raise line.error("an api is followed by its request and its response")
    for body in bodies:
        name = api.name + body.text.capitalize()
        message = Message(name, body.text, versions, flexible, parsed.doc, api=api)
        _fill_message(message, body.children, {})
        setattr(api, body.text, message)
        unit.messages.append(message)
    unit.api = api


def _build_struct(line, kind, commons):
    words = line.text.split()
    allowed = ("versions", "flexible") + (("id",) if kind == "entry" else ())
    found = _attributes(line, words[2:], allowed)
    if kind == "entry" and "id" not in found:
        raise line.error("an entry needs an id")
    versions, flexible = _versions(line, found)
    message = Message(words[1], kind, versions, flexible, "")
    message.entry_id = int(found["id"]) if kind == "entry" else None
    _fill_message(message, line.children, commons)
    return message


def _fill_message(message, lines, commons):
    message.root = Struct(message.name)
    _fill(message.root, lines, commons, _Scope(message.structs, commons))


def _fill(struct, lines, commons, scope):
    for line in lines:
        item = _parse_field(line)
        if any(f.name == item.name for f in struct.fields):
            raise line.error(f"field '{item.name}' appears twice")
        if item.type not in SCALARS:
            item.struct = _nested(line, item, commons, scope)
        elif line.children:
            raise line.error(f"'{item.type}' has no fields of its own")
        struct.fields.append(item)


def _nested(line, item, commons, scope):
    known = scope.known.get(item.type)
    if not line.children:
        if known is None or known is ...:
            raise line.error(f"struct '{item.type}' has no fields here and is not known from above")
        return known
    if known is not None:
        raise line.error(f"struct '{item.type}' is already known from above")
    scope.known[item.type] = ...
    nested = Struct(item.type, common=scope.common)
    _fill(nested, line.children, commons, scope)
    scope.known[item.type] = nested
    scope.structs.append(nested)
    return nested


_FIELD = re.compile(r"(?P<name>[a-z][a-z0-9_]*): (?P<type>\[\w+\]|\w+)(?P<rest>( .*)?)")
_OPTION = re.compile(
    r" @(?P<versions>\S+)"
    r"| = (?P<default>\"[^\"]*\"|\S+)"
    r"| nullable(@(?P<nullable>\S+))?"
    r"| tag (?P<tag>\d+)"
    r"| as=(?P<cast>[\w:]+)"
    r"| (?P<secret>secret)"
)


def _parse_field(line):
    match = _FIELD.fullmatch(line.text)
    if not match:
        raise line.error(f"'{line.text}' is not a field like 'name: type @3+ = 0 nullable tag 1'")
    array = match["type"].startswith("[")
    item = Field(line, match["name"], match["type"].strip("[]"), array)
    rest, at = match["rest"], 0
    while at < len(rest):
        option = _OPTION.match(rest, at)
        if not option:
            raise line.error(f"'{rest[at:].strip()}' is none of @, =, nullable, tag, as=, secret")
        _apply(item, option)
        at = option.end()
    _check_field(item)
    return item


def _apply(item, option):
    if option["versions"]:
        item.versions = _range(item.line, option["versions"], "versions")
    elif option["default"]:
        item.default = option["default"]
    elif option["tag"]:
        item.tag = int(option["tag"])
    elif option["cast"]:
        item.cast = option["cast"]
    elif option["secret"]:
        item.secret = True
    elif option["nullable"]:
        item.nullable = _range(item.line, option["nullable"], "nullable")
    else:
        item.nullable = Range(0)


def _check_field(item):
    error = item.line.error
    if item.default == "null" and not item.nullable:
        raise error("default null of a field that is not nullable")
    if item.nullable and not item.array and item.type in SCALARS:
        if item.type not in ("string", "bytes", "records"):
            raise error(f"'{item.type}' cannot be nullable")
    if item.array and item.type in ("bytes", "records") and item.cast:
        raise error(f"as= does not go with an array of {item.type}")
    if item.cast and item.type not in INTEGERS | {"uuid"}:
        raise error(f"as= goes with integers and uuid, not with '{item.type}'")
    if item.default not in (None, "null") and (item.array or item.type not in SCALARS):
        raise error("arrays and structs have no default but null")
    if item.tag is not None and item.tag > MAX_TAG:
        raise error(f"tags go up to {MAX_TAG}")


def _check_unit(unit):
    for message in unit.messages:
        _check_struct(message.root, message, message.versions)
        if unit.commons and (message.flexible is None or message.flexible.low > 0):
            raise SchemaError(f"{unit.path}: {message.name}: beside 'common' structs all is flexible 0+")


def _check_struct(struct, message, outer):
    tags = set()
    for item in struct.fields:
        versions = (item.versions or outer).clip(outer)
        if versions is None:
            raise item.line.error(f"versions {item.versions} are outside of {outer}")
        if item.tag is not None:
            if message.flexible is None or versions.low < message.flexible.low:
                raise item.line.error("a tagged field exists in flexible versions only")
            if item.tag in tags:
                raise item.line.error(f"tag {item.tag} appears twice")
            tags.add(item.tag)
        if item.struct:
            _check_struct(item.struct, message, versions)
