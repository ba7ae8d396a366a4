#!/usr/bin/env python3
"""Stands between a Kafka client and a broker and prints one line for every request that got a response: API key, version, both
frames in hexadecimal (behind their sizes). Of each key and version only the first is kept.

    record.py LISTEN_PORT BROKER_PORT > frames.tsv     the broker's advertised listener is LISTEN_PORT; stop with SIGTERM
"""
import signal
import socket
import struct
import sys
import threading

seen = set()
lock = threading.Lock()


def read_frame(stream):
    head = stream.read(4)
    return stream.read(struct.unpack(">i", head)[0]) if len(head) == 4 else None


def forward_requests(client, broker, waiting):
    while (frame := read_frame(client[1])) is not None:
        waiting[frame[4:8]] = frame
        broker[0].sendall(struct.pack(">i", len(frame)) + frame)
    broker[0].shutdown(socket.SHUT_WR)


def forward_responses(client, broker, waiting):
    while (frame := read_frame(broker[1])) is not None:
        keep(waiting.pop(frame[:4], None), frame)
        try:
            client[0].sendall(struct.pack(">i", len(frame)) + frame)
        except OSError:
            return  # the client did not wait for the last answer
    client[0].close()


def keep(request, response):
    if request is None:
        return
    api = struct.unpack(">hh", request[:4])
    with lock:
        if api not in seen:
            seen.add(api)
            print(*api, request.hex(), response.hex(), sep="\t", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
        client, _ = server.accept()
        broker = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        ends = [(s, s.makefile("rb")) for s in (client, broker)]
        waiting = {}
        for run in (forward_requests, forward_responses):
            threading.Thread(target=run, args=(*ends, waiting), daemon=True).start()


if __name__ == "__main__":
    main()
