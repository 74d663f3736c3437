# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/: the dashboard asks for metrics that exist, the rest is well-formed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PROMTOOL = ROOT / "build" / "tools" / "promtool"
NAME = re.compile(r"(?:vllm|ingot):\w+|process_\w+")


def dashboard() -> dict:
    return json.loads((DEPLOY / "grafana" / "ingot.json").read_text())


def queries() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel.get("targets", [])]


def exposed(server) -> set[str]:
    server.post("/v1/completions", {"prompt": "Once", "max_tokens": 2})
    _, _, text = server.get("/metrics")
    return {re.match(r"[\w:]+", line)[0] for line in text.decode().splitlines() if line[0] != "#"}


def test_the_dashboard_asks_only_for_what_there_is(server):
    there = exposed(server)
    asked = {name for query in queries() for name in NAME.findall(query)}
    assert len(asked) > 30
    assert asked - there == set()
    variable = dashboard()["templating"]["list"][1]["definition"]
    assert set(NAME.findall(variable)) <= there


def test_alerts_ask_only_for_what_there_is(server):
    text = (DEPLOY / "prometheus" / "alerts.yml").read_text()
    assert set(NAME.findall(text)) - exposed(server) == set()


def test_the_dashboard_is_what_its_maker_makes():
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_dashboard.py", "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_panels_do_not_overlap_and_have_numbers_of_their_own():
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, panel["title"]
                taken.add((x, y))


@pytest.fixture
def promtool():
    if not PROMTOOL.exists():
        pytest.skip("promtool is not there; tools/install.sh --tests brings it")
    return PROMTOOL


def test_queries_are_promql(promtool, tmp_path):
    rules = "groups:\n- name: dashboard\n  rules:\n"
    for i, query in enumerate(queries()):
        query = query.replace("$__rate_interval", "1m").replace("$model", ".*")
        rules += f"  - record: dashboard:query_{i}\n    expr: {json.dumps(query)}\n"
    file = tmp_path / "rules.yml"
    file.write_text(rules)
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_its_files(promtool):
    done = subprocess.run([promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_settings_are_good(ingot):
    text = ingot("serve", "--config", DEPLOY / "ingot.yaml", "--print-config").text
    assert "port: 8080  # file" in text


def test_variables_of_the_container_are_settings(ingot):
    text = (DEPLOY / "Dockerfile").read_text() + (DEPLOY / "compose.yaml").read_text()
    known = {"INGOT_" + line.lstrip("# ").split(":")[0].upper().replace("-", "_")
             for line in ingot("serve", "--print-config").text.splitlines()}
    assert set(re.findall(r"INGOT_(?!TESTS)[A-Z_]+", text)) <= known
