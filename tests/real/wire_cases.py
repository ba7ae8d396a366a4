"""Weir answers as Apache Kafka 4.4 does: every case of wire/, against the recorded answers."""
import json

from weir import RealTest
from wire import __main__ as wire


class WireCases(RealTest):
    pass


def add(module, name, function):
    def test(self):
        recorded = json.loads((wire.EXPECTED / f"{module}.json").read_text())
        steps, broken = wire.run_case(name, function, self.broker.bootstrap)
        wrong = [broken] if broken else wire.judge(name, recorded.get(name), steps)
        if wrong:
            self.fail("\n" + "\n".join(wrong))

    setattr(WireCases, f"test_{module}_{name}", test)


for found_module, functions in wire.find_cases(()).items():
    for found_name, found_function in functions.items():
        add(found_module, found_name, found_function)
