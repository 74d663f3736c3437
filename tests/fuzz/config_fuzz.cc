// SPDX-License-Identifier: Apache-2.0
// config.json through the mapper it names, and through one chosen by the first byte, so that every
// family is reached without its name being guessed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/mapper.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ingot::Result<ingot::HfConfig> config = ingot::HfConfig::parse(text, "config.json");
  if (!config.is_ok()) return 0;
  (void)ingot::plan_from_config(*config).is_ok();
  const auto mappers = ingot::hf_mappers();
  (void)mappers[data[0] % mappers.size()].map(*config).is_ok();
  return 0;
}
