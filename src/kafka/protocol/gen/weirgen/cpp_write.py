"""Emits the functions that encode: one template per struct, used by both passes."""
from .cpp_read import emit_flexible
from .cpp_types import integer
from .versions import condition

_WRITES = {
    "bool": ("boolean", None),
    "int8": ("i8", "std::int8_t"),
    "int16": ("i16", "std::int16_t"),
    "uint16": ("u16", "std::uint16_t"),
    "int32": ("i32", "std::int32_t"),
    "uint32": ("u32", "std::uint32_t"),
    "int64": ("i64", "std::int64_t"),
    "float64": ("f64", None),
    "varint": ("varint", "std::int32_t"),
    "varlong": ("varlong", "std::int64_t"),
    "uuid": ("uuid", None),
}


def emit_write(code, struct, message, scope, versions):
    code.add("template <typename Pass>")
    args = "[[maybe_unused]] Pass& out"
    version = "[[maybe_unused]] std::int16_t version"
    with code.block(f"void put({args}, {version}, [[maybe_unused]] const {scope}& in)"):
        emit_flexible(code, message, versions)
        for item in struct.fields:
            if item.tag is None:
                present = (item.versions or versions).clip(versions)
                with code.when(condition(present, versions)):
                    _write_field(code, item, present, "out")
        _write_tags(code, struct, message, versions)
    code.add("")


def _write_field(code, item, present, out):
    source = f"in.{item.name}"
    nullable = item.nullable.clip(present) if item.nullable else None
    test = condition(nullable, present) if nullable else None
    if not item.nullable:
        _write_value(code, item, source, out)
    elif not item.array and not item.struct:
        _write_nullable_scalar(code, item, source, nullable, test, out)
    else:
        _write_nullable(code, item, source, nullable, test, out)


def _write_value(code, item, source, out):
    """An array, struct or scalar that is not null."""
    if item.array:
        code.add(f"{out}.array({source}.size(), flexible);")
        with code.block(f"for (const auto& value : {source})"):
            _write_one(code, item, "value", out)
    else:
        _write_one(code, item, source, out)


def _write_one(code, item, source, out):
    if item.struct:
        code.add(f"put({out}, version, {source});")
    elif item.type in _WRITES:
        method, plain = _WRITES[item.type]
        if item.cast and plain:
            source = f"static_cast<{plain}>({source})"
        code.add(f"{out}.{method}({source});")
    else:
        code.add(f"{out}.{item.type}({source}, flexible);")


def _write_nullable_scalar(code, item, source, nullable, test, out):
    write = f"{out}.nullable_{item.type}({source}, flexible);"
    plain = f"{out}.{item.type}({source} ? *{source} : decltype({source})::value_type{{}}, flexible);"
    plain = plain.replace(f"decltype({source})", f"std::remove_cvref_t<decltype({source})>")
    if nullable is None:
        code.add(plain)
    elif test is None:
        code.add(write)
    else:
        with code.block(f"if ({test})", "} else {"):
            code.add(write)
        code.add(f"  {plain}", "}")


def _write_nullable(code, item, source, nullable, test, out):
    """A nullable array or struct; in versions without null an absent array is written as an empty one."""
    with code.block(f"if ({source})", "} else {"):
        if item.struct and not item.array and nullable:
            mark = f"{out}.i8(1);"
            code.add(f"if ({test}) {mark}" if test else mark)
        _write_value(code, item, f"(*{source})", out)
    null = "out.null_array(flexible);" if item.array else f"{out}.i8(-1);"
    empty = "out.array(0, flexible);"
    if not item.array:
        name = f"std::remove_cvref_t<decltype({source})>::value_type{{}}"
        empty = f"put({out}, version, {name});"
    if nullable is None:
        code.add(f"  {empty}", "}")
    elif test is None:
        code.add(f"  {null}", "}")
    else:
        with code.block(f"  if ({test})", "  } else {"):
            code.add(null)
        code.add(f"    {empty}", "  }", "}")


def _write_tags(code, struct, message, versions):
    flexible = message.flexible.clip(versions) if message.flexible else None
    if flexible is None:
        return
    tagged = sorted((f for f in struct.fields if f.tag is not None), key=lambda f: f.tag)
    test = "flexible" if condition(message.flexible, versions) else None
    if not tagged:
        code.add("if (flexible) out.uvarint(0);" if test else "out.uvarint(0);")
        return
    with code.when(test):
        for item in tagged:
            present = (item.versions or versions).clip(versions)
            parts = [p for p in (condition(present, flexible), _differs(item)) if p]
            code.add(f"const bool has_{item.name} = {' && '.join(parts)};")
        code.add(f"out.uvarint({' + '.join(f'has_{i.name}' for i in tagged)});")
        for item in tagged:
            present = (item.versions or versions).clip(versions)
            with code.block(f"if (has_{item.name})"):
                with code.block(f"put_tagged(out, {item.tag}, [&](auto& field)", "});"):
                    _write_field(code, item, present, "field")


def _differs(item):
    """C++ that is true where a tagged field is not at its default and hence is written."""
    source = f"in.{item.name}"
    text = item.type == "string" and not item.array and item.default not in (None, "null")
    if item.nullable:
        if item.default == "null":
            return f"{source}.has_value()"
        return f"{source} != {item.default}" if text else f"!({source} && {source}->empty())"
    if text:
        return f"{source} != {item.default}"
    if item.array or item.type in ("string", "bytes", "records"):
        return f"!{source}.empty()"
    if item.struct:
        return f"!({source} == std::remove_cvref_t<decltype({source})>{{}})"
    if item.type == "bool":
        return f"!{source}" if item.default == "true" else source
    if item.type == "uuid":
        return f"!{source}.is_zero()"
    value = integer(item.default)
    return f"{source} != " + (f"{item.cast}{{{value}}}" if item.cast else value)
