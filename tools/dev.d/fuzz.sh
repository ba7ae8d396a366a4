# shellcheck shell=bash
# help: [SECONDS]: search with every libFuzzer target for so long each (default 60)

dev_fuzz() {
  # shellcheck source=tools/dev.d/test.sh
  source tools/dev.d/test.sh
  FUZZ_SECONDS=${1:-60} dev_test fuzz
}
