# SPDX-License-Identifier: Apache-2.0
"""Commands that write a model, and what may be on disk after each of them was killed or failed."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from board import ROOT

MODELS = ROOT / "tests" / "oracle" / "models"


@dataclass
class Writer:
    """One command; OUT stands for its output, in a folder of its own."""
    name: str
    arguments: list[str]
    output: str

    def command(self, binary: str, folder: Path) -> list[str]:
        out = str(folder / self.output)
        return [binary, *(out if word == "OUT" else word for word in self.arguments)]


# Small ones for every single call, one that takes long enough to be killed at any moment.
SMALL = [
    Writer("to gguf", ["convert", str(MODELS / "public-llama-plain"), "-o", "OUT", "--force"], "m.gguf"),
    Writer("to shards", ["convert", str(MODELS / "public-llama-sharded"), "-o", "OUT", "--force",
                         "--shard-size", "100K"], "model"),
    Writer("quantize to gguf", ["quantize", str(MODELS / "public-llama-plain"), "-o", "OUT", "--method", "q8_0",
                                "--force"], "q.gguf"),
    Writer("quantize to safetensors", ["quantize", str(MODELS / "public-llama-plain"), "-o", "OUT", "--method",
                                       "rtn", "--group-size", "32", "--force"], "quantized"),
]
LARGE = [
    Writer("default to safetensors", ["convert", "default", "-o", "OUT", "--outtype", "f16", "--force"],
           "model"),
    Writer("default to splits", ["convert", "default", "-o", "OUT", "--to", "gguf", "--outtype", "f32",
                                 "--force"], "m.gguf"),
    Writer("default quantized", ["quantize", "default", "-o", "OUT", "--method", "q5_k_m", "--force"], "q.gguf"),
]


def digest(path: Path) -> str:
    """Of a file, or of all files of a folder; '' when there is nothing."""
    if not path.exists():
        return ""
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            whole.update(str(file.relative_to(path)).encode() + b"\0")
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def leftovers(folder: Path, output: str) -> list[str]:
    """What is there besides the output and its partial."""
    return [name for name in os.listdir(folder) if name not in (output, output + ".ingot-partial")]


def run(command: list[str], **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **more)


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
