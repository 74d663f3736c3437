# SPDX-License-Identifier: Apache-2.0
"""R25: keys learn nothing of each other: no cached prefix is shared, a flood by one leaves the other
served; and the server calls nobody."""

import asyncio
import random
import shutil
import tempfile
import time
from pathlib import Path

from board import Server, arguments, finish, median, say, verdict
from wire import Client, ask, http_request

ALICE, BOB = "sk-alice-0123456789", "sk-bob-0123456789abc"
WORDS = "red blue dog cat house tree river stone bird king queen ship road moon fire".split()


def bearer(key: str) -> dict:
    return {"Authorization": f"Bearer {key}"}


def cached(address, key: str, prompt: str) -> int:
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0}
    reply = ask(address, http_request("/v1/completions", body, headers=bearer(key)))
    assert reply.status == 200, reply.body
    return reply.json["usage"]["prompt_tokens_details"]["cached_tokens"]


def probe_prefixes(address, count: int, pick: random.Random) -> tuple[int, int]:
    """(hits across keys, hits within a key) of so many secrets."""
    across = within = 0
    for key in (ALICE, BOB):
        cached(address, key, "Once")  # now the first token of any prompt is known to both
    for _ in range(count):
        secret = f"{pick.getrandbits(64)} " + " ".join(pick.choice(WORDS) for _ in range(16))
        cached(address, ALICE, secret)
        across += cached(address, BOB, secret) > 10  # some digits may be an older secret's
        within += cached(address, ALICE, secret) > 16
    return across, within


async def flood(port: int, seconds: float) -> dict:
    """Bob's time to the first token, alone and while Alice sends all she can."""
    async def first_token() -> float:
        client = await Client.connect(port)
        start = time.monotonic()
        body = {"prompt": "Once upon a time", "max_tokens": 4, "stream": True}
        reply = await client.ask(http_request("/v1/completions", body, headers=bearer(BOB)))
        assert reply.status == 200, reply.body
        client.close()
        return client.first_byte - start

    refused = 0

    async def alice() -> None:
        nonlocal refused
        client = await Client.connect(port)
        while True:
            body = {"prompt": "Once", "max_tokens": 30, "stream": True}
            reply = await client.ask(http_request("/v1/completions", body, headers=bearer(ALICE)))
            refused += reply.status == 429
            await asyncio.sleep(0 if reply.status == 200 else 0.05)

    quiet = [await first_token() for _ in range(5)]
    tasks = [asyncio.create_task(alice()) for _ in range(40)]
    await asyncio.sleep(0.5)
    end, busy = time.monotonic() + seconds, []
    while time.monotonic() < end or len(busy) < 5:
        busy.append(await first_token())
    for task in tasks:
        task.cancel()
    return {"quiet": median(quiet), "busy": median(busy), "served": len(busy), "refused": refused}


def calls_to_others(binary: str) -> str | None:
    """What connect() was called for while every kind of request was served; None: cannot be told."""
    if shutil.which("strace") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        log, wrapper = Path(folder) / "calls", Path(folder) / "ingot"
        wrapper.write_text(f'#!/bin/sh\nexec strace -D -f -qq -e trace=connect,execve -o {log} "{binary}" "$@"\n')
        wrapper.chmod(0o755)
        image = [{"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}}]
        try:
            with Server(str(wrapper), ready_timeout=120) as server:
                address = ("127.0.0.1", server.port)
                for path, body in [("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}],
                                                             "max_tokens": 1}),
                                   ("/v1/chat/completions", {"messages": [{"role": "user", "content": image}]}),
                                   ("/v1/messages", {"model": "default", "max_tokens": 1, "messages": [
                                       {"role": "user", "content": "see http://127.0.0.1:9/"}]}),
                                   ("/api/generate", {"model": "http://127.0.0.1:9/m", "prompt": "x"}),
                                   ("/api/pull", {"name": "x"}), ("/v1/embeddings", {"input": "x"}),
                                   ("/tokenize", {"prompt": "x"}), ("/v1/completions", {"prompt": "x"})]:
                    ask(address, http_request(path, body), timeout=60)
                for path in ("/v1/models", "/livez", "/readyz", "/metrics", "/version", "/", "/api/tags"):
                    ask(address, http_request(path), timeout=60)
        except RuntimeError as error:
            if "ptrace" in str(error) or "Operation not permitted" in str(error):
                return None
            raise
        calls = [line for line in log.read_text().splitlines() if "connect(" in line]
        starts = [line for line in log.read_text().splitlines() if "execve(" in line]
    return "\n".join(calls + starts[1:])


def main() -> None:
    options = arguments(__doc__)
    probes = 2000 if options.long else 25
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys.txt"
        keys.write_text(f"{ALICE} name=alice running=4 queue=8\n{BOB} name=bob\n")
        with Server(options.binary, "--api-key-file", keys) as server:
            address = ("127.0.0.1", server.port)
            across, within = probe_prefixes(address, probes, random.Random(options.seed))
            found = asyncio.run(flood(server.port, 30 if options.long else 2))
    say(f"{probes} secrets: {within} found by their own key; first token {1000 * found['quiet']:.0f} ms "
        f"quiet, {1000 * found['busy']:.0f} ms flooded, {found['refused']} of the flood refused")
    calls = calls_to_others(options.binary)
    say("connect() cannot be watched here: no strace" if calls is None else calls or "no calls to others")
    finish(
        verdict("R25", across, f"of-{probes}-prefixes-seen-by-others", across == 0 and within == probes),
        verdict("R25", found["served"], "requests-served-beside-a-flood", found["refused"] > 0),
        verdict("R25", "unknown" if calls is None else len(calls.splitlines()), "calls-to-others", not calls))


if __name__ == "__main__":
    main()
