"""Asks a broker again and again where the partitions of a topic end, and writes the answers down as a history."""
import json
import threading
import time

from wire import bodies, client

EVERY = 0.25
PATIENCE = 5.0
OFFSET_OUT_OF_RANGE = 1


class Watch:
    """Of one broker. It asks Fetch, which answers from what this broker knows, and ListOffsets, which asks the log."""

    def __init__(self, name, bootstrap, topic, partitions, path):
        self.name, self.bootstrap, self.topic, self.out = name, bootstrap, topic, path
        self.ends = dict.fromkeys(range(partitions), 0)  # as Fetch told last
        self.stopping, self.error = threading.Event(), None
        self.file = open(path, "w", encoding="utf-8")
        self.write("start", kind="watcher")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        self.file.close()
        if self.error:
            raise AssertionError(f"{self.name} answered what cannot be read: {self.error}")

    def write(self, operation, **more):
        event = {"t": time.monotonic_ns() // 1000, "p": self.name, "op": operation} | more
        self.file.write(json.dumps(event, separators=(",", ":")) + "\n")

    def run(self):
        connection = None
        while not self.stopping.wait(EVERY):
            try:
                if connection is None:
                    connection = client.Connection(self.bootstrap)
                    connection.socket.settimeout(PATIENCE)
                self.ask_fetch(connection)
                self.ask_list_offsets(connection)
            except ValueError as error:  # an answer that is none
                self.error = error
                return
            except (OSError, client.Closed):
                if connection is not None:
                    connection.close()
                connection = None
            self.file.flush()
        if connection is not None:
            connection.close()

    def call(self, connection, *request):
        asked = time.monotonic_ns()
        answer = connection.call(*request)
        return answer, (time.monotonic_ns() - asked) // 1000

    def ask_fetch(self, connection):
        answer, took = self.call(connection, "Fetch", 12, bodies.fetch(self.topic, self.ends, partition_max_bytes=1))
        for topic in answer["responses"]:
            for one in topic["partitions"]:
                number, end = one["partition_index"], one["high_watermark"]
                if one["error_code"] == OFFSET_OUT_OF_RANGE:
                    self.write("poll", partition=number, took=took, error="OFFSET_OUT_OF_RANGE", **{"is": "fail"})
                elif one["error_code"] == 0:
                    self.write("watermark", partition=number, offset=end, took=took, **{"is": "ok"})
                    self.ends[number] = max(end, self.ends[number])

    def ask_list_offsets(self, connection):
        body = bodies.list_offsets(self.topic, [(partition, -1) for partition in self.ends])
        answer, took = self.call(connection, "ListOffsets", 7, body)
        for topic in answer["topics"]:
            for one in topic["partitions"]:
                if one["error_code"] == 0:
                    self.write("end", partition=one["partition_index"], offset=one["offset"], took=took, **{"is": "ok"})
