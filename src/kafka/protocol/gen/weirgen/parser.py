"""Reads schema files into blocks of lines with their indentation resolved (docs/formats/schema-language.md)."""
import re
from dataclasses import dataclass, field


class SchemaError(Exception):
    """A mistake in a schema, with file and line."""


@dataclass
class Line:
    """One line of a schema and the lines that are indented below it."""

    path: str
    number: int
    text: str
    children: list = field(default_factory=list)

    def error(self, message):
        return SchemaError(f"{self.path}:{self.number}: {message}")


@dataclass
class SchemaFile:
    """One parsed file: its comment, settings and top-level blocks."""

    path: str
    doc: str
    namespace: str
    includes: list
    blocks: list


def parse_file(path):
    with open(path, encoding="utf-8") as source:
        return parse_text(source.read(), path)


def parse_text(text, path):
    doc, roots = _read_lines(text, path)
    result = SchemaFile(path, doc, "weir::kafka", [], [])
    for line in roots:
        if line.text.startswith("namespace "):
            result.namespace = line.text.split()[1]
        elif line.text.startswith("include "):
            result.includes.append(line.text.split()[1].strip('"'))
        else:
            result.blocks.append(line)
    if not result.blocks:
        raise SchemaError(f"{path}: no api, struct or entry in this file")
    return result


def _read_lines(text, path):
    """The leading comment and the tree of lines; two spaces are one level."""
    doc, roots, stack = [], [], []
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.startswith("#") and not roots:
            doc.append(raw[1:].strip())
            continue
        body = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        if not body:
            continue
        line = Line(path, number, body.strip())
        indent = len(body) - len(body.lstrip(" "))
        if indent % 2 or indent // 2 > len(stack):
            raise line.error("indentation is two spaces a level, one level at a time")
        del stack[indent // 2 :]
        (stack[-1].children if stack else roots).append(line)
        stack.append(line)
    return " ".join(doc), roots
