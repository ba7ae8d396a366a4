# shellcheck shell=bash
# help: [--minutes M] [--fault NAME] [--seed N] [--object]: a real cluster under faults; judges what clients saw

dev_torture() {
  need build test
  build release weir rdkafka_client
  exec python3 tests/real/torture.py --weir build/release/weir "$@"
}
