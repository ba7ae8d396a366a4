"""A private PostgreSQL of a test or of `./dev cluster`: one database cluster in a folder, on a port of the loopback
address. It does not run as root, so the folder is given to another user."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from process import Process, free_port


class Unavailable(Exception):
    """Why there is no PostgreSQL here."""


def programs():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise Unavailable("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


def other_user():
    """Who runs the server where we are root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Unavailable("there is no user to run PostgreSQL as")


class Postgres(Process):
    def __init__(self, folder, *settings):
        """`settings` are of the server, NAME=VALUE each."""
        self.folder = pathlib.Path(folder).resolve()
        super().__init__("PostgreSQL", self.folder / "server.log")
        self.bin, self.user, self.port, self.data = programs(), other_user(), free_port(), self.folder / "data"
        self.settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", *settings]
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"postgres://weir@{self.address}/postgres"
        self.environment = None  # of run(), when it is not the test's own

    def options(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def give(self, path):
        """Makes it a file of the server's user."""
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def make(self, *command):
        """The folder, with what the command puts into `data`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(mode=0o700)
        self.give(self.folder)
        self.give(self.data)
        if self.user:
            for parent in self.folder.parents:  # it must be able to get there
                if parent.stat().st_uid == os.geteuid() and parent != pathlib.Path("/"):
                    parent.chmod(parent.stat().st_mode | 0o011)
        done = subprocess.run([self.bin / command[0], "-D", self.data, *command[1:]], capture_output=True, text=True,
                              check=False, cwd="/", **self.options())
        if done.returncode != 0:
            raise AssertionError(f"{command[0]}: {done.stderr}")

    def start(self):
        if not self.data.exists():
            self.make("initdb", "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        self.launch([self.bin / "postgres", "-D", self.data, "-p", str(self.port),
                     *(part for one in self.settings for part in ("-c", one))], cwd="/", **self.options())
        deadline = time.monotonic() + 60
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                             check=False).returncode != 0:
            if not self.alive() or time.monotonic() > deadline:
                raise AssertionError(f"PostgreSQL does not answer:\n{self.tail()}")
            time.sleep(0.1)
        return self

    def run(self, name, *arguments):
        """What one of its client programs prints."""
        done = subprocess.run([self.bin / name, "-h", "127.0.0.1", "-p", str(self.port), "-U", "weir", *arguments],
                              capture_output=True, text=True, check=False, env=self.environment)
        if done.returncode != 0:
            raise AssertionError(f"{name}: {done.stderr}")
        return done.stdout.strip()

    def query(self, text):
        return self.run("psql", "-d", "postgres", "-Atc", text)

    def standby(self, folder):
        """A server that follows this one; it is not started yet."""
        other = Postgres(folder)
        other.make("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", self.url)
        return other

    def copy(self):
        """A copy of the database as it is now, for restore(). The server crashes for it and starts again."""
        self.kill()
        copied = self.folder / "copy"
        subprocess.run(["cp", "-a", self.data, copied], check=True)
        self.start()
        return copied

    def restore(self, copied):
        """A failover to a standby that lacks what came after the copy."""
        self.kill()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", copied, self.data], check=True)
        self.start()

    def pids(self):
        """The server and its processes."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def kill(self):
        """As a crash: the processes end at once and nothing is written."""
        if self.alive():
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)
