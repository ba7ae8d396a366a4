# shellcheck shell=bash
# help: [--local]: three brokers in three zones on this machine, with PostgreSQL and an S3 store, until Ctrl-C

dev_cluster() {
  need build test
  build release weir
  exec python3 tests/real/try_cluster.py --weir build/release/weir "$@"
}
