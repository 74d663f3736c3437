#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the oracle's dense decoders as GGUF files, for tests/gguf_oracle_test.cc.

    tools/make_gguf_oracle.py OUT_FOLDER ORACLE_FOLDER...

Every model folder in the given ones whose architecture GGUF has becomes NAME-f32.gguf and, if its
weights have no more than 16 bits, NAME-f16.gguf. Files that are newer than their model stay. Needs numpy.
"""
import json
import sys
from pathlib import Path

from hf_to_gguf import ARCHITECTURES, GgufWriter, Model, add_tensors, read_folder, set_keys


def is_convertible(folder):
    config_file, goldens_file = folder / "config.json", folder / "goldens.json"
    if not config_file.exists() or not goldens_file.exists():
        return False
    config = json.loads(config_file.read_text())
    rope = config.get("rope_parameters") or {}
    return (json.loads(goldens_file.read_text()).get("kind") == "causal"
            and config.get("model_type") in ARCHITECTURES
            and "quantization_config" not in config
            and rope.get("rope_type") != "dynamic")  # GGUF has no key for it


def main():
    out_folder = Path(sys.argv[1])
    out_folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for root in sys.argv[2:]:
        for folder in sorted(Path(root).glob("*")):
            if not is_convertible(folder):
                continue
            newest = max(file.stat().st_mtime for file in folder.glob("model*"))
            config = json.loads((folder / "config.json").read_text())
            weights = None
            for kind in ["F32"] if config.get("dtype") == "float32" else ["F32", "F16"]:
                count += 1
                path = out_folder / f"{folder.name}-{kind.lower()}.gguf"
                if path.exists() and path.stat().st_mtime >= newest:
                    continue
                weights = weights or read_folder(folder)
                model = Model(config)
                out = GgufWriter()
                set_keys(model, out)
                add_tensors(model, weights, out, kind)
                out.write(path)
    print(f"{out_folder}: {count} GGUF files")


if __name__ == "__main__":
    main()
