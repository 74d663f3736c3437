# SPDX-License-Identifier: Apache-2.0
"""R8: a step that hangs is noticed in time: liveness fails, the process ends with code 70, so that a
supervisor starts another. Without a fault there is no alarm, at full load and in a long prompt."""

import socket
import subprocess
import threading
import time

from board import Server, arguments, finish, say, verdict
from wire import ask, http_request

LIMIT, GRACE = 2.0, 1.0
FATAL = 70  # what a supervisor sees
LONG = {"prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": True}


def has_watchdog(binary: str) -> bool:
    told = subprocess.run([binary, "serve", "--help"], capture_output=True, text=True, timeout=60)
    return "--watchdog-timeout" in told.stdout


def detection(binary: str) -> tuple[float, int, str]:
    """Seconds from the hang to a failing /livez, the exit code, and the log."""
    flags = ("--watchdog-timeout", LIMIT, "--watchdog-grace", GRACE)
    with Server(binary, *flags, env={"INGOT_FAULT": "step:hang@10"}) as server:
        address = ("127.0.0.1", server.port)
        with socket.create_connection(address, 60) as sock:
            sock.sendall(http_request("/v1/completions", {**LONG, "stream": True}))
            sock.settimeout(0.5)
            try:
                while sock.recv(65536):
                    pass
            except TimeoutError:
                pass  # it hangs, since half a second ago
            start, status = time.monotonic() - 0.5, 200
            while status == 200 and time.monotonic() - start < 5 * LIMIT:
                try:
                    status = ask(address, http_request("/livez"), timeout=2).status
                except OSError:
                    status = 0  # it has ended already
                time.sleep(0.05)
            took = time.monotonic() - start
        try:
            code = server.process.wait(GRACE + 10)
        except subprocess.TimeoutExpired:
            code = -1
        log = server.log
    return (took if status == 503 else float("inf")), code, log


def false_alarms(binary: str, seconds: float) -> int:
    """Alarms at full load and in long prompts; a machine may be so busy that a step takes seconds."""
    with Server(binary, "--watchdog-timeout", 30, "--watchdog-grace", 1, "--max-num-batched-tokens", 1024) as server:
        address, alarms, stop = ("127.0.0.1", server.port), 0, time.monotonic() + seconds

        def load(number: int) -> None:
            while time.monotonic() < stop:
                prompt = f"{number} " + "Once upon a time there was a dog. " * (60 if number % 2 else 1)
                ask(address, http_request("/v1/completions", {"prompt": prompt, "max_tokens": 20}), timeout=120)

        threads = [threading.Thread(target=load, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            alarms += ask(address, http_request("/livez"), timeout=30).status != 200
            time.sleep(0.1)
        return alarms + (server.process.poll() is not None)


def main() -> None:
    options = arguments(__doc__)
    if not has_watchdog(options.binary):
        say("this build has no watchdog")
        finish(verdict("R8", "unknown", "no-watchdog", False))
    took, code, log = detection(options.binary)
    say(f"exit code {code}; {log.strip().splitlines()[-1][:200]}")
    alarms = false_alarms(options.binary, 60 if options.long else 3)
    finish(verdict("R8", round(took, 1), f"s-to-detect-a-hang-of-limit-{LIMIT:.0f}",
                   took <= 2 * LIMIT and code == FATAL),
           verdict("R8", alarms, "false-alarms", alarms == 0))


if __name__ == "__main__":
    main()
