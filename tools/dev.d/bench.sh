# shellcheck shell=bash
# help: [FILTER | kafka [ARGUMENTS]]: micro-benchmarks whose name matches, or Weir beside Apache Kafka

dev_bench() {
  need build test
  if [[ ${1:-} == kafka ]]; then
    shift
    build release weir rdkafka_client
    exec python3 tests/real/bench_kafka.py --weir build/release/weir "$@"
  fi
  build release benches
  local binary found=
  for binary in build/release/*_bench; do
    [[ -x $binary ]] || continue
    found=yes
    "$binary" --benchmark_filter="${1:-.}"
  done
  [[ -n $found ]] || die "there are no benchmarks yet"
}
