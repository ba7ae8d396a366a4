"""A server process of a test: started, watched, measured, stopped."""
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from wire import client  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    """A port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def state_of(task):
    """The letter of proc(5) for a process or a thread, by its folder in /proc."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def wait_until(what, seconds, why):
    """Until `what()` is true; `why()` says what is seen instead."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            raise AssertionError(why())
        time.sleep(0.05)


class Process:
    """Base of the brokers. `bootstrap` is where clients connect."""

    bootstrap = None

    def __init__(self, name, log):
        self.name, self.log, self.process = name, pathlib.Path(log), None

    def launch(self, command, **options):
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, **options)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def wait_answering(self, seconds=20):
        """Until it answers ApiVersions."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self.alive():
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
            try:
                connection = client.Connection(self.bootstrap)
                connection.call("ApiVersions", 0, {})
                connection.close()
                return
            except (OSError, client.Closed):
                time.sleep(0.01)
        raise AssertionError(f"{self.name} does not answer after {seconds} s:\n{self.tail()}")

    def tail(self, count=4000):
        return self.log.read_text(errors="replace")[-count:] if self.log.exists() else ""

    def stop(self, seconds=30):
        """Asks it to stop, and returns its exit code."""
        if not self.alive():
            return self.process.returncode if self.process else None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {seconds} s:\n{self.tail()}") from None

    def kill(self):
        if self.alive():
            self.process.kill()
            self.process.wait()

    def freeze(self):
        """Stops it until SIGCONT. Returns when no thread of it runs any more: on a busy machine some go on for a while."""
        self.process.send_signal(signal.SIGSTOP)
        while any(state_of(task) != "T" for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()):
            time.sleep(0.001)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self, key="VmRSS"):
        """Resident bytes now; VmHWM: the most there ever were."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
        raise KeyError(key)


def wait_http(endpoint, processes, seconds, trusted=None):
    """Until the endpoint answers anything; the processes are what it takes. `trusted`: of whom its certificate is."""
    context = ssl.create_default_context(cafile=trusted) if trusted else None
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for process in processes:
            if not process.alive():
                raise AssertionError(f"{process.name} ended:\n{process.tail()}")
        try:
            urllib.request.urlopen(endpoint, timeout=2, context=context).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{processes[-1].name} does not answer after {seconds} s:\n{processes[-1].tail()}")
