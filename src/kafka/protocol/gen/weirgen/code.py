"""Lines of C++ with indentation."""
from contextlib import contextmanager


class Code:
    def __init__(self):
        self.lines = []
        self._pad = ""

    def add(self, *lines):
        for line in lines:
            self.lines.append(self._pad + line if line else "")

    @contextmanager
    def block(self, head, tail="}"):
        """`head {` … `}`; without a head the lines stand as they are."""
        if head is None:
            yield
            return
        self.add(f"{head} {{".lstrip())
        self._pad += "  "
        yield
        self._pad = self._pad[:-2]
        self.add(tail)

    @contextmanager
    def when(self, test):
        """The lines under `if (test)`, or always where test is None."""
        with self.block(f"if ({test})" if test else None):
            yield

    def text(self):
        return "\n".join(self.lines) + "\n"
