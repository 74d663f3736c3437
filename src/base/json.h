// SPDX-License-Identifier: Apache-2.0
// JSON as a tree, for documents of configuration size. Depth, number of values and duplicate keys
// are checked here, at the door, for everything; key order is kept (templates print it).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/status.h"

namespace ingot {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  size_t depth = limits::kJsonDepth;
  size_t nodes = limits::kJsonNodes;
};

// `source` names the document in errors ("config.json").
Result<Json> parse_json(std::string_view text, std::string_view source,
                        const JsonLimits& limits = {});
Result<Json> read_json_file(const std::filesystem::path& path, const JsonLimits& limits = {});
// Compact text; invalid UTF-8 inside strings is replaced, so this cannot fail.
std::string dump_json(const Json& value, int indent = -1);

}  // namespace ingot
