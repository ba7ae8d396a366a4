"""A Weir broker of a test, and what the tests share: which binary, which programs, scratch folders."""
import os
import pathlib
import re
import shutil
import tempfile
import unittest
import urllib.error
import urllib.request

from process import Process, free_port

HERE = pathlib.Path(__file__).resolve().parent
# Set by run.py: the broker to start, or the address of one that runs.
BINARY = os.environ.get("TEST_BROKER_BINARY", str(HERE.parent.parent / "build/release/weir"))
BOOTSTRAP = os.environ.get("TEST_BROKER_BOOTSTRAP")


def program(name):
    """One of the client programs that are built with the broker."""
    return str(pathlib.Path(BINARY).resolve().parent / name)


class Weir(Process):
    """A broker with the embedded defaults, its data in `folder`. It keeps its ports over restarts. `host` is its address,
    `within` the command that runs it in a network of its own."""

    def __init__(self, folder, host="127.0.0.1", within=(), **settings):
        super().__init__("weir", pathlib.Path(folder) / "weir.log")
        self.folder = pathlib.Path(folder)
        self.port, self.http = free_port(), free_port()
        self.binary = BINARY
        self.options = []  # of the command, beside the settings
        self.within, self.bootstrap, self.url = within, f"{host}:{self.port}", f"http://{host}:{self.http}"
        self.environment = None  # of the process, when it is not the test's own
        self.launch_options = {}  # of subprocess.Popen
        self.settings = {
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "http.listener": f"{host}:{self.http}",
            "object.store.url": f"file:{self.folder}/objects",
            "metadata.log.url": f"sqlite:{self.folder}/metadata.db",
            "group.initial.rebalance.delay.ms": "0",
        } | {key.replace("_", "."): str(value) for key, value in settings.items()}

    def start(self, answers=True):
        """Returns when it answers clients, or at once."""
        command = [*self.within, self.binary, "broker", *self.options]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        self.launch(command, env=self.environment, **self.launch_options)
        if answers:
            self.wait_answering()
        return self

    def not_ready(self):
        """Why /readyz says that the broker is not ready; None if it is."""
        try:
            urllib.request.urlopen(f"{self.url}/readyz", timeout=10).close()
            return None
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def why(self):
        """As not_ready(), but a broker that has no page yet is not ready either."""
        try:
            return self.not_ready()
        except OSError as error:
            return str(error)

    def metrics(self):
        """{sample name with labels: value} of /metrics."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return {name: float(value) for name, value in re.findall(r"^([^#\s].*?)\s+(\S+)$", text, re.MULTILINE)}

    def puts(self):
        """How many objects were written to the store since the start."""
        return sum(value for name, value in self.metrics().items()
                   if name.startswith("weir_object_store_requests_total") and 'operation="put"' in name)


class Running(Process):
    """A broker that somebody else started."""

    def __init__(self, bootstrap):
        super().__init__("the given broker", "/dev/null")
        self.bootstrap = bootstrap

    def start(self):
        return self

    def alive(self):
        return True

    def stop(self, seconds=0):
        return 0


class RealTest(unittest.TestCase):
    """A test with a scratch folder and a broker of its class. Tests that kill or starve their broker start their own."""

    needs_weir = False
    settings = {}

    @classmethod
    def setUpClass(cls):
        if cls.needs_weir and BOOTSTRAP:
            raise unittest.SkipTest("needs a Weir of its own, and an address was given")
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="weir-real-"))
        cls.broker = None
        try:
            cls.prepare()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def prepare(cls):
        cls.broker = Running(BOOTSTRAP) if BOOTSTRAP else Weir(cls.scratch / "broker", **cls.settings)
        cls.broker.start()

    @classmethod
    def tearDownClass(cls):
        try:
            if cls.broker:
                cls.broker.stop()
        finally:
            shutil.rmtree(cls.scratch, ignore_errors=True)
