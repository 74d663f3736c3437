// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_flags.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "cli/environment.h"

namespace ingot {

Result<uint64_t> parse_size(std::string_view text, std::string_view field) {
  const auto fail = [&] {
    return Status::invalid_argument("{} is '{}' but must be a size such as 512MB or 4GB", field,
                                    text);
  };
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || !std::isfinite(value) || value < 0) return fail();
  std::string unit(end, text.data() + text.size());
  for (char& c : unit)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.ends_with("ib")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with('b')) {
    unit.pop_back();
  }
  constexpr std::string_view kUnits = "kmgt";
  double factor = 1;
  if (!unit.empty()) {
    const size_t power = kUnits.find(unit);
    if (unit.size() != 1 || power == std::string_view::npos) return fail();
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  if (value * factor > 0x1p60) return fail();
  return static_cast<uint64_t>(value * factor);
}

void add_engine_flags(CLI::App& command, EngineCliFlags& flags) {
  constexpr const char* kGroup = "Scheduling and cache";
  EngineFlags& engine = flags.engine;
  command
      .add_option("--max-num-seqs", engine.max_num_seqs,
                  "Sequences that run at the same time (0: 64, or 256 on a GPU)")
      ->check(CLI::Range(int64_t{0}, int64_t{4096}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--max-num-batched-tokens", engine.max_num_batched_tokens,
                  "Tokens computed in one step: decodes first, then chunks of prompts (0: 512, or "
                  "2048 on a GPU, 8192 on a large one)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 20))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kv-cache-memory", flags.kv_cache_memory,
                  "Memory for keys and values, such as 4GB (0: a fraction of what is free)")
      ->type_name("SIZE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kv-cache-fraction", engine.kv_cache_fraction,
                  "The fraction of free memory to take, without --kv-cache-memory (0: 0.5, or 0.85 "
                  "of a GPU's)")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_flag("--no-enable-prefix-caching", flags.no_prefix_caching,
                "Compute every prompt from its beginning")
      ->group(kGroup);
  command
      .add_option("--host-cache", flags.host_cache,
                  "Memory for cached prefixes that were evicted (0: none)")
      ->type_name("SIZE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--disk-cache", engine.disk_cache,
                  "A folder for cached prefixes; they survive a restart")
      ->type_name("FOLDER")
      ->group(kGroup);
  command.add_option("--disk-cache-size", flags.disk_cache_size, "The most that folder may hold")
      ->type_name("SIZE")
      ->capture_default_str()
      ->group(kGroup);
}

Result<EngineFlags> engine_flags(const EngineCliFlags& flags, const ModelFlags& model) {
  EngineFlags engine = flags.engine;
  engine.threads = model.threads;
  engine.threads_batch = model.threads_batch;
  engine.numa = model.numa;
  engine.context = model.context;
  engine.kv_cache_dtype = model.cache_dtype;
  engine.block_size = model.block_size;
  engine.fault = environment::fault();
  engine.enable_prefix_caching = !flags.no_prefix_caching;
  INGOT_TRY(engine.kv_cache_memory, parse_size(flags.kv_cache_memory, "--kv-cache-memory"));
  INGOT_TRY(engine.host_cache_bytes, parse_size(flags.host_cache, "--host-cache"));
  INGOT_TRY(engine.disk_cache_bytes, parse_size(flags.disk_cache_size, "--disk-cache-size"));
  return engine;
}

}  // namespace ingot
