"""Emits what round-trip tests and fuzz targets need: functions that fill messages, and a table of all messages."""
from .code import Code
from .cpp_types import element_type
from .versions import condition

_BITS = {
    "int8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "int64": 64,
    "varint": 32,
    "varlong": 64,
}
_FILLS = {"bool": "flag", "float64": "real", "uuid": "uuid"}
_HELD = {
    "request": {"string": "view", "bytes": "bytes", "records": "slice"},
    "response": {"string": "text", "bytes": "slice", "records": "chain"},
    "struct": {"string": "text", "bytes": "copy", "records": "slice"},
}


def emit_checks(units, folder):
    """One .cc file with the checks of some schema files."""
    code = Code()
    code.add("// Generated from the schemas: do not edit.", '#include "kafka/protocol/message_check.h"')
    code.add(*(f'#include "{folder}/{unit.stem}.h"' for unit in units), "")
    for unit in units:
        code.add(f"namespace {unit.namespace} {{", "")
        code.add("using weir::kafka::Filler;", "")
        for struct in unit.commons:
            _emit_fill(code, struct, unit.messages[0], struct.name)
        for message in unit.messages:
            for struct in message.structs:
                _emit_fill(code, struct, message, f"{message.name}::{struct.name}")
            _emit_fill(code, message.root, message, message.name)
        for message in unit.messages:
            code.add(f"weir::kafka::MessageCheck check_{message.name}() {{")
            code.add(f"  return weir::kafka::message_check<{message.name}>();", "}", "")
        code.add(f"}}  // namespace {unit.namespace}", "")
    return code.text()


def emit_check_table(units):
    messages = [m for unit in units for m in unit.messages]
    code = Code()
    code.add("// Generated from the schemas: do not edit.", '#include "kafka/protocol/message_check.h"', "")
    code.add(f"namespace {units[0].namespace} {{", "")
    code.add(*(f"weir::kafka::MessageCheck check_{m.name}();" for m in messages), "")
    code.add("std::span<const weir::kafka::MessageCheck> message_checks() {")
    code.add("  static const weir::kafka::MessageCheck kChecks[] = {")
    code.add(*(f"      check_{m.name}()," for m in messages), "  };", "  return kChecks;", "}", "")
    code.add(f"}}  // namespace {units[0].namespace}")
    return code.text()


def _emit_fill(code, struct, message, scope):
    args = "[[maybe_unused]] Filler& filler, [[maybe_unused]] std::int16_t version"
    with code.block(f"void fill({args}, [[maybe_unused]] {scope}& out)"):
        for item in struct.fields:
            present = (item.versions or message.versions).clip(message.versions)
            with code.when(condition(present, message.versions)):
                _field(code, item, message, present)
    code.add("")


def _field(code, item, message, present):
    target = f"out.{item.name}"
    nullable = item.nullable.clip(present) if item.nullable else None
    if nullable:
        test = condition(nullable, present)
        test = f"{test} && filler.null()" if test else "filler.null()"
        with code.block(f"if ({test})", "} else {"):
            code.add(f"{target}.reset();")
    if item.array:
        with code.block(""):
            code.add(f"auto& list = {target}.emplace();" if item.nullable else f"auto& list = {target};")
            code.add("list.resize(filler.count());")
            with code.block(f"for (auto{'&&' if item.type == 'bool' else '&'} value : list)"):
                _one(code, item, message, "value")
    elif item.struct and item.nullable:
        name = element_type(item, message.kind)
        scope = name if item.struct.common else f"{message.name}::{name}"
        _one(code, item, message, f"{target}.emplace({scope}{{}})")
    else:
        _one(code, item, message, target)
    if nullable:
        code.add("}")


def _one(code, item, message, target):
    if item.struct:
        code.add(f"fill(filler, version, {target});")
    elif item.type in _BITS:
        value = f"filler.integer({_BITS[item.type]})"
        code.add(f"{target} = static_cast<{element_type(item, message.kind)}>({value});")
    elif item.type in _FILLS:
        code.add(f"{target} = filler.{_FILLS[item.type]}();")
    else:
        kind = message.kind if message.api else "struct"
        code.add(f"{target} = filler.{_HELD[kind][item.type]}();")
