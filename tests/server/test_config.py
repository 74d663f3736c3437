# SPDX-License-Identifier: Apache-2.0
"""Settings from a file, the environment and the command line; the latter beat the former."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def config(binary):
    """config(*flags, env=...) -> {key: (value, source)} of --print-config."""
    def run(*flags, env=None, code=0):
        done = subprocess.run([binary, "serve", *map(str, flags), "--print-config"], text=True,
                              capture_output=True, env={**os.environ, **(env or {})})
        assert done.returncode == code, done.stderr
        if code:
            return done.stderr
        found = {}
        for line in done.stdout.splitlines():
            key, value, source = re.fullmatch(r"(?:# )?([\w-]+): (.*)  # ([\w ]+)", line).groups()
            found[key] = (value, source)
        return found
    return run


def flags_of_help(ingot) -> dict[str, str]:
    """{first long name: description} of all flags."""
    text = ingot("serve", "--help").text
    found = {}
    for match in re.finditer(r"^  ((?:-\w,)?--[\w,-]+)", text, re.M):
        names = [name for name in match[1].split(",") if name.startswith("--")]
        found[names[0][2:]] = [name[2:] for name in names]
    return found


ORDERS = {"help", "config", "print-config", "print-routes"}


def test_defaults(config):
    found = config()
    assert found["port"] == ("8080", "default")
    assert found["host"] == ("127.0.0.1", "default")
    assert found["model"] == ("default", "default")
    assert found["max-num-seqs"][1] == "default"


def test_every_flag_is_a_setting(config, ingot):
    assert set(flags_of_help(ingot)) - ORDERS == set(config()) - {"model"}


def test_the_order(config, tmp_path):
    file = tmp_path / "ingot.yaml"
    file.write_text("port: 1001\nhost: 0.0.0.0\nmax_num_seqs: 7\nmetrics-public: true\n"
                    "served-model-name:\n  - a\n  - b\nallowed-hosts: [x.example]\n")
    found = config("--config", file, "--port", 1003, env={"INGOT_PORT": "1002", "INGOT_HOST": "::1",
                                                          "INGOT_CORS_ORIGINS": "http://a,http://b"})
    assert found["port"] == ("1003", "command line")
    assert found["host"] == ("\"::1\"", "environment") or found["host"] == ("::1", "environment")
    assert found["max-num-seqs"] == ("7", "file")
    assert found["metrics-public"] == ("true", "file")
    assert found["served-model-name"] == ("[a, b]", "file")
    assert found["cors-origins"] == ("[http://a, http://b]", "environment")
    assert config(env={"INGOT_CONFIG": str(file)})["port"] == ("1001", "file")


def test_toml_works_too(config, tmp_path):
    file = tmp_path / "ingot.toml"
    file.write_text('port = 1001\nhost = "0.0.0.0"\nallowed-hosts = ["x", "y"]\n')
    found = config("--config", file)
    assert found["port"][0] == "1001" and found["allowed-hosts"][0] == "[x, y]"


def test_what_is_printed_can_be_read(config, tmp_path, binary):
    flags = ["--port", "1234", "--served-model-name", "a b", "c", "--drain", "3.5", "--metrics-public"]
    done = subprocess.run([binary, "serve", *flags, "--print-config"], capture_output=True, text=True)
    file = tmp_path / "ingot.yaml"
    file.write_text(done.stdout)
    assert {k: v for k, (v, _) in config("--config", file).items()} \
        == {k: v for k, (v, _) in config(*flags).items()}


@pytest.mark.parametrize("text, message", [
    ("port: 1\nprot: 2\n", r":2: there is no setting 'prot'"),
    ("port: hello\n", r":1: 'port' has a value"),
    ("port: 99999\n", r":1: 'port' has a value"),
    ("metrics-public: maybe\n", r":1: 'metrics-public' is true or false"),
    ("port: [1, 2]\n", r":1: 'port' takes one value"),
    ("ctx-size: 1\nmax-model-len: 2\n", r":2: 'max-model-len' is the same setting as 'ctx-size'"),
    ("help: true\n", r":1: there is no setting 'help'"),
    ("port 80\n", r":1: a line is"),
])
def test_errors_name_line_and_key(config, tmp_path, text, message):
    file = tmp_path / "ingot.yaml"
    file.write_text(text)
    assert re.search(re.escape(str(file)) + message, config("--config", file, code=2))


def test_errors_of_the_environment_name_the_variable(config):
    assert "INGOT_PORT" in config(env={"INGOT_PORT": "hello"}, code=2)
    assert "/no/such/file" in config("--config", "/no/such/file", code=2)


@pytest.mark.parametrize("name", ["INGOT_API_KEY", "INGOT_API_KEYS"])
def test_keys_are_not_shown(config, name, start_server):
    keys = "secret-key-number-1,secret-key-number-2"
    found = config(env={name: keys})
    assert found["api-key"] == ("2 of them, not shown", "environment")
    server = start_server(env={name: keys})
    for key in keys.split(","):
        assert server.get("/v1/models", headers={"Authorization": f"Bearer {key}"})[0] == 200
    assert server.get("/v1/models")[0] == 401
    assert "secret-key" not in server.log


def test_a_file_serves(start_server, tmp_path):
    file = tmp_path / "ingot.yaml"
    file.write_text("served-model-name: from-file\napi-key: file-key-12345\nthreads: 1\n")
    server = start_server("--config", file)
    headers = {"Authorization": "Bearer file-key-12345"}
    assert server.get("/v1/models", headers=headers)[2]["data"][0]["id"] == "from-file"


def test_routes_are_listed(ingot, server):
    lines = [line.split() for line in ingot("serve", "--print-routes").text.splitlines()]
    assert ["GET", "/livez", "public"] in lines
    assert ["POST", "/v1/chat/completions", "key"] in lines
    assert ["GET", "/metrics", "metrics"] in lines
    assert all(len(line) == 3 for line in lines)


def test_the_documentation_has_every_flag(ingot):
    done = subprocess.run(["python3", ROOT / "tools" / "make_flag_table.py", "--check", ingot.binary],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
