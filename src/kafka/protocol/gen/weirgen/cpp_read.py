"""Emits the functions that decode."""
from .cpp_types import qualified_type
from .model import SCALARS
from .versions import condition

_READS = {
    "bool": "boolean",
    "int8": "i8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "float64": "f64",
    "varint": "varint",
    "varlong": "varlong",
    "uuid": "uuid",
}
_HELD_READS = {
    ("string", "request"): "view",
    ("string", "response"): "text",
    ("string", "own"): "text",
    ("bytes", "request"): "bytes",
    ("bytes", "response"): "slice",
    ("bytes", "own"): "copy",
    ("records", "request"): "slice",
    ("records", "response"): "chain",
    ("records", "own"): "slice",
}


def emit_read(code, struct, message, scope, versions):
    """`read_struct()` of one struct; versions: those of its message."""
    version = "[[maybe_unused]] std::int16_t version"
    decoder = "[[maybe_unused]] Decoder& in"
    target = f"[[maybe_unused]] {scope}& out"
    with code.block(f"void read_struct({decoder}, {version}, {target})"):
        emit_flexible(code, message, versions)
        for item in struct.fields:
            if item.tag is None:
                present = (item.versions or versions).clip(versions)
                with code.when(condition(present, versions)):
                    _read_field(code, item, message, present)
        _read_tags(code, struct, message, versions)
    code.add("")


def emit_flexible(code, message, versions):
    """The constant `flexible` of a function."""
    if message.flexible is None:
        value = "false"
    else:
        value = condition(message.flexible, versions) or "true"
    code.add(f"[[maybe_unused]] const bool flexible = {value};")


def _read_field(code, item, message, present):
    target = f"out.{item.name}"
    if item.array:
        _read_array(code, item, message, present, target)
    elif item.nullable:
        _read_nullable(code, item, message, present, target)
    elif item.struct:
        code.add(f"read_struct(in, version, {target});")
    else:
        code.add(f"{target} = {_value(item, message)};")


def _value(item, message, nullable=False):
    """The expression that reads one scalar."""
    if item.type in _READS:
        read = f"in.{_READS[item.type]}()"
        if item.cast and item.type != "uuid":
            return f"static_cast<{item.cast}>({read})"
        return read
    name = _HELD_READS[item.type, message.kind if message.api else "own"]
    return f"in.{'nullable_' if nullable else ''}{name}(flexible)"


def _read_nullable(code, item, message, present, target):
    nullable = item.nullable.clip(present)
    test = condition(nullable, present) if nullable else "false"
    if item.struct:
        _nullable_struct(code, test, target, qualified_type(item, message))
        return
    if test:
        code.add(f"if ({test}) {target} = {_value(item, message, True)};")
        code.add(f"else {target} = {_value(item, message)};")
    else:
        code.add(f"{target} = {_value(item, message, True)};")


def _nullable_struct(code, test, target, name):
    # emplace() without a value does not compile: the optional was instantiated before the nested struct's
    # default member initializers were known.
    present = "in.present()" if test is None else f"!({test}) || in.present()"
    with code.block(f"if ({present})", "} else {"):
        code.add(f"read_struct(in, version, {target}.emplace({name}{{}}));")
    code.add(f"  {target}.reset();", "}")


def _read_array(code, item, message, present, target):
    least = least_expression(item, message, present)
    count = f"array(flexible, {least}, sizeof({qualified_type(item, message)}))"
    nullable = item.nullable.clip(present) if item.nullable else None
    if not nullable:
        with code.block(""):
            list_of = f"{target}.emplace()" if item.nullable else target
            code.add(f"auto& list = {list_of};", f"list.resize(in.{count});")
            _read_elements(code, item, message)
        return
    test = condition(nullable, present)
    call = f"in.nullable_{count}"
    if test:
        call = f"{test} ? {call} : std::optional(in.{count})"
    with code.block(f"if (const std::optional<std::size_t> count = {call}; !count)", "} else {"):
        code.add(f"{target}.reset();")
    code.add(f"auto& list = {target}.emplace(*count);")
    _read_elements(code, item, message)
    code.add("}")


def _read_elements(code, item, message):
    with code.block(f"for (auto{'&&' if item.type == 'bool' else '&'} value : list)"):
        if item.struct:
            code.add("read_struct(in, version, value);")
        else:
            code.add(f"value = {_value(item, message)};")
        if item.struct or SCALARS[item.type] is None:
            code.add("if (!in.ok()) return;")


def _read_tags(code, struct, message, versions):
    if message.flexible is None:
        return
    flexible = message.flexible.clip(versions)
    if flexible is None:
        return
    tagged = sorted((f for f in struct.fields if f.tag is not None), key=lambda f: f.tag)
    test = "flexible" if condition(message.flexible, versions) else None
    if not tagged:
        code.add("if (flexible) in.skip_tags();" if test else "in.skip_tags();")
        return
    with code.when(test):
        with code.block("for (Tags tags(in); tags.next();)"):
            with code.block("switch (tags.tag())"):
                for item in tagged:
                    _read_tag(code, item, message, versions, flexible)
                code.add("default: tags.skip();")


def _read_tag(code, item, message, versions, flexible):
    present = (item.versions or versions).clip(versions)
    test = condition(present, flexible)
    code.add(f"case {item.tag}:")
    if test:
        with code.block(f"if (!({test}))"):
            code.add("tags.skip();", "break;")
    _read_field(code, item, message, present)
    code.add("break;")


def least_size(item, message, version):
    """The fewest bytes that one element of an array takes in a version."""
    flexible = message.flexible is not None and message.flexible.has(version)
    if item.struct:
        return _least_struct(item.struct, message, version, flexible)
    return _least_scalar(item.type, flexible)


def _least_scalar(name, flexible):
    if SCALARS[name] is not None:
        return SCALARS[name]
    if name in ("varint", "varlong") or flexible:
        return 1
    return 2 if name == "string" else 4


def _least_struct(struct, message, version, flexible):
    size = 1 if flexible else 0
    for item in struct.fields:
        if item.tag is not None or (item.versions and not item.versions.has(version)):
            continue
        if item.array:
            size += 1 if flexible else 4
        elif item.struct:
            nullable = item.nullable and item.nullable.has(version)
            size += 1 if nullable else _least_struct(item.struct, message, version, flexible)
        else:
            size += _least_scalar(item.type, flexible)
    return size


def least_expression(item, message, present):
    """C++ for least_size() as a function of `version`."""
    last = message.versions.high if present.high is None else present.high
    steps = []
    for version in range(present.low, last + 1):
        size = least_size(item, message, version)
        if not steps or steps[-1][1] != size:
            steps.append((version, size))
    text = str(steps[0][1])
    for version, size in steps[1:]:
        text = f"version >= {version} ? {size} : {text}" if " ? " not in text else f"version >= {version} ? {size} : ({text})"
    return text if len(steps) == 1 else f"({text})"


