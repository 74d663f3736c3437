// SPDX-License-Identifier: Apache-2.0
// ingot quantize: a smaller checkpoint from a larger one.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/quantize_job.h"

namespace ingot {
namespace {

constexpr const char* kQuantizeFooter =
    R"(Methods that write safetensors, which transformers and vLLM load:
  rtn          round to nearest, 4 or 8 bits in groups (compressed-tensors, GPTQ or AWQ files)
  gptq         rounds columns one after the other, each correcting those before (GPTQ files)
  awq          scales the columns that matter before rounding (AWQ files)
  smoothquant  weights and inputs in 8 bits (compressed-tensors W8A8)
  fp8          E4M3: --scales channel (dynamic inputs), tensor, block; --static
  nf4          bitsandbytes NF4 with double quantization
  mxfp4, nvfp4 4-bit floats (compressed-tensors)

Methods that write GGUF, by the names of llama-quantize, with bits a weight of an 8B model:
{}
A mix of types chosen by measuring what each matrix costs: --target-bpw, --target-size or --max-kl.
It is written to OUT.recipe.json, which can be edited and replayed with --recipe.

Without --imatrix GGUF types round by themselves; --calibration measures importance on the way and
lets columns of Q2_K to Q6_K take in the errors of those before them (--no-error-feedback: not).
A run that was killed goes on where it was when it is started again; the output appears whole.

Examples:
  ingot quantize llama -o llama-q4_k_m.gguf --method q4_k_m --calibration wiki.txt
  ingot quantize llama -o llama-mix.gguf --target-bpw 4.25 --calibration wiki.txt
  ingot quantize llama -o llama-gptq --method gptq --calibration wiki.txt
  ingot quantize llama -o llama-awq --method awq --group-size 64
  ingot quantize llama -o llama-fp8 --method fp8 --keep down_proj)";

class QuantizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("quantize", "Make a smaller checkpoint of a model");
    command->footer(fmt::format(kQuantizeFooter, mixture_table()));
    command->add_option("model", job_.model, "A .gguf file, or a folder with safetensors")
        ->required()
        ->type_name("MODEL");
    command->add_option("-o,--output", job_.output, "What to write: a folder, or a .gguf file")
        ->required()
        ->type_name("OUT");
    command->add_option("-m,--method,--type", job_.flags.method, "How: see below")
        ->type_name("NAME");
    add_mix_flags(*command);
    add_quantize_flags(*command, job_.flags);
    add_quantize_gguf_flags(*command, job_.gguf);
    command->add_option("-t,--threads", job_.threads, "0: one per usable core")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command->add_flag("--force", job_.overwrites, "Replace OUT where it is there");
    command->add_flag("--json", json_, "Print one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const QuantizeOutcome outcome, run_quantize(job_));
    return json_ ? print_json(outcome.json) : print(outcome.text);
  }

 private:
  void add_mix_flags(CLI::App& command) {
    command
        .add_option("--target-bpw", job_.target.bits_per_weight,
                    "GGUF: the best mix of types with so many bits a weight")
        ->check(CLI::Range(1.0, 32.0))
        ->type_name("X");
    command
        .add_option("--target-size", job_.target.bytes, "GGUF: the best mix in a file of this size")
        ->transform(CLI::AsSizeValue(true))
        ->type_name("SIZE");
    command
        .add_option("--max-kl", job_.target.kl,
                    "GGUF: the smallest mix whose KL divergence from the original is at most this")
        ->check(CLI::Range(1e-9, 1e3))
        ->type_name("X");
    command.add_option("--recipe", job_.recipe, "GGUF: types of all tensors, from an earlier mix")
        ->type_name("FILE");
    command
        .add_option("--save-recipe", job_.saved_recipe, "Where a mix is written (OUT.recipe.json)")
        ->type_name("FILE");
  }

  QuantizeJob job_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() {
  return std::make_unique<QuantizeCommand>();
}

}  // namespace ingot
