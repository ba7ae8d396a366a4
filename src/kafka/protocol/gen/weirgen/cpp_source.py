"""Puts the functions of one schema file together into its .cc file."""
from .code import Code
from .cpp_json import emit_json
from .cpp_read import emit_read
from .cpp_write import emit_write
from .model import Message
from .versions import Range


def emit_source(unit, header):
    code = Code()
    code.add(f"// Generated from {unit.stem}.schema: do not edit.")
    code.add(f'#include "{header}"', "", "#include <type_traits>", "")
    code.add(f"namespace {unit.namespace} {{", "namespace {", "")
    for name in ("ChainWriter", "Decoder", "JsonWriter", "SizeCounter", "Tags", "put_tagged"):
        if unit.namespace != "weir::kafka":
            code.add(f"using weir::kafka::{name};")
    if unit.commons:
        _emit_structs(code, _common_messages(unit), [(s, s.name) for s in unit.commons])
    for message in unit.messages:
        scopes = [(s, f"{message.name}::{s.name}") for s in message.structs]
        _emit_structs(code, message, scopes + [(message.root, message.name)])
    code.add("}  // namespace", "")
    for message in unit.messages:
        _emit_entry_points(code, message)
    code.add(f"}}  // namespace {unit.namespace}")
    return code.text()


def _emit_structs(code, message, scopes):
    """The functions of structs, inner ones first, with the C++ names of the structs."""
    for struct, scope in scopes:
        emit_read(code, struct, message, scope, message.versions)
        emit_write(code, struct, message, scope, message.versions)
        emit_json(code, struct, scope, message.versions)


def _common_messages(unit):
    """Stands for all messages of a file that has common structs: these are read the same way in each."""
    high = max(m.versions.high for m in unit.messages)
    return Message("", "struct", Range(0, high), Range(0, high), "")


def _emit_entry_points(code, message):
    name = message.name
    code.add(f"void read(Decoder& in, std::int16_t version, {name}& message) {{")
    code.add("  read_struct(in, version, message);", "}")
    for writer in ("SizeCounter", "ChainWriter"):
        code.add(f"void write({writer}& out, const {name}& message, std::int16_t version) {{")
        code.add("  put(out, version, message);", "}")
    code.add(f"void write_json(JsonWriter& out, const {name}& message, std::int16_t version) {{")
    code.add("  put_json(out, version, message);", "}", "")
