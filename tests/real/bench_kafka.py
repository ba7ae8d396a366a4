"""Weir beside Apache Kafka: the same clients against each in turn, on this machine, in one run.

bench_kafka.py --weir BINARY [--records N] [--rounds N] [--only weir|kafka]

1 KB records in 12 partitions: Kafka's producer-perf-test and consumer-perf-test with default settings, and a librdkafka
program. CPU is the broker's own, per GiB that went in or out; memory is what was resident at most."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import apache_kafka
import weir
from load import create_topic

BYTES, PARTITIONS = 1000, 12
GIB = 1 << 30


class Measured:
    """What the broker spent while a client ran."""

    def __init__(self, broker, records):
        self.broker, self.records, self.figures = broker, records, {}

    def run(self, label, command, read):
        """Runs a client; `read` takes its figures from what it prints."""
        cpu, puts, started = self.broker.cpu_seconds(), self.puts(), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0:
            raise SystemExit(f"{label}: {(done.stdout + done.stderr)[-2000:]}")
        seconds, gib = time.monotonic() - started, self.records * BYTES / GIB
        for name, value in read(done.stdout).items():
            self.figures[f"{label} {name}"] = value
        self.figures[f"{label} broker CPU s/GiB"] = (self.broker.cpu_seconds() - cpu) / gib
        if puts is not None and "produce" in label:
            self.figures[f"{label} PUTs/s"] = (self.puts() - puts) / seconds

    def puts(self):
        return self.broker.puts() if hasattr(self.broker, "puts") else None


def java_produce(output):
    last = output.strip().splitlines()[-1]
    return {"MB/s": float(re.search(r"\(([\d.]+) MB/sec\)", last).group(1)) * 1.048576,
            "P50 ms": float(re.search(r"([\d.]+) ms 50th", last).group(1)),
            "P99 ms": float(re.search(r"([\d.]+) ms 99th", last).group(1))}


def java_consume(output):
    return {"MB/s": float(output.strip().splitlines()[-1].split(", ")[3]) * 1.048576}


def native(output):
    names = {"mb_per_s": "MB/s", "p50_ms": "P50 ms", "p99_ms": "P99 ms"}
    return {names[key]: value for key, value in json.loads(output).items()}


def measure(broker, records):
    """{figure: value} of one broker."""
    bootstrap = broker.bootstrap
    measured = Measured(broker, records)
    client = weir.program("rdkafka_client")
    number = str(records)
    topic = create_topic(bootstrap, PARTITIONS)
    produce = apache_kafka.tool("kafka-producer-perf-test", "--bootstrap-server", bootstrap, "--topic", topic,
                                "--num-records", number, "--record-size", str(BYTES), "--throughput", "-1", quick=False)
    consume = apache_kafka.tool("kafka-consumer-perf-test", "--bootstrap-server", bootstrap, "--topic", topic,
                                "--num-records", number, "--timeout", "60000", quick=False)
    measured.run("java produce", produce, java_produce)
    measured.run("java consume", consume, java_consume)
    topic = create_topic(bootstrap, PARTITIONS)
    measured.run("librdkafka produce", [client, "bench-produce", bootstrap, topic, number, str(BYTES)], native)
    measured.run("librdkafka consume", [client, "bench-consume", bootstrap, topic, number], native)
    measured.figures["memory MB at most"] = broker.memory("VmHWM") / 1e6
    return measured.figures


def middle(rounds):
    """The median of each figure over the rounds, so that one disturbed round does not tell."""
    return {name: sorted(figures[name] for figures in rounds)[len(rounds) // 2] for name in rounds[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default="build/release/weir")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=("weir", "kafka"))
    options = parser.parse_args()
    weir.BINARY = str(pathlib.Path(options.weir).resolve())
    makers = {"kafka": apache_kafka.ApacheKafka, "weir": weir.Weir}
    # It goes only at the end: ext4 looks at each file that was deleted in the last minutes when it makes one, which costs a
    # broker that makes hundreds of files a second a quarter of its CPU.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="weir-bench-", dir=os.environ.get("BENCH_DIR")))
    results = {}
    try:
        for name, make in makers.items():
            if options.only not in (None, name):
                continue
            rounds = []
            for number in range(options.rounds):
                os.sync()
                broker = make(scratch / f"{name}{number}")
                try:
                    broker.start()
                    rounds.append(measure(broker, options.records))
                finally:
                    broker.stop()
            results[name] = middle(rounds)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    show(results)


def show(results):
    figures = dict.fromkeys(name for one in results.values() for name in one)
    print(f"{'':36}{'Weir':>10}{'Kafka':>10}{'ratio':>8}")
    for figure in figures:
        values = [results.get(broker, {}).get(figure) for broker in ("weir", "kafka")]
        cells = ["-" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in values]
        ratio = f"{values[0] / values[1]:.2f}" if None not in values and values[1] else "-"
        print(f"{figure:36}{cells[0]:>10}{cells[1]:>10}{ratio:>8}")


if __name__ == "__main__":
    main()
