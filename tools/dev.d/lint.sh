# shellcheck shell=bash
# help: [--all]: formatting, clang-tidy (of changed files, or of all), layers, headers, shell scripts, house rules

dev_lint() {
  [[ ${1:-changed} =~ ^(changed|--all)$ ]] || die "lint takes --all or nothing, not '$1'"
  need build test
  local scope=${1:-changed} failed=()
  # shellcheck source=tools/dev.d/fmt.sh
  source tools/dev.d/fmt.sh
  lint_step formatting lint_formatting
  lint_step layers python3 tools/check_layers.py
  lint_step "house rules" python3 tools/tidy.py
  lint_step shell lint_shell
  lint_step headers lint_headers
  lint_step clang-tidy lint_clang_tidy "$scope"
  lint_step "names in documentation" python3 tools/check_docs.py
  lint_step "reference pages" lint_reference
  [[ ${#failed[@]} -eq 0 ]] || die "lint failed: ${failed[*]}"
}

lint_step() {
  local name=$1 started=$SECONDS
  shift
  if "$@"; then
    echo "lint: $name: ok ($((SECONDS - started)) s)"
  else
    echo "lint: $name: FAILED"
    failed+=("$name")
  fi
}

lint_formatting() { cxx_files | xargs -0 clang-format-19 --dry-run --Werror; }

lint_shell() {
  git ls-files -z --cached --others --exclude-standard -- dev .ci/run '*.sh' | xargs -0 shellcheck -x
}

lint_headers() { configured && python3 tools/check_headers.py build/debug; }

lint_clang_tidy() { configured && python3 tools/run_clang_tidy.py build/debug "$1"; }

# clang-tidy and the header check need compile_commands.json and the generated sources, not the objects.
configured() {
  configure debug || return
  cmake --build build/debug --target generated >&2
}

# The pages that the binary writes are those that are committed. Without a binary there is nothing to compare.
lint_reference() {
  if [[ -x build/release/weir ]]; then
    python3 tools/reference_docs.py --check build/release/weir
  else
    echo "lint: no build/release/weir yet, the reference pages are not compared"
  fi
}
