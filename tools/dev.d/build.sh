# shellcheck shell=bash
# help: [PRESET] [TARGET...]: build (default: release weir; the binary is build/release/weir)

dev_build() {
  local preset=${1:-release}
  [[ $# -gt 0 ]] && shift
  [[ $# -gt 0 ]] || set -- weir
  build "$preset" "$@"
}
