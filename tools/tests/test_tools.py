"""Each check of ./dev lint fails on what it is there to find, and passes on what it is not."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import check_docs  # noqa: E402
import check_layers  # noqa: E402
import cpp_files  # noqa: E402
import packages  # noqa: E402
import reference_docs  # noqa: E402
import run_tests  # noqa: E402
import tidy  # noqa: E402

ORDER = ["base", "runtime", "kafka", "storage", "produce", "fetch", "broker"]


class Layers(unittest.TestCase):
    def check(self, name, include):
        return check_layers.violations(name, f'#pragma once\n#include "{include}"\n', ORDER)

    def test_a_lower_folder_and_the_own_one_may_be_included(self):
        self.assertEqual(self.check("kafka/frame.cc", "base/bytes.h"), [])
        self.assertEqual(self.check("kafka/frame.cc", "kafka/protocol/errors.h"), [])
        self.assertEqual(self.check("broker/api.cc", "produce/stage.h"), [])

    def test_a_higher_folder_may_not(self):
        self.assertRegex(self.check("base/bytes.cc", "kafka/frame.h")[0], "base/ may not include kafka/")

    def test_domain_folders_do_not_meet(self):
        self.assertRegex(self.check("fetch/plan.cc", "produce/stage.h")[0], "may not meet")

    def test_an_include_is_named_from_src(self):
        self.assertRegex(self.check("base/bytes.cc", "bytes.h")[0], "not named from src/")
        self.assertRegex(self.check("base/bytes.cc", "../kafka/frame.h")[0], "not named from src/")

    def test_an_unknown_folder_is_named(self):
        self.assertRegex(check_layers.violations("extra/a.cc", "", ORDER)[0], "'extra' is not in the list")

    def test_the_order_is_read_from_cmake(self):
        self.assertEqual(check_layers.layers("x\nforeach(module a b\n  c)\n"), ["a", "b", "c"])


class HouseRules(unittest.TestCase):
    def found(self, name, text):
        return "\n".join(tidy.violations(name, text))

    def test_long_files(self):
        self.assertIn("501 lines", self.found("src/base/a.cc", "x\n" * 501))
        self.assertEqual(self.found("src/base/a.cc", "x\n" * 500), "")
        self.assertEqual(self.found("src/base/a_test.cc", "x\n" * 800), "")
        self.assertIn("801 lines", self.found("src/base/a_test.cc", "x\n" * 801))

    def test_long_lines_of_scripts(self):
        self.assertIn("129 columns", self.found("tools/a.sh", "x" * 129))
        self.assertEqual(self.found("tools/a.sh", "x" * 128), "")

    def test_words(self):
        self.assertIn("finish it", self.found("src/base/a.cc", "// FIX" "ME later"))
        self.assertIn("say why", self.found("src/base/a.cc", "// TO" "DO later"))
        self.assertEqual(self.found("src/base/a.cc", "// TO" "DO(the kernel lacks it before 6.2)"), "")
        self.assertIn("path of one machine", self.found("src/base/a.cc", 'open("/ho' 'me/me/file")'))

    def test_time_and_chance_only_through_runtime(self):
        call = "auto t = std::chrono::steady_clock::now();"
        self.assertIn("runtime/clock.h", self.found("src/fetch/a.cc", call))
        self.assertEqual(self.found("src/runtime/clock.cc", call), "")
        self.assertEqual(self.found("src/fetch/a.cc", "// " + call), "")
        self.assertIn("runtime/rng.h", self.found("src/fetch/a.cc", "std::mt19937 g;"))

    def test_long_python_functions(self):
        self.assertIn("f has 61 lines", self.found("tools/a.py", "def f():\n" + "    x = 1\n" * 60))
        self.assertEqual(self.found("tools/a.py", "def f():\n" + "    x = 1\n" * 59), "")


class Packages(unittest.TestCase):
    TEXT = "# comment\nbuild cmake 3.25\ntest kcat 1.7  # why\n"

    def test_the_list_is_read_by_group(self):
        self.assertEqual(packages.read_list(self.TEXT, ["build"]), {"cmake": "3.25"})
        self.assertEqual(packages.read_list(self.TEXT, ["build", "test"]), {"cmake": "3.25", "kcat": "1.7"})

    def test_a_bad_line_and_an_unknown_group_are_errors(self):
        with self.assertRaisesRegex(SystemExit, "packages.txt:1"):
            packages.read_list("build cmake", ["build"])
        with self.assertRaisesRegex(SystemExit, "no group other"):
            packages.read_list(self.TEXT, ["other"])

    def test_another_version_than_the_pinned_one_is_named(self):
        self.assertEqual(packages.wrong_versions({"cmake": "3.25"}, {"cmake": "3.25.1-1"}), [])
        self.assertIn("3.31.0-1, pinned to 3.25", packages.wrong_versions({"cmake": "3.25"}, {"cmake": "3.31.0-1"})[0])
        self.assertIn("not installed", packages.wrong_versions({"cmake": "3.25"}, {})[0])


class TestCounts(unittest.TestCase):
    def test_cases_are_counted_by_their_result(self):
        cases = [{"status": "RUN", "result": "COMPLETED"}, {"status": "RUN", "result": "COMPLETED", "failures": [1]},
                 {"status": "RUN", "result": "SKIPPED"}, {"status": "NOTRUN", "result": "SUPPRESSED"}]
        self.assertEqual(run_tests.count_cases({"testsuites": [{"testsuite": cases}]}), (1, 1, 2))

    def test_a_binary_that_crashes_or_hangs_is_a_failure(self):
        crash = run_tests.run_one({"name": "c", "command": ["sh", "-c", "kill -9 $$"]}, ".")
        self.assertEqual((crash.passed, crash.failed), (0, 1))
        late = run_tests.run_one({"name": "l", "command": ["sleep", "9"],
                                  "properties": [{"name": "TIMEOUT", "value": 0.2}]}, ".")
        self.assertEqual((late.passed, late.failed), (0, 1))
        self.assertIn("no end within", late.output)


class NamesInDocumentation(unittest.TestCase):
    def test_what_is_not_there_is_named(self):
        text = "[a](tidy.py) [b](gone.md) `base/bytes.h` `base/gone.h` `x_test.cc` [c](http://127.0.0.1/x)"
        self.assertEqual(check_docs.missing(TOOLS / "page.md", text), ["base/gone.h", "gone.md"])


class ReferencePages(unittest.TestCase):
    def test_apis_have_their_names(self):
        page = reference_docs.apis_page({"api_keys": [{"api_key": 12, "min_version": 0, "max_version": 3}]})
        self.assertIn("| 12 | Heartbeat | 0 to 3 | 0 to 4 |", page)

    def test_metrics_have_kind_labels_and_help(self):
        page = reference_docs.metrics_page("# HELP weir_a Words.\n# TYPE weir_a histogram\n"
                                           'weir_a_bucket{op="put",le="1"} 2\nweir_a_sum{op="put"} 2\n')
        self.assertIn("| `weir_a` | histogram | `op` | Words. |", page)


class CppFiles(unittest.TestCase):
    def test_flags_lose_launcher_output_and_precompiled_header(self):
        flags = ["/usr/bin/ccache", "/usr/bin/clang++-19", "-DA", "-Winvalid-pch", "-Xclang", "-include-pch", "-Xclang",
                 "/b/x.pch", "-Xclang", "-include", "-Xclang", "/b/x.hxx", "-O1", "-o", "a.o", "-c", "/s/a.cc"]
        self.assertEqual(cpp_files.strip_flags(flags, "/s/a.cc"), ["/usr/bin/clang++-19", "-DA", "-O1"])

    def test_a_header_that_needs_another_one_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder, "a.h")
            for text, passes in (("std::string x;\n", False), ("#include <string>\nstd::string x;\n", True)):
                header.write_text(text)
                done = subprocess.run(["clang++-19", "-fsyntax-only", "-x", "c++", str(header)], check=False,
                                      capture_output=True)
                self.assertEqual(done.returncode == 0, passes)

    def test_only_what_passed_is_cached(self):
        with tempfile.TemporaryDirectory() as folder:
            cache, cpp_files.CACHE = cpp_files.CACHE, pathlib.Path(folder)
            try:
                work = {"good": "1", "bad": "2"}
                command = {"good": ["true"], "bad": ["false"]}.__getitem__
                self.assertEqual(cpp_files.run_cached("k", work, command), (2, [("bad", "")]))
                self.assertEqual(cpp_files.run_cached("k", work, command), (1, [("bad", "")]))
            finally:
                cpp_files.CACHE = cache

    def test_a_fingerprint_follows_included_files(self):
        with tempfile.TemporaryDirectory() as folder:
            build, source, header = (pathlib.Path(folder, name) for name in ("b", "a.cc", "a.h"))
            build.mkdir()
            source.write_text('#include "a.h"\n')
            header.write_text("int a;\n")
            (build / "compile_commands.json").write_text(json.dumps(
                [{"file": str(source), "command": f"clang++ -c {source}"}]))
            compilation = cpp_files.Compilation(build)
            before = compilation.fingerprint(source)
            self.assertEqual(before, compilation.fingerprint(source))
            header.write_text("int b;\n")
            self.assertNotEqual(before, compilation.fingerprint(source))


if __name__ == "__main__":
    unittest.main()
