# shellcheck shell=bash
# help: [GROUP...]: install the pinned Debian packages that are missing (groups: build, test; default both)

dev_setup() {
  [[ $# -gt 0 ]] || set -- build test
  local release as_root=()
  release=$(. /etc/os-release && echo "$ID $VERSION_ID")
  [[ $release == "debian 12" ]] ||
    echo "dev: this is '$release'; the package versions are pinned for Debian 12 and may not be found" >&2
  [[ $(id -u) == 0 ]] || as_root=(sudo)
  # Python comes first: the list is read by a Python script.
  command -v python3 >/dev/null || install_packages python3
  local missing
  mapfile -t missing < <(python3 tools/packages.py missing "$@")
  if [[ ${#missing[@]} -gt 0 ]]; then
    install_packages "${missing[@]}"
  fi
  python3 tools/packages.py check "$@"
}

install_packages() {
  [[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
    die "these packages are missing and neither root nor sudo is at hand: $*"
  echo "dev: installing $*" >&2
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}
