// SPDX-License-Identifier: Apache-2.0
#include "model/fingerprint.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {
namespace {

// Four lanes of multiply and rotate: as fast as memory, and every bit of the input reaches the end.
class Digest {
 public:
  void add(std::span<const std::byte> bytes) {
    size_t i = 0;
    for (; i + sizeof(Lanes) <= bytes.size(); i += sizeof(Lanes)) {
      Lanes words;
      std::memcpy(&words, bytes.data() + i, sizeof(words));
      mix(words);
    }
    Lanes rest{};
    if (i < bytes.size()) std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
    rest[3] ^= bytes.size();
    mix(rest);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(uint64_t number) { mix({number, number, number, number}); }

  std::array<uint8_t, 32> finish() {
    for (int round = 0; round < 8; ++round)  // lanes into each other
      mix({lanes_[1], lanes_[2], lanes_[3], lanes_[0]});
    return std::bit_cast<std::array<uint8_t, 32>>(lanes_);
  }

 private:
  using Lanes = std::array<uint64_t, 4>;
  void mix(const Lanes& words) {
    for (size_t lane = 0; lane < words.size(); ++lane) {
      lanes_[lane] = (lanes_[lane] ^ words[lane]) * 0x9E3779B97F4A7C15ULL;
      lanes_[lane] = std::rotl(lanes_[lane], 29) + 0xD1342543DE82EF95ULL;
    }
  }
  Lanes lanes_{1, 2, 3, 4};
};

// What the weights do not say: rope, norms, scales.
void add_configuration(const Checkpoint& checkpoint, Digest& digest) {
  if (const GgufMetadata* metadata = checkpoint.gguf_metadata()) {
    for (const std::string_view key : metadata->keys()) {
      digest.add(key);
      digest.add(metadata->describe(key));
    }
    return;
  }
  std::ifstream file(checkpoint.folder() / "config.json", std::ios::binary);
  digest.add(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

std::array<uint8_t, 32> fingerprint(const Model& model, const Exec& exec) {
  const std::span<const TensorEntry* const> tensors = model.checkpoint().tensors();
  std::vector<std::array<uint8_t, 32>> parts(tensors.size());
  exec.for_ranges(static_cast<int64_t>(tensors.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      Digest part;
      part.add(tensors[i]->name);
      part.add(tensors[i]->tensor.shape.to_string());
      part.add(static_cast<uint64_t>(tensors[i]->tensor.layout));
      part.add(tensors[i]->tensor.bytes);
      parts[i] = part.finish();
    }
  });
  Digest digest;
  add_configuration(model.checkpoint(), digest);
  for (const std::array<uint8_t, 32>& part : parts)
    digest.add(std::as_bytes(std::span(part)));
  return digest.finish();
}

}  // namespace ingot
