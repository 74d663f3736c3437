# SPDX-License-Identifier: Apache-2.0
"""ingot tokenize, detokenize and template."""

import json

import pytest
from conftest import ROOT

TEXT = "Hello world, once there was a dog! \u00e9\u4f60\U0001F600\n\n  end"


def test_tokenize_prints_ids_and_json(ingot):
    plain = ingot("tokenize", "default", stdin=TEXT.encode()).text
    result = ingot("tokenize", "default", "--json", stdin=TEXT.encode()).json
    assert plain == " ".join(map(str, result["ids"])) + "\n"
    assert len(result["ids"]) == len(result["tokens"])
    assert result["tokens"][0] == "<|bos|>"


def test_nothing_is_stripped_from_the_input(ingot):
    short = ingot("tokenize", "--no-special", "--json", "--text", "a").json["ids"]
    longer = ingot("tokenize", "--no-special", "--json", stdin=b"a\n").json["ids"]
    assert longer[:1] == short[:1] and len(longer) > len(short)


def test_no_special_leaves_bos_out(ingot):
    with_bos = ingot("tokenize", "--text", TEXT, "--json").json["ids"]
    without = ingot("tokenize", "--text", TEXT, "--json", "--no-special").json["ids"]
    assert with_bos == [1] + without


def test_text_survives_the_round_trip(ingot):
    ids = ingot("tokenize", "--no-special", stdin=TEXT.encode()).out
    assert ingot("detokenize", stdin=ids).text == TEXT
    as_json = ingot("tokenize", "--json", stdin=TEXT.encode()).out
    assert ingot("detokenize", "--no-special", stdin=as_json).text == TEXT
    assert ingot("detokenize", "--json", stdin=as_json).json["text"] == "<|bos|>" + TEXT


@pytest.mark.parametrize("args", [["1", "3911"], ["1,3911"], ["[1, 3911]"], ["--ids", "1 3911"]])
def test_detokenize_takes_ids_in_every_spelling(ingot, args):
    assert ingot("detokenize", "default", *args).text == "<|bos|>Hello"


def test_bad_ids_are_exit_code_two(ingot):
    assert "'x'" in ingot("detokenize", "default", "1", "x", code=2).err


def messages_file(tmp_path, *turns):
    file = tmp_path / "messages.json"
    file.write_text(json.dumps([{"role": r, "content": c} for r, c in turns]))
    return file


def test_template_prints_exactly_the_prompt(ingot, tmp_path):
    file = messages_file(tmp_path, ("user", "Hi"))
    expected = "<|bos|><|user|>\nHi<|end|>\n<|assistant|>\n"
    assert ingot("template", "default", "--messages", file).text == expected
    bare = ingot("template", "default", "--messages", file, "--no-generation-prompt").text
    assert bare == "<|bos|><|user|>\nHi<|end|>\n"
    assert ingot("template", "--messages", "-", stdin=file.read_bytes()).text == expected
    wrapped = json.dumps({"messages": json.loads(file.read_text())}).encode()
    assert ingot("template", "--messages", "-", stdin=wrapped).text == expected


def test_a_template_of_ones_own_needs_no_model(ingot, tmp_path):
    jinja = tmp_path / "mine.jinja"
    jinja.write_text("{{ bos_token }}{{ messages[0].content }}|{{ x }}|{{ eos_token }}"
                     "|{{ strftime_now('%d %b %Y') }}|{{ tools | length if tools else 'none' }}\n")
    file = messages_file(tmp_path, ("user", "Hi"))
    args = ["--chat-template", jinja, "--messages", file, "--kwargs", '{"x": 3}',
            "--now", "2024-07-26T12:34:56"]
    out = ingot("template", *args, "--bos", "<s>", "--eos", "</s>").text
    assert out == "<s>Hi|3|</s>|26 Jul 2024|none"
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function"}]')
    assert ingot("template", tmp_path, *args, "--tools", tools).text == "Hi|3||26 Jul 2024|1"


def test_a_refusal_is_exit_code_one_and_all_else_two(ingot, tmp_path):
    file = messages_file(tmp_path, ("user", "Hi"))
    jinja = tmp_path / "no.jinja"
    jinja.write_text("{{ raise_exception('we do not talk') }}")
    refused = ingot("template", "--chat-template", jinja, "--messages", file, code=1)
    assert "we do not talk" in refused.err and refused.out == b""
    jinja.write_text("{{ 'a' + messages }}")  # a type error is a refusal of these messages
    ingot("template", "--chat-template", jinja, "--messages", file, code=1)
    jinja.write_text("{% if %}")
    ingot("template", "--chat-template", jinja, "--messages", file, code=2)
    jinja.write_text("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
    ingot("template", "--chat-template", jinja, "--messages", file, code=2)
    ingot("template", "default", "--messages", "/no/such/file", code=2)
    ingot("template", "default", code=2)
    ingot("template", "default", "--messages", file, "--now", "today", code=2)
    ingot("template", "default", "--messages", file, "--kwargs", "[1]", code=2)
    ingot("template", "default", "--messages", "-", stdin=b"{}", code=2)


def chat_cases():
    folder = ROOT / "tests" / "oracle" / "chat"
    goldens = json.loads((folder / "goldens.json").read_text())
    templates = json.loads((folder / "templates.json").read_text())
    return goldens, templates


def test_templates_render_as_the_oracle_through_the_command_line(ingot, tmp_path):
    """Every 7th case here; all of them run in the unit tests."""
    goldens, templates = chat_cases()
    jinja, file, tools = (tmp_path / name for name in ("t.jinja", "m.json", "tools.json"))
    for case in goldens["cases"][::7]:
        jinja.write_text(templates[case["template"]])
        file.write_text(json.dumps(case["messages"]))
        args = ["--chat-template", jinja, "--messages", file, "--now", goldens["now"],
                "--bos", goldens["specials"]["bos_token"], "--eos", goldens["specials"]["eos_token"]]
        if case.get("tools") is not None:
            tools.write_text(json.dumps(case["tools"]))
            args += ["--tools", tools]
        if case.get("kwargs"):
            args += ["--kwargs", json.dumps(case["kwargs"])]
        if not case["add_generation_prompt"]:
            args.append("--no-generation-prompt")
        if "expected" in case:
            assert ingot("template", *args).text == case["expected"]
        else:
            ingot("template", *args, code=1)
