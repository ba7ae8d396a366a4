# shellcheck shell=bash
# What every verb of ./dev shares. Sourced with the checkout as the current folder.

# Debian's own tools first: a Python or compiler that someone else put in front of them is not the one that is pinned.
export PATH=/usr/bin:/bin:$PATH

# Objects of one checkout serve another: paths below the checkout are made relative before they are hashed.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}

jobs=$(nproc)

die() {
  echo "dev: $*" >&2
  exit 1
}

# need GROUP...: the packages of these groups of tools/packages.txt are installed, with the pinned versions.
need() {
  local missing
  missing=$(python3 tools/packages.py missing "$@" 2>/dev/null) || missing=unknown
  [[ -z $missing ]] && return
  # shellcheck source=tools/dev.d/setup.sh
  source tools/dev.d/setup.sh
  dev_setup "$@"
}

# configure PRESET: where that was not done, or the presets changed since; what ninja does by itself does not read them.
configure() {
  [[ build/$1/configured -nt CMakePresets.json ]] && return
  cmake --preset "$1" --log-level=WARNING >&2 && touch "build/$1/configured"
}

# build PRESET [TARGET...]: configures when needed and builds, quietly unless something has to be done.
build() {
  local preset=$1
  shift
  need build
  configure "$preset"
  cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"} >&2
}
