# shellcheck shell=bash
# help: [weir broker ARGUMENTS]: build and start one broker with the embedded defaults, data in ./data

dev_run() {
  build release weir
  cat <<'TEXT'
Weir starts on 127.0.0.1:9092, its metrics on http://127.0.0.1:9404/metrics. In another terminal:
  echo 'hello, weir' | kcat -b 127.0.0.1:9092 -t first -P
  kcat -b 127.0.0.1:9092 -t first -C -e
Ctrl-C stops it; the records stay in ./data.
TEXT
  exec build/release/weir broker --set listeners=PLAINTEXT://127.0.0.1:9092 \
    --set http.listener=127.0.0.1:9404 "$@"
}
