# shellcheck shell=bash
# help: [STAGE...]: stages lint, tools, asan, fuzz, sim, planted, tsan, real; default all, as in CI; quick for every day

# A stage is a function stage_NAME whose runners print `N passed, N failed, N skipped`; the counts are added up.
dev_test() {
  local all=(lint tools asan fuzz sim planted tsan real) stages=("$@") stage
  [[ ${#stages[@]} -gt 0 && ${stages[0]} != all ]] || stages=("${all[@]}")
  local passed=0 failed=0 skipped=0 failures=() reasons=
  need build test
  for stage in "${stages[@]}"; do
    declare -F "stage_$stage" >/dev/null || die "no stage '$stage'; there are quick unit ${all[*]}"
  done
  for stage in "${stages[@]}"; do
    run_stage "$stage"
  done
  [[ ${#failures[@]} -eq 0 ]] || printf 'failed: %s\n%s' "${failures[*]}" "$reasons"
  echo "$passed passed, $failed failed, $skipped skipped"
  [[ $failed -eq 0 && $passed -gt 0 ]]
}

run_stage() {
  local stage=$1 started=$SECONDS output counts=() status=0
  echo "== $stage"
  output=$(mktemp)
  # errexit is off inside a function whose status is tested, so each stage chains its own steps with &&.
  (set +e; "stage_$stage") 2>&1 | tee "$output" || status=1
  read -r -a counts < <(sum_counts < "$output")
  local stage_failed=${counts[1]}
  [[ $status -eq 0 || $stage_failed -gt 0 ]] || stage_failed=1
  [[ $stage_failed -eq 0 ]] || reasons+=$(reasons_in "$output" | sed 's/^/  /')$'\n'
  rm -f "$output"
  passed=$((passed + counts[0]))
  failed=$((failed + stage_failed))
  skipped=$((skipped + counts[2]))
  [[ $stage_failed -eq 0 ]] || failures+=("$stage")
  echo "== $stage: $((SECONDS - started)) s"
}

# Adds up the closing lines of the runners of one stage.
sum_counts() {
  awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 } END { print p + 0, f + 0, s + 0 }'
}

# The lines that name what failed, for the end of a long output.
reasons_in() {
  grep -E '^\[  FAILED  \] .*\(|^(FAIL|ERROR): |^SUMMARY: |[^0-9][1-9][0-9]* failed|FAILED|: (fatal )?error: ' "$1" |
    cut -c 1-240 | head -n 20 || true
}

stage_lint() {
  # shellcheck source=tools/dev.d/lint.sh
  source tools/dev.d/lint.sh
  (dev_lint changed) && echo "1 passed, 0 failed, 0 skipped"
}

stage_tools() { python3 tools/run_unittests.py tools/tests; }

# What to run after each change: the debug build, which is the fastest to make.
stage_quick() { stage_tools && build debug all && python3 tools/run_tests.py build/debug; }

# The unit tests as users run the code. Not in the default list: asan and tsan run the same ones, real runs the binary.
stage_unit() { build release all && python3 tools/run_tests.py build/release; }

stage_asan() { build asan all && python3 tools/run_tests.py build/asan; }

stage_tsan() {
  build tsan all && TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/tests/tsan.supp" \
    python3 tools/run_tests.py build/tsan
}

# The asan build carries libFuzzer; its unit stage replays the corpora, this one searches for a while from there.
stage_fuzz() { build asan all && python3 tools/run_fuzzers.py build/asan "${FUZZ_SECONDS:-5}"; }

# Seeds of their own each day would find more, but a red CI must be the change's fault.
stage_sim() {
  local seeds=${SIM_SEEDS:-300} in_store
  in_store=$(((seeds + 1) / 2))
  # shellcheck source=tools/dev.d/sim.sh
  source tools/dev.d/sim.sh
  (dev_sim --seeds "1..$seeds" --seconds 20) && (dev_sim --object --seeds "1..$in_store" --seconds 20) &&
    echo "$((seeds + in_store)) passed, 0 failed, 0 skipped"
}

# Each bug of src/base/planted.h is found by the simulator: that it finds nothing elsewhere means something.
stage_planted() {
  # shellcheck source=tools/dev.d/sim.sh
  source tools/dev.d/sim.sh
  (dev_sim --planted --seeds 1..200 --seconds 20) && echo "1 passed, 0 failed, 0 skipped"
}

# In a fresh clone lint has no binary yet whose reference pages it could compare.
stage_real() {
  local status=0
  build release weir rdkafka_client s3_contract || return 1
  python3 tools/reference_docs.py --check build/release/weir || status=1
  python3 tests/real/run.py --weir build/release/weir || status=1
  return "$status"
}
