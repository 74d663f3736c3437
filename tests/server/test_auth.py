# SPDX-License-Identifier: Apache-2.0
"""Keys: who may ask, how much, and that nobody learns anything of anybody else."""

import json
import socket
import subprocess
import threading
import time

import pytest
from serving import Server
from wire import ask, ask_on, http_request, talk

KEYS = {"alice": "sk-alice-0123456789", "bob": "sk-bob-0123456789abc"}
COMPLETION = {"prompt": "Once upon a time", "max_tokens": 2, "temperature": 0}


@pytest.fixture(scope="module")
def guarded(binary, tmp_path_factory):
    """Two keys; alice may run one request and have one wait."""
    path = tmp_path_factory.mktemp("keys") / "keys.txt"
    path.write_text(f"# who may ask\n{KEYS['alice']} name=alice running=1 queue=1\n\n"
                    f"{KEYS['bob']} name=bob\n")
    with Server(binary, "--api-key-file", path) as server:
        yield server


@pytest.fixture
def address(guarded):
    return ("127.0.0.1", guarded.port)


def bearer(key: str) -> dict:
    return {"Authorization": f"Bearer {key}"}


def test_a_key_opens_the_door(address):
    for headers in (bearer(KEYS["alice"]), {"x-api-key": KEYS["bob"]},
                    {"authorization": "bearer " + KEYS["bob"]}):
        assert ask(address, http_request("/v1/completions", COMPLETION, headers=headers)).status == 200


@pytest.mark.parametrize("headers", [
    {}, bearer(""), bearer("wrong"), bearer(KEYS["alice"][:-1]), bearer(KEYS["alice"] + "x"),
    bearer(KEYS["alice"].upper()), {"Authorization": KEYS["alice"]},
    {"Authorization": "Basic " + KEYS["alice"]}, {"x-api-key": ""}, {"Cookie": KEYS["alice"]},
    bearer("x" * 4000), {"x-api-key": KEYS["alice"] + "," + KEYS["bob"]}])
def test_anything_else_does_not(address, headers):
    reply = ask(address, http_request("/v1/completions", COMPLETION, headers=headers))
    assert reply.status == 401
    assert reply.json["error"]["code"] == "invalid_api_key"
    assert reply.headers["www-authenticate"] == "Bearer"
    assert KEYS["alice"] not in reply.body.decode()


def test_a_key_in_the_address_does_not_count(address):
    for key in ("key", "api_key", "access_token"):
        assert ask(address, http_request(f"/v1/models?{key}={KEYS['alice']}")).status == 401


def test_the_key_is_checked_before_the_body_is_read(address):
    start = time.monotonic()
    data = talk(address, b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Length: 1000000\r\n\r\n", timeout=5)
    assert data.startswith(b"HTTP/1.1 401 ")
    assert time.monotonic() - start < 4
    data = talk(address, b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n", timeout=5)
    assert data.startswith(b"HTTP/1.1 401 ")


def test_without_a_key_unknown_paths_look_like_known_ones(address):
    for path in ("/v1/models", "/nowhere", "/v1/", "/admin", "//v1/models", "/v1/models/../models"):
        assert ask(address, http_request(path)).status == 401
    assert ask(address, http_request("/nowhere", headers=bearer(KEYS["bob"]))).status == 404


def test_health_is_public(address):
    for path in ("/livez", "/readyz", "/health", "/"):
        assert ask(address, http_request(path)).status == 200


def test_errors_follow_the_protocol_of_the_path(address):
    anthropic = ask(address, http_request("/v1/messages", {}))
    assert anthropic.status == 401
    assert anthropic.json["type"] == "error"
    assert anthropic.json["error"]["type"] == "authentication_error"
    ollama = ask(address, http_request("/api/chat", {}))
    assert ollama.status == 401
    assert isinstance(ollama.json["error"], str)


def cached_tokens(address, key: str, prompt: str, salt: str | None = None) -> int:
    """Of the prompt; 0 or 1 (the beginning of every prompt) for a text that is new to the key."""
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0}
    reply = ask(address, http_request("/v1/completions", {**body, **({"cache_salt": salt} if salt else {})},
                                      headers=bearer(key)))
    assert reply.status == 200
    return reply.json["usage"]["prompt_tokens_details"]["cached_tokens"]


def test_cached_prefixes_belong_to_a_key(address):
    secret = "The secret of Alice is that she keeps a small blue dragon in her garden shed. " * 2
    assert cached_tokens(address, KEYS["alice"], secret) <= 1
    assert cached_tokens(address, KEYS["alice"], secret) > 16
    assert cached_tokens(address, KEYS["bob"], secret) <= 1
    assert cached_tokens(address, KEYS["bob"], secret) > 16
    assert cached_tokens(address, KEYS["alice"], secret, salt="mine") <= 1


def test_a_salt_cannot_reach_into_another_key(address, guarded):
    """Nobody can write the other's namespace in cache_salt."""
    import hashlib
    secret = "Bob has hidden the golden ring under the third stone of the old bridge. " * 2
    assert cached_tokens(address, KEYS["bob"], secret) <= 1
    digest = hashlib.sha256(KEYS["bob"].encode()).hexdigest()
    for salt in (digest, KEYS["bob"], "bob", digest + "x"):
        assert cached_tokens(address, KEYS["alice"], secret, salt=salt) <= 1


def test_prefixes_can_be_shared(start_server):
    server = start_server("--api-key", KEYS["alice"], "--api-key", KEYS["bob"], "--share-prefix")
    address = ("127.0.0.1", server.port)
    text = "This text is known to everybody who may ask this server, and so it is cached. " * 2
    assert cached_tokens(address, KEYS["alice"], text) <= 1
    assert cached_tokens(address, KEYS["bob"], text) > 16


def test_a_key_has_its_own_bounds(guarded, address):
    """One of alice's runs, one waits, the third is refused; bob is served meanwhile."""
    long = {"prompt": "Once", "max_tokens": 1000, "ignore_eos": True, "stream": True, "seed": 1}
    held = []
    for _ in range(2):
        sock = socket.create_connection(address, 30)
        sock.sendall(http_request("/v1/completions", long, headers=bearer(KEYS["alice"])))
        held.append(sock)
        if len(held) == 1:
            assert sock.recv(12) == b"HTTP/1.1 200"
    deadline = time.monotonic() + 5
    # Asking sooner could take the second's place.
    while (guarded.metric("vllm:num_requests_waiting", headers=bearer(KEYS["bob"])) < 1
           and time.monotonic() < deadline):
        time.sleep(0.001)
    start = time.monotonic()
    refused = ask(address, http_request("/v1/completions", COMPLETION, headers=bearer(KEYS["alice"])))
    assert refused.status == 429
    assert time.monotonic() - start < 1
    assert refused.json["error"]["type"] == "rate_limit_error"
    assert refused.json["error"]["code"] == "rate_limit_exceeded"
    assert int(refused.headers["retry-after"]) >= 1
    anthropic = ask(address, http_request("/v1/messages", {}, headers={"x-api-key": KEYS["alice"]}))
    assert (anthropic.status, anthropic.json["error"]["type"]) == (429, "rate_limit_error")
    assert ask(address, http_request("/readyz")).status == 200  # there is room for others
    assert ask(address, http_request("/v1/completions", COMPLETION,
                                     headers=bearer(KEYS["bob"]))).status == 200
    held[1].settimeout(0.2)
    with pytest.raises(TimeoutError):  # it waits for its turn
        held[1].recv(1)
    held[0].close()
    held[1].settimeout(30)
    assert held[1].recv(12) == b"HTTP/1.1 200"
    held[1].close()


def test_a_flood_by_one_key_leaves_the_other_served(address):
    stop = threading.Event()
    refused = []

    def flood():
        with socket.create_connection(address, 30) as sock:
            while not stop.is_set():
                reply = ask_on(sock, http_request("/v1/completions", {**COMPLETION, "max_tokens": 50},
                                                  headers=bearer(KEYS["alice"])))
                refused.append(reply.status == 429)

    threads = [threading.Thread(target=flood) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert ask(address, http_request("/v1/completions", COMPLETION,
                                             headers=bearer(KEYS["bob"]))).status == 200
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert any(refused)


# --- Keys as they are given ---

@pytest.mark.parametrize("text,named", [("short\n", "1"), ("sk-long-enough colour=red\n", "1"),
                                        ("sk-long-enough\nsk-long-enough2 running=0\n", "2"),
                                        ("sk-long-enough running=-1\n", "1"), ("# none\n", "no keys"),
                                        ("x" * 2000 + "\n", "1")])
def test_a_wrong_key_file_is_named_without_its_keys(binary, tmp_path, text, named):
    path = tmp_path / "keys.txt"
    path.write_text(text)
    done = subprocess.run([binary, "serve", "-t", "1", "--port", "0", "--api-key-file", path],
                          capture_output=True, timeout=60, text=True)
    assert done.returncode == 2
    assert str(path) in done.stderr and named in done.stderr
    assert "sk-long" not in done.stderr and "xxxx" not in done.stderr


def test_a_missing_key_file_is_named(binary):
    done = subprocess.run([binary, "serve", "-t", "1", "--port", "0", "--api-key-file", "/none.txt"],
                          capture_output=True, timeout=60, text=True)
    assert done.returncode == 2
    assert "/none.txt" in done.stderr


def test_keys_are_not_shown(guarded):
    assert all(key not in guarded.log for key in KEYS.values())


def test_several_keys_of_the_command_line(start_server):
    server = start_server("--api-key", KEYS["alice"], "--api-key", KEYS["bob"])
    address = ("127.0.0.1", server.port)
    for key in KEYS.values():
        assert ask(address, http_request("/v1/models", headers=bearer(key))).status == 200
    assert ask(address, http_request("/v1/models")).status == 401
    # With keys, a name that is not ours may be used: a page that does not know a key learns nothing.
    assert ask(address, b"GET /v1/models HTTP/1.1\r\nHost: any.example\r\nAuthorization: Bearer "
               + KEYS["bob"].encode() + b"\r\n\r\n").status == 200


def test_json_of_refusals_is_valid(address):
    for headers in ({}, bearer("\xff\xfe")):
        assert json.loads(ask(address, http_request("/v1/models", headers=headers)).body)
