#!/usr/bin/env python3
"""Turns schema files into C++ (docs/formats/schema-language.md). Called by CMake's weir_schema()."""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from weirgen.api_table import emit_keys, emit_table
from weirgen.cpp_check import emit_check_table, emit_checks
from weirgen.cpp_source import emit_source
from weirgen.cpp_types import emit_header
from weirgen.model import build
from weirgen.parser import SchemaError, parse_file


# WeirSchema.cmake counts on it.
UNITS_IN_CHECK_FILE = 8


def stem_of(path):
    """src/000_produce.schema -> produce"""
    return re.sub(r"^\d+_", "", os.path.basename(path)).removesuffix(".schema")


def write(path, text):
    """Leaves an unchanged file alone, so that nothing is compiled again for it."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == text:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, help="the folder that is in the include path")
    parser.add_argument("--folder", required=True, help="below root, for the .h and .cc files")
    parser.add_argument("--api-table", action="store_true", help="emit api_key.h and api_table.cc")
    parser.add_argument("schemas", nargs="+")
    options = parser.parse_args()
    units = [build(parse_file(path), stem_of(path)) for path in options.schemas]
    apis = sorted((u.api for u in units if u.api), key=lambda api: api.key)
    if len({api.key for api in apis}) != len(apis):
        raise SchemaError("two schemas have the same api key")
    folder = os.path.join(options.root, options.folder)
    for unit in units:
        header = f"{options.folder}/{unit.stem}.h"
        write(f"{folder}/{unit.stem}.h", emit_header(unit))
        write(f"{folder}/{unit.stem}.cc", emit_source(unit, header))
    for i in range(0, len(units), UNITS_IN_CHECK_FILE):
        checks = emit_checks(units[i : i + UNITS_IN_CHECK_FILE], options.folder)
        write(f"{folder}/checks_{i // UNITS_IN_CHECK_FILE}.cc", checks)
    write(f"{folder}/check_table.cc", emit_check_table(units))
    if options.api_table:
        write(f"{folder}/api_key.h", emit_keys(apis))
        write(f"{folder}/api_table.cc", emit_table(apis))


if __name__ == "__main__":
    try:
        main()
    except SchemaError as error:
        sys.exit(str(error))
