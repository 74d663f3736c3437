#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/chat_families/expected.json: what Jinja2 makes of the templates beside it.

The templates are ours, written with the constructs of today's model families. Needs the package jinja2; run
it again after changing a template or a conversation.
"""

import json
import pathlib
import sys

from jinja2.exceptions import TemplateError

from jinja_differential import make_environment

FOLDER = pathlib.Path(__file__).parent / "chat_families"

CALL = {"type": "function", "id": "a1b2c3d4e", "function": {"name": "get_weather", "arguments": {
    "city": "Zürich", "days": 3, "units": ["C", None, True, 1.5], "note": "say \"hi\"\n<now>"}}}
SECOND = {"type": "function", "id": "f5g6h7i8j", "function": {"name": "noop", "arguments": {}}}
CONVERSATIONS = {
    "single": [{"role": "user", "content": "  Hello, wörld! 日本語 🙂  "}],
    "system": [{"role": "system", "content": " Be brief. /no_think "}, {"role": "user", "content": "Hi\n\nthere"}],
    "multi": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "1+1?"},
              {"role": "assistant", "content": "<think>\neasy\n</think>\n\n2"}, {"role": "user", "content": "Sure?"}],
    "answered": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nTwo."}],
    "call": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
             {"role": "tool", "tool_call_id": "a1b2c3d4e", "name": "get_weather", "content": "{\"t\": 21.5}"},
             {"role": "assistant", "content": "Warm: 21.5°."}, {"role": "user", "content": "Thanks & <bye>"}],
    "two_calls": [{"role": "user", "content": "Both."}, {"role": "assistant", "content": "", "tool_calls": [CALL, SECOND]},
                  {"role": "tool", "tool_call_id": "a1b2c3d4e", "content": "21"}, {"role": "tool", "tool_call_id": "f5g6h7i8j", "content": "ok"}],
    "reasoned": [{"role": "user", "content": "Go."}, {"role": "assistant", "reasoning_content": "step\nby step", "thinking": "step", "content": "Done."}],
    "image": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is it? "}, {"type": "video"}]},
              {"role": "assistant", "content": "A cat."}, {"role": "user", "content": [{"type": "text", "text": "And now?"}]}],
    "wrong_order": [{"role": "assistant", "content": "Me first."}, {"role": "assistant", "content": "Me again."}],
    "empty": [],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city, with a \"description\" long enough to wrap.",
     "parameters": {"type": "object", "properties": {
         "city": {"type": "string", "description": "Name of the city"}, "days": {"type": "integer", "default": 1},
         "units": {"type": "array", "items": {"type": "string", "enum": ["C", "F"]}},
         "where": {"type": "object", "properties": {"lat": {"type": "number"}, "tags": {"type": "array", "items": {"type": "object"}}}, "required": ["lat"]},
         "either": {"oneOf": [{"type": "string", "description": "a name"}, {"type": ["integer", "null"]}]}},
      "required": ["city"]}}},
    {"type": "function", "function": {"name": "noop", "description": "Nothing.", "parameters": {"type": "object", "properties": {}, "required": []}}},
]
DOCUMENTS = [{"doc_id": 1, "title": "Alps", "text": "High."}, {"doc_id": "b", "title": "Sea", "text": "Wide\nand deep."}]
# Which variables a case sets besides its conversation.
SETTINGS = [
    {"prompt": True}, {"prompt": False, "tools": True},
    {"prompt": True, "kwargs": {"enable_thinking": False, "add_vision_id": True, "date_string": "1 May 2031", "tools_in_user_message": False}, "tools": True},
    {"prompt": True, "documents": True, "kwargs": {"thinking": True, "citation_mode": "accurate", "controls": {"length": "short", "é": [1]}, "reasoning_effort": "high"}},
]


def main():
    environment = make_environment()
    cases = []
    for path in sorted(FOLDER.glob("*.jinja")):
        template = environment.from_string(path.read_text(encoding="utf-8"))
        for conversation, messages in CONVERSATIONS.items():
            for number, setting in enumerate(SETTINGS):
                case = {"template": path.stem, "conversation": conversation, "setting": number}
                try:
                    case["expected"] = template.render(
                        messages=messages, tools=TOOLS if setting.get("tools") else None,
                        documents=DOCUMENTS if setting.get("documents") else None, add_generation_prompt=setting["prompt"],
                        bos_token="<s>", eos_token="</s>", **setting.get("kwargs", {}))
                except Exception as error:  # noqa: BLE001: whatever it is, we must fail too
                    case["error"] = str(error)
                    case["refused"] = type(error) is TemplateError
                cases.append(case)
    document = {"conversations": CONVERSATIONS, "tools": TOOLS, "documents": DOCUMENTS, "settings": SETTINGS}
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    text = json.dumps(document, ensure_ascii=False)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    (FOLDER / "expected.json").write_text(text, encoding="utf-8")
    failed = sum("error" in case for case in cases)
    print(f"{len(cases)} cases, {failed} errors, {sum(case.get('refused', False) for case in cases)} refusals, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
