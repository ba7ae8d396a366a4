"""A network that fails when a test says so: ports of this machine that lead to others. A link can be cut, reset,
delayed and lose answers; one to an HTTP server can also answer in the server's place and spoil bodies."""
import asyncio
import contextlib
import random
import socket
import struct
import threading

SLOW_DOWN = b"<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
CHUNK = 65536
LOOPBACK = "127.0.0.1"
RESET = struct.pack("ii", 1, 0)  # a linger of nothing: the close is a reset
SLOW_PIECES, SLOW_SECONDS = 20, 4.0


class Link:
    """One port. The methods that change it may be called by any thread; they take effect before they return."""

    def __init__(self, loop, host, target, seed):
        self.loop, self.host, self.target, self.random = loop, host, target, random.Random(seed)
        self.fault, self.share, self.delay_s, self.hits = None, 1.0, 0.0, 0
        self.passable, self.tasks, self.port, self.server = asyncio.Event(), set(), None, None
        self.passable.set()

    # For the test.

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def cut(self):
        """Nothing comes through, in no direction; nobody is told."""
        self.change(self.passable.clear)

    def reset(self):
        """Every connection is reset, old and new."""
        self.change(lambda: (self.set("reset", 1.0), self.reset_all()))

    def bend(self, fault, share=1.0):
        """`share` of what comes through suffers: lost-answers; of HTTP alone: unavailable, truncated, slow, lost-puts, and
        failed-puts, which have happened all the same."""
        self.change(lambda: self.set(fault, share))

    def delay(self, seconds):
        """Every piece takes that long in addition."""
        self.change(lambda: setattr(self, "delay_s", seconds))

    def mend(self):
        """Everything works again. What a cut held back arrives."""
        self.change(lambda: (self.set(None, 1.0), setattr(self, "delay_s", 0.0), self.passable.set()))

    def change(self, how):
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (how(), done.set()))
        done.wait(10)

    # On the loop.

    def set(self, fault, share):
        self.fault, self.share = fault, share

    def reset_all(self):
        for task in self.tasks:
            task.cancel()

    def suffers(self, *faults):
        is_hit = self.fault in faults and self.random.random() < self.share
        self.hits += is_hit
        return is_hit

    async def pause(self):
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self.passable.wait()

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        other = None
        try:
            if self.fault == "reset":
                return
            await self.pause()
            upstream, other = await asyncio.open_connection(*self.target)
            await self.join(reader, writer, upstream, other)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            for one in (writer, other):
                if one is not None and not one.is_closing():
                    one.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    one.transport.abort()

    async def join(self, reader, writer, upstream, other):
        """Until one side closes. A half-closed connection is not needed by anybody here."""
        ways = [asyncio.ensure_future(way) for way in (self.pump(reader, other, False), self.pump(upstream, writer, True))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def pump(self, source, sink, is_answer):
        while data := await source.read(CHUNK):
            await self.pause()
            if is_answer and self.suffers("lost-answers"):
                return
            sink.write(data)
            await sink.drain()


class HttpLink(Link):
    """Knows where requests and answers begin and end."""

    async def join(self, reader, writer, upstream, other):
        while True:
            method, request = await self.message(reader)
            await self.pause()
            if self.suffers("unavailable"):
                writer.write(b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n%b"
                             % (len(SLOW_DOWN), b"" if method == b"HEAD" else SLOW_DOWN))
                await writer.drain()
                continue
            other.write(request)
            await other.drain()
            _, answer = await self.message(upstream, method)
            await self.pause()
            if not await self.answer(method, answer, writer):
                return

    async def answer(self, method, answer, writer):
        """Passes it on; whether the connection stands."""
        head = answer.index(b"\r\n\r\n") + 4
        is_put = method in (b"PUT", b"POST", b"DELETE")
        if is_put and self.suffers("lost-puts"):
            return False
        if is_put and self.suffers("failed-puts"):
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        elif method == b"GET" and len(answer) > head + 1 and self.suffers("truncated"):
            writer.write(answer[:head + (len(answer) - head) // 2])
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return False
        elif method == b"GET" and len(answer) > head + 1 and self.suffers("slow"):
            step = max(1, (len(answer) - head) // SLOW_PIECES)
            writer.write(answer[:head])
            for at in range(head, len(answer), step):
                await asyncio.sleep(SLOW_SECONDS / SLOW_PIECES)
                writer.write(answer[at:at + step])
        else:
            writer.write(answer)
        await writer.drain()
        return True

    async def message(self, reader, asked=None):
        """(first word, all bytes) of a request, or of the answer to a request with the method `asked`."""
        head = await reader.readuntil(b"\r\n\r\n")
        first = head.split(b" ", 2)
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
        if asked is not None and first[1][:1] == b"1":  # 100 Continue: the real answer comes after it
            return await self.message(reader, asked)
        if asked == b"HEAD" or (asked is not None and first[1] in (b"204", b"304")):
            return first[0], head
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            return first[0], head + await self.chunks(reader)
        if b"content-length" in fields:
            return first[0], head + await reader.readexactly(int(fields[b"content-length"]))
        return first[0], head + (await reader.read() if asked is not None else b"")

    @staticmethod
    async def chunks(reader):
        out = b""
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            out += line + await reader.readexactly(size + 2)
            if size == 0:
                return out


class Proxy:
    """The links of a test, in a thread of their own."""

    def __init__(self, seed=0):
        self.loop, self.seed, self.links = asyncio.new_event_loop(), seed, []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def link(self, target, kind=Link, host=LOOPBACK, port=0, tls=None):
        """A new port at `host`, or the one given, that leads to `target`, (host, port). With `tls`, a server's context, it is
        reached over that."""
        async def listen():
            link = kind(self.loop, host, target, self.seed + len(self.links))
            link.server = await asyncio.start_server(link.serve, host, port, limit=1 << 20, ssl=tls)
            link.port = link.server.sockets[0].getsockname()[1]
            return link
        self.links.append(asyncio.run_coroutine_threadsafe(listen(), self.loop).result(10))
        return self.links[-1]

    def stop(self):
        async def end():
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for link in self.links:
                link.server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
