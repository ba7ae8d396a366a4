# shellcheck shell=bash
# help: format every C++ file in place

dev_fmt() {
  need test
  cxx_files | xargs -0 clang-format-19 -i
}

# The C++ files of the checkout, with those not yet committed.
cxx_files() {
  git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
    while IFS= read -r -d '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done
}
