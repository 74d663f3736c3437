# SPDX-License-Identifier: Apache-2.0
"""R7: SIGTERM while streams run: all are finished inside the limit, told so past it; newcomers get a
503, liveness stays, the exit code is 0; a second signal ends it at once."""

import asyncio
import signal
import time

from board import Server, arguments, finish, say, verdict, wait_until
from wire import Client, answer_of, ask, http_request
from workload import difference, request_of, solo_answers, streamed

STREAMS = 32


async def open_streams(server: Server, requests: list) -> list[Client]:
    """Streams of which the first bytes have come."""
    clients = []
    for request in requests:
        clients.append(await Client.connect(server.port))
        clients[-1].send(streamed(request))
    for client in clients:
        while not client.raw:
            await asyncio.sleep(0.002)
    return clients


def newcomers(server: Server) -> str | None:
    """What is wrong with how a draining server treats them."""
    address = ("127.0.0.1", server.port)
    if not wait_until(lambda: ask(address, http_request("/readyz")).status == 503, 5, 0.01):
        return "/readyz stays 200"
    if ask(address, http_request("/livez")).status != 200:
        return "/livez fails"
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/api/chat"):
        reply = ask(address, http_request(path, {"prompt": "x"}))
        if reply.status != 503 or "retry-after" not in reply.headers:
            return f"{path}: {reply.status}"
    return None


async def drained(server: Server, requests, truths) -> tuple[int, str | None]:
    """Streams that ended exactly, and what is wrong with the rest."""
    clients = await open_streams(server, requests)
    server.process.send_signal(signal.SIGTERM)
    problem = await asyncio.to_thread(newcomers, server)
    good = 0
    for client, truth in zip(clients, truths, strict=True):
        found = difference(answer_of(await client.finish()), truth)
        good += found is None
        problem = problem or found
    code = await asyncio.to_thread(server.process.wait, 30)
    return good, problem or (None if code == 0 else f"exit code {code}")


async def interrupted(server: Server, limit: float) -> tuple[int, str | None]:
    """Streams that were told that there is no more time."""
    body = {"prompt": "Once upon a time", "max_tokens": 900, "ignore_eos": True}
    request = {"path": "/v1/completions", "body": body}
    clients = await open_streams(server, [request] * STREAMS)
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    told, problem = 0, None
    for client in clients:
        reply = await client.finish()
        answer = answer_of(reply)
        is_told = reply.is_complete and (answer.error or {}).get("code") == "shutting_down"
        told += is_told
        if not is_told:
            problem = f"a stream ended with {bytes(client.raw[-200:])}"
    code = await asyncio.to_thread(server.process.wait, 30)
    took = time.monotonic() - start
    if took > limit + 3:
        problem = problem or f"it took {took:.1f} s"
    return told, problem or (None if code == 0 else f"exit code {code}")


async def second_signal(server: Server) -> float:
    """Seconds from the second signal to the end; a wrong exit code counts as for ever."""
    body = {"prompt": "Once upon a time", "max_tokens": 900, "ignore_eos": True}
    clients = await open_streams(server, [{"path": "/v1/completions", "body": body}] * STREAMS)
    server.process.send_signal(signal.SIGTERM)
    await asyncio.sleep(0.3)
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    code = await asyncio.to_thread(server.process.wait, 30)
    took = time.monotonic() - start
    for client in clients:
        client.close()
    return took if code == 0 else float("inf")


def main() -> None:
    options = arguments(__doc__)
    longest = 300 if options.long else 60
    requests = []
    for i in range(STREAMS):
        request = request_of(options.seed % 100_000 + i % 8, longest)
        request["body"]["max_tokens"] = longest - i % 8  # they end at about the same time
        requests.append(request)
    truths = solo_answers(options.binary, requests[:8]) * (STREAMS // 8)
    with Server(options.binary, "--drain", 120) as server:
        good, problem = asyncio.run(drained(server, requests, truths))
    say("drained:", problem or "all well")
    limit = 5 if options.long else 1
    with Server(options.binary, "--drain", limit) as server:
        told, told_problem = asyncio.run(interrupted(server, limit))
    say("past the limit:", told_problem or "all well")
    with Server(options.binary, "--drain", 120) as server:
        took = asyncio.run(second_signal(server))
    finish(
        verdict("R7", good, f"of-{STREAMS}-streams-complete", good == STREAMS and problem is None),
        verdict("R7", told, f"of-{STREAMS}-told-past-the-limit",
                told == STREAMS and told_problem is None),
        verdict("R7", round(took, 2), "s-after-second-signal", took < 1))


if __name__ == "__main__":
    main()
