#!/usr/bin/env python3
"""Writes the pages of docs/reference from the binary itself, or checks that they are what it would write.

reference_docs.py [--check] WEIR_BINARY

configuration.md is what `weir config-reference` prints; kafka-apis.md and metrics.md are asked of brokers that run for that
moment, one for each kind of metadata log that has metrics of its own."""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/real"))

import weir  # noqa: E402
from wire import client, codec  # noqa: E402

NOTE = "<!-- Written by ./dev docs from the binary. Do not edit. -->\n\n"


def apis_page(answer):
    """The served requests of an ApiVersions answer, beside the versions that Kafka has."""
    requests = {message.key: message for (_, kind), message in codec.messages().items() if kind == "request"}
    lines = ["# Served requests", "", NOTE + "What a broker says in its ApiVersions answer, and what Apache Kafka 4.4 has.",
             "As Kafka does, it says that Produce begins at 0 although it refuses 0 to 2: librdkafka before 2.11.1",
             "would not compress otherwise (KAFKA-18659).", "",
             "| key | request | served versions | Kafka 4.4 |", "|---|---|---|---|"]
    for one in sorted(answer["api_keys"], key=lambda row: row["api_key"]):
        message = requests.get(one["api_key"])
        name = message.api if message else "?"
        kafka = f"{message.versions[0]} to {message.versions[-1]}" if message else "?"
        lines.append(f"| {one['api_key']} | {name} | {one['min_version']} to {one['max_version']} | {kafka} |")
    return "\n".join(lines) + "\n"


def metrics_page(text):
    """The metrics of /metrics answers, one after the other, with their kind, labels and help."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    help_of = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    labels = {name: set() for name in kinds}
    for name, inside in re.findall(r"^([a-z_0-9]+)\{([^}]*)\}", text, re.MULTILINE):
        base = next((known for known in (name, re.sub(r"_(bucket|sum|count)$", "", name)) if known in kinds), None)
        if base:
            labels[base] |= set(re.findall(r"(\w+)=", inside)) - {"le"}
    lines = ["# Metrics", "", NOTE + "What the HTTP listener (`http.listener`) gives at `/metrics`.", "",
             "| metric | kind | labels | what it tells |", "|---|---|---|---|"]
    for name in sorted(kinds):
        shown = ", ".join(f"`{label}`" for label in sorted(labels[name])) or "-"
        lines.append(f"| `{name}` | {kinds[name]} | {shown} | {help_of.get(name, '')} |")
    return "\n".join(lines) + "\n"


def ask(**settings):
    """The ApiVersions answer and the metrics of a broker with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        broker = weir.Weir(folder, **settings).start()
        try:
            connection = client.Connection(broker.bootstrap)
            served = connection.call("ApiVersions", 0, {})
            connection.close()
            with urllib.request.urlopen(f"http://127.0.0.1:{broker.http}/metrics", timeout=10) as answer:
                return served, answer.read().decode()
        finally:
            broker.stop()


def pages(binary):
    """{file name: text}"""
    printed = subprocess.run([binary, "config-reference"], check=True, capture_output=True, text=True).stdout
    weir.BINARY = binary
    served, metrics = ask()
    _, of_object_log = ask(metadata_log_url="object:", node_id=1)
    return {"configuration.md": printed, "kafka-apis.md": apis_page(served),
            "metrics.md": metrics_page(metrics + of_object_log)}


def main(arguments):
    check = arguments[:1] == ["--check"]
    folder = ROOT / "docs/reference"
    stale = 0
    for name, text in pages(str(pathlib.Path(arguments[-1]).resolve())).items():
        page = folder / name
        committed = page.read_text() if page.exists() else ""
        if check and committed != text:
            stale += 1
            diff = difflib.unified_diff(committed.splitlines(), text.splitlines(), f"docs/reference/{name}", "the binary", n=0)
            print("\n".join(list(diff)[:40]), file=sys.stderr)
        elif not check:
            folder.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
    if stale:
        print("the reference pages are not what the binary says: ./dev docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
