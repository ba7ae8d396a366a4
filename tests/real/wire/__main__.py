"""Runs the same calls against a broker and compares its answers with those of Apache Kafka, which are kept in expected/.

python3 -m wire --bootstrap HOST:PORT [--record] [PART OF A NAME...]      (from tests/real)

--record writes the answers of the broker, which must be Apache Kafka 4.4, to expected/."""
import argparse
import importlib
import json
import pathlib
import pkgutil
import secrets
import sys
import traceback

from . import cases
from .case import Case

EXPECTED = pathlib.Path(__file__).with_name("expected")
# Where Weir differs on purpose: {"case/step/path": {"weir": value, "why": text}}
DIFFERENCES = json.loads(pathlib.Path(__file__).with_name("differences.json").read_text())


def find_cases(parts):
    """{module: {case: function}}"""
    found = {}
    for module in pkgutil.iter_modules(cases.__path__):
        loaded = importlib.import_module(f"{cases.__name__}.{module.name}")
        functions = {name.removeprefix("case_"): function for name, function in vars(loaded).items()
                     if name.startswith("case_")}
        chosen = {name: function for name, function in functions.items()
                  if not parts or any(part in f"{module.name}/{name}" for part in parts)}
        if chosen:
            found[module.name] = chosen
    return found


def differences(want, got, path=""):
    """Where two values differ, as (path, wanted, got)."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            yield from differences(want.get(key, "(no such field)"), got.get(key, "(no such field)"), f"{path}.{key}")
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for index, pair in enumerate(zip(want, got)):
            yield from differences(*pair, f"{path}[{index}]")
    elif want != got and not (got == "words" and not want):  # Weir may say why where Kafka is silent
        yield path, want, got


def judge(name, want, got):
    """What is wrong with the steps of a case, as lines."""
    if want is None:
        return ["  has no recorded answers: run with --record against Apache Kafka"]
    wrong = []
    if [label for label, _ in want] != [label for label, _ in got]:
        wrong.append(f"  steps are {[label for label, _ in got]}, recorded {[label for label, _ in want]}")
    for (label, wanted), (_, answer) in zip(want, got):
        for path, expected, actual in differences(wanted, answer):
            allowed = DIFFERENCES.get(f"{name}/{label}/{path}")
            if allowed is None or allowed["weir"] != actual:
                wrong.append(f"  {label}{path}: Kafka {json.dumps(expected)}, here {json.dumps(actual)}")
    return wrong


def run_case(name, function, bootstrap):
    case = Case(name, bootstrap, secrets.token_hex(3))
    try:
        function(case)
        return json.loads(json.dumps(case.steps)), None
    except Exception:  # pylint: disable=broad-except
        return case.steps, traceback.format_exc()
    finally:
        case.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    for module, functions in find_cases(options.parts).items():
        file = EXPECTED / f"{module}.json"
        recorded = json.loads(file.read_text()) if file.exists() else {}
        for name, function in functions.items():
            steps, broken = run_case(name, function, options.bootstrap)
            if options.record and not broken:
                recorded[name] = steps
            wrong = [broken] if broken else judge(name, recorded.get(name), steps)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"{module}/{name}:", *wrong, sep="\n")
        if options.record:
            EXPECTED.mkdir(exist_ok=True)
            lines = [f"{json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(step) for step in steps) + "]"
                     for name, steps in sorted(recorded.items())]
            file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
