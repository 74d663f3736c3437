# SPDX-License-Identifier: Apache-2.0
"""Files that are broken or mean harm: exit code 2, one sentence with the file's name, soon."""

import os
import random
import resource
import struct
import subprocess

import pytest

LIMIT_SECONDS = 1.0
LIMIT_BYTES = 64 << 20  # of memory; a mapped file does not count


def gguf(tensors=0, pairs=0, body=b""):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs) + body


def string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


HOSTILE_GGUF = {
    "empty": b"",
    "magic": b"GGUF",
    "version": b"GGUF" + struct.pack("<IQQ", 99, 0, 0),
    "tensors": gguf(tensors=2**63),
    "pairs": gguf(pairs=2**64 - 1),
    "key-length": gguf(pairs=1, body=struct.pack("<Q", 2**63)),
    "array-length": gguf(pairs=1, body=string(b"k") + struct.pack("<IIQ", 9, 8, 2**60)),
    "nested-array": gguf(pairs=1, body=string(b"k") + struct.pack("<IIQ", 9, 9, 4) * 3),
    "dims": gguf(tensors=1, body=string(b"t") + struct.pack("<I", 255)),
    "shape": gguf(tensors=1, body=string(b"t") + struct.pack("<IQQIQ", 2, 2**62, 2**62, 0, 0)),
    "type": gguf(tensors=1, body=string(b"t") + struct.pack("<IQIQ", 1, 32, 9999, 0)),
    "past-the-end": gguf(tensors=1, body=string(b"t") + struct.pack("<IQIQ", 1, 2**40, 0, 0)),
    "noise": b"GGUF" + random.Random(7).randbytes(4096),
}

HOSTILE_SAFETENSORS = {
    "empty": b"",
    "short": b"\x01\x02",
    "header-length": struct.pack("<Q", 2**63) + b"{}",
    "header-too-long": struct.pack("<Q", 100) + b"{}",
    "not-json": struct.pack("<Q", 4) + b"nope",
    "deep": struct.pack("<Q", 60000) + b"[" * 60000,
    "offsets": struct.pack("<Q", 64) + b'{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,9999]}}'.ljust(64),
    "product": struct.pack("<Q", 96)
    + b'{"w":{"dtype":"F32","shape":[4294967296,4294967296,16],"data_offsets":[0,0]}}'.ljust(96),
}


def refuse(binary, command, path):
    """Runs it within the limits on memory and processor time; checks code and message."""
    def limit():
        if "asan" not in binary:  # its shadow memory would count too
            resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
    process = subprocess.Popen([binary, command, str(path)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
    out, err = process.stdout.read(), process.stderr.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 2, err
    assert err.startswith("ingot: ") and err.count("\n") == 1 and out == b""
    assert used.ru_utime + used.ru_stime < LIMIT_SECONDS
    return err


@pytest.mark.parametrize("name", HOSTILE_GGUF)
@pytest.mark.parametrize("command", ["inspect", "generate", "tokenize"])
def test_hostile_gguf_files_are_refused(binary, tmp_path, name, command):
    file = tmp_path / "model.gguf"
    file.write_bytes(HOSTILE_GGUF[name])
    assert "model.gguf" in refuse(binary, command, file)


@pytest.mark.parametrize("name", HOSTILE_SAFETENSORS)
def test_hostile_safetensors_files_are_refused(binary, tmp_path, name):
    (tmp_path / "model.safetensors").write_bytes(HOSTILE_SAFETENSORS[name])
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert "model.safetensors" in refuse(binary, "inspect", tmp_path)
    refuse(binary, "generate", tmp_path)


def test_pickled_weights_are_refused_with_a_sentence(binary, tmp_path):
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(b"\x80\x02}")
    assert "safetensors" in refuse(binary, "generate", file)


def test_what_is_no_file_is_refused(binary, tmp_path):
    refuse(binary, "generate", tmp_path)  # an empty folder
    refuse(binary, "inspect", tmp_path / "missing.gguf")
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    refuse(binary, "inspect", pipe)
    refuse(binary, "tokenize", "/dev/zero")


def test_a_file_cut_off_at_any_place_is_refused(binary, tmp_path, default_file):
    whole = default_file.read_bytes()
    file = tmp_path / "cut.gguf"
    for size in (1, 20, 100, 5000, 100_000, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        refuse(binary, "inspect", file)
        refuse(binary, "generate", file)


def test_broken_tokenizer_files_are_refused(binary, tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"a": -1}}}')
    assert "tokenizer.json" in refuse(binary, "tokenize", tmp_path)
    (tmp_path / "tokenizer.json").write_text("[" * 100_000)
    refuse(binary, "tokenize", tmp_path)
