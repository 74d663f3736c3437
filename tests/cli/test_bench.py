# SPDX-License-Identifier: Apache-2.0
"""ingot bench: every command runs, and its numbers hang together. Nothing here depends on speed."""

import xml.etree.ElementTree as ElementTree

import pytest

TINY = ("default", "-t", 1, "--json")
RUN_KEYS = {
    "name", "concurrency", "requests", "seconds", "steps", "requests_per_s", "prompt_tokens",
    "computed_prompt_tokens", "reused_prompt_tokens", "reusable_prompt_tokens", "reuse_of_reusable",
    "output_tokens", "computed_prompt_tokens_per_s", "reused_prompt_tokens_per_s",
    "output_tokens_per_s", "first_token_seconds", "inter_token_seconds", "preemptions",
    "cache_waste", "step_seconds", "outside_forward", "total_tokens_per_s", "time_shares",
}


def throughput(ingot, *args):
    result = ingot("bench", "throughput", *TINY, *args).json
    assert {"benchmark", "machine", "model", "kv_cache_dtype", "workload", "runs"} <= set(result)
    check_machine(result["machine"])
    return result


def check_machine(machine):
    assert machine["cpu"] and machine["threads"] >= 1
    assert machine["read_gb_per_s"] > 0 and machine["float_gflop_per_s"] > 0


def check_run(run):
    assert set(run) == RUN_KEYS
    assert run["seconds"] > 0 and run["steps"] > 0
    assert run["computed_prompt_tokens"] + run["reused_prompt_tokens"] == run["prompt_tokens"]
    for spread in (run["first_token_seconds"], run["inter_token_seconds"]):
        assert 0 <= spread["p50"] <= spread["p90"] <= spread["p99"] <= spread["max"]
    assert 0 <= run["cache_waste"]["mean"] <= run["cache_waste"]["max"] < 1
    assert 0 < run["outside_forward"] < 1
    assert sum(run["step_seconds"].values()) <= run["seconds"]


def test_random_requests_over_concurrencies(ingot, tmp_path):
    plot = tmp_path / "throughput.svg"
    result = throughput(ingot, "--num-prompts", 5, "--input-len", "4:12", "--output-len", "3",
                        "--concurrency", "1,3", "--plot", plot)
    assert [run["concurrency"] for run in result["runs"]] == [1, 3]
    for run in result["runs"]:
        check_run(run)
        assert run["requests"] == 5 and run["output_tokens"] == 15
        assert 20 <= run["prompt_tokens"] <= 60
        assert run["reused_prompt_tokens"] == 0 and run["reuse_of_reusable"] is None
    assert result["runs"][0]["prompt_tokens"] == result["runs"][1]["prompt_tokens"]
    root = ElementTree.parse(plot).getroot()
    assert root.tag.endswith("svg")
    assert len(root.findall(".//{*}polyline")) == 5


def test_the_seed_makes_the_workload(ingot):
    def prompt_tokens(seed):
        result = throughput(ingot, "--num-prompts", 4, "--input-len", "1:500", "--output-len", 1,
                            "--seed", seed)
        return result["runs"][0]["prompt_tokens"]

    assert prompt_tokens(1) == prompt_tokens(1) != prompt_tokens(2)


def test_a_chat_reuses_its_history(ingot):
    result = throughput(ingot, "--workload", "chat", "--users", 2, "--turns", 3, "--input-len", 8,
                        "--output-len", 4, "--shared-prefix", 48)
    run, = result["runs"]
    check_run(run)
    assert run["requests"] == 6
    # Each user says 48 + 8, then + 4 + 8, then + 4 + 8 tokens.
    assert run["prompt_tokens"] == 2 * (56 + 68 + 80)
    # Second and third turns: all but the last answer token, which was drawn and never run.
    assert run["reusable_prompt_tokens"] == 2 * (59 + 71)
    assert run["reuse_of_reusable"] > 0.5


def test_few_shot_examples_are_reused(ingot):
    result = throughput(ingot, "--workload", "fewshot", "--num-prompts", 6, "--shared-prefix", 64,
                        "--input-len", 4, "--output-len", 2, "--concurrency", 1)
    run, = result["runs"]
    check_run(run)
    assert run["reusable_prompt_tokens"] >= 5 * 64
    assert run["reuse_of_reusable"] > 0.9


def test_a_shared_prefix_runs_with_and_without_reuse(ingot):
    result = throughput(ingot, "--workload", "shared-prefix", "--num-prompts", 4,
                        "--shared-prefix", 64, "--input-len", 4, "--output-len", 2,
                        "--concurrency", 1)
    with_reuse, without = result["runs"]
    assert with_reuse["reused_prompt_tokens"] > 0 == without["reused_prompt_tokens"]
    ratio = without["seconds"] / with_reuse["seconds"]
    assert result["speedup_by_prefix_caching"] == [pytest.approx(ratio)]


def test_a_fraction_of_prompts_has_the_prefix(ingot):
    result = throughput(ingot, "--num-prompts", 4, "--shared-prefix", 32, "--prefix-fraction", 0.5,
                        "--input-len", 8, "--output-len", 1)
    assert result["runs"][0]["prompt_tokens"] == 4 * 8 + 2 * 32


def test_random_weights_need_no_file(ingot):
    for form in ("q4_k_m", "fp8", "gptq"):
        result = ingot("bench", "throughput", "--random", f"tiny:{form}", "--device", "cpu", "-t", 1, "--json",
                       "--input-len", 10, "--output-len", 4, "--max-num-seqs", 3, "--num-prompts", 5).json
        assert result["model"]["name"] == f"random tiny {form}"
        run, = result["runs"]
        assert run["concurrency"] == 3 and run["requests"] == 5  # as many in flight as there are seats
        assert run["prompt_tokens"] == 50 and run["output_tokens"] == 20
        assert run["total_tokens_per_s"] == pytest.approx(70 / run["seconds"])
        shares = run["time_shares"]
        assert 0 < shares["forward"] < 1 and 0 < sum(shares.values()) <= 1
    result = ingot("bench", "latency", "--random", "tiny:f16", "--device", "cpu", "-t", 1, "-p", 8, "-n", 2,
                   "-r", 1, "--json").json
    assert result["model"]["parameters"] == 1_441_792
    generation = result["results"][1]
    # Two passes read all matrices but the embedding, and a little of keys and values.
    matrices = 2 * 2 * (1_441_792 - 512 * 256)
    assert matrices <= generation["bytes"] < 1.01 * matrices
    assert result["model"]["weight_bytes"] == matrices / 2
    assert generation["floor_seconds"] == pytest.approx(generation["share_of_floor"] * generation["seconds"])


@pytest.mark.parametrize("args", [("--random", "tiny"), ("--random", "9B:f16"), ("--random", "tiny:q9"),
                                  ("--random", "tiny:f16", "model.gguf"), ("--random", "tiny:f16", "--device", "gpu")])
def test_random_weights_are_named_well(ingot, args):
    ingot("bench", "latency", *args, code=2)


def test_a_long_prompt_among_decoding_sequences(ingot):
    result = throughput(ingot, "--workload", "stall", "--input-len", 100,
                        "--max-num-batched-tokens", 32)
    chunked, whole = result["runs"]
    assert chunked["tokens_per_step"] == 32 and chunked["chunks"] >= 4
    assert whole["tokens_per_step"] >= 100 and whole["chunks"] == 1
    for run in (chunked, whole):
        spread = run["inter_token_seconds"]
        assert 0 < spread["p50"] <= spread["p99"] <= spread["max"]


def test_latency_of_every_combination(ingot, tmp_path):
    page = tmp_path / "latency.html"
    result = ingot("bench", "latency", *TINY, "-p", 8, "-n", 2, "-b", "1,2", "-d", "0,20", "-r", 2,
                   "--plot", page).json
    check_machine(result["machine"])
    assert result["machine"]["kernels"] and result["model"]["parameters"] > 0
    seen = [(r["test"], r["tokens"], r["batch"], r["depth"]) for r in result["results"]]
    assert sorted(seen) == sorted((test, tokens, batch, depth)
                                  for test, tokens in (("prompt", 8), ("generate", 2))
                                  for batch in (1, 2) for depth in (0, 20))
    for row in result["results"]:
        assert row["tokens_per_s"] > 0 and row["share_of_floor"] > 0
        assert row["tokens_per_s_per_sequence"] == pytest.approx(row["tokens_per_s"] / row["batch"])
    text = page.read_text()
    assert "<svg" in text and "<table>" in text and "<script" not in text
    ElementTree.fromstring(text.split("\n", 1)[1])  # after the doctype


def test_kernels_by_name(ingot, tmp_path):
    plot = tmp_path / "kernels.svg"
    result = ingot("bench", "kernels", "q8_0", "-t", 1, "--quick", "--json", "--plot", plot).json
    check_machine(result["machine"])
    assert result["kernels"]
    for row in result["kernels"]:
        assert "q8_0" in row["kernel"].lower() and row["seconds"] > 0
        assert row["gflop_per_s"] is None or row["share_of_peak"] > 0
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_ceilings_come_alone(ingot):
    result = ingot("bench", "kernels", "--ceilings", "-t", 2, "--quick", "--json").json
    assert not result["kernels"]
    assert [read["threads"] for read in result["machine"]["reads"]] == [1, 2]
    for read in result["machine"]["reads"]:
        assert read["huge_pages_gb_per_s"] > 0 and read["small_pages_gb_per_s"] > 0
    for peak in result["machine"]["peaks"]:
        assert peak["gop_per_s"] > 0 and peak["one_thread_gop_per_s"] > 0
    assert "Read bandwidth" in ingot("bench", "kernels", "--ceilings", "-t", 1, "--quick").text


def test_barrier_is_measured(ingot):
    rows = ingot("bench", "kernels", "barrier", "-t", 2, "--quick", "--json").json["kernels"]
    assert [row["kernel"] for row in rows] == ["barrier", "barrier"]


def test_a_prompt_and_what_follows_it(ingot):
    rows = ingot("bench", "latency", "default", "-t", 1, "-p", 0, "-n", 0, "--pg", "6,3", "-b",
                 "1,2", "-r", 1, "--json").json["results"]
    assert [(row["test"], row["tokens"], row["depth"], row["batch"]) for row in rows] == [
        ("prompt", 6, 0, 1), ("generate", 3, 6, 1), ("prompt", 6, 0, 2), ("generate", 3, 6, 2)]


def test_tables_are_for_people(ingot):
    text = ingot("bench", "throughput", "default", "-t", 1, "--num-prompts", 2, "--input-len", 4,
                 "--output-len", 2).text
    for words in ("output tokens/s", "first token, p99 ms", "inter-token, p50 ms", "cache waste",
                  "outside the forward pass"):
        assert words in text
    assert "GFLOP/s" in ingot("bench", "kernels", "norm", "-t", 1, "--quick").text


@pytest.mark.parametrize("args", [
    ["nonsense"],
    ["throughput", "--workload", "nonsense"],
    ["throughput", "--input-len", "5:3"],
    ["throughput", "--output-len", "0"],
    ["throughput", "--concurrency", "0"],
    ["throughput", "--prefix-fraction", "2"],
    ["throughput", "--plot", "file.png"],
    ["throughput", "-c", "16", "--input-len", "32"],
    ["latency", "-p", "x"],
    ["latency", "-b", "0"],
    ["latency", "--pg", "128"],
    ["kernels", "no-such-kernel", "--quick"],
    ["kernels", "--device", "gpu"],
])
def test_bad_arguments_are_exit_code_two(ingot, args):
    outcome = ingot("bench", *args, code=2)
    assert outcome.out == b""
    assert outcome.err.startswith("ingot: ") and outcome.err.count("\n") == 1
