#!/usr/bin/env python3
"""Tests of the schema language: what it refuses, and how versions become conditions."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from weirgen.api_table import emit_table
from weirgen.cpp_read import least_expression
from weirgen.cpp_source import emit_source
from weirgen.cpp_types import emit_header
from weirgen.model import build
from weirgen.parser import SchemaError, parse_text
from weirgen.versions import Range, condition

HEAD = "struct S versions 0-4 flexible 2+\n"


def unit(text):
    return build(parse_text(text, "f.schema"), "f")


class Refused(unittest.TestCase):
    def refuse(self, text, message):
        with self.assertRaises(SchemaError) as caught:
            unit(text)
        self.assertEqual(str(caught.exception), message)

    def test_lines(self):
        self.refuse("", "f.schema: no api, struct or entry in this file")
        self.refuse(HEAD + " a: int8", "f.schema:2: indentation is two spaces a level, one level at a time")
        self.refuse(HEAD + "    a: int8", "f.schema:2: indentation is two spaces a level, one level at a time")
        self.refuse("bogus S", "f.schema:1: 'bogus' is none of api, struct, entry, common, namespace, include")
        self.refuse("struct S versions 0-4", "f.schema:1: versions and flexible are required, like 'versions 0-3 flexible 2+'")
        self.refuse("struct S versions 0+ flexible 0+", "f.schema:1: versions need an end, like 0-3")
        self.refuse("entry E versions 0-1 flexible 0+", "f.schema:1: an entry needs an id")
        self.refuse("struct S versions 0-1 flexible 0+ colour red", "f.schema:1: 'colour' is none of versions, flexible")

    def test_fields(self):
        for line, message in (
            ("A: int8", "'A: int8' is not a field like 'name: type @3+ = 0 nullable tag 1'"),
            ("a: int8 maybe", "'maybe' is none of @, =, nullable, tag, as=, secret"),
            ("a: int8 @x", "versions 'x' is not a range like 3+, 3-7 or 3"),
            ("a: int8 = null", "default null of a field that is not nullable"),
            ("a: int8 nullable", "'int8' cannot be nullable"),
            ("a: string as=Name", "as= goes with integers and uuid, not with 'string'"),
            ("a: [int8] = 3", "arrays and structs have no default but null"),
            ("a: int8 @5+", "versions 5+ are outside of 0-4"),
            ("a: int8 tag 0", "a tagged field exists in flexible versions only"),
            ("a: int8 @2+ tag 64", "tags go up to 63"),
            ("a: Thing", "struct 'Thing' has no fields here and is not known from above"),
        ):
            self.refuse(HEAD + "  " + line, f"f.schema:2: {message}")
        self.refuse(HEAD + "  a: int8\n  a: int8", "f.schema:3: field 'a' appears twice")
        self.refuse(HEAD + "  a: int8 @2+ tag 1\n  b: int8 @2+ tag 1", "f.schema:3: tag 1 appears twice")
        self.refuse(HEAD + "  a: int8\n    b: int8", "f.schema:2: 'int8' has no fields of its own")

    def test_structs_cannot_hold_themselves(self):
        self.refuse(HEAD + "  a: [Tree]\n    b: [Tree]",
                    "f.schema:3: struct 'Tree' has no fields here and is not known from above")

    def test_apis(self):
        self.refuse("api A key 1 versions 0-1 flexible none\nrequest",
                    "f.schema:1: an api is followed by its request and its response")
        self.refuse("api A key 1 versions 0-1 flexible none served 0-2\nrequest\nresponse",
                    "f.schema:1: served 0-2 is not within versions 0-1")

    def test_common_structs_need_one_encoding(self):
        self.refuse("common C\n  a: int8\n" + HEAD + "  c: C", "f.schema: S: beside 'common' structs all is flexible 0+")


class Emitted(unittest.TestCase):
    def test_conditions(self):
        self.assertIsNone(condition(Range(3, 7), Range(3, 7)))
        self.assertEqual(condition(Range(4, 5), Range(3, 7)), "version >= 4 && version <= 5")
        self.assertEqual(condition(Range(3, 5), Range(3, 7)), "version <= 5")
        self.assertEqual(condition(Range(5), Range(3, 7)), "version >= 5")

    def test_least_size_follows_versions(self):
        # Not flexible: 4 bytes of int32, 2 of a string's length; flexible: 1 of the length, 1 of tags.
        text = HEAD + "  list: [Item]\n    a: int32\n    b: string\n    c: uuid @4+\n    d: int8 @3+ tag 0"
        message = unit(text).messages[0]
        expression = least_expression(message.root.fields[0], message, message.versions)
        self.assertEqual(expression, "(version >= 4 ? 22 : 6)")

    def test_known_structs_are_shared(self):
        header = emit_header(unit(HEAD + "  one: Item\n    a: int32\n  more: [Item]"))
        self.assertEqual(header.count("struct Item {"), 1)
        self.assertIn("std::vector<Item> more;", header)

    def test_straight_line_code(self):
        source = emit_source(unit(HEAD + "  a: int32\n  b: string @1+"), "f.h")
        self.assertIn("out.a = in.i32();\n  if (version >= 1) {\n    out.b = in.text(flexible);", source)

    def test_api_table(self):
        head = "api A key 1 versions 0-3 flexible 2+ served 1-3 advertised-from 0"
        api = unit(head + "\nrequest\nresponse").api
        self.assertIn('{ApiKey::kA, "A", {0, 3}, 2, VersionRange{1, 3}, 0},', emit_table([api]))

    def test_api_between_brokers(self):
        head = "api A key 1 versions 0 flexible 0+ served 0 advertised-from "
        api = unit(head + "none\nrequest\nresponse").api
        self.assertIn("VersionRange{0, 0}, std::nullopt},", emit_table([api]))
        with self.assertRaisesRegex(SchemaError, "advertised-from nobody is neither a version nor none"):
            unit(head + "nobody\nrequest\nresponse")


if __name__ == "__main__":
    unittest.main()
