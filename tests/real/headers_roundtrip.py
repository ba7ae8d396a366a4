"""Real text through real clients: every header under /usr/include, one record per line, keyed by the file's name.

The headers are dealt out over the five compressions, about a million records each. Each part is sent to 12 partitions
twice, by kcat and by a librdkafka program, and read by a group of three members that checks every byte, the order within
each key, that offsets are dense and that nothing comes twice. kcat reads one of them back, too."""
import collections
import hashlib
import os
import pathlib
import secrets
import subprocess
import time
import zlib

from weir import RealTest, program
from wire import bodies, client

ROOT = pathlib.Path("/usr/include")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 12
SEPARATOR = b"\x01"


def headers(codec):
    """The headers that fall to a codec, in order."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(ROOT, followlinks=False) for name in names]
    return sorted(path for path in found if os.path.isfile(path)
                  and CODECS[zlib.crc32(path.encode()) % len(CODECS)] == codec and "\n" not in path)


def lines(path):
    """As rdkafka_client sees them."""
    text = pathlib.Path(path).read_bytes()
    found = text.split(b"\n")
    return found[:-1] if found[-1] == b"" else found


class HeadersRoundtrip(RealTest):
    def create(self, topic):
        connection = client.Connection(self.broker.bootstrap)
        answer = connection.call("CreateTopics", 7, bodies.create_topics(bodies.create_topic(topic, PARTITIONS)))
        self.assertEqual(answer["topics"][0]["error_code"], 0, answer)
        connection.close()

    def run_program(self, command, **options):
        done = subprocess.run(command, capture_output=True, check=False, timeout=180, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-2000:])
        return done.stdout

    def verify(self, topic, names):
        stdout = self.run_program([program("rdkafka_client"), "verify-files", self.broker.bootstrap, topic,
                                   f"group-{topic}"], input=names)
        return int(stdout.split()[0])

    def round_trip(self, codec):
        run, started = secrets.token_hex(3), time.monotonic()
        paths = headers(codec)
        self.assertTrue(paths, "no headers under /usr/include")
        names = "\n".join(paths).encode() + b"\n"
        by_program, by_kcat = f"headers-{codec}-{run}", f"kcat-{codec}-{run}"
        self.create(by_program)
        self.create(by_kcat)
        sent = int(self.run_program([program("rdkafka_client"), "produce-files", self.broker.bootstrap, by_program,
                                     f"compression.codec={codec}"], input=names).split()[0])
        self.assertEqual(self.verify(by_program, names), sent)
        self.produce_with_kcat(by_kcat, codec, paths)
        self.assertEqual(self.verify(by_kcat, names), sent)
        print(f"  {codec}: {sent} records of {len(paths)} headers, twice, {time.monotonic() - started:.1f} s")
        return by_kcat, paths

    def produce_with_kcat(self, topic, codec, paths):
        command = ["kcat", "-P", "-b", self.broker.bootstrap, "-t", topic, "-K", SEPARATOR.decode(), "-z", codec,
                   "-X", "linger.ms=20", "-X", "queue.buffering.max.messages=1000000"]
        errors = self.scratch / "kcat.err"
        with open(errors, "wb") as err, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=err) as kcat:
            for path in paths:
                key = path.encode() + SEPARATOR
                kcat.stdin.write(b"".join(key + line + b"\n" for line in lines(path)))
            kcat.stdin.close()
            kcat.wait(180)
        self.assertEqual((kcat.returncode, errors.read_text()), (0, ""))

    def read_with_kcat(self, topic, paths):
        """kcat prints each record; what each key got is compared by its hash."""
        command = ["kcat", "-C", "-q", "-e", "-b", self.broker.bootstrap, "-t", topic, "-f", "%k\x01%s\n"]
        got = collections.defaultdict(hashlib.sha256)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as kcat:
            for row in kcat.stdout:
                key, _, value = row.partition(SEPARATOR)
                got[key.decode()].update(value)
        self.assertEqual(kcat.returncode, 0)
        self.assertEqual(len(got), sum(bool(lines(path)) for path in paths))
        for path in paths:
            if lines(path):
                want = hashlib.sha256(b"".join(line + b"\n" for line in lines(path)))
                self.assertEqual(got[path].hexdigest(), want.hexdigest(), path)

    def test_none(self):
        self.read_with_kcat(*self.round_trip("none"))

    def test_gzip(self):
        self.round_trip("gzip")

    def test_snappy(self):
        self.round_trip("snappy")

    def test_lz4(self):
        self.round_trip("lz4")

    def test_zstd(self):
        self.round_trip("zstd")
