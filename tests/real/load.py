"""What a load was told, and what is stored: the acknowledged records compared with the log, record by record."""
import collections
import secrets
import signal
import subprocess

from weir import program
from wire import bodies, client

PARTITIONS = 12
IDEMPOTENT = ("enable.idempotence=true",)


def create_topic(bootstrap, partitions=PARTITIONS):
    topic = f"load-{secrets.token_hex(3)}"
    connection = client.Connection(bootstrap)
    answer = connection.call("CreateTopics", 7, bodies.create_topics(bodies.create_topic(topic, partitions)))
    connection.close()
    assert answer["topics"][0]["error_code"] == 0, answer
    return topic


class Load:
    """A producer process that sends until it is stopped, and writes down what became of each record."""

    def __init__(self, bootstrap, topic, name, scratch, *settings, pause_us=5000, value_bytes=0):
        self.name, self.out, self.err = name, scratch / f"{name}.out", scratch / f"{name}.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen([program("rdkafka_client"), "load", bootstrap, topic, name, str(pause_us),
                                             str(value_bytes), *settings], stdout=out, stderr=err)

    def stop(self, seconds=90):
        """Lets it wait for what is under way; returns ({(partition, offset): value}, [values given up])."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "no end"
        if code != 0:
            raise AssertionError(f"producer {self.name}: {code}: {self.err.read_text()[-1000:]}")
        acknowledged, given_up = {}, []
        for line in self.out.read_text().splitlines():
            fields = line.split()
            if fields[0] == "F":
                given_up.append(fields[1:])
                continue
            where = (int(fields[1]), int(fields[2]))
            if where in acknowledged:
                raise AssertionError(f"{where} was acknowledged twice: {acknowledged[where]}, {fields[3]}")
            acknowledged[where] = fields[3]
        return acknowledged, given_up


class Log:
    """What is stored: {(partition, offset): value}, and the partitions that answered an error."""

    def __init__(self, bootstrap, topic, *partitions):
        done = subprocess.run([program("rdkafka_client"), "dump", bootstrap, topic, *map(str, partitions)],
                              capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"dump: {done.stderr[-1000:]}")
        self.records, self.errors = {}, {}
        following = collections.defaultdict(int)
        for line in done.stdout.splitlines():
            fields = line.split()
            if fields[0] == "E":
                self.errors[int(fields[1])] = fields[2]
                continue
            partition, offset = int(fields[0]), int(fields[1])
            if offset != following[partition]:
                raise AssertionError(f"partition {partition}: offset {offset} comes after {following[partition] - 1}")
            following[partition] += 1
            self.records[partition, offset] = fields[2]

    def compare(self, acknowledged):
        """Lines about acknowledged records that are not stored as they were acknowledged."""
        return [f"partition {where[0]} offset {where[1]}: acknowledged {value}, stored {self.records.get(where)}"
                for where, value in acknowledged.items() if self.records.get(where) != value]

    def changed(self, earlier):
        """Lines about offsets that held something else in an earlier dump."""
        return [f"partition {where[0]} offset {where[1]}: was {value}, is {self.records.get(where)}"
                for where, value in earlier.records.items() if self.records.get(where) != value]

    def out_of_order(self, producer):
        """Lines about the producer's records that are there twice or not in the order they were sent."""
        last, wrong = {}, []
        for where in sorted(self.records):
            name, partition, counter = self.records[where].split(":")
            if name != producer:
                continue
            if int(counter) <= last.get(partition, -1):
                wrong.append(f"partition {where[0]} offset {where[1]}: {counter} after {last[partition]}")
            last[partition] = int(counter)
        return wrong
