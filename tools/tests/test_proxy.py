"""The links of the proxy do what a test asks them to do, and nothing else."""
import contextlib
import http.client
import http.server
import pathlib
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tests/real"))

import proxy  # noqa: E402

BODY = b"0123456789" * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append(self.command)
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(BODY)

    do_HEAD = do_GET

    def do_PUT(self):
        self.server.seen.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"2\r\nok\r\n0\r\n\r\n")

    def log_message(self, *_):
        pass


class Links(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # it is reset
        self.server.seen = []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.proxy = proxy.Proxy(seed=1)
        self.link = self.proxy.link(self.server.server_address, proxy.HttpLink)

    def tearDown(self):
        self.proxy.stop()
        self.server.shutdown()
        self.server.server_close()

    def ask(self, method="GET", body=None, timeout=10, link=None):
        connection = http.client.HTTPConnection("127.0.0.1", (link or self.link).port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, "/", body)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def test_it_passes_everything(self):
        for link in (self.link, self.proxy.link(self.server.server_address)):
            self.assertEqual(self.ask(link=link), (200, BODY))
            self.assertEqual(self.ask("HEAD", link=link), (200, b""))
            self.assertEqual(self.ask("PUT", BODY * 20, link=link), (200, b"ok"))
            self.assertEqual(self.server.seen, ["GET", "HEAD", BODY * 20])
            self.server.seen.clear()

    def test_requests_of_one_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.link.port, timeout=10)
        with contextlib.closing(connection):
            for method in ("PUT", "HEAD", "GET"):
                connection.request(method, "/", b"x" if method == "PUT" else None)
                answer = connection.getresponse()
                self.assertEqual((answer.status, answer.read()), (200, {"PUT": b"ok", "HEAD": b"", "GET": BODY}[method]))

    def test_a_cut_holds_everything_back(self):
        for link in (self.link, self.proxy.link(self.server.server_address)):
            link.cut()
            with self.assertRaises(TimeoutError):
                self.ask(timeout=0.3, link=link)
            self.assertEqual(self.server.seen, [])
            threading.Timer(0.3, link.mend).start()
            self.assertEqual(self.ask(link=link), (200, BODY))
            self.server.seen.clear()

    def test_a_reset(self):
        with contextlib.closing(socket.create_connection(("127.0.0.1", self.link.port), timeout=10)) as waiting:
            waiting.sendall(b"GET / HTTP/1.1\r\n")
            time.sleep(0.1)
            self.link.reset()
            with self.assertRaises(ConnectionResetError):
                waiting.recv(1)
            with self.assertRaises((ConnectionError, http.client.RemoteDisconnected)):
                self.ask()
        self.link.mend()
        self.assertEqual(self.ask(), (200, BODY))

    def test_a_delay(self):
        self.link.delay(0.2)
        started = time.monotonic()
        self.assertEqual(self.ask(), (200, BODY))
        self.assertGreater(time.monotonic() - started, 0.4)

    def test_lost_answers(self):
        link = self.proxy.link(self.server.server_address)
        link.bend("lost-answers")
        with self.assertRaises((ConnectionError, http.client.RemoteDisconnected)):
            self.ask("PUT", b"one", link=link)
        self.assertEqual((self.server.seen, link.hits), ([b"one"], 1))

    def test_unavailable(self):
        self.link.bend("unavailable")
        status, body = self.ask("PUT", b"one")
        self.assertEqual((status, b"SlowDown" in body), (503, True))
        self.assertEqual(self.ask("HEAD"), (503, b""))
        self.assertEqual(self.server.seen, [])

    def test_truncated(self):
        self.link.bend("truncated")
        with self.assertRaises(http.client.IncompleteRead) as got:
            self.ask()
        self.assertEqual(got.exception.partial, BODY[:len(BODY) // 2])
        self.assertEqual(self.ask("PUT", b"one"), (200, b"ok"))

    def test_slow(self):
        self.link.bend("slow")
        started = time.monotonic()
        self.assertEqual(self.ask(), (200, BODY))
        self.assertGreater(time.monotonic() - started, 3)

    def test_puts_that_happened_all_the_same(self):
        self.link.bend("lost-puts")
        with self.assertRaises((ConnectionError, http.client.RemoteDisconnected)):
            self.ask("PUT", b"one")
        self.assertEqual(self.ask(), (200, BODY))
        self.link.bend("failed-puts")
        self.assertEqual(self.ask("PUT", b"two"), (500, b""))
        self.assertEqual(self.server.seen, [b"one", "GET", b"two"])

    def test_a_share(self):
        self.link.bend("unavailable", 0.5)
        answers = [self.ask("HEAD")[0] for _ in range(40)]
        self.assertEqual(set(answers), {200, 503})
        self.assertEqual(self.link.hits, answers.count(503))
        self.link.mend()
        self.assertEqual(self.ask()[0], 200)


if __name__ == "__main__":
    unittest.main()
