"""Emits the functions that write JSON."""
from .model import INTEGERS
from .versions import condition

_CALLS = {
    "bool": "boolean",
    "float64": "real",
    "uuid": "uuid",
    "string": "string",
    "bytes": "bytes",
    "records": "records",
}


def emit_json(code, struct, scope, versions):
    version = "[[maybe_unused]] std::int16_t version"
    with code.block(f"void put_json(JsonWriter& out, {version}, [[maybe_unused]] const {scope}& in)"):
        code.add("out.begin_object();")
        for item in struct.fields:
            present = (item.versions or versions).clip(versions)
            with code.when(condition(present, versions)):
                code.add(f'out.key("{item.name}");')
                _field(code, item, f"in.{item.name}")
        code.add("out.end_object();")
    code.add("")


def _field(code, item, source):
    if item.secret:
        code.add("out.secret();")
        return
    if not item.nullable:
        _value(code, item, source)
        return
    with code.block(f"if ({source})", "} else {"):
        _value(code, item, f"(*{source})")
    code.add("  out.null();", "}")


def _value(code, item, source):
    if not item.array:
        code.add(_one(item, source))
        return
    code.add("out.begin_array();")
    code.add(f"for (const auto& value : {source}) {_one(item, 'value')}")
    code.add("out.end_array();")


def _one(item, source):
    if item.struct:
        return f"put_json(out, version, {source});"
    if item.type in INTEGERS:
        return f"out.number(static_cast<std::int64_t>({source}));"
    return f"out.{_CALLS[item.type]}({source});"
