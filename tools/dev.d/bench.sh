# shellcheck shell=bash
# help: [FILTER | kafka | latency [ARGUMENTS]]: micro-benchmarks, Weir beside Apache Kafka, latency on slow stores

dev_bench() {
  need build test
  if [[ ${1:-} == kafka || ${1:-} == latency ]]; then
    local script=tests/real/bench_$1.py
    shift
    build release weir rdkafka_client
    exec python3 "$script" --weir build/release/weir "$@"
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
