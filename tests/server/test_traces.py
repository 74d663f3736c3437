# SPDX-License-Identifier: Apache-2.0
"""Trace context in and out, and spans at a collector that listens on a real socket."""

import json
import re
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Collector:
    """Takes OTLP/HTTP; answers with the statuses it is given, then with 200."""

    def __init__(self, statuses=(), context=None):
        self.requests, self.statuses = [], list(statuses)
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                status = collector.statuses.pop(0) if collector.statuses else 200
                collector.requests.append((self.path, dict(self.headers), json.loads(body), status))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def spans(self, count=1, timeout=20) -> list[dict]:
        end = time.monotonic() + timeout
        while True:
            found = [span for _, _, body, status in self.requests if status == 200
                     for resource in body["resourceSpans"]
                     for scope in resource["scopeSpans"] for span in scope["spans"]]
            if len(found) >= count or time.monotonic() > end:
                assert len(found) >= count, self.requests
                return found
            time.sleep(0.02)


def attributes(span) -> dict:
    found = {}
    for attribute in span["attributes"]:
        ((kind, value),) = attribute["value"].items()
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    return found


def complete(server, **more):
    return server.post("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 5,
                                           "ignore_eos": True, "temperature": 0.5}, **more)


def test_a_trace_goes_on(server):
    _, headers, _ = server.get("/v1/models", headers={"traceparent": PARENT, "tracestate": "a=1,b=2"})
    found = re.fullmatch(rf"00-{TRACE}-([0-9a-f]{{16}})-01", headers["traceparent"])
    assert found and found[1] != "00f067aa0ba902b7"
    assert headers["tracestate"] == "a=1,b=2"


@pytest.mark.parametrize("parent", ["nonsense", PARENT.upper(), PARENT + "-x", PARENT.replace("00-", "ff-", 1),
                                    "00-" + "0" * 32 + "-00f067aa0ba902b7-01"])
def test_a_bad_trace_is_ignored(server, parent):
    status, headers, _ = server.get("/v1/models", headers={"traceparent": parent, "tracestate": "a=1"})
    assert status == 200
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", headers["traceparent"])
    assert TRACE not in headers["traceparent"] and "tracestate" not in headers


def test_a_span_for_each_request(start_server):
    with Collector() as collector:
        server = start_server("--otlp-traces-endpoint", f"http://127.0.0.1:{collector.port}")
        _, headers, body = complete(server, headers={"traceparent": PARENT, "X-Request-Id": "r1"})
        server.get("/health")  # has none
        (span,) = collector.spans()
        path, sent, whole, _ = collector.requests[0]
    assert path == "/v1/traces" and sent["content-type"] == "application/json"
    resource = {a["key"]: a["value"] for a in whole["resourceSpans"][0]["resource"]["attributes"]}
    assert resource["service.name"] == {"stringValue": "ingot"}
    assert span["traceId"] == TRACE and span["parentSpanId"] == "00f067aa0ba902b7"
    assert span["spanId"] in headers["traceparent"]
    assert span["kind"] == 2 and span["name"] == "llm_request"
    begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    assert 0 < end - begin < 120e9 and abs(end / 1e9 - time.time()) < 120
    found = attributes(span)
    assert found["gen_ai.usage.prompt_tokens"] == body["usage"]["prompt_tokens"]
    assert found["gen_ai.usage.completion_tokens"] == 5
    assert found["gen_ai.request.max_tokens"] == 5
    assert found["gen_ai.request.temperature"] == 0.5
    assert found["gen_ai.request.n"] == 1
    assert found["gen_ai.request.id"] == "r1"
    assert found["gen_ai.response.model"] == "default"
    assert 0 < found["gen_ai.latency.time_to_first_token"] <= found["gen_ai.latency.e2e"]
    assert found["gen_ai.latency.time_in_queue"] >= 0
    assert found["http.route"] == "/v1/completions" and found["http.response.status_code"] == 200
    assert "Once upon" not in json.dumps(whole)


def test_callers_that_do_not_sample_are_not_exported(start_server):
    with Collector() as collector:
        server = start_server("--otlp-traces-endpoint", f"http://127.0.0.1:{collector.port}/my/path")
        server.get("/v1/models", headers={"traceparent": PARENT[:-2] + "00"})
        server.get("/version", headers={"traceparent": PARENT})
        (span,) = collector.spans()
        assert attributes(span)["http.route"] == "/version"
        assert collector.requests[0][0] == "/my/path"


def test_a_collector_in_trouble_is_asked_again(start_server):
    with Collector(statuses=[503, 429]) as collector:
        server = start_server("--otlp-traces-endpoint", f"http://127.0.0.1:{collector.port}")
        server.get("/v1/models")
        collector.spans(timeout=60)
        assert [status for *_, status in collector.requests] == [503, 429, 200]
        assert server.log.count("traces cannot be sent") == 1


def test_serving_goes_on_without_a_collector(start_server):
    server = start_server("--otlp-traces-endpoint", "http://127.0.0.1:1/v1/traces")
    for _ in range(20):
        assert server.get("/v1/models")[0] == 200
    started = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - started < 20


def test_what_is_left_is_sent_at_the_end(start_server):
    with Collector() as collector:
        server = start_server("--otlp-traces-endpoint", f"http://127.0.0.1:{collector.port}")
        server.get("/v1/models")
        server.process.terminate()
        assert server.process.wait(30) == 0
        collector.spans()


def test_tls(start_server, tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Collector(context=context) as collector:
        url = f"https://127.0.0.1:{collector.port}"
        server = start_server("--otlp-traces-endpoint", url, env={"SSL_CERT_FILE": str(certificate)})
        server.get("/v1/models")
        collector.spans()
    with Collector(context=context) as collector:
        url = f"https://127.0.0.1:{collector.port}"
        server = start_server("--otlp-traces-endpoint", url)  # nobody it trusts signed that
        server.get("/v1/models")
        end = time.monotonic() + 20
        while "certificate" not in server.log and time.monotonic() < end:
            time.sleep(0.05)
        assert "its certificate is not good" in server.log
        assert collector.requests == []


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://x", "http://", "http://u:p@x/", "http://x:99999"])
def test_a_bad_endpoint_is_an_error(ingot, url):
    assert "--otlp-traces-endpoint" in ingot("serve", "--otlp-traces-endpoint", url, code=2).err
