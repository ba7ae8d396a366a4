"""Small S3 servers from other registries: the Versity gateway (Go) and moto (PyPI). They are fetched once, into a cache
folder; Unavailable says why one cannot be had."""
import os
import pathlib
import shutil
import subprocess
import sys

from process import Process, free_port, wait_http
from rados_gateway import ACCESS_KEY, SECRET_KEY, Unavailable

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
VERSITY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
REQUIREMENTS = HERE / "moto_requirements.txt"


def fetched(folder, what, *commands, environment=None):
    """Runs the commands that fill the folder, unless they did already."""
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False,
                                  env=dict(os.environ, **(environment or {})))
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{what} cannot be fetched: {error}") from error
        if done.returncode != 0:
            raise Unavailable(f"{what} cannot be fetched: {done.stderr.strip()[-300:]}")
    (folder / "complete").touch()


class Server(Process):
    """One on a port of its own; `endpoint` is where it answers."""

    def __init__(self, scratch, name):
        super().__init__(name, scratch / f"{name}.log")
        self.port = free_port()
        self.endpoint, self.trusted = f"http://127.0.0.1:{self.port}", None

    def start_with(self, command, **options):
        self.launch(command, **options)
        wait_http(self.endpoint, [self], 60, self.trusted)


class Versity(Server):
    def __init__(self, scratch, authority=None):
        """Reached over TLS where there is an authority that vouches for it."""
        super().__init__(scratch, "versitygw")
        self.tls = ()
        if authority:
            certificate, key = authority.server("localhost")
            self.endpoint, self.trusted = f"https://localhost:{self.port}", authority.certificate
            self.tls = ("--cert", certificate, "--key", key)
        self.data, folder = scratch / "versity", CACHE / "weir-versitygw-1.8.0"
        fetched(folder, "the Versity gateway", ["go", "install", VERSITY], environment={"GOBIN": str(folder)})
        self.program = folder / "versitygw"

    def start(self):
        self.data.mkdir(parents=True)
        self.start_with([self.program, "--port", f"127.0.0.1:{self.port}", *self.tls, "posix", self.data],
                        env=dict(os.environ, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY))


class Moto(Server):
    def __init__(self, scratch):
        super().__init__(scratch, "moto")
        folder = CACHE / "weir-moto-5.1.6"
        fetched(folder, "moto", [sys.executable, "-m", "venv", folder],
                [folder / "bin/pip", "install", "-q", "-r", REQUIREMENTS])
        self.program = folder / "bin/moto_server"

    def start(self):
        self.start_with([self.program, "-H", "127.0.0.1", "-p", str(self.port)])
