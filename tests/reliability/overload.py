# SPDX-License-Identifier: Apache-2.0
"""R3: ten times the load that fits: what is refused is refused at once, what is taken is finished as
fast as ever, and memory stays."""

import asyncio
import random
import socket
import subprocess
import sys
import time
from pathlib import Path

from board import FairClock, Server, arguments, finish, holdings, median, percentile, say, verdict
from wire import Client, answer_of, ask_on, http_request

RUNNING, QUEUE = 8, 8
FULL = RUNNING + QUEUE  # clients that are all taken
KV_TOKENS = 640  # what the cache holds
MOST_MS = 100


class Clients:
    def __init__(self, server: Server, seed: int):
        self.port, self.random = server.port, random.Random(seed)
        self.clock = FairClock(server.process.pid)
        self.tokens, self.refused, self.wrong = 0, 0, []

    def body(self) -> dict:
        return {"prompt": f"Story {self.random.randrange(1000)}:", "stream": True,
                "max_tokens": self.random.randint(20, 60), "ignore_eos": True}

    def count(self, data: bytes) -> None:
        self.tokens += data.count(b"data: ")

    async def keep_asking(self) -> None:
        client = None
        try:
            while True:
                if client is None or client.is_closed:
                    client = await Client.connect(self.port)
                    client.on_part = self.count
                await self.ask(client)
        finally:
            if client:
                client.close()

    async def ask(self, client: Client) -> None:
        reply = await client.ask(http_request("/v1/completions", self.body()))
        if reply.status == 200:
            if not answer_of(reply).is_done:
                self.wrong.append("a stream was cut off")
            return
        self.refused += 1
        if reply.status != 429 or int(reply.headers.get("retry-after", 0)) < 1:
            self.wrong.append(f"{reply.status} {reply.headers} {reply.body}")
        # A client of ours is impatient, but not a benchmark of refusing.
        await asyncio.sleep(self.random.uniform(0.2, 0.6))

    async def over(self, seconds: float) -> float:
        before = self.tokens
        self.clock.lap()
        await asyncio.sleep(seconds)
        return (self.tokens - before) / self.clock.lap()


def measure_delays(port: int) -> None:
    """In a process of its own, whose loop is not busy: how long refusals take, and, for comparison,
    how long health does. Prints `refusal MS` and `health MS` until its input ends."""
    refused = http_request("/v1/completions", {"prompt": "x", "max_tokens": 1})
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        while True:
            for data in (http_request("/livez"), refused):
                start = time.monotonic()
                reply = ask_on(sock, data)
                took = (time.monotonic() - start) * 1000
                if reply.status in (200, 429):
                    print("health" if b"livez" in data else
                          "refusal" if reply.status == 429 else "taken", took, flush=True)
                time.sleep(0.02)


class Delays:
    def __init__(self, port: int):
        self.process = subprocess.Popen([sys.executable, str(Path(__file__)), "--delays", str(port)],
                                        stdout=subprocess.PIPE, text=True)

    def stop(self) -> dict:
        self.process.kill()
        found = {"refusal": [], "health": [], "taken": []}
        for line in self.process.stdout:
            kind, _, took = line.partition(" ")
            if took.endswith("\n"):
                found[kind].append(float(took))
        return found


async def measure(server: Server, window: float, rounds: int, most_rounds: int, seed: int) -> dict:
    clients = Clients(server, seed)
    pid = server.process.pid
    tasks = [asyncio.create_task(clients.keep_asking()) for _ in range(FULL)]
    rss, ratios = [], []
    delays = {"refusal": [], "health": [], "taken": []}

    async def overload(seconds: float) -> float:
        extra = [asyncio.create_task(clients.keep_asking()) for _ in range(9 * FULL)]
        await asyncio.sleep(0.7)
        prober = Delays(server.port)
        under = await clients.over(seconds)
        for kind, found in prober.stop().items():
            delays[kind] += found
        rss.append(holdings(pid).rss)
        for task in extra:
            task.cancel()
        await asyncio.gather(*extra, return_exceptions=True)
        await asyncio.sleep(0.5)
        return under

    while clients.tokens < 2 * KV_TOKENS:  # pages that are used for the first time are no growth
        await overload(0.5)
    rss.clear()
    before = await clients.over(window)
    for number in range(1, most_rounds + 1):
        under = await overload(window)
        after = await clients.over(window)
        ratios.append(under / ((before + after) / 2))
        say(f"round {number}: {before:.0f} {under:.0f} {after:.0f} tokens/s, ratio {ratios[-1]:.2f}, "
            f"{rss[-1] / 1e6:.1f} MB")
        before = after
        if number >= rounds and median(ratios) >= 0.95:
            break
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {"ratio": median(ratios), "growth": max(rss) / rss[0] - 1, "clients": clients,
            "delays": delays}


def main() -> None:
    if sys.argv[1:2] == ["--delays"]:
        return measure_delays(int(sys.argv[2]))
    options = arguments(__doc__)
    window, rounds, most_rounds = (20, 3, 6) if options.long else (2, 2, 5)
    with Server(options.binary, "--max-num-seqs", RUNNING, "--max-queue", QUEUE, "-c", 128,
                "--kv-cache-memory", f"{KV_TOKENS * 16}KB") as server:
        found = asyncio.run(measure(server, window, rounds, most_rounds, options.seed))
    clients, delays = found["clients"], found["delays"]
    for problem in clients.wrong[:5]:
        say(problem)
    # Where even health takes long it is the machine that is slow.
    bound = MOST_MS + percentile(delays["health"], 0.99)
    late = sum(took > bound for took in delays["refusal"])
    say(f"{clients.refused} refusals, {len(delays['refusal'])} timed: p50 "
        f"{median(delays['refusal']):.1f} ms, p99 {percentile(delays['refusal'], 0.99):.1f} ms, most "
        f"{max(delays['refusal']):.0f} ms; health p99 {percentile(delays['health'], 0.99):.1f} ms")
    finish(
        verdict("R3", round(found["ratio"], 3), "goodput-of-full-load", found["ratio"] >= 0.95),
        verdict("R3", len(clients.wrong) + late, f"late-or-wrong-refusals-of-{clients.refused}",
                not clients.wrong and late == 0 and clients.refused > 50),
        verdict("R3", round(100 * found["growth"], 1), "%-memory-growth", found["growth"] <= 0.05))


if __name__ == "__main__":
    main()
