# SPDX-License-Identifier: Apache-2.0
"""Pipes that close, files that shrink, signals: the program ends cleanly, never by a crash."""

import os
import shutil
import signal
import subprocess

# Longer than any test waits, so that what happens to it happens while it runs.
LONG = ["generate", "-p", "Once upon a time", "--ignore-eos", "-c", "16384", "-n", "16000", "--seed", "1",
        "-t", "1"]


def test_a_reader_that_leaves_ends_the_run_quietly(binary):
    process = subprocess.Popen([binary, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 1
    assert err == b""


def test_closed_standard_streams_are_no_crash(binary):
    for redirect in (">&-", "<&-", "2>&-", ">&- 2>&- <&-"):
        command = f'"{binary}" generate -p hi -n 2 --temp 0 -t 1 {redirect}'
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        assert done.returncode in (0, 1), redirect
    full = subprocess.run(["bash", "-c", f'"{binary}" inspect > /dev/full'], capture_output=True,
                          timeout=60)
    assert full.returncode == 1 and b"No space left" in full.stderr


def test_a_file_truncated_while_running_is_a_clean_error(binary, tmp_path, default_file):
    model = tmp_path / "model.gguf"
    shutil.copy(default_file, model)
    command = [binary, "generate", str(model), *LONG[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(10)
    os.truncate(model, 4096)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert b"truncated" in err and b"model.gguf" in err


def test_an_interrupt_ends_generate(binary):
    process = subprocess.Popen([binary, *LONG], stdout=subprocess.PIPE)
    assert process.stdout.read(10)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


def test_output_and_messages_do_not_mix(ingot):
    outcome = ingot.generate("-p", "Once", "-n", 3, "--json", "--verbose")
    assert outcome.out.count(b"\n") == 1 and outcome.json
    assert "tokens/s" in outcome.err
