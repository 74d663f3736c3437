# SPDX-License-Identifier: Apache-2.0
"""The wire itself: what a careful client may do with HTTP/1.1, over TCP, TLS and Unix sockets."""

import http.client
import json
import socket
import ssl
import subprocess
import urllib.request
import warnings

import pytest
from wire import answer_of, ask, ask_on, http_request, parse_reply, talk

COMPLETION = {"prompt": "Once upon a time", "max_tokens": 4, "temperature": 0}
CLOSE = {"Connection": "close"}


@pytest.fixture
def address(server):
    return ("127.0.0.1", server.port)


def replies_of(data: bytes) -> list:
    found = []
    while data:
        reply, data = parse_reply(data)
        assert reply is not None and reply.is_complete, data
        found.append(reply)
    return found


def chunked(body: bytes, size: int, trailer: bytes = b"") -> bytes:
    chunks = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\n" + trailer + b"\r\n"


def post_chunked(path: str, body: bytes) -> bytes:
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n").encode() + body


# --- Connections that stay ---

def test_a_connection_serves_many_requests(address):
    with socket.create_connection(address, 30) as sock:
        for _ in range(5):
            reply = ask_on(sock, http_request("/v1/completions", COMPLETION))
            assert reply.status == 200
            assert reply.headers["connection"] == "keep-alive"
        assert ask_on(sock, http_request("/v1/completions", {"prompt": 7})).status == 400
        assert ask_on(sock, http_request("/nowhere")).status == 404
        assert ask_on(sock, http_request("/v1/models")).status == 200


def test_a_stream_leaves_the_connection_usable(address):
    with socket.create_connection(address, 30) as sock:
        for _ in range(2):
            reply = ask_on(sock, http_request("/v1/completions", {**COMPLETION, "stream": True}))
            assert answer_of(reply).is_done
        assert ask_on(sock, http_request("/livez")).status == 200


def test_close_is_honoured(address):
    data = talk(address, http_request("/livez", headers=CLOSE))
    assert replies_of(data)[0].headers["connection"] == "close"


def test_pipelined_requests_are_answered_in_order(address):
    paths = ["/livez", "/version", "/nowhere", "/v1/models", "/livez"]
    data = b"".join(http_request(path) for path in paths[:-1])
    data += http_request("/v1/completions", COMPLETION) + http_request("/livez", headers=CLOSE)
    replies = replies_of(talk(address, data))
    assert [reply.status for reply in replies] == [200, 200, 404, 200, 200, 200]
    assert "version" in replies[1].json
    assert replies[4].json["object"] == "text_completion"


def test_a_request_may_come_byte_by_byte(address):
    with socket.create_connection(address, 30) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = http_request("/tokenize", {"prompt": "Once"})
        for byte in request[:-1]:
            sock.sendall(bytes([byte]))
        assert ask_on(sock, request[-1:]).status == 200


def test_empty_lines_before_a_request_are_skipped(address):
    assert replies_of(talk(address, b"\r\n\r\n" + http_request("/livez", headers=CLOSE)))[0].status == 200


# --- Methods and versions ---

def test_head_has_the_headers_of_get_and_no_body(address):
    with socket.create_connection(address, 30) as sock:
        reply = ask_on(sock, http_request("/livez", method="HEAD"), is_head=True)
        assert reply.status == 200
        assert int(reply.headers["content-length"]) > 0
        assert ask_on(sock, http_request("/livez")).json == {"status": "ok"}  # nothing was in between


def test_other_methods_are_told_which_there_are(address):
    reply = ask(address, http_request("/v1/completions", method="DELETE"))
    assert reply.status == 405
    assert reply.headers["allow"] == "POST"
    assert ask(address, http_request("/livez", body={})).status == 405


def test_http_10_gets_a_body_that_ends_with_the_connection(address):
    assert replies_of(talk(address, b"GET /livez HTTP/1.0\r\n\r\n"))[0].status == 200
    body = json.dumps({**COMPLETION, "stream": True}).encode()
    data = talk(address, b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body))
    assert b"transfer-encoding" not in data.lower()
    assert data.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_closed_its_sending_side_is_served(address, version):
    body = json.dumps({**COMPLETION, "max_tokens": 24}).encode()
    head = f"POST /v1/completions HTTP/{version}\r\nHost: localhost\r\nContent-Length: {len(body)}"
    data = talk(address, f"{head}\r\nConnection: close\r\n\r\n".encode() + body, half_close=True)
    if version == "1.0":
        assert data.startswith(b"HTTP/1.1 200 ")  # interim replies are not for HTTP/1.0
    assert replies_of(data)[0].json["usage"]["completion_tokens"] == 24


# --- Bodies ---

@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_chunked_bodies_are_taken(address, size):
    body = json.dumps(COMPLETION).encode()
    data = talk(address, post_chunked("/v1/completions", chunked(body, size)))
    assert replies_of(data)[0].status == 200


def test_chunk_extensions_and_trailers_are_skipped(address):
    body = json.dumps(COMPLETION).encode()
    data = b"%x;name=value\r\n%s\r\n0\r\nX-Trailer: yes\r\n\r\n" % (len(body), body)
    assert replies_of(talk(address, post_chunked("/v1/completions", data)))[0].status == 200


def test_expect_continue_is_answered_before_the_body(address):
    body = json.dumps(COMPLETION).encode()
    with socket.create_connection(address, 30) as sock:
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body))
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert ask_on(sock, body).status == 200


def test_a_refused_head_is_refused_without_continue(address):
    data = talk(address, b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                b"Content-Length: 100\r\n\r\n")
    assert data.startswith(b"HTTP/1.1 404 ")
    assert len(replies_of(data)) == 1


def test_a_refusal_is_one_reply(address):
    """Not the refusal and then an answer to half a request."""
    for data in (b"GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
                 b"GET /livez HTTP/3.0\r\nHost: localhost\r\n\r\n",
                 b"GET /livez HTTP/1.1\r\n\r\n",
                 post_chunked("/v1/completions", b"zz\r\n"),
                 post_chunked("/tokenize", b"-2\r\n{}\r\n0\r\n\r\n"),
                 b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"):
        replies = replies_of(talk(address, data))
        assert len(replies) == 1, data
        assert replies[0].status in (400, 413, 505)
        assert replies[0].headers["connection"] == "close"
        assert replies[0].json["error"]["message"]


def test_refused_bodies_are_told_of_in_the_protocol_of_their_path(address):
    for path, shape in (("/v1/messages", {"type", "error"}), ("/api/chat", {"error"})):
        reply = replies_of(talk(address, post_chunked(path, b"zz\r\n")))[0]
        assert reply.status == 400
        assert set(reply.json) == shape
    assert isinstance(reply.json["error"], str)


# --- Pages of other sites ---

def header_names(reply) -> set:
    return {name for name in reply.headers if name.startswith("access-control")}


def test_no_page_of_another_site_may_ask(address):
    for origin in ("https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"):
        reply = ask(address, http_request("/v1/models", headers={"Origin": origin}))
        assert reply.status == 403, origin
        assert reply.json["error"]["code"] == "origin_not_allowed"
        assert not header_names(reply)


def test_our_own_page_may_ask(server, address):
    own = f"127.0.0.1:{server.port}"
    data = f"GET /v1/models HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n\r\n".encode()
    reply = ask(address, data)
    assert reply.status == 200
    assert not header_names(reply)


def test_no_preflight_is_granted_unasked(address):
    reply = ask(address, http_request("/v1/chat/completions", method="OPTIONS", headers={
        "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}))
    assert reply.status == 403
    assert not header_names(reply)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example",
                                  "localhost.evil.example", "[::1", "a@localhost"])
def test_names_that_are_not_ours_are_refused(address, host):
    data = f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    reply = ask(address, data)
    assert reply.status == 403
    assert reply.json["error"]["code"] == "host_not_allowed"


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1", "[::1]:80", "10.0.0.7"])
def test_addresses_and_localhost_are_ours(address, host):
    assert ask(address, f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).status == 200


def test_listed_origins_and_names_may_ask(start_server):
    server = start_server("--cors-origins", "https://good.example", "--allowed-hosts", "my.example")
    address = ("127.0.0.1", server.port)
    good = {"Origin": "https://good.example"}
    reply = ask(address, http_request("/v1/models", headers=good))
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == "https://good.example"
    assert "access-control-allow-credentials" not in reply.headers
    assert "origin" in reply.headers["vary"].lower()
    reply = ask(address, http_request("/v1/chat/completions", method="OPTIONS",
                                      headers={**good, "Access-Control-Request-Method": "POST"}))
    assert reply.status == 204
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert reply.headers["access-control-allow-origin"] == "https://good.example"
    for origin in ("https://evil.example", "https://good.example.evil", "http://good.example"):
        reply = ask(address, http_request("/v1/models", headers={"Origin": origin}))
        assert reply.status == 403 and not header_names(reply)
    assert ask(address, b"GET /v1/models HTTP/1.1\r\nHost: my.example\r\n\r\n").status == 200
    assert ask(address, b"GET /v1/models HTTP/1.1\r\nHost: not.my.example\r\n\r\n").status == 403


def test_all_origins_get_no_credentials(start_server):
    server = start_server("--cors-origins", "*")
    reply = ask(("127.0.0.1", server.port),
                http_request("/v1/models", headers={"Origin": "https://any.example"}))
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in reply.headers


# --- Ids ---

def test_request_ids_are_echoed_or_made(address):
    assert ask(address, http_request("/livez", headers={"X-Request-Id": "abc-1"})
               ).headers["x-request-id"] == "abc-1"
    made = {ask(address, http_request("/livez")).headers["x-request-id"] for _ in range(3)}
    assert len(made) == 3
    long = ask(address, http_request("/livez", headers={"X-Request-Id": "x" * 4000}))
    assert len(long.headers["x-request-id"]) <= 128


# --- Unix sockets ---

def test_a_unix_socket_serves(start_server, tmp_path):
    path = tmp_path / "ingot.sock"
    server = start_server("--uds", path)
    assert server.url == f"unix:{path}"
    assert ask(str(path), http_request("/v1/completions", COMPLETION)).status == 200
    stream = ask(str(path), http_request("/v1/completions", {**COMPLETION, "stream": True}))
    assert answer_of(stream).is_done
    assert (path.stat().st_mode & 0o777) == 0o600
    half = talk(str(path), http_request("/v1/completions", COMPLETION, headers=CLOSE),
                half_close=True)
    assert replies_of(half)[0].status == 200
    assert server.stop() == 0
    assert not path.exists()


def test_a_socket_left_behind_is_replaced_and_a_living_one_is_not(start_server, binary, tmp_path):
    path = tmp_path / "ingot.sock"
    first = start_server("--uds", path)
    second = subprocess.run([binary, "serve", "--uds", path, "-t", "1"], capture_output=True,
                            timeout=60, text=True)
    assert second.returncode != 0
    assert "another server listens" in second.stderr
    first.process.kill()
    first.process.wait()
    assert path.exists()
    third = start_server("--uds", path)
    assert ask(str(path), http_request("/livez")).status == 200
    assert third.stop() == 0


def test_a_file_in_the_way_of_the_socket_is_kept(binary, tmp_path):
    path = tmp_path / "precious.txt"
    path.write_text("keep me")
    done = subprocess.run([binary, "serve", "--uds", path, "-t", "1"], capture_output=True,
                          timeout=60, text=True)
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert path.read_text() == "keep me"


# --- TLS ---

@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


@pytest.fixture(scope="module")
def tls_server(binary, certificate):
    from serving import Server
    with Server(binary, "--ssl-certfile", certificate[0], "--ssl-keyfile", certificate[1],
                "--header-timeout", 1) as server:
        yield server


def tls_socket(server, context):
    sock = socket.create_connection(("127.0.0.1", server.port), 30)
    return context.wrap_socket(sock, server_hostname="localhost")


def test_tls_is_trusted_with_its_certificate(tls_server, certificate):
    assert tls_server.url.startswith("https://")
    context = ssl.create_default_context(cafile=certificate[0])
    with tls_socket(tls_server, context) as sock:
        assert sock.version() in ("TLSv1.2", "TLSv1.3")
        assert ask_on(sock, http_request("/v1/completions", COMPLETION)).status == 200
        stream = ask_on(sock, http_request("/v1/completions", {**COMPLETION, "stream": True}))
        assert answer_of(stream).is_done
        assert ask_on(sock, http_request("/livez")).status == 200
    with urllib.request.urlopen(tls_server.url + "/v1/models", context=context) as reply:
        assert reply.status == 200


def test_tls_is_refused_by_who_does_not_know_the_certificate(tls_server):
    with pytest.raises(ssl.SSLCertVerificationError):
        tls_socket(tls_server, ssl.create_default_context())
    careless = ssl._create_unverified_context()
    with tls_socket(tls_server, careless) as sock:
        assert ask_on(sock, http_request("/livez")).status == 200


def test_old_tls_is_refused(tls_server):
    context = ssl._create_unverified_context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python: it is old indeed
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        tls_socket(tls_server, context)


def test_plain_http_and_silence_on_the_tls_port_end_soon(tls_server):
    address = ("127.0.0.1", tls_server.port)
    talk(address, http_request("/livez"), timeout=5)
    talk(address, b"", timeout=5)  # --header-timeout covers the handshake
    with tls_socket(tls_server, ssl._create_unverified_context()) as sock:
        assert ask_on(sock, http_request("/livez")).status == 200


def test_tls_bytes_on_the_plain_port_are_refused(server):
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(193)
    data = talk(("127.0.0.1", server.port), hello, timeout=5)
    assert data.startswith(b"HTTP/1.1 400 ")


def test_a_wrong_certificate_is_named(binary, tmp_path, certificate):
    other = tmp_path / "empty.pem"
    other.write_text("nothing")
    for flags in (["--ssl-certfile", other, "--ssl-keyfile", certificate[1]],
                  ["--ssl-certfile", certificate[0], "--ssl-keyfile", other],
                  ["--ssl-certfile", certificate[0]]):
        done = subprocess.run([binary, "serve", "-t", "1", "--port", "0", *flags],
                              capture_output=True, timeout=60, text=True)
        assert done.returncode == 2, flags
        assert "PEM" in done.stderr or "pem" in done.stderr or "ssl" in done.stderr


# --- Other clients ---

def test_curl_talks_to_it(server):
    done = subprocess.run(["curl", "-sS", "--fail-with-body", server.url + "/v1/completions",
                           "-H", "Content-Type: application/json", "-d", json.dumps(COMPLETION)],
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["usage"]["completion_tokens"] == 4


def test_the_library_of_python_talks_to_it(server):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    for _ in range(2):
        connection.request("POST", "/v1/completions", json.dumps(COMPLETION))
        reply = connection.getresponse()
        assert reply.status == 200
        reply.read()
    connection.close()
