// SPDX-License-Identifier: Apache-2.0
#include "cli/model_flags.h"

#include <charconv>
#include <map>

#include "api/device_choice.h"
#include "base/limits.h"
#include "base/log.h"
#include "bench/random_model.h"
#include "cli/progress_bar.h"

namespace ingot {

void add_model_argument(CLI::App& command, std::string& model) {
  command
      .add_option("MODEL", model,
                  "A GGUF file, a folder with safetensors, or `default` (the one inside)")
      ->capture_default_str()
      ->type_name("");
}

void add_log_level(CLI::App& command, std::string_view default_level) {
  static const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                          {"info", LogLevel::kInfo},
                                                          {"warning", LogLevel::kWarning},
                                                          {"error", LogLevel::kError}};
  command
      .add_option_function<std::string>(
          "--log-level", [](const std::string& name) { set_log_level(kLevels.at(name)); },
          fmt::format("Least serious message to print: debug, info, warning or error (default: {})",
                      default_level))
      ->default_str(std::string(default_level))
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
}

void add_model_flags(CLI::App& command, ModelFlags& flags, std::string_view default_log_level) {
  add_model_argument(command, flags.model);
  constexpr const char* kGroup = "Running the model";
  command
      .add_option("-t,--threads", flags.threads,
                  "Threads to compute with (0: all cores we may use)")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--threads-batch", flags.threads_batch,
                  "Threads of steps with prompts in them (0: as many as --threads)")
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--numa", flags.numa,
                  "auto (threads stay on their memory node where there are several) or off")
      ->check(CLI::IsMember({"auto", "off"}))
      ->type_name("MODE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("-c,--ctx-size,--max-model-len", flags.context,
                  "Tokens the context holds (0: the model's own, at most 8192)")
      ->check(CLI::Range(int64_t{0}, limits::kContext))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kv-cache-dtype", flags.cache_dtype,
                  "How keys and values are kept: auto (f32 for small models, else f16), f32, f16, "
                  "bf16, fp8 (fp8_e4m3), "
                  "fp8_e5m2, int8 or int4")
      ->check(CLI::IsMember(
          {"auto", "f32", "f16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "int4"}))
      ->type_name("TYPE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--block-size", flags.block_size,
                  "Tokens in a page of the KV cache: 8, 16, 32, 64 or 128")
      ->check(CLI::IsMember({8, 16, 32, 64, 128}))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--dtype", flags.dtype,
                  "What matrices of plain floats are kept as: auto (as in the file), half "
                  "(float16), bfloat16, or float (as in the file, nothing rounded that the format "
                  "does not)")
      ->check(CLI::IsMember({"auto", "half", "float16", "fp16", "f16", "bfloat16", "bf16", "float",
                             "float32", "f32"}))
      ->type_name("TYPE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kernels", flags.kernels,
                  "auto (the best this machine has), one of avx2, avx512, avx512_bf16, amx, neon "
                  "and i8mm, or "
                  "reference (plain and slow)")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--device", flags.device,
                  "Where the model runs: auto (a GPU where there is one), cpu, cuda, or cuda:N")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option(
          "--gpu-layers,--n-gpu-layers", flags.gpu_layers,
          "Layers on the GPU, from the last one on: auto (as many as fit) or a number; more "
          "than there are: embedding and head too")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--batch-invariant", flags.is_batch_invariant,
                "Answers do not depend on what else runs at the same time; always so on CPUs, "
                "slower on GPUs")
      ->group(kGroup);
  command
      .add_flag("--no-check-tensors", flags.skips_tensor_check,
                "Do not refuse weights that are NaN or infinite (loads a little faster)")
      ->group(kGroup);
  add_log_level(command, default_log_level);
}

void add_random_flag(CLI::App& command, ModelFlags& flags) {
  command
      .add_option("--random", flags.random,
                  fmt::format("Random weights instead of MODEL, as 8B:q4_k_m: a shape ({}) and a "
                              "format (a GGUF mixture, fp8, fp8_block, int8, gptq, awq or nf4)",
                              random_shape_names()))
      ->type_name("NAME")
      ->excludes(command.get_option("MODEL"));
}

Result<ThreadOptions> thread_options(const ModelFlags& flags) {
  INGOT_TRY(const NumaMode numa, parse_numa_mode(flags.numa));
  return ThreadOptions{
      .threads = flags.threads, .threads_batch = flags.threads_batch, .numa = numa};
}

namespace {

Result<int64_t> parse_gpu_layers(const std::string& text) {
  if (text == "auto") return -1;
  int64_t layers = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, layers);
  if (error == std::errc() && rest == end && layers >= 0) return layers;
  return Status::invalid_argument("--gpu-layers '{}': use auto or a number from 0 up", text);
}

}  // namespace

Result<LoadedModel> load_model(const ModelFlags& flags) {
  ModelOptions options;
  INGOT_TRY(options.device, find_device(flags.device, flags.kernels));
  INGOT_TRY(options.device_layers, parse_gpu_layers(flags.gpu_layers));
  options.is_batch_invariant = flags.is_batch_invariant;
  if (flags.context > 0) options.device_context = flags.context;
  INGOT_TRY(options.targets, TargetSet::parse(flags.kernels));
  INGOT_TRY(options.dtype, parse_dtype(flags.dtype));
  options.threads = flags.threads;
  options.checks_tensors = !flags.skips_tensor_check;
  ProgressBar bar("Loading");
  options.progress = [&bar](double fraction) { bar.update(fraction); };
  if (!flags.random.empty()) return make_random_model(flags.random, options);
  return load_model(flags.model, options);
}

Result<std::unique_ptr<Solo>> start_solo(const LoadedModel& model, const ModelFlags& flags,
                                         int64_t context) {
  SoloOptions options;
  INGOT_TRY(options.threads, thread_options(flags));
  options.context = context > 0 ? context : flags.context;
  options.cache = default_cache_type(model.model->spec());
  if (flags.cache_dtype != "auto") {
    INGOT_TRY(options.cache, parse_kv_cache_type(flags.cache_dtype));
  }
  options.page_tokens = flags.block_size;
  return Solo::create(model.model, options);
}

}  // namespace ingot
