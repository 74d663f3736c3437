# SPDX-License-Identifier: Apache-2.0
"""A device that is lost ends the server; one without memory costs one request. Simulated: no GPU needed."""

import json
import os
import subprocess
import threading

from wire import answer_of, ask, http_request

BODY = {"prompt": "Once upon a time", "max_tokens": 200, "temperature": 0, "ignore_eos": True}


def test_a_lost_device_fails_what_runs_and_ends_the_process(start_server):
    server = start_server("--log-format", "json", "--device", "cpu", env={"INGOT_FAULT": "step:lost@20"})
    address, replies = ("127.0.0.1", server.port), []
    threads = [threading.Thread(target=lambda s=stream: replies.append(
        (s, ask(address, http_request("/v1/completions", {**BODY, "stream": s}), timeout=60))))
        for stream in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for is_stream, reply in replies:
        assert answer_of(reply).error, "it ended without a word"
        assert is_stream or reply.status == 500
    assert server.process.wait(30) == 70
    told = [json.loads(line) for line in server.log.splitlines()]
    lines = [event for event in told if "the device is lost" in event["message"]]
    assert len(lines) == 1 and lines[0]["level"] == "error" and lines[0]["exit_code"] == 70


def test_no_memory_is_the_servers_fault_and_not_the_end(start_server):
    server = start_server("--device", "cpu", env={"INGOT_FAULT": "step:oom@5"})
    status, _, body = server.post("/v1/completions", BODY)
    assert status == 500 and "memory" in body["error"]["message"]
    status, _, body = server.post("/v1/completions", {**BODY, "max_tokens": 5})
    assert status == 200 and body["usage"]["completion_tokens"] == 5


def test_faults_of_a_gpu_need_one(binary):
    told = subprocess.run([binary, "serve", "default", "--device", "cpu", "--port", "0"], capture_output=True,
                          text=True, timeout=60, env={**os.environ, "INGOT_FAULT": "cuda:sticky@3"})
    assert told.returncode == 2 and "no CUDA device" in told.stderr
