# SPDX-License-Identifier: Apache-2.0
"""HTTP by hand and cheaply: raw bytes out, raw bytes in, parsed once they are all there, so that
a loop with hundreds of connections leaves the processor to the server."""

import asyncio
import json
import socket
import struct
import time
from dataclasses import dataclass, field


def http_request(path: str, body=None, method: str | None = None, headers: dict | None = None) -> bytes:
    """One request as bytes; a body that is no bytes is sent as JSON."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1", "Host: localhost"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


@dataclass
class Reply:
    status: int
    headers: dict
    body: bytes
    is_complete: bool  # its length was reached, or its last chunk came

    @property
    def json(self):
        return json.loads(self.body)


def dechunk(data: bytes) -> tuple[bytes, bool, int]:
    """(body, whether its last chunk came, bytes used)."""
    body, at = bytearray(), 0
    while True:
        end = data.find(b"\r\n", at)
        if end < 0:
            return bytes(body), False, at
        size = int(data[at:end], 16)
        start = end + 2
        if size == 0:
            is_end = data[start:start + 2] == b"\r\n"
            return bytes(body), is_end, start + 2 if is_end else at
        if len(data) < start + size + 2:
            return bytes(body) + data[start:start + size], False, at
        assert data[start + size:start + size + 2] == b"\r\n", "a chunk is longer than it says"
        body += data[start:start + size]
        at = start + size + 2


def parse_reply(data: bytes, is_head: bool = False) -> tuple[Reply | None, bytes]:
    """The first reply and what follows it; interim replies are skipped."""
    while True:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return None, data
        lines = data[:end].decode("latin-1").split("\r\n")
        assert lines[0].startswith("HTTP/1.1 "), f"no status line: {lines[0]!r}"
        status = int(lines[0].split(" ")[1])
        data = data[end + 4:]
        if status >= 200:
            break
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if is_head or status in (204, 304):
        return Reply(status, headers, b"", True), data
    if headers.get("transfer-encoding") == "chunked":
        body, is_complete, used = dechunk(data)
        return Reply(status, headers, body, is_complete), data[used:] if is_complete else b""
    if "content-length" in headers:
        length = int(headers["content-length"])
        return Reply(status, headers, data[:length], len(data) >= length), data[length:]
    return Reply(status, headers, data, False), b""


@dataclass
class Answer:
    """What a generation said, however it was sent."""
    text: str = ""
    finish: str | None = None
    tokens: int | None = None
    logprobs: list = field(default_factory=list)
    error: dict | None = None
    is_done: bool = False  # the stream ended as the protocol says
    ids: set = field(default_factory=set)  # of the chunks


def events_of(body: bytes) -> list:
    found = []
    for line in body.split(b"\n"):
        if line.startswith(b"data: "):
            found.append("[DONE]" if line == b"data: [DONE]" else json.loads(line[6:]))
    return found


def answer_of(reply: Reply) -> Answer:
    """Of a chat or a completion in OpenAI's form, streamed or whole."""
    answer = Answer()
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        chunks = events_of(reply.body)
        answer.is_done = reply.is_complete and bool(chunks) and chunks[-1] == "[DONE]"
        chunks = [chunk for chunk in chunks if chunk != "[DONE]"]
    else:
        answer.is_done = reply.is_complete
        chunks = [reply.json]
    for chunk in chunks:
        if "error" in chunk:
            answer.error = chunk["error"]
            continue
        answer.ids.add(chunk["id"])
        if chunk.get("usage"):
            answer.tokens = chunk["usage"]["completion_tokens"]
        for choice in chunk["choices"]:
            part = choice.get("delta") or choice.get("message")
            answer.text += (part.get("content") or "") if part else choice.get("text") or ""
            answer.finish = choice.get("finish_reason") or answer.finish
            answer.logprobs += ((choice.get("logprobs") or {}).get("content")) or []
    return answer


def reset(sock: socket.socket) -> None:
    """Closes with a reset instead of a goodbye."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def talk(address, data: bytes, timeout: float = 10, half_close: bool = False) -> bytes:
    """Sends, and reads all that comes until the server closes. Raises TimeoutError if it does not."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout)
        sock.connect(address)
        received = bytearray()
        try:
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent; the reply may still be there
        end = time.monotonic() + timeout
        while True:
            sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                part = sock.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            received += part
    return bytes(received)


def ask(address, data: bytes, timeout: float = 30, is_head: bool = False) -> Reply:
    """One request on its own connection; returns when its reply is complete."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout)
        sock.connect(address)
        return ask_on(sock, data, is_head)


def ask_on(sock, data: bytes, is_head: bool = False) -> Reply:
    """One request on an open connection."""
    try:
        sock.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    received = bytearray()
    while not is_whole(received, is_head):
        part = sock.recv(65536)
        if not part:
            break
        received += part
    reply, _ = parse_reply(bytes(received), is_head)
    if reply is None:
        raise ConnectionError("closed without a reply")
    return reply


def is_whole(raw: bytearray, is_head: bool = False) -> bool:
    """Whether a reply has come to its end. Looks at both ends only: parsing all of it again with
    every piece would be quadratic."""
    while raw.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in raw:
        raw = raw[raw.index(b"\r\n\r\n") + 4:]
    head = raw.find(b"\r\n\r\n")
    if head < 0:
        return False
    if is_head or raw.startswith((b"HTTP/1.1 204", b"HTTP/1.1 304")):
        return True
    if b"transfer-encoding: chunked" in raw[:head]:
        return raw.endswith(b"\r\n0\r\n\r\n")
    at = raw.find(b"content-length: ", 0, head)
    if at < 0:
        return False
    return len(raw) >= head + 4 + int(raw[at + 16:raw.find(b"\r\n", at)])


class Client(asyncio.Protocol):
    """One connection of an event loop: `await client.ask(bytes)` again and again."""

    def __init__(self):
        self.raw = bytearray()
        self.parts = 0            # pieces that arrived
        self.is_closed = False
        self.transport = None
        self.waiter = None
        self.first_byte = None    # when the first byte of the reply came
        self.on_part = None

    @classmethod
    async def connect(cls, port: int, receive_buffer: int = 0) -> "Client":
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", port))
        _, client = await loop.create_connection(cls, sock=sock)
        return client

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if not self.raw:
            self.first_byte = time.monotonic()
        self.raw += data
        self.parts += 1
        if self.on_part:
            self.on_part(data)
        if self.waiter and not self.waiter.done() and is_whole(self.raw):
            self.waiter.set_result(None)

    def eof_received(self):
        return False

    def connection_lost(self, _):
        self.is_closed = True
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(None)

    def send(self, data: bytes) -> None:
        self.raw = bytearray()
        self.parts = 0
        self.first_byte = None
        self.transport.write(data)

    async def ask(self, data: bytes, timeout: float = 120) -> Reply:
        """Raises ConnectionError when the connection ends without a reply."""
        self.send(data)
        return await self.finish(timeout)

    async def finish(self, timeout: float = 120) -> Reply:
        self.waiter = asyncio.get_running_loop().create_future()
        if not is_whole(self.raw) and not self.is_closed:
            async with asyncio.timeout(timeout):
                await self.waiter
        reply, _ = parse_reply(bytes(self.raw))
        if reply is None:
            raise ConnectionError("closed without a reply")
        return reply

    def close(self) -> None:
        if self.transport:
            self.transport.close()

    def abort(self) -> None:
        """A reset."""
        if self.is_closed:
            return
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
