// SPDX-License-Identifier: Apache-2.0
// The flags of commands that run many sequences at once, with vLLM's names where it has them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/model_flags.h"
#include "ingot/engine.h"

namespace ingot {

struct EngineCliFlags {
  EngineFlags engine;
  std::string kv_cache_memory = "0";
  std::string host_cache = "0";
  std::string disk_cache_size = "16GB";
  bool no_prefix_caching = false;
};

void add_engine_flags(CLI::App& command, EngineCliFlags& flags);
// With those of the model flags that the engine needs.
Result<EngineFlags> engine_flags(const EngineCliFlags& flags, const ModelFlags& model);

// "512MB", "1.5G", "2GiB", "4096": units are powers of 1024. `field` for the message.
Result<uint64_t> parse_size(std::string_view text, std::string_view field);

}  // namespace ingot
