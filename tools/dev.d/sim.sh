# shellcheck shell=bash
# help: [--seeds A..B] [--seconds N | --minutes N] [--brokers K] [--object] [--planted]: simulated clusters with faults

dev_sim() {
  local seeds=1..200 planted=false arguments=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --seeds) seeds=${2:-}; shift 2 ;;
      --seconds | --minutes | --brokers) arguments+=("$1" "${2:-}"); shift 2 ;;
      --object) arguments+=("$1"); shift ;;
      --planted) planted=true; shift ;;
      *) die "sim: no option '$1'; there are --seeds A..B, --seconds N, --minutes N, --brokers K, --object and --planted" ;;
    esac
  done
  [[ $seeds =~ ^([0-9]+)\.\.([0-9]+)$ ]] || die "sim: --seeds takes a range like 1..200, not '$seeds'"
  local first=${BASH_REMATCH[1]} last=${BASH_REMATCH[2]}
  ((first <= last)) || die "sim: --seeds $seeds is empty"
  if $planted; then
    sim_planted
  else
    sim_seeds
  fi
}

# The range in as many parts as there are cores.
sim_seeds() {
  local part from to pids=() pid status=0
  build release weir-sim
  # shellcheck disable=SC2154 # jobs is common.sh's
  part=$(((last - first + jobs) / jobs))
  for ((from = first; from <= last; from += part)); do
    to=$((from + part - 1 < last ? from + part - 1 : last))
    build/release/weir-sim --seed "$from" --last "$to" "${arguments[@]}" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return "$status"
}

# Each bug until the first seed that finds it. A crash is no finding: a checker must name what is wrong.
sim_planted() {
  local found
  build planted weir-sim
  found=$(build/planted/weir-sim --list-planted | awk '{ print $1 }' | xargs -P "$jobs" -I NAME \
    build/planted/weir-sim --planted NAME --until-found --seed "$first" --last "$last" "${arguments[@]}" |
    tee >(cat >&2) | grep -c ': found at seed ')
  local all
  all=$(build/planted/weir-sim --list-planted | wc -l)
  echo "$found of $all planted bugs found"
  [[ $found -eq $all ]]
}
