// SPDX-License-Identifier: Apache-2.0
// Any text as a shard index: refused, or every shard it names is a plain name in its folder.
#include <cstdint>

#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = ingot::parse_safetensors_index(text, "fuzz.index.json");
  if (!index.is_ok()) return 0;
  for (const std::string& shard : index->shard_names()) {
    const std::filesystem::path path(shard);
    INGOT_CHECK(!path.is_absolute() && path.filename() == path && shard != "..");
  }
  return 0;
}
