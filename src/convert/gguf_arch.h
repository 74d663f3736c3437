// SPDX-License-Identifier: Apache-2.0
// Which GGUF architecture a Hugging Face one becomes, and what its files look like beyond the keys
// that say it. Everything else is taken from the ModelSpec and checked by reading it back.
#pragma once

#include <span>
#include <string_view>

namespace ingot {

struct GgufArch {
  std::string_view hf;  // ModelSpec::architecture of the Hugging Face mapper
  std::string_view gguf;
  bool fuses_qkv = false;
  bool fuses_gate_up = false;
};

std::span<const GgufArch> gguf_archs();
// Null where GGUF has no such architecture that we read.
const GgufArch* find_gguf_arch(std::string_view hf);

}  // namespace ingot
