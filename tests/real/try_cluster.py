"""A cluster to try: PostgreSQL, an S3 store and three brokers in three zones, on this machine, until Ctrl-C.

try_cluster.py [--weir BINARY] [--folder PATH] [--local] [--object]

--local takes SQLite and a folder instead of PostgreSQL and the S3 store, which need Debian's packages. --object keeps the
metadata log in the object store instead of a database."""
import argparse
import os
import pathlib
import shutil
import signal
import tempfile

import postgres
import rados_gateway
import weir

ZONES = ("zone-a", "zone-b", "zone-c")
BUCKET = "weir"


class Cluster:
    def __init__(self, folder, local, log_in_store=False):
        self.folder, self.local, self.log_in_store = pathlib.Path(folder), local, log_in_store
        self.started, self.brokers = [], []
        self.log, self.store = f"sqlite:{folder}/metadata.db", f"file:{folder}/objects"

    def start(self):
        if self.log_in_store:
            self.log = "object:"
        elif not self.local:
            self.log = self.start_postgres()
        if not self.local:
            self.store = self.start_store()
        self.brokers = [self.start_broker(number, zone) for number, zone in enumerate(ZONES, 1)]

    def start_postgres(self):
        print("starting PostgreSQL", flush=True)
        self.database = postgres.Postgres(self.folder / "postgres")
        self.started.append(self.database)
        return self.database.start().url

    def start_store(self):
        print("starting an S3 store (Ceph's RADOS gateway; the first time its packages are fetched)", flush=True)
        self.gateway = rados_gateway.RadosGateway(self.folder / "s3")
        self.started.append(self.gateway)
        self.gateway.start()
        self.gateway.create_bucket(BUCKET)
        os.environ |= {"AWS_ACCESS_KEY_ID": rados_gateway.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": rados_gateway.SECRET_KEY}
        return f"s3://{BUCKET}?endpoint={self.gateway.endpoint}"

    def start_broker(self, number, zone):
        print(f"starting broker {number} in {zone}", flush=True)
        broker = weir.Weir(self.folder / f"broker{number}", node_id=number, broker_rack=zone)
        broker.settings |= {"metadata.log.url": self.log, "object.store.url": self.store}
        self.started.append(broker)
        return broker.start()

    def stop(self):
        for one in reversed(self.started):
            one.stop()

    def tell(self):
        bootstrap = ",".join(broker.bootstrap for broker in self.brokers)
        first = self.brokers[0]
        print(f"""
The cluster runs. Metadata log: {self.log}
Objects: {self.store}
""")
        for broker, zone in zip(self.brokers, ZONES):
            print(f"  {zone}: Kafka {broker.bootstrap}, metrics {broker.url}/metrics, log {broker.log}")
        print(f"""
Try it:
  for i in 1 2 3; do echo "hello $i"; done | kcat -P -b {first.bootstrap} -t greetings -X client.id=zone={ZONES[0]}
  kcat -C -b {self.brokers[1].bootstrap} -t greetings -o beginning -e -X client.id=zone={ZONES[1]}
  kcat -L -b {bootstrap}
  kill -9 {first.process.pid}   # clients of {ZONES[0]} go on with the others

Ctrl-C stops everything and removes {self.folder}.""", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default="build/release/weir")
    parser.add_argument("--folder", help="where everything lies; by default a temporary folder")
    parser.add_argument("--local", action="store_true", help="SQLite and a folder: no packages, no S3 store")
    parser.add_argument("--object", action="store_true", help="the metadata log in the object store: no database")
    options = parser.parse_args()
    weir.BINARY = str(pathlib.Path(options.weir).resolve())
    folder = options.folder or tempfile.mkdtemp(prefix="weir-cluster-")
    cluster = Cluster(folder, options.local, options.object)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        cluster.start()
        cluster.tell()
        signal.pause()
    except (postgres.Unavailable, rados_gateway.Unavailable) as why:
        raise SystemExit(f"{why}\nWithout it: ./dev cluster --local") from why
    except KeyboardInterrupt:
        print("\nstopping", flush=True)
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
