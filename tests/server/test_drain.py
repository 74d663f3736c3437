# SPDX-License-Identifier: Apache-2.0
"""How a server ends: running answers finish, newcomers are told, and the exit code is 0."""

import os
import signal
import socket
import subprocess
import time

import pytest
from wire import answer_of, ask, ask_on, http_request

LONG = {"prompt": "Once upon a time", "max_tokens": 150, "ignore_eos": True, "temperature": 0}


def begin(server, body: dict, path: str = "/v1/completions") -> socket.socket:
    """A stream of which the first bytes have come."""
    sock = socket.create_connection(("127.0.0.1", server.port), 60)
    sock.sendall(http_request(path, {**body, "stream": True}))
    sock.recv(1, socket.MSG_PEEK)
    return sock


def test_a_running_answer_is_finished_and_newcomers_are_told(start_server):
    server = start_server("--drain", 60)
    address = ("127.0.0.1", server.port)
    idle = socket.create_connection(address, 10)
    assert ask_on(idle, http_request("/livez")).status == 200
    stream = begin(server, LONG)
    waiting = socket.create_connection(address, 60)
    waiting.sendall(http_request("/v1/completions", {**LONG, "max_tokens": 100}))  # not streamed
    time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 5
    while ask(address, http_request("/readyz")).status == 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    ready = ask(address, http_request("/readyz"))
    assert (ready.status, ready.json["status"]) == (503, "draining")
    assert ask(address, http_request("/livez")).status == 200
    for path in ("/v1/completions", "/v1/chat/completions", "/v1/messages", "/api/generate"):
        late = ask(address, http_request(path, {"prompt": "x"}))
        assert late.status == 503
        assert int(late.headers["retry-after"]) >= 1
    assert idle.recv(1) == b""  # nobody loses anything: it had asked nothing
    answer = answer_of(ask_on(stream, b""))
    assert answer.is_done and answer.finish == "length" and answer.error is None
    reply = ask_on(waiting, b"")
    assert reply.json["usage"]["completion_tokens"] == 100
    assert server.process.wait(20) == 0


def test_past_the_limit_streams_end_with_an_error_event(start_server):
    server = start_server("--drain", 0.3)
    stream = begin(server, {**LONG, "max_tokens": 900})
    whole = socket.create_connection(("127.0.0.1", server.port), 60)
    whole.sendall(http_request("/v1/completions", {**LONG, "max_tokens": 900}))
    chat = begin(server, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 900,
                          "ignore_eos": True}, "/v1/chat/completions")
    anthropic = begin(server, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 900},
                      "/v1/messages")
    time.sleep(0.05)
    server.process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    for sock in (stream, chat):
        reply = ask_on(sock, b"")
        answer = answer_of(reply)
        assert reply.is_complete
        if answer.error is None:  # it was quick
            assert answer.is_done
        else:
            assert answer.error["code"] == "shutting_down"
    reply = ask_on(whole, b"")
    assert reply.status == 503
    assert reply.json["error"]["code"] == "shutting_down"
    reply = ask_on(anthropic, b"")
    assert reply.is_complete
    assert b"event: error" in reply.body or b"message_stop" in reply.body
    assert server.process.wait(20) == 0
    assert time.monotonic() - start < 10


def test_the_second_signal_ends_it_now(start_server):
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
        server = start_server("--drain", 60)
        stream = begin(server, {**LONG, "max_tokens": 900})
        server.process.send_signal(first)
        time.sleep(0.2)
        assert server.process.poll() is None
        start = time.monotonic()
        server.process.send_signal(second)
        assert server.process.wait(20) == 0
        assert time.monotonic() - start < 1
        stream.close()


def test_an_idle_server_ends_at_once(start_server):
    server = start_server()
    idle = socket.create_connection(("127.0.0.1", server.port), 10)
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0
    assert time.monotonic() - start < 1
    idle.close()


def test_other_signals_change_nothing(start_server):
    server = start_server()
    for number in (signal.SIGPIPE, signal.SIGHUP):
        server.process.send_signal(number)
        time.sleep(0.05)
        assert ask(("127.0.0.1", server.port), http_request("/livez")).status == 200
    assert server.stop() == 0


def test_it_needs_neither_stdout_nor_stderr(binary):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(["sh", "-c", f'exec "{binary}" serve -t 1 --port {port} <&- >&- 2>&-'])
    address = ("127.0.0.1", port)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if ask(address, http_request("/readyz")).status == 200:
                    break
            except OSError:
                time.sleep(0.02)
        reply = ask(address, http_request("/v1/completions", {"prompt": "Once", "max_tokens": 3}))
        assert reply.status == 200 and reply.is_complete
        stream = ask(address, http_request("/v1/completions", {"prompt": "Once", "max_tokens": 3,
                                                               "stream": True}))
        assert answer_of(stream).is_done
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()


def test_a_reader_of_its_log_may_leave(binary):
    """Messages to a closed pipe must not end it."""
    reading, writing = os.pipe()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([binary, "serve", "-t", "1", "--port", str(port)], stderr=writing,
                               stdout=writing)
    os.close(writing)
    address = ("127.0.0.1", port)
    try:
        assert os.read(reading, 1)
        os.close(reading)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if ask(address, http_request("/readyz")).status == 200:
                    break
            except OSError:
                time.sleep(0.02)
        assert ask(address, http_request("/v1/completions", {"prompt": "a", "max_tokens": 1})).status == 200
        process.send_signal(signal.SIGTERM)  # prints a line to nobody
        assert process.wait(20) == 0
    finally:
        process.kill()


def test_the_port_is_free_again_after_kill_9(binary, start_server):
    server = start_server()
    stream = begin(server, {**LONG, "max_tokens": 900})
    server.process.kill()
    server.process.wait()
    stream.close()
    again = start_server("--port", server.port)
    assert ask(("127.0.0.1", again.port), http_request("/readyz")).status == 200


def test_a_port_in_use_is_told(binary, server):
    done = subprocess.run([binary, "serve", "-t", "1", "--port", str(server.port)],
                          capture_output=True, timeout=60, text=True)
    assert done.returncode not in (0, -6, -11)
    assert f"port {server.port}" in done.stderr and "--port" in done.stderr


@pytest.mark.parametrize("where", ["head", "body"])
def test_half_a_request_does_not_hold_up_the_end_beyond_the_limit(start_server, where):
    server = start_server("--drain", 1)
    sock = socket.create_connection(("127.0.0.1", server.port), 10)
    sock.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n"
                 + (b"\r\n{" if where == "body" else b""))
    time.sleep(0.1)
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(20) == 0
    assert time.monotonic() - start < 2.5
    sock.close()
