# SPDX-License-Identifier: Apache-2.0
"""R9: a device that is lost ends the server within five seconds: what ran hears of it, nothing is answered
with 200 any more. A device without memory fails one request; the other seven streams stay exact. Where there
is a GPU it is really broken; elsewhere a step only says so, and the figures are called simulated."""

import subprocess
import threading
import time

from board import Server, arguments, finish, say, verdict
from wire import answer_of, ask, http_request

STREAMS = 8
FATAL = 70  # what a supervisor sees
LIMIT = 5.0


def has_gpu(binary: str) -> bool:
    told = subprocess.run([binary, "bench", "kernels", "--device", "cuda", "--json"], capture_output=True,
                          text=True, timeout=120)
    if told.returncode != 0:
        say(f"no GPU is used: {told.stderr.strip()}")
    return told.returncode == 0


def request(number: int, tokens: int) -> bytes:
    return http_request("/v1/completions", {"prompt": f"Once upon a time {number} dogs", "max_tokens": tokens,
                                            "temperature": 0, "ignore_eos": True, "stream": True})


def ask_all(server: Server, tokens: int, on_end=lambda: None) -> list:
    """The replies to STREAMS requests at once; None where the connection broke."""
    replies = [None] * STREAMS

    def one(number: int) -> None:
        try:
            replies[number] = ask(("127.0.0.1", server.port), request(number, tokens), timeout=120)
        except OSError as problem:
            say(f"stream {number}: {problem}")
        on_end()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def lost(binary: str, fault: str, flags: list) -> tuple[int, int, float, int]:
    """200s after the fault, streams that were not told, seconds to the end, and the exit code."""
    answered, began, is_over = [0], [], threading.Event()
    with Server(binary, *flags, env={"INGOT_FAULT": f"{fault}@40"}) as server:

        def keep_asking() -> None:
            """New requests, from the moment the first stream has failed."""
            is_over.wait()
            while server.process.poll() is None:
                try:
                    status = ask(("127.0.0.1", server.port), request(99, 1), timeout=10).status
                except OSError:
                    continue  # it has ended, or is about to
                answered[0] += status == 200

        def note() -> None:
            began.append(time.monotonic())
            is_over.set()

        asker = threading.Thread(target=keep_asking)
        asker.start()
        replies = ask_all(server, 400, note)
        try:
            code = server.process.wait(30)
        except subprocess.TimeoutExpired:
            code = -1
            server.process.kill()
        took = time.monotonic() - began[0]
        asker.join()
        lines = [line for line in server.log.splitlines() if "the device is lost" in line]
        say(f"exit code {code} after {took:.1f} s; {lines[-1][:200] if lines else 'no word in the log'}")
    untold = sum(reply is None or answer_of(reply).error is None for reply in replies)
    return answered[0], untold + (len(lines) != 1), took, code


def out_of_memory(binary: str, fault: str, flags: list) -> tuple[int, int]:
    """Streams that failed, and those that are not as they would have been."""
    with Server(binary, *flags) as server:
        truths = [answer_of(ask(("127.0.0.1", server.port), request(i, 60), timeout=120)).text
                  for i in range(STREAMS)]
    with Server(binary, *flags, env={"INGOT_FAULT": f"{fault}@20"}) as server:
        answers = [answer_of(reply) for reply in ask_all(server, 60)]
        failed = sum(answer.error is not None for answer in answers)
        wrong = sum(answer.error is None and answer.text != truth for answer, truth in zip(answers, truths))
        again = answer_of(ask(("127.0.0.1", server.port), request(0, 60), timeout=120))
        return failed, wrong + (again.text != truths[0])


def main() -> None:
    options = arguments(__doc__)
    is_real = has_gpu(options.binary)
    # On a GPU streams stay exact in any company only where that is asked for.
    flags = ["--device", "cuda", "--batch-invariant"] if is_real else ["--device", "cpu"]
    suffix = "" if is_real else ",simulated"
    answered, untold, took, code = lost(options.binary, "cuda:sticky" if is_real else "step:lost", flags)
    failed, wrong = out_of_memory(options.binary, "cuda:oom" if is_real else "step:oom", flags)
    finish(verdict("R9", answered, f"200s-after-a-lost-device{suffix}", answered == 0 and untold == 0),
           verdict("R9", round(took, 1), f"s-to-the-end-with-code-{code}{suffix}", took <= LIMIT and code == FATAL),
           verdict("R9", failed, f"requests-failed-without-memory,{wrong}-others-wrong{suffix}",
                   failed == 1 and wrong == 0))


if __name__ == "__main__":
    main()
