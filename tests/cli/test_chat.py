# SPDX-License-Identifier: Apache-2.0
"""ingot run, on a pseudo-terminal and on pipes."""

import json

import pytest
from terminal import Terminal

FLAGS = ["run", "-t", "1", "--seed", "5"]
PROMPT = ">>> "
CTRL_A, CTRL_C, CTRL_D, CTRL_J, CTRL_K, CTRL_W = "\x01", "\x03", "\x04", "\n", "\x0b", "\x17"
UP, LEFT = "\x1b[A", "\x1b[D"


@pytest.fixture
def chat(binary, tmp_path):
    opened = []

    def start(*args, columns=80):
        terminal = Terminal([binary, *FLAGS, *args], {"XDG_STATE_HOME": str(tmp_path)}, columns)
        opened.append(terminal)
        terminal.wait_for(PROMPT)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def test_answers_and_leaves(chat):
    terminal = chat("-n", "20")
    terminal.type("Tell me a story\r")
    terminal.wait_for("Tell me a story\n")
    terminal.wait_for(PROMPT)
    terminal.type("/exit\r")
    assert terminal.finish() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(chat):
    terminal = chat()
    terminal.type("Tell me a very long story\r")
    terminal.wait_for("story\n")
    terminal.wait_for(" ")  # the answer has begun
    terminal.type(CTRL_C)
    terminal.wait_for("(stopped)")
    terminal.wait_for(PROMPT)
    terminal.type("/show\r")
    terminal.wait_for("messages           2")
    terminal.wait_for(PROMPT)
    terminal.type(CTRL_D)
    assert terminal.finish() == 0


def test_ctrl_c_twice_at_the_empty_prompt_leaves(chat):
    terminal = chat()
    terminal.type("half a line" + CTRL_C)  # gives the line up
    terminal.wait_for("half a line")
    terminal.wait_for(PROMPT)
    terminal.type(CTRL_C)
    terminal.wait_for("Ctrl-C again")
    terminal.wait_for(PROMPT)
    terminal.type(CTRL_C)
    assert terminal.finish() == 0


def saved(terminal, file):
    """The conversation as the program sees it."""
    terminal.type(f"/save {file}\r")
    terminal.wait_for("saved to")
    terminal.wait_for(PROMPT)
    return json.loads(file.read_text())


def test_emacs_keys_edit_the_line(chat, tmp_path):
    terminal = chat("-n", "1")
    terminal.type("world wrong" + CTRL_W + CTRL_A + "hello ABC" + LEFT * 3 + CTRL_K + "\u00e9\u4f60 ")
    terminal.type("\r")
    terminal.wait_for("\n")
    terminal.wait_for(PROMPT)
    assert saved(terminal, tmp_path / "chat.json")[0]["content"] == "hello \u00e9\u4f60 "


def test_messages_of_several_lines(chat, tmp_path):
    terminal = chat("-n", "1")
    terminal.type("one\\\r")
    terminal.wait_for("... ")
    terminal.type("two\r")
    terminal.wait_for(PROMPT)
    terminal.type('"""\r')
    terminal.wait_for("... ")
    terminal.type("three\r")
    terminal.wait_for("... ")
    terminal.type('four"""\r')
    terminal.wait_for(PROMPT)
    terminal.type("five" + CTRL_J + "six\r")
    terminal.wait_for("six\n")
    terminal.wait_for(PROMPT)
    terminal.type("\x1b[200~seven\reight\x1b[201~\r")
    terminal.wait_for("eight\n")
    terminal.wait_for(PROMPT)
    asked = [m["content"] for m in saved(terminal, tmp_path / "chat.json") if m["role"] == "user"]
    assert asked == ["one\ntwo", "three\nfour", "five\nsix", "seven\neight"]


def test_the_history_comes_back_in_the_next_session(chat, tmp_path):
    first = chat("-n", "1")
    first.type("remember me\r")
    first.wait_for("me\n")
    first.wait_for(PROMPT)
    first.type(CTRL_D)
    assert first.finish() == 0
    second = chat("-n", "1")
    second.type(UP)
    second.wait_for("remember me")
    assert (tmp_path / "ingot" / "history").stat().st_mode & 0o777 == 0o600


def test_commands_change_the_session(chat, tmp_path):
    terminal = chat("-n", "3", "--system", "Be kind.")
    terminal.type("/set temp 0\r/set top_k 5\r/show\r")
    terminal.wait_for("temp               0\n")
    terminal.wait_for("top-k              5\n")
    terminal.wait_for(PROMPT)
    terminal.type("/set temp hot\r")
    terminal.wait_for("not a number")
    terminal.wait_for(PROMPT)
    terminal.type("/nonsense\r")
    terminal.wait_for("/help lists them")
    terminal.wait_for(PROMPT)
    terminal.type("Hi\r")
    terminal.wait_for("Hi\n")
    terminal.wait_for(PROMPT)
    first = saved(terminal, tmp_path / "one.json")
    assert [m["role"] for m in first] == ["system", "user", "assistant"]
    terminal.type("/regenerate\r")
    terminal.wait_for("/regenerate\n")
    terminal.wait_for(PROMPT)
    assert [m["role"] for m in saved(terminal, tmp_path / "two.json")] == ["system", "user",
                                                                           "assistant"]
    terminal.type("/reset\r/system \"\"\r")
    terminal.wait_for("forgotten")
    terminal.wait_for("is set")
    terminal.wait_for(PROMPT)
    assert saved(terminal, tmp_path / "three.json") == []
    terminal.type(f"/load {tmp_path / 'one.json'}\r")
    terminal.wait_for("3 messages loaded")
    terminal.wait_for(PROMPT)
    assert saved(terminal, tmp_path / "four.json") == first


def test_a_narrow_screen_wraps_and_goes_on(chat, tmp_path):
    terminal = chat("-n", "1", columns=20)
    text = "this line is much longer than the screen is wide"
    terminal.type(text + "\r")
    terminal.wait_for("wide")
    terminal.wait_for(PROMPT)
    file = tmp_path / "c.json"
    terminal.type(f"/save {file}\r")
    terminal.wait_for("2 messages")
    assert json.loads(file.read_text())[0]["content"] == text


def test_lines_on_a_pipe_are_messages(ingot):
    outcome = ingot(*FLAGS, "-n", 12, "--temp", 0, stdin=b"Hi\nTell me more\n/exit\nnot read\n")
    lines = [line for line in outcome.text.splitlines() if line]
    assert len(lines) >= 2 and PROMPT not in outcome.text
    once = ingot(*FLAGS, "-n", 12, "--temp", 0, "--prompt", "Hi")
    assert outcome.text.startswith(once.text)


def test_a_long_conversation_drops_its_oldest_turns(ingot):
    message = "Tell me about the big red ball and the little dog again. " * 12
    outcome = ingot(*FLAGS, "-n", 8, "--temp", 0, stdin=(message + "\n").encode() * 8)
    assert "no longer fit" in outcome.err
    too_long = ingot(*FLAGS, "-n", 8, "--prompt", "word " * 2000, code=2)
    assert "context holds 1024" in too_long.err


def test_no_colours_without_a_terminal_or_with_no_color(binary, ingot):
    assert "\x1b" not in ingot(*FLAGS, "-n", 2, "--prompt", "Hi").text
    terminal = Terminal([binary, *FLAGS, "--no-history"], {"NO_COLOR": "1"})
    terminal.wait_for(PROMPT)
    assert b"\x1b[1;36m" not in terminal.raw
    terminal.type(CTRL_D)
    assert terminal.finish() == 0
    terminal.close()
