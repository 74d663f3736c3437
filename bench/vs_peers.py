#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingot beside llama.cpp and ik_llama.cpp: the same GGUF files, the same threads, runs interleaved.

Each round runs every program once (A B C A B C ...) between two measurements of the machine's read
bandwidth; the tables hold medians over the rounds. Where the bandwidth changes by the minute,
--least-read takes a round again that began or ended with less. ik_llama.cpp runs as it is and with
its run-time repack, the faster counts. A ratio is ours over the faster peer. Tables go to stdout as
Markdown, everything measured to --out as JSON.

  bench/vs_peers.sh --ingot build/release/ingot --llama-bench PATH --ik-bench PATH --models DIR \\
      --shapes 1b --types q4_k_m,q8_0 --what tg,pp --repeats 5

Models are files named SHAPE-TYPE.gguf in --models. What is measured:
  pp     prompt of 512 tokens                     tg     128 tokens generated (--tokens says others)
  batch  1..32 sequences, 128 in and 64 out       serve  8 at a time, 32 requests, over HTTP
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from gguf_sizes import bytes_per_token
from peer_servers import SERVE_LOADS, run_serve

TYPES = "q4_k_m,q5_k_m,q6_k,q4_0,q2_k,q3_k,q8_0,f16"
MOST_TRIES = 30  # of a round that --least-read wants again
KINDS = ("tg", "pp", "batch", "serve")
SEQUENCES = "1,2,4,8,16,32"


@dataclass
class Program:
    """One side of the comparison: `bench`, `batched` and `server` are paths, or none."""

    name: str
    peer: str  # whose medians compete: "ingot", "llama.cpp" or "ik_llama.cpp"
    bench: str | None = None
    batched: str | None = None
    server: str | None = None
    options: list[str] = field(default_factory=list)  # of the batched program and the server
    bench_options: list[str] = field(default_factory=list)


@dataclass
class Results:
    """Tokens a second by (model, test, program), and the bandwidth by model: a value for each round."""

    values: dict = field(default_factory=dict)
    read_gb_per_s: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)
    failed: set = field(default_factory=set)  # (program, kind of test)

    def add(self, model: str, measured: list[tuple[str, str, float]], read: float) -> None:
        for test, program, value in measured:
            self.values.setdefault((model, test), {}).setdefault(program, []).append(value)
        self.read_gb_per_s.setdefault(model, []).append(read)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def output_of(args, command: list[str]) -> str:
    # Elsewhere: a peer leaves a log where it runs.
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit, cwd=tempfile.gettempdir())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout + ("\n" + done.stderr if "batched" in command[0] else "")


def read_bandwidth(args) -> float:
    text = output_of(args, [args.ingot, "bench", "kernels", "--ceilings", "-t", args.threads, "--json"])
    return json.loads(text)["machine"]["read_gb_per_s"]


# Single sequences ---------------------------------------------------------------------------------


def ours_single(args, path: Path, prompt: int, generated: int) -> dict[str, float]:
    command = [args.ingot, "bench", "latency", str(path), "-t", args.threads, "-r", "1", "--json"]
    command += ["-p", str(prompt), "-n", str(generated), *args.ingot_options]
    speeds = {}
    for record in json.loads(output_of(args, command))["results"]:
        name = "pp" if record["test"] == "prompt" else "tg"
        speeds[f"{name}{record['tokens']}"] = record["tokens_per_s"]
    return speeds


def peer_single(args, program: Program, path: Path, prompt: int, generated: int) -> dict[str, float]:
    command = [program.bench, "-m", str(path), "-t", args.threads, "-r", "1", "-o", "json"]
    command += ["-p", str(prompt), "-n", str(generated), *program.bench_options]
    text = output_of(args, command)
    speeds = {}
    for record in json.loads(text[text.index("[") : text.rindex("]") + 1]):
        is_prompt = record["n_prompt"] > 0
        name = f"pp{record['n_prompt']}" if is_prompt else f"tg{record['n_gen']}"
        speeds[name] = record["avg_ts"]
    return speeds


# Batches ------------------------------------------------------------------------------------------


def ours_batched(args, path: Path) -> dict[str, float]:
    command = [args.ingot, "bench", "latency", str(path), "-t", args.threads, "-r", "1", "--json"]
    command += ["-p", "0", "-n", "0", "--pg", "128,64", "-b", args.sequences, *args.ingot_options]
    speeds = {}
    for record in json.loads(output_of(args, command))["results"]:
        name = "batch_pp" if record["test"] == "prompt" else "batch"
        speeds[f"{name}{record['batch']}"] = record["tokens_per_s"]
    return speeds


def batched_speeds(table: str) -> dict[str, float]:
    """Of the rows |PP|TG|B|N_KV|T_PP|S_PP|T_TG|S_TG|T|S| that both peers print."""
    speeds = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 10 or not re.fullmatch(r"\d+", cells[2]):
            continue
        speeds[f"batch_pp{cells[2]}"] = float(cells[5])
        speeds[f"batch{cells[2]}"] = float(cells[7])
    return speeds


def peer_batched(args, program: Program, path: Path) -> dict[str, float]:
    most = max(int(count) for count in args.sequences.split(","))
    command = [program.batched, "-m", str(path), "-t", args.threads, "-c", str(most * 192)]
    command += ["-npp", "128", "-ntg", "64", "-npl", args.sequences, *program.options]
    return batched_speeds(output_of(args, command))


# Rounds -------------------------------------------------------------------------------------------


def run_single(args, program: Program, path: Path, notes: list[str]) -> dict[str, float]:
    prompt = args.tokens[0] if "pp" in args.what else 0
    generated = args.tokens[1] if "tg" in args.what else 0
    if program.peer == "ingot":
        return ours_single(args, path, prompt, generated)
    return peer_single(args, program, path, prompt, generated) if program.bench else {}


def run_batched(args, program: Program, path: Path, notes: list[str]) -> dict[str, float]:
    if program.peer == "ingot":
        return ours_batched(args, path)
    return peer_batched(args, program, path) if program.batched else {}


def run_or_note(run, args, program: Program, path: Path, results: Results) -> dict[str, float]:
    """What a program measured. A peer that fails or takes too long is noted, and left out of this
    kind of test from then on: the others go on."""
    if (program.name, run.__name__) in results.failed:
        return {}
    try:
        return run(args, program, path, results.notes)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        if program.peer == "ingot":
            raise
        results.failed.add((program.name, run.__name__))
        results.notes.append(f"{program.name}, {path.name}: {error}")
        say(f"  {program.name:<10} {error}")
        return {}


def run_round(args, programs: list[Program], path: Path, results: Results) -> list[tuple[str, str, float]]:
    """Every program once for each kind of test: what is compared lies close together in time.
    Returns (test, program, tokens/s)."""
    measured = []
    kinds = [run_single] if "pp" in args.what or "tg" in args.what else []
    kinds += [run_batched] if "batch" in args.what else []
    kinds += [run_serve] if "serve" in args.what else []
    for run in kinds:
        for program in programs:
            start = time.monotonic()
            tests = run_or_note(run, args, program, path, results)
            measured += [(test, program.name, value) for test, value in tests.items()]
            shown = " ".join(f"{test} {value:.1f}" for test, value in tests.items())
            if shown:
                say(f"  {program.name:<10} {shown} ({time.monotonic() - start:.0f} s)")
    return measured


def add_round(args, programs: list[Program], model: str, path: Path, results: Results) -> None:
    for _ in range(MOST_TRIES):
        before = read_bandwidth(args)
        say(f"  read {before:.1f} GB/s, load average {os.getloadavg()[0]:.1f}")
        if before < args.least_read:
            time.sleep(5)
            continue
        measured = run_round(args, programs, path, results)
        after = read_bandwidth(args)
        say(f"  read {after:.1f} GB/s")
        if after >= args.least_read:
            results.add(model, measured, (before + after) / 2)
            return
    results.notes.append(f"{model}: a round less, memory gave less than {args.least_read:.0f} GB/s {MOST_TRIES} times.")


def find_models(args) -> list[tuple[str, Path]]:
    models, missing = [], []
    for shape in args.shapes.split(","):
        for kind in args.types.split(","):
            path = Path(args.models) / f"{shape}-{kind}.gguf"
            if path.exists():
                models.append((f"{shape} {kind.upper()}", path))
            else:
                missing.append(f"  random_gguf.py {path} --shape {shape} --type {kind.upper()} --vocab VOCAB.gguf")
    if missing:
        say("these models are missing (serving needs --vocab):\n" + "\n".join(missing))
    if not models:
        sys.exit(1)
    return models


# Reports ------------------------------------------------------------------------------------------


def best_of(values: dict[str, list[float]], programs: list[Program], peer: str) -> float | None:
    medians = [statistics.median(values[p.name]) for p in programs if p.peer == peer and values.get(p.name)]
    return max(medians) if medians else None


def name_of(test: str) -> str:
    if test in SERVE_LOADS:
        return f"served, {SERVE_LOADS[test].title}"
    match = re.fullmatch(r"(batch_pp|batch)(\d+)", test)
    if match:
        return f"batch of {match[2]}, {'prompts' if match[1] == 'batch_pp' else 'decode'}"
    return test


def cell(value: float | None, form: str = "{:.1f}") -> str:
    return "-" if value is None else form.format(value)


def table_of(args, results: Results, programs: list[Program], sizes: dict[str, int]) -> tuple[str, list]:
    lines = ["| model | test | ingot | llama.cpp | ik_llama.cpp | ratio | ingot, % of read | best peer, % of read |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    rows = []
    for (model, test), values in results.values.items():
        ours, llama, ik = (best_of(values, programs, peer) for peer in ("ingot", "llama.cpp", "ik_llama.cpp"))
        peers = [value for value in (llama, ik) if value]
        peer = max(peers) if peers else None
        ratio = ours / peer if ours and peer else None
        # Only one sequence reads every weight for every token.
        is_read_bound = test.startswith("tg") or test == "batch1"
        read = statistics.median(results.read_gb_per_s[model])
        shares = [value * sizes[model] / (read * 1e9) * 100 if value and is_read_bound else None for value in (ours, peer)]
        lines.append(f"| {model} | {name_of(test)} | {cell(ours)} | {cell(llama)} | {cell(ik)} | "
                     f"{cell(ratio, '{:.2f}')} | {cell(shares[0], '{:.0f}')} | {cell(shares[1], '{:.0f}')} |")  # fmt: skip
        rows.append({"model": model, "test": test, "ingot": ours, "llama.cpp": llama, "ik_llama.cpp": ik,
                     "ratio": ratio, "ingot_share_of_read": shares[0] and shares[0] / 100,
                     "peer_share_of_read": shares[1] and shares[1] / 100, "runs": values})  # fmt: skip
    return "\n".join(lines), rows


def report(args, results: Results, programs: list[Program], sizes: dict[str, int]) -> None:
    table, rows = table_of(args, results, programs, sizes)
    reads = [read for of_model in results.read_gb_per_s.values() for read in of_model]
    print(f"\nTokens/s, medians of {args.repeats} interleaved runs, {args.threads} threads; read bandwidth "
          f"{statistics.median(reads):.1f} GB/s ({min(reads):.1f} to {max(reads):.1f} in {len(reads)} rounds).\n")  # fmt: skip
    print(table)
    for note in dict.fromkeys(results.notes):
        print(f"\n{note}")
    if args.out:
        content = {"threads": int(args.threads), "repeats": args.repeats,
                   "read_gb_per_s": results.read_gb_per_s, "notes": results.notes, "results": rows}  # fmt: skip
        Path(args.out).write_text(json.dumps(content, indent=1) + "\n")


def programs_of(args) -> list[Program]:
    programs = [Program("ingot", "ingot", server=args.ingot, options=args.ingot_options)]
    if args.llama_bench or args.llama_batched or args.llama_server:
        programs.append(Program("llama.cpp", "llama.cpp", args.llama_bench, args.llama_batched, args.llama_server))
    if args.ik_bench or args.ik_batched or args.ik_server:
        programs.append(Program("ik", "ik_llama.cpp", args.ik_bench, args.ik_batched, args.ik_server))
        programs.append(Program("ik repack", "ik_llama.cpp", args.ik_bench, args.ik_batched, args.ik_server,
                                ["-rtr"], ["-rtr", "1"]))  # fmt: skip
    return [program for program in programs if program.name != args.without]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True, metavar="PATH")
    for peer in ("llama", "ik"):
        for program in ("bench", "batched", "server"):
            parser.add_argument(f"--{peer}-{program}", metavar="PATH")
    parser.add_argument("--models", default="models", metavar="DIR")
    parser.add_argument("--types", default=TYPES)
    parser.add_argument("--shapes", default="1b")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--what", default="tg,pp", help=",".join(KINDS))
    parser.add_argument("--threads", default="2")
    parser.add_argument("--device", default="cpu", help="of ours; the peers run where they were built for")
    parser.add_argument("--tokens", default="512,128", metavar="PROMPT,GENERATED", help="of single sequences")
    parser.add_argument("--sequences", default=SEQUENCES, help="of the batches")
    parser.add_argument("--ingot-options", default="", help="added to ours, such as '--kernels avx2'")
    parser.add_argument("--without", default="", metavar="NAME", help="a program to leave out, such as 'ik repack'")
    parser.add_argument("--least-read", type=float, default=0, metavar="GB/S", help="take slower rounds again")
    parser.add_argument("--limit", type=float, default=3600, metavar="SECONDS", help="of one run of a program")
    parser.add_argument("--out", metavar="FILE.json")
    args = parser.parse_args()
    args.what = args.what.split(",")
    if not re.fullmatch(r"[1-9]\d*,[1-9]\d*", args.tokens):
        parser.error(f"--tokens wants two numbers such as 512,128, not '{args.tokens}'")
    args.tokens = [int(count) for count in args.tokens.split(",")]
    args.ingot_options = ["--device", args.device, *args.ingot_options.split()]
    for kind in args.what:
        if kind not in KINDS:
            parser.error(f"--what knows {', '.join(KINDS)}, not '{kind}'")
    for name, path in list(vars(args).items()):
        if path and re.fullmatch(r"ingot|models|(llama|ik)_(bench|batched|server)", name):
            if not Path(path).exists():
                parser.error(f"--{name.replace('_', '-')}: there is no {path}")
            setattr(args, name, str(Path(path).resolve()))
    return args


def main() -> None:
    args = parse()
    models = find_models(args)
    programs = programs_of(args)
    results = Results()
    for model, path in models:
        for turn in range(args.repeats):
            say(f"{model}, round {turn + 1} of {args.repeats}")
            add_round(args, programs, model, path, results)
    if not results.read_gb_per_s:
        sys.exit("no round was measured: " + " ".join(results.notes))
    report(args, results, programs, {model: bytes_per_token(path) for model, path in models})


if __name__ == "__main__":
    main()
