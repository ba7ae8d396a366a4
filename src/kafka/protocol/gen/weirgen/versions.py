"""Version ranges and the C++ conditions that test them."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """Versions low to high, both included. high None: every later version as well."""

    low: int
    high: int | None = None

    @staticmethod
    def parse(text):
        match = re.fullmatch(r"(\d+)(\+|-(\d+))?", text)
        if not match:
            return None
        low = int(match[1])
        if match[2] == "+":
            return Range(low)
        return Range(low, int(match[3]) if match[3] else low)

    def has(self, version):
        return self.low <= version and (self.high is None or version <= self.high)

    def clip(self, outer):
        """The part within `outer`, or None where there is none."""
        low = max(self.low, outer.low)
        high = min((h for h in (self.high, outer.high) if h is not None), default=None)
        return None if high is not None and high < low else Range(low, high)

    def __str__(self):
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def condition(inner, outer):
    """C++ that is true where `inner` holds, given that `outer` does; None where it always does."""
    tests = []
    if inner.low > outer.low:
        tests.append(f"version >= {inner.low}")
    if inner.high is not None and (outer.high is None or inner.high < outer.high):
        tests.append(f"version <= {inner.high}")
    return " && ".join(tests) or None
