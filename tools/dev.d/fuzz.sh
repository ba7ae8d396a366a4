# shellcheck shell=bash
# help: [SECONDS]: search with every libFuzzer target for so long each (default 60)

dev_fuzz() {
  [[ ${1:-60} =~ ^[0-9]+$ ]] || die "fuzz takes a number of seconds, not '$1'"
  # shellcheck source=tools/dev.d/test.sh
  source tools/dev.d/test.sh
  FUZZ_SECONDS=${1:-60} dev_test fuzz
}
