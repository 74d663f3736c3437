// SPDX-License-Identifier: Apache-2.0
// What the key tokenizer.ggml.pre of a GGUF file stands for: the patterns that split a text before
// BPE, and the few switches that go with them.
#pragma once

#include <span>
#include <string_view>

namespace ingot::tok {

// Immutable; the list is static.
struct GgufPre {
  std::string_view name;
  std::span<const std::string_view> patterns;  // applied one after the other, matches isolated
  bool ignore_merges = false;                  // a piece that is in the vocabulary is taken whole
  bool adds_bos = false;                       // unless the file says otherwise
  bool is_byte_level = true;                   // else: spaces as "▁", unknown characters as bytes
};

std::span<const GgufPre> gguf_pre_kinds();
// Null for a kind that is not known. An empty name is "default".
const GgufPre* find_gguf_pre(std::string_view name);

}  // namespace ingot::tok
