# SPDX-License-Identifier: Apache-2.0
"""A step that hangs: health says so, the log has the stacks, and the process ends."""

import json
import threading
import time

import pytest


def ask(server):
    try:
        server.post("/v1/completions", {"prompt": "Once", "max_tokens": 50, "ignore_eos": True}, timeout=30)
    except OSError:
        pass  # the server ended


def wait_for(condition, timeout):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def livez(server) -> int:
    try:
        return server.get("/livez", timeout=5)[0]
    except OSError:
        return 0


def test_a_hanging_step_is_noticed_and_ends_the_process(start_server):
    limit = 1.0
    server = start_server("--watchdog-timeout", limit, "--watchdog-grace", 1, "--log-format", "json",
                          env={"INGOT_FAULT": "step:hang@5"})
    assert livez(server) == 200
    started = time.monotonic()
    threading.Thread(target=ask, args=(server,), daemon=True).start()
    assert wait_for(lambda: livez(server) == 503, 20)
    assert time.monotonic() - started < 2 * limit + 10  # the machine may be busy
    assert server.process.wait(30) == 70
    events = [json.loads(line) for line in server.log.splitlines()]
    assert any(e["level"] == "error" and "no progress" in e["message"] for e in events)
    stacks = [e for e in events if e["message"] == "stack"]
    assert len(stacks) >= 2
    assert any("Engine" in e["frames"] for e in stacks), stacks
    assert events[-1]["exit_code"] == 70


def test_a_server_without_work_is_well(start_server):
    server = start_server("--watchdog-timeout", 0.5, "--watchdog-grace", 0.5)
    time.sleep(1.5)
    assert livez(server) == 200
    ask(server)
    time.sleep(1.5)
    assert livez(server) == 200
    assert server.process.poll() is None


def test_a_stopped_process_is_no_reason_for_an_alarm(start_server):
    import signal
    server = start_server("--watchdog-timeout", 1, "--watchdog-grace", 1)
    worker = threading.Thread(target=ask, args=(server,), daemon=True)
    worker.start()
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(3)
    server.process.send_signal(signal.SIGCONT)
    worker.join(30)
    assert livez(server) == 200
    assert "no progress" not in server.log


def test_a_stuck_engine_does_not_keep_a_server_from_ending(start_server):
    server = start_server("--watchdog-timeout", 5, "--watchdog-grace", 60, "--drain", 0.1,
                          env={"INGOT_FAULT": "step:hang@2"})
    threading.Thread(target=ask, args=(server,), daemon=True).start()
    assert wait_for(lambda: server.metric("vllm:generation_tokens_total") >= 1, 20)
    server.process.terminate()
    assert server.process.wait(60) == 70


@pytest.mark.parametrize("flags", [("--watchdog-timeout", 0)])
def test_it_can_be_switched_off(start_server, flags):
    server = start_server(*flags, env={"INGOT_FAULT": "step:hang@2"})
    threading.Thread(target=ask, args=(server,), daemon=True).start()
    time.sleep(2)
    assert livez(server) == 200
    server.process.kill()
    server.process.wait()
