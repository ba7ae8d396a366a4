# shellcheck shell=bash
# help: [--seeds A..B] [--seconds N] [--brokers K]: simulated clusters with faults; tells how to replay a failing seed

dev_sim() {
  local seeds=1..200 arguments=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --seeds) seeds=${2:-}; shift 2 ;;
      --seconds | --brokers) arguments+=("$1" "${2:-}"); shift 2 ;;
      *) die "sim: no option '$1'; there are --seeds A..B, --seconds N and --brokers K" ;;
    esac
  done
  [[ $seeds =~ ^([0-9]+)\.\.([0-9]+)$ ]] || die "sim: --seeds takes a range like 1..200, not '$seeds'"
  local first=${BASH_REMATCH[1]} last=${BASH_REMATCH[2]} part from pids=() pid status=0
  ((first <= last)) || die "sim: --seeds $seeds is empty"
  build release weir-sim
  # shellcheck disable=SC2154 # jobs is common.sh's
  part=$(((last - first + jobs) / jobs))
  for ((from = first; from <= last; from += part)); do
    build/release/weir-sim --seed "$from" --last "$((from + part - 1 < last ? from + part - 1 : last))" \
      "${arguments[@]}" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return "$status"
}
