"""The C++ types of fields, and the headers with the structs of one schema file."""
from .model import INTEGERS

_INTS = {
    "int8": "std::int8_t",
    "int16": "std::int16_t",
    "uint16": "std::uint16_t",
    "int32": "std::int32_t",
    "uint32": "std::uint32_t",
    "int64": "std::int64_t",
    "varint": "std::int32_t",
    "varlong": "std::int64_t",
}
# How text, bytes and records are held: requests refer to the frame, responses own text and share bytes, Weir's structs own all.
_HELD = {
    "request": {"string": "std::string_view", "bytes": "weir::Bytes", "records": "weir::Slice"},
    "response": {"string": "std::string", "bytes": "weir::Slice", "records": "weir::Chain"},
    "struct": {"string": "std::string", "bytes": "std::vector<std::byte>", "records": "weir::Slice"},
    "entry": {"string": "std::string", "bytes": "std::vector<std::byte>", "records": "weir::Slice"},
}


def element_type(item, kind):
    """The C++ type of one value of a field, without array and null."""
    if item.struct:
        return item.struct.name
    if item.cast:
        return item.cast
    if item.type in _INTS:
        return _INTS[item.type]
    if item.type == "bool":
        return "bool"
    if item.type == "float64":
        return "double"
    if item.type == "uuid":
        return "weir::Uuid"
    return _HELD[kind][item.type]


def qualified_type(item, message):
    """element_type() as it is named outside of the message."""
    name = element_type(item, message.kind)
    if item.struct and not item.struct.common:
        return f"{message.name}::{name}"
    return name


def field_type(item, kind):
    result = element_type(item, kind)
    if item.array:
        result = f"std::vector<{result}>"
    if item.nullable:
        result = f"std::optional<{result}>"
    return result


def initializer(item, kind):
    """What stands behind the member's name in the struct."""
    value = item.default
    if item.nullable:
        if value == "null":
            return ""
        inner = field_type(item, kind).removeprefix("std::optional<")[:-1]
        return f" = {inner}({value or ''})"
    if item.array or item.struct:
        return ""
    if item.cast:
        if item.type == "uuid":
            return ""
        return f"{{{value}}}" if value else "{}"
    if item.type in INTEGERS:
        return f" = {integer(value)}"
    if item.type == "bool":
        return f" = {value or 'false'}"
    if item.type == "float64":
        return f" = {value or '0'}"
    return f" = {value}" if value else ""


def integer(value):
    if value == "-2147483648":
        return "std::numeric_limits<std::int32_t>::min()"
    if value == "9223372036854775807":
        return "std::numeric_limits<std::int64_t>::max()"
    return value or "0"


def is_comparable(struct, kind):
    """Whether == can be defaulted: views of bytes, slices and chains have none."""
    for item in struct.fields:
        if item.struct:
            if not is_comparable(item.struct, kind):
                return False
        elif item.type in ("bytes", "records") and kind in ("request", "response"):
            return False
        elif item.type == "records":
            return False
    return True


def emit_header(unit):
    lines = [
        f"// Generated from {unit.stem}.schema: do not edit.",
        "#pragma once",
        "#include <cstdint>",
        "#include <limits>",
        "#include <optional>",
        "#include <string>",
        "#include <string_view>",
        "#include <vector>",
        "",
    ]
    includes = set(unit.includes) | {"kafka/protocol/message.h"}
    if unit.api:
        includes |= {"base/ids.h", "kafka/protocol/errors.h", "kafka/protocol/messages/api_key.h"}
    lines += [f'#include "{path}"' for path in sorted(includes)]
    lines += ["", f"namespace {unit.namespace} {{", ""]
    for struct in unit.commons:
        lines += _struct(struct, "struct", [], "") + [""]
    for message in unit.messages:
        lines += _message(message)
    lines += [f"}}  // namespace {unit.namespace}", ""]
    return "\n".join(lines)


def _struct(struct, kind, extra, pad, last=()):
    lines = [f"{pad}struct {struct.name} {{"]
    lines += extra
    for item in struct.fields:
        lines.append(f"{pad}  {field_type(item, kind)} {item.name}{initializer(item, kind)};")
    lines += last
    if is_comparable(struct, kind):
        lines.append(f"{pad}  bool operator==(const {struct.name}&) const = default;")
    return lines + [f"{pad}}};"]


def _message(message):
    flexible = message.flexible.low if message.flexible else "weir::kafka::kNeverFlexible"
    own = message.kind in ("struct", "entry")
    extra = []
    if message.api:
        extra.append(f"  static constexpr ApiKey kApiKey = ApiKey::k{message.api.name};")
    if message.entry_id is not None:
        extra.append(f"  static constexpr std::int16_t kId = {message.entry_id};")
    factor = "kStructMemoryFactor" if own else "kMessageMemoryFactor"
    extra += [
        f'  static constexpr std::string_view kName = "{message.title}";',
        f"  static constexpr std::int16_t kMinVersion = {message.versions.low};",
        f"  static constexpr std::int16_t kMaxVersion = {message.versions.high};",
        f"  static constexpr std::int16_t kFlexibleFrom = {flexible};",
        f"  static constexpr std::size_t kMemoryFactor = weir::kafka::{factor};",
        "",
    ]
    for struct in message.structs:
        extra += _struct(struct, message.kind, [], "  ") + [""]
    lines = [f"// {message.doc}"] if message.doc else []
    kept = ["  weir::kafka::KeptTexts kept_texts;  // what some texts of a decoded request refer to"]
    lines += _struct(message.root, message.kind, extra, "", kept if message.kind == "request" else []) + [""]
    name = message.name
    return lines + [
        f"void read(weir::kafka::Decoder& in, std::int16_t version, {name}& message);",
        f"void write(weir::kafka::SizeCounter& out, const {name}& message, std::int16_t version);",
        f"void write(weir::kafka::ChainWriter& out, const {name}& message, std::int16_t version);",
        f"void write_json(weir::kafka::JsonWriter& out, const {name}& message,",
        "                std::int16_t version);",
        "",
    ]
