"""A connection to a broker, one frame at a time. Requests may be sent ahead; answers come in their order."""
import socket

from . import codec

TIMEOUT = 30


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Connection:
    """One TCP connection to `host:port`."""

    def __init__(self, bootstrap, client="wire"):
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client, self.correlation, self.waiting = client, 0, []

    def close(self):
        self.socket.close()

    def send(self, api, version, body):
        """Sends without waiting. recv() gives the answers in order."""
        self.correlation += 1
        self.send_frame(codec.encode_request(api, version, body, self.correlation, self.client))
        self.waiting.append((api, version, self.correlation))

    def send_frame(self, frame):
        self.socket.sendall(len(frame).to_bytes(4, "big") + frame)

    def recv(self):
        api, version, correlation = self.waiting.pop(0)
        got, body = codec.decode_response(api, version, self.recv_frame())
        if got != correlation:
            raise ValueError(f"{api} v{version}: correlation id {got}, not {correlation}")
        return body

    def recv_frame(self):
        return self.exactly(int.from_bytes(self.exactly(4), "big"))

    def exactly(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed
            data += piece
        return bytes(data)

    def call(self, api, version, body):
        self.send(api, version, body)
        return self.recv()
