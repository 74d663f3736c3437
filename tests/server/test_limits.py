# SPDX-License-Identifier: Apache-2.0
"""What a client may send, how long it may take, and how slowly it may read: each bound is hit."""

import json
import socket
import time

import pytest
from serving import Server
from wire import answer_of, ask, ask_on, http_request, is_whole, parse_reply, talk

COMPLETION = {"prompt": "Once upon a time", "max_tokens": 4, "temperature": 0}


@pytest.fixture(scope="module")
def strict(binary):
    """A server with bounds that a test can reach soon."""
    with Server(binary, "--header-timeout", 0.6, "--body-grace", 0.5, "--min-body-rate", 400,
                "--keep-alive", 0.5, "--max-body-bytes", 10_000, "--max-connections", 12) as server:
        yield server


@pytest.fixture
def address(strict):
    return ("127.0.0.1", strict.port)


def only_reply(data: bytes):
    reply, rest = parse_reply(data)
    assert reply is not None and reply.is_complete and not rest, data
    return reply


def refusal(address, data: bytes, timeout: float = 5):
    """The one reply after which the server closed."""
    reply = only_reply(talk(address, data, timeout))
    assert reply.headers["connection"] == "close"
    assert reply.json["error"]["message"]
    return reply


# --- Heads ---

def test_a_head_has_a_largest_size(address):
    line = b"X-Pad: " + b"x" * 7000 + b"\r\n"
    head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
    assert only_reply(talk(address, head + line * 4 + b"Connection: close\r\n\r\n")).status == 200
    assert refusal(address, head + line * 5 + b"\r\n").status == 431
    assert refusal(address, head + b"X: " + b"y" * 200_000).status == 431  # never ends


def test_a_header_has_a_largest_size(address):
    head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: "
    assert only_reply(talk(address, head + b"y" * 8000 + b"\r\n\r\n")).status == 200
    assert refusal(address, head + b"y" * 8200 + b"\r\n\r\n").status == 431
    assert refusal(address, b"GET /" + b"y" * 8200 + b" HTTP/1.1\r\nHost: a\r\n\r\n").status == 431


def test_headers_are_counted(address):
    head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert only_reply(talk(address, head + b"A: b\r\n" * 98 + b"\r\n")).status == 200
    assert refusal(address, head + b"A: b\r\n" * 99 + b"\r\n").status == 431


def test_a_head_that_trickles_in_ends_with_408(address):
    with socket.create_connection(address, 10) as sock:
        start = time.monotonic()
        sock.sendall(b"GET /livez HTTP/1.1\r\n")
        sock.settimeout(0.1)
        data = b""
        while True:
            try:
                part = sock.recv(1000)
                if not part:
                    break
                data += part
            except TimeoutError:
                if not data:
                    sock.sendall(b"X")
        assert only_reply(data).status == 408
        assert 0.5 < time.monotonic() - start < 5


def test_silence_and_endless_empty_lines_are_ended(address):
    assert talk(address, b"", timeout=5) == b""
    with socket.create_connection(address, 5) as sock:
        end = time.monotonic() + 5
        try:
            while time.monotonic() < end:
                sock.sendall(b"\r\n" * 4000)
                time.sleep(0.01)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() < end


def test_a_connection_without_requests_is_closed_after_a_while(address):
    with socket.create_connection(address, 5) as sock:
        assert ask_on(sock, http_request("/livez")).status == 200
        start = time.monotonic()
        assert sock.recv(10) == b""
        assert 0.3 < time.monotonic() - start < 4


# --- Bodies ---

def test_a_body_has_a_largest_size(address):
    def post(size: int) -> bytes:
        return http_request("/tokenize", json.dumps({"prompt": "a" * size}).encode(),
                            headers={"Connection": "close"})
    assert only_reply(talk(address, post(9000))).status == 200
    assert refusal(address, post(10_001)).status == 413


def test_the_largest_size_holds_for_chunks_too(address):
    head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert refusal(address, head + b"3e8\r\n" + b"a" * 1000 + b"\r\n" + (
        b"3e8\r\n" + b"a" * 1000 + b"\r\n") * 10).status == 413
    assert refusal(address, head + b"ffffffff\r\n").status == 413
    for size in (b"-2", b"0x10", b"10000000000000000", b"fffffffffffffffff", b"", b"g"):
        assert refusal(address, head + size + b"\r\nabc\r\n0\r\n\r\n").status in (400, 413), size


def test_a_large_length_is_refused_before_any_of_the_body(address):
    head = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    for length in (10_001, 2**31, 2**63 - 1):
        assert refusal(address, head % length).status == 413
    for length in (2**64 - 1, 2**64, 10**30):
        assert refusal(address, head % length).status in (400, 413)


def test_a_body_that_trickles_in_ends_with_408(address):
    with socket.create_connection(address, 10) as sock:
        start = time.monotonic()
        sock.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{")
        sock.settimeout(0.1)
        data = b""
        while True:
            try:
                part = sock.recv(1000)
                if not part:
                    break
                data += part
            except TimeoutError:
                if not data:
                    sock.sendall(b" ")
        assert only_reply(data).status == 408
        assert 0.4 < time.monotonic() - start < 5


def test_a_body_at_the_least_rate_is_taken(address):
    body = json.dumps({"prompt": "a" * 2000}).encode()
    with socket.create_connection(address, 10) as sock:
        sock.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                     % len(body))
        for at in range(0, len(body) - 400, 400):  # several times the least: machines may be busy
            sock.sendall(body[at:at + 400])
            time.sleep(0.2)
        assert ask_on(sock, body[at + 400:]).status == 200


def test_all_bodies_together_have_a_largest_size(start_server):
    server = start_server("--max-bodies-bytes", 3_000_000)
    address = ("127.0.0.1", server.port)
    head = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"
    held = []
    for _ in range(2):
        held.append(socket.create_connection(address, 10))
        held[-1].sendall(head + b"{" + b" " * 1_200_000)
    time.sleep(0.3)
    crowded = socket.create_connection(address, 10)
    try:
        crowded.sendall(head + b"{" + b" " * 1_200_000)
    except OSError:
        pass
    reply = ask_on(crowded, b"")
    assert reply.status == 429
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json["error"]["type"] == "rate_limit_error"
    for sock in held + [crowded]:
        sock.close()
    time.sleep(0.2)
    large = http_request("/tokenize", {"prompt": "a" * 2_500_000})
    for _ in range(3):  # nothing is left of them
        assert ask(address, large).status == 200


# --- Connections ---

def test_connections_beyond_the_most_wait_for_their_turn(strict, address):
    time.sleep(1.2)  # those of other tests have ended
    held = [socket.create_connection(address, 5) for _ in range(12)]
    for sock in held:
        assert ask_on(sock, http_request("/livez")).status == 200
    late = socket.create_connection(address, 5)
    late.sendall(http_request("/livez"))
    late.settimeout(0.25)
    with pytest.raises(TimeoutError):  # it is in the backlog
        late.recv(1)
    held.pop().close()
    late.settimeout(5)
    assert ask_on(late, b"").status == 200
    for sock in held + [late]:
        sock.close()


# --- Slow readers ---

LONG = {"prompt": "Once upon a time", "temperature": 0.8, "seed": 5, "ignore_eos": True,
        "max_tokens": 400, "stream": True, "stream_options": {"include_usage": True},
        "logprobs": 20}  # many bytes a token: the buffers fill soon


@pytest.fixture(scope="module")
def narrow(binary):
    with Server(binary, "--send-buffer", 32768, "--write-timeout", 1.5) as server:
        yield server


def slow_socket(server):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
    sock.settimeout(30)
    sock.connect(("127.0.0.1", server.port))
    return sock


def test_a_reader_that_rests_gets_every_byte_later(start_server):
    server = start_server("--send-buffer", 32768, "--write-timeout", 30)
    with slow_socket(server) as sock:
        sock.sendall(http_request("/v1/completions", LONG))
        time.sleep(1.0)  # its sequence has come to rest long since
        resting = answer_of(ask(("127.0.0.1", server.port), http_request("/v1/completions", {
            **LONG, "max_tokens": 60})))  # others go on
        assert resting.is_done
        slow = answer_of(ask_on(sock, b""))
    whole = answer_of(ask(("127.0.0.1", server.port), http_request("/v1/completions", {
        **LONG, "stream": False}), timeout=60))
    assert slow.is_done
    assert (slow.text, slow.finish, slow.tokens) == (whole.text, whole.finish, whole.tokens)
    assert slow.tokens == 400


def test_a_reader_that_never_reads_is_cut_off_and_hurts_nobody(narrow):
    with slow_socket(narrow) as sock:
        sock.sendall(http_request("/v1/completions", LONG))
        start = time.monotonic()
        while time.monotonic() - start < 4:
            good = answer_of(ask(("127.0.0.1", narrow.port), http_request("/v1/completions", {
                **COMPLETION, "stream": True})))
            assert good.is_done
            time.sleep(0.2)
        sock.settimeout(1)
        data = b""
        try:
            while part := sock.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        assert not data.endswith(b"0\r\n\r\n")  # it has not been told that this was all
        assert len(data) < 300_000


def test_a_slow_reader_of_a_whole_reply_gets_it(narrow):
    """Large replies that were made long since: prompt_logprobs of a long prompt."""
    body = {"prompt": "Once upon a time there was a dog. " * 40, "max_tokens": 1,
            "prompt_logprobs": 10, "temperature": 0}
    with slow_socket(narrow) as sock:
        sock.sendall(http_request("/v1/completions", body))
        data = bytearray()
        while not is_whole(data):
            part = sock.recv(2048)
            assert part, "cut off"
            data += part
            time.sleep(0.002)
    reply = only_reply(bytes(data))
    assert reply.json["usage"]["prompt_tokens"] > 300
