#!/usr/bin/env python3
"""Reads the tables of configuration keys (*.keys in this folder) and writes config/key_table.cc.

A table is made of sections; every key is a line of columns, then its description, indented:

    section Retention and deletion
    ! why the keys of this section that are unused have no effect (optional)

    retention.ms | long | 604800000 | [-1,...] | medium | used
        How long records are kept ...
        < log.retention.ms, log.retention.minutes*60000     (optional)
        ! a note on this key                                (optional)

Columns: name; type; default, or null, (required), (empty); valid values as Kafka prints them, or -; importance;
flags: used or unused (whether the key has an effect in Weir); internal (described only when set); for broker keys
static, per-broker or cluster-wide (how it may be changed while the broker runs).
`<` names the broker keys that a value comes from when the key itself is not set, first one first; a factor converts
the unit.
"""
import re
import sys
from pathlib import Path

TYPES = {"boolean", "string", "int", "short", "long", "double", "list", "class", "password"}
IMPORTANCES = {"high", "medium", "low"}
UPDATES = {"static": "kStatic", "per-broker": "kPerBroker", "cluster-wide": "kClusterWide"}
SCOPES = {"topic": "kTopic", "group": "kGroup", "broker": "kBroker"}
NAMED_VALID = {
    "-": "kAny",
    "non-null string": "kAny",
    "non-empty list": "kAny",
    "non-empty string": "kNonEmpty",
    "[1,...,9] or -1": "kGzipLevel",
    "[partitionId]:[brokerId],[partitionId]:[brokerId],...": "kThrottledReplicas",
    "[latest, earliest, by_duration:PnDTnHnMn.nS]": "kOffsetReset",
}
NUMBER = r"-?\d+(?:\.\d+)?"


class Key:
    def __init__(self, name, columns, section, section_note, place):
        self.name, self.section, self.section_note, self.place = name, section, section_note, place
        self.type, self.default, self.valid, self.importance, flags = columns
        self.flags = flags.split()
        self.doc, self.note, self.sources = [], "", []

    def check(self, scope):
        def need(ok, what):
            if not ok:
                sys.exit(f"{self.place}: {self.name}: {what}")

        need(self.type in TYPES, f"unknown type {self.type}")
        need(self.importance in IMPORTANCES, f"unknown importance {self.importance}")
        known = {"used", "unused", "internal"} | (set(UPDATES) if scope == "broker" else set())
        need(set(self.flags) <= known, f"unknown flag among {self.flags}")
        need(("used" in self.flags) != ("unused" in self.flags), "must be used or unused")
        if scope == "broker":
            need(len(set(self.flags) & set(UPDATES)) == 1, "must have one of " + ", ".join(UPDATES))
        need(self.doc, "has no description")
        if "unused" in self.flags:
            self.note = self.note or self.section_note
            need(self.note, "is unused without a reason")


def read_table(path):
    section, section_note, key, keys = "", "", None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith("section "):
            section, section_note, key = line[8:], "", None
        elif line.startswith("! "):
            section_note = line[2:]
        elif not line.startswith(" "):
            name, *columns = [column.strip() for column in line.split(" | ")]
            if len(columns) != 5 or not section:
                sys.exit(f"{place}: a key has six columns and stands in a section")
            key = Key(name, columns, section, section_note, place)
            keys.append(key)
        elif key is None:
            sys.exit(f"{place}: a description without a key")
        elif text.startswith("! "):
            key.note = text[2:]
        elif text.startswith("< "):
            key.sources = [source.strip() for source in text[2:].split(",")]
        else:
            key.doc.append(text)
    return keys


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def valid_literal(key, tables):
    """The C++ initialiser of the key's Valid."""
    text = key.valid
    shown = "" if text == "-" else text
    if text in NAMED_VALID:
        return f"{{.kind = Valid::Kind::{NAMED_VALID[text]}, .text = {quoted(shown)}}}"
    match = re.fullmatch(rf"\[({NUMBER}),\.\.\.(?:,({NUMBER}))?\]", text)
    if match:
        upper = f", .max = {match[2]}" if match[2] else ""
        return f"{{.kind = Valid::Kind::kRange, .text = {quoted(shown)}, .min = {match[1]}{upper}}}"
    match = re.fullmatch(r"(\(case insensitive\) )?\[([^\[\].]+)\]", text)
    if not match:
        sys.exit(f"{key.place}: {key.name}: valid values that are not understood: {text}")
    kind = "kOneOfIgnoringCase" if match[1] else "kOneOf"
    choices = ", ".join(quoted(choice.strip()) for choice in match[2].split(","))
    name = f"kChoices{len(tables)}"
    tables.append(f"constexpr std::string_view {name}[] = {{{choices}}};")
    return f"{{.kind = Valid::Kind::{kind}, .text = {quoted(shown)}, .choices = {name}}}"


def sources_literal(key, broker_names, tables):
    """The name of the table of the key's default sources."""
    if not key.sources:
        return "{}"
    entries = []
    for source in key.sources:
        name, _, factor = source.partition("*")
        if name not in broker_names:
            sys.exit(f"{key.place}: {key.name}: {name} is no broker key")
        entries.append(f"{{{quoted(name)}, {factor or 1}}}")
    table = f"kSources{len(tables)}"
    tables.append(f"constexpr DefaultSource {table}[] = {{{', '.join(entries)}}};")
    return table


def default_literal(key):
    if key.default == "null":
        return ".default_kind = DefaultKind::kNull"
    if key.default == "(required)":
        return ".default_kind = DefaultKind::kRequired"
    return f".default_text = {quoted('' if key.default == '(empty)' else key.default)}"


def key_literal(key, scope, broker_names, tables):
    fields = [
        f".name = {quoted(key.name)}",
        f".type = ValueType::k{key.type.capitalize()}",
        default_literal(key),
        f".valid = {valid_literal(key, tables)}",
        f".importance = Importance::k{key.importance.capitalize()}",
    ]
    fields += [f".update = Update::{UPDATES[flag]}" for flag in key.flags if flag in UPDATES]
    fields += [
        f".used = {str('used' in key.flags).lower()}",
        f".internal = {str('internal' in key.flags).lower()}",
        f".section = {quoted(key.section)}",
        f".doc = {quoted(' '.join(key.doc))}",
        f".note = {quoted(key.note)}",
        f".sources = {sources_literal(key, broker_names, tables)}",
    ]
    return "    {" + ",\n     ".join(fields) + "},"


def generate(folder):
    scopes = {scope: [] for scope in SCOPES}
    for path in sorted(folder.glob("*.keys")):
        if path.name != "ignored.keys":
            scope = path.stem if path.stem in ("topic", "group") else "broker"
            scopes[scope] += read_table(path)
    broker_names = {key.name for key in scopes["broker"]}
    tables, arrays = [], []
    for scope, keys in scopes.items():
        keys.sort(key=lambda key: key.name)
        for before, after in zip(keys, keys[1:]):
            if before.name == after.name:
                sys.exit(f"{after.place}: {after.name} is there twice")
        for key in keys:
            key.check(scope)
        body = "\n".join(key_literal(key, scope, broker_names, tables) for key in keys)
        arrays.append(f"constexpr ConfigKey {SCOPES[scope]}Keys[] = {{\n{body}\n}};")
    lines = (folder / "ignored.keys").read_text().splitlines()
    ignored = ", ".join(quoted(line) for line in lines if line and not line.startswith("#"))
    return "\n".join([
        "// Made by src/config/schema/generate.py from the tables beside it. Not to be edited.",
        '#include "config/keys.h"',
        "", "namespace weir::config {", "namespace {", "", *tables, "", *arrays, "",
        f"constexpr std::string_view kIgnoredKeys[] = {{{ignored}}};",
        "", "}  // namespace", "",
        "namespace detail {",
        "constinit const KeyTables kTables{kTopicKeys, kBrokerKeys, kGroupKeys, kIgnoredKeys};",
        "}  // namespace detail",
        "", "}  // namespace weir::config", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(generate(Path(__file__).parent))
