"""Latency under a model of a remote object store and log, at a steady rate.

bench_latency.py --weir BINARY [--brokers N] [--seconds N] [--megabytes N] [--partitions N]

The delays are log-normal: a PUT takes 100 ms (P50) and 300 ms (P99), a GET 60 and 200, an append to the metadata log 10
and 35. Producers are spread over the brokers, each in a zone of its own, and every producer has a consumer in another
zone. "append to wake" is from the append until another broker wakes its consumers.
Measured with early objects off, and with ten a second allowed."""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import weir
from load import create_topic

MODEL = "put=100/300,get=60/200,append=10/35"
RECORD_BYTES = 1000
TAIL_SECONDS = 3
STAGES = {"stage": "weir_produce_stage_seconds", "upload": "weir_produce_upload_seconds",
          "commit": "weir_produce_commit_seconds", "append to wake": "weir_metadata_follow_seconds",
          "fetch: read": "weir_fetch_read_seconds"}
GOALS = {"produce": (265, 500), "end to end": (340, 620)}


def start_brokers(scratch, count, early):
    brokers = []
    for number in range(1, count + 1):
        broker = weir.Weir(scratch / f"broker{number}", node_id=number, broker_rack=f"zone{number}",
                           diskless_append_early_puts_per_second=early)
        broker.settings |= {"object.store.url": f"file:{scratch}/objects",
                            "metadata.log.url": f"sqlite:{scratch}/metadata.db",
                            "dev.latency": f"{MODEL},seed={number}"}
        broker.options = ["--dev"]
        brokers.append(broker.start())
    return brokers


def run_clients(brokers, topic, options):
    """{"produce": [ms], "end to end": [ms]}"""
    client, rate = weir.program("rdkafka_client"), options.megabytes * 1e6 / RECORD_BYTES / len(brokers)
    running = []
    for number, broker in enumerate(brokers):
        other = (number + 1) % len(brokers)
        consume = [client, "paced-consume", brokers[other].bootstrap, topic, str(options.seconds + TAIL_SECONDS),
                   f"client.id=zone=zone{other + 1}"]
        running.append(("end to end", subprocess.Popen(consume, stdout=subprocess.PIPE)))
    for number, broker in enumerate(brokers):
        produce = [client, "paced-produce", broker.bootstrap, topic, str(options.seconds), str(round(rate)),
                   str(RECORD_BYTES), f"client.id=zone=zone{number + 1}"]
        running.append(("produce", subprocess.Popen(produce, stdout=subprocess.PIPE)))
    found = {"produce": [], "end to end": []}
    for name, process in running:
        output, _ = process.communicate(timeout=options.seconds + 120)
        if process.returncode != 0:
            raise SystemExit(f"{name}: the client failed")
        found[name] += json.loads(output)["latencies_ms"]
    return found


def quantile(values, part):
    return sorted(values)[int(part * (len(values) - 1))] if values else float("nan")


def stage_quantiles(brokers, metric, parts):
    """From the buckets of all brokers, in ms: the bound of the bucket that a quantile falls into."""
    buckets = {}
    for broker in brokers:
        for name, value in broker.metrics().items():
            if match := re.match(metric + r'_bucket\{.*?le="([^"]+)"', name):
                buckets[float(match.group(1))] = buckets.get(float(match.group(1)), 0) + value
    total = buckets.get(float("inf"), 0)
    return [next((bound * 1000 for bound in sorted(buckets) if total and buckets[bound] >= part * total), float("nan"))
            for part in parts]


def measure(options, early):
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="weir-latency-"))
    brokers = start_brokers(scratch, options.brokers, early)
    try:
        topic = create_topic(brokers[0].bootstrap, options.partitions)
        puts = sum(broker.puts() for broker in brokers)
        found = run_clients(brokers, topic, options)
        rate = (sum(broker.puts() for broker in brokers) - puts) / options.seconds / len(brokers)
        print(f"early objects a second: {early}")
        for name, latencies in found.items():
            p50, p99 = quantile(latencies, 0.5), quantile(latencies, 0.99)
            goal = f"goal {GOALS[name][0]}, {GOALS[name][1]}" if early == 0 else ""
            print(f"  {name:14} P50 {p50:6.0f} ms, P99 {p99:6.0f} ms  {goal} ({len(latencies)} samples)")
        for stage, metric in STAGES.items():
            p50, p99 = stage_quantiles(brokers, metric, (0.5, 0.99))
            print(f"  {stage:14} P50 at most {p50:.0f} ms, P99 at most {p99:.0f} ms")
        print(f"  {rate:.1f} PUT/s and broker")
    finally:
        for broker in brokers:
            broker.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", default="build/release/weir")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--partitions", type=int, default=100)
    options = parser.parse_args()
    weir.BINARY = str(pathlib.Path(options.weir).resolve())
    for early in (0, 10):
        measure(options, early)


if __name__ == "__main__":
    main()
