# shellcheck shell=bash
# help: this list

dev_help() {
  local file
  {
    echo "Usage: ./dev VERB [ARGUMENTS]"
    for file in tools/dev.d/*.sh; do
      sed -n "s/^# help: /  $(basename "$file" .sh)\t/p" "$file"
    done
  } | expand -t 10
  [[ ${1:-} != unknown ]] || exit 2
}
