"""Ceph's RADOS gateway from Debian's packages as a private S3 server: a monitor, a store in memory and the gateway, of one
machine, unpacked into a cache folder; nothing is installed."""
import hashlib
import hmac
import os
import pathlib
import re
import subprocess
import time
import urllib.parse
import urllib.request
import uuid

from process import Process, free_port, wait_http

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "weir-ceph"
PACKAGES = ("radosgw", "ceph-mon", "ceph-osd", "ceph-common")
VERSION = "16.2"  # pinned as tools/packages.txt pins the others
MACHINE = os.uname().machine
ACCESS_KEY, SECRET_KEY = "weir-test-access", "weir-test-secret"
CONFIGURATION = """[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon max pg per osd = 1000
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
osd class dir = {root}/usr/lib/{machine}-linux-gnu/rados-classes
plugin dir = {root}/usr/lib/{machine}-linux-gnu/ceph
erasure code dir = {root}/usr/lib/{machine}-linux-gnu/ceph/erasure-code
admin socket = {run}/$name.asok
run dir = {run}
pid file = {run}/$name.pid
log file = {run}/$name.log
mon cluster log file = {run}/cluster.log
crash dir = {run}
osd data = {run}/osd0
mon data = {run}/mon
rgw frontends = beast endpoint=127.0.0.1:{port}
keyring = {run}/keyring
"""


class Unavailable(Exception):
    """Why the gateway cannot be had here."""


def binaries():
    """The folder with the unpacked packages; they are fetched once, with what they depend on."""
    root = CACHE / "root"
    if (CACHE / "complete").exists():
        return root
    archives = CACHE / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    got = subprocess.run(["apt-get", "-qq", "-o", f"Dir::Cache::archives={archives}/", "install", "--download-only", "-y",
                          "--reinstall", "--no-install-recommends", *PACKAGES], capture_output=True, text=True, check=False)
    if got.returncode != 0:
        raise Unavailable("apt-get cannot fetch Ceph's packages: " + got.stderr.strip()[-300:])
    if not list(archives.glob(f"radosgw_{VERSION}.*.deb")):
        raise Unavailable(f"apt-get fetched another version of Ceph than {VERSION}")
    for package in archives.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    (CACHE / "complete").touch()
    return root


class RadosGateway:
    """Runs in `folder`; `endpoint` is where it answers."""

    def __init__(self, folder):
        self.folder, self.root = pathlib.Path(folder).resolve(), binaries()
        self.port, self.processes = free_port(), []
        self.endpoint = f"http://127.0.0.1:{self.port}"
        triplet = f"{MACHINE}-linux-gnu"
        libraries = [f"{self.root}/{part}" for part in (f"usr/lib/{triplet}", f"usr/lib/{triplet}/ceph", "usr/lib/ceph",
                                                        f"lib/{triplet}")]
        self.environment = dict(os.environ, LD_LIBRARY_PATH=":".join(libraries))

    def run(self, program, *arguments):
        done = subprocess.run([f"{self.root}/usr/bin/{program}", *arguments], env=self.environment, capture_output=True,
                              text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{program} {' '.join(arguments)}: {done.stderr[-2000:]}")

    def launch(self, program, *arguments):
        process = Process(program, self.folder / f"{program}.out")
        process.launch([f"{self.root}/usr/bin/{program}", "-f", "-c", self.configuration, *arguments], env=self.environment)
        self.processes.append(process)

    def start(self):
        for name in ("mon", "osd0"):
            (self.folder / name).mkdir(parents=True)
        fsid, mon, keyring = str(uuid.uuid4()), free_port(), f"{self.folder}/keyring"
        self.configuration = f"{self.folder}/ceph.conf"
        pathlib.Path(self.configuration).write_text(
            CONFIGURATION.format(fsid=fsid, mon=mon, root=self.root, run=self.folder, port=self.port, machine=MACHINE))
        everything = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"]
        self.run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        for name in ("client.admin", "client.rgw.a", "osd.0"):
            self.run("ceph-authtool", keyring, "--gen-key", "-n", name, *everything)
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v1:127.0.0.1:{mon}]", f"{self.folder}/monmap")
        named = ["-c", self.configuration]
        self.run("ceph-mon", *named, "-i", "a", "--mkfs", "--monmap", f"{self.folder}/monmap", "--keyring", keyring)
        self.launch("ceph-mon", "-i", "a")
        self.run("ceph-osd", *named, "-i", "0", "--mkfs", "--osd-uuid", str(uuid.uuid4()))
        self.launch("ceph-osd", "-i", "0")
        self.run("radosgw-admin", *named, "user", "create", "--uid=t", "--display-name=t", f"--access-key={ACCESS_KEY}",
                 f"--secret-key={SECRET_KEY}")
        self.launch("radosgw", "-n", "client.rgw.a")
        wait_http(self.endpoint, self.processes, 90)
        return self

    def create_bucket(self, name):
        self.ask("PUT", name)

    def keys(self, bucket, prefix):
        """Up to a thousand of them."""
        listed = self.ask("GET", bucket, f"list-type=2&prefix={urllib.parse.quote(prefix, safe='')}")
        return re.findall("<Key>([^<]*)</Key>", listed)

    def remove(self, bucket, key):
        self.ask("DELETE", f"{bucket}/{key}")

    def ask(self, method, path, query=""):
        """A request signed as AWS Signature Version 4 has it. The query's parts are in order. Returns the answer's text."""
        day, empty = time.strftime("%Y%m%d", time.gmtime()), hashlib.sha256(b"").hexdigest()
        scope, signed = f"{day}/us-east-1/s3/aws4_request", "host;x-amz-content-sha256;x-amz-date"
        headers = {"host": f"127.0.0.1:{self.port}", "x-amz-content-sha256": empty,
                   "x-amz-date": time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())}
        lines = "".join(f"{key}:{value}\n" for key, value in headers.items())
        canonical = hashlib.sha256(f"{method}\n/{path}\n{query}\n{lines}\n{signed}\n{empty}".encode()).hexdigest()
        key = ("AWS4" + SECRET_KEY).encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{canonical}"
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={signed}, Signature="
                                    + hmac.digest(key, text.encode(), "sha256").hex())
        url = f"{self.endpoint}/{path}" + (f"?{query}" if query else "")
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), timeout=60) as answer:
            return answer.read().decode()

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
