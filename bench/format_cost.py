#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint's format costs: GPTQ, AWQ, NF4, FP4, FP8, INT8 W8A8, MXFP4 and NVFP4 against
the GGUF type of as many bits. Models of one shape with random weights are written to --folder (about 1 GB each for 1b, kept
for the next time), every round runs each of them once, and the table holds medians and ratios.

  .venv/bin/python bench/format_cost.py --ingot build/release/ingot --shape 1b --repeats 5
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from random_checkpoint import FORMATS, SHAPES, write_checkpoint, write_gguf

TWIN = {name: "Q8_0" if name in ("fp8", "w8a8") else "Q4_0" for name in FORMATS}


def measure(ingot, model, options):
    command = [ingot, "bench", "latency", str(model), "-t", str(options.threads), "-p", "512", "-n",
               str(options.tokens), "-r", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    runs = json.loads(done.stdout)["results"]
    return {run["test"]: run["tokens_per_s"] for run in runs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--shape", choices=SHAPES, default="1b")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--folder", default=Path(tempfile.gettempdir()) / "ingot-formats")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    formats = options.formats.split(",")
    if unknown := [name for name in formats if name not in TWIN]:
        parser.error(f"no format is called {', '.join(unknown)}; there are {', '.join(FORMATS)}")

    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    models = {}
    for kind in sorted({TWIN[name] for name in formats}):
        path = folder / f"{options.shape}-{kind}.gguf"
        models[kind] = path if path.exists() else write_gguf(path, options.shape, kind)
    for name in formats:
        path = folder / f"{options.shape}-{name}"
        models[name] = path if path.exists() else write_checkpoint(path, options.shape, name)

    values = {name: {} for name in models}
    for turn in range(options.repeats):
        for name, path in models.items():
            for kind, speed in measure(options.ingot, path, options).items():
                values[name].setdefault(kind, []).append(speed)
            print(f"round {turn + 1}/{options.repeats}: {name}", file=sys.stderr)

    medians = {name: {kind: statistics.median(speeds) for kind, speeds in kinds.items()}
               for name, kinds in values.items()}
    print("| format | beside | prompt | generation | prompt ratio | generation ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in formats:
        ours, twin = medians[name], medians[TWIN[name]]
        print(f"| {name} | {TWIN[name]} | {ours['prompt']:.0f} | {ours['generate']:.1f} | "
              f"{ours['prompt'] / twin['prompt']:.2f} | {ours['generate'] / twin['generate']:.2f} |")


if __name__ == "__main__":
    main()
