# shellcheck shell=bash
# help: write the reference pages (configuration, metrics, served APIs) from the binary

dev_docs() {
  build release weir
  python3 tools/reference_docs.py build/release/weir
}
