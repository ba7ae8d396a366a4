"""Apache Kafka 4.4 itself: its command-line tools to use on Weir, and its broker to compare Weir with."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import time

from process import Process, free_port

HERE = pathlib.Path(__file__).resolve().parent
POM = HERE / "kafka_pom.xml"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "weir-kafka"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d %p %m (%c)%n
"""
TOOLS = {
    "kafka-topics": "TopicCommand",
    "kafka-configs": "ConfigCommand",
    "kafka-consumer-groups": "consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "GetOffsetShell",
    "kafka-delete-records": "DeleteRecordsCommand",
    "kafka-broker-api-versions": "BrokerApiVersionsCommand",
    "kafka-console-producer": "ConsoleProducer",
    "kafka-console-consumer": "consumer.ConsoleConsumer",
    "kafka-verifiable-producer": "VerifiableProducer",
    "kafka-verifiable-consumer": "VerifiableConsumer",
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-consumer-perf-test": "ConsumerPerformance",
}
SERVER = """process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Unavailable(Exception):
    """Why Kafka's jars cannot be had here."""


def jars():
    """The folder with Kafka's jars, fetched once for each version of the list."""
    folder = CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    if (folder / "log4j2.properties").exists():
        return folder
    if not shutil.which("mvn") or not shutil.which("java"):
        raise Unavailable("Maven and Java are not installed")
    done = subprocess.run(["mvn", "-q", "-B", "-f", str(POM), COPY, f"-DoutputDirectory={folder}",
                           "-DincludeScope=runtime"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable("Maven cannot fetch Kafka's jars: " + done.stdout.strip()[-400:])
    (folder / "log4j2.properties").write_text(LOGGING)
    return folder


def java(*arguments, quick=True):
    """The command line of a Java program with Kafka's classes; `quick` for programs that run for a moment."""
    folder = jars()
    return ["java", "-Xmx512m", *(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] if quick else []),
            f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", f"{folder}/*", *arguments]


def tool(name, *arguments, quick=True):
    """The command line of one of Kafka's own tools."""
    return java(f"org.apache.kafka.tools.{TOOLS[name]}", *arguments, quick=quick)


class ApacheKafka(Process):
    """One Kafka node on a free port, with its data in `folder`."""

    def __init__(self, folder, heap="1g"):
        super().__init__("Apache Kafka", pathlib.Path(folder) / "kafka.log")
        self.folder, self.heap, self.port = pathlib.Path(folder), heap, free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        if not properties.exists():
            properties.write_text(SERVER.format(port=self.port, controller=free_port(), folder=self.folder))
            subprocess.run(java("kafka.tools.StorageTool", "format", "-c", str(properties), "-t", "AAAAAAAAQACAAAAAAAAAAQ"),
                           check=True, capture_output=True)
        folder = jars()
        self.launch(["java", f"-Xms{self.heap}", f"-Xmx{self.heap}", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
                     f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", f"{folder}/*", "kafka.Kafka",
                     str(properties)])
        self.wait_answering(60)
        time.sleep(1)  # the controller finishes what it does after start
        return self
