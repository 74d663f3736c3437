# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, hundreds of them in a process of their own (R2). Told by lines on standard
input: `attack`, `rest` and `quit`; answers each with a line."""

import asyncio
import os
import random
import resource
import socket
import sys

from board import ROOT  # noqa: F401  (makes `wire` known)
from wire import http_request

SLOW_READERS = 0.02  # their share: each makes the server compute until its buffers are full
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = HEAD + b"x\r\nContent-Length: 100000\r\n\r\n{"
STREAM = {"prompt": "Once upon a time", "max_tokens": 900, "ignore_eos": True, "stream": True,
          "logprobs": 20}


async def connect(port: int, receive_buffer: int = 0) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def until_closed(sock: socket.socket, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            while await loop.sock_recv(sock, 4096):
                pass
    except TimeoutError:
        pass


async def trickle(sock: socket.socket, opening: bytes) -> None:
    """One byte a second, for ever."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, opening)
    while True:
        await asyncio.sleep(1)
        await loop.sock_sendall(sock, b"a")


async def slow_reader(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, http_request("/v1/completions", STREAM))
    while await loop.sock_recv(sock, 1):
        await asyncio.sleep(1)


async def garbage(sock: socket.socket, pick: random.Random) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, pick.randbytes(pick.randint(1, 2000)))
    await until_closed(sock, 5)
    await asyncio.sleep(1)


async def attacker(port: int, kind: str, pick: random.Random) -> None:
    await asyncio.sleep(pick.random())
    while True:
        sock = None
        try:
            sock = await connect(port, 4096 if kind == "reader" else 0)
            if kind == "head":
                await trickle(sock, HEAD)
            elif kind == "body":
                await trickle(sock, BODY)
            elif kind == "reader":
                await slow_reader(sock)
            elif kind == "garbage":
                await garbage(sock, pick)
            else:
                await until_closed(sock, 3600)
        except OSError:
            await asyncio.sleep(0.5)  # cut off, as it should be: comes again
        finally:
            if sock:
                sock.close()


def kinds(count: int) -> list[str]:
    readers = max(1, int(count * SLOW_READERS))
    others = ["head", "idle", "body", "head", "idle", "garbage", "idle", "head"]
    return ["reader"] * readers + [others[i % len(others)] for i in range(count - readers)]


async def main() -> None:
    port, count = int(sys.argv[1]), int(sys.argv[2])
    os.nice(10)  # they would have computers of their own
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 100)), hard))
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tasks = []
    while line := (await lines.readline()).strip():
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        tasks = []
        if line == b"quit":
            return
        if line == b"attack":
            tasks = [asyncio.create_task(attacker(port, kind, random.Random(i)))
                     for i, kind in enumerate(kinds(count))]
        print(line.decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
