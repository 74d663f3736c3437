// SPDX-License-Identifier: Apache-2.0
// Size arithmetic against 128-bit integers: a tensor is where wide arithmetic says, or it is
// refused.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>

#include "formats/gguf_test_bytes.h"

namespace ingot {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t kFileBytes = uint64_t{1}
                                << 40;  // address space only: nothing in it is ever read
constexpr size_t kHeadBytes = 4096;

// A file of a tebibyte of which only the head exists.
class HugeFile {
 public:
  HugeFile() {
    memory_ =
        ::mmap(nullptr, kFileBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    INGOT_CHECK(memory_ != MAP_FAILED);
    INGOT_CHECK(::mprotect(memory_, kHeadBytes, PROT_READ | PROT_WRITE) == 0);
  }
  ~HugeFile() { ::munmap(memory_, kFileBytes); }
  HugeFile(const HugeFile&) = delete;
  HugeFile& operator=(const HugeFile&) = delete;
  Result<std::shared_ptr<const GgufFile>> parse(const std::string& head) {
    INGOT_CHECK(head.size() <= kHeadBytes);
    std::memcpy(memory_, head.data(), head.size());
    return GgufFile::parse(
        MappedFile::from_memory({static_cast<const std::byte*>(memory_), kFileBytes}, "huge"));
  }

 private:
  void* memory_;
};

struct Sample {
  std::vector<uint64_t> dims;  // innermost first
  Layout layout = Layout::kF32;
  uint64_t offset = 0;
};

class Sampler {
 public:
  explicit Sampler(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t bound) { return random_() % bound; }
  // Small and huge alike; edges of the integer types often.
  uint64_t extent() {
    if (below(16) == 0) return (uint64_t{1} << below(64)) - below(3);
    return (random_() >> below(64)) | 1;
  }
  Sample sample(uint32_t alignment) {
    Sample sample;
    do {
      sample.layout = static_cast<Layout>(below(kLayoutCount));
    } while (!ggml_type_of_layout(sample.layout));
    const uint64_t rank = 1 + below(4);
    // Half of the samples are small enough to have a chance of fitting.
    const bool is_tame = below(2) == 0;
    for (uint64_t i = 0; i < rank; ++i)
      sample.dims.push_back(is_tame ? 1 + below(2048) : extent());
    if (below(8) != 0) sample.dims[0] *= info(sample.layout).block_elements;
    sample.offset = is_tame ? below(kFileBytes) : extent();
    if (below(16) != 0) sample.offset = sample.offset / alignment * alignment;
    return sample;
  }

 private:
  std::mt19937_64 random_;
};

struct Truth {
  bool is_valid = true;
  Wide size = 0;
  Wide end = 0;  // relative to the data
};

Truth truth_of(const Sample& sample, uint32_t alignment) {
  const LayoutInfo& layout = info(sample.layout);
  Truth truth;
  Wide elements = 1;
  for (const uint64_t dim : sample.dims) {
    if (dim == 0) truth.is_valid = false;
    elements *= dim;
    if (elements >> 64 != 0) elements = Wide{1} << 63;  // stays too large, whatever follows
  }
  if (sample.dims[0] % layout.block_elements != 0 || sample.offset % alignment != 0)
    truth.is_valid = false;
  truth.size = elements / layout.block_elements * layout.block_bytes;
  truth.end = truth.size + sample.offset;
  return truth;
}

TEST(GgufSizes, AreThoseOf128BitArithmeticOrRefused) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Sampler sampler(seed);
  HugeFile huge;
  constexpr int kPairs = 500'000;  // a million tensors
  int accepted = 0;
  for (int round = 0; round < kPairs; ++round) {
    const uint32_t alignment = uint32_t{8} << sampler.below(14);
    const Sample samples[2] = {sampler.sample(alignment), sampler.sample(alignment)};
    GgufBytes bytes;
    bytes.header(2, 1).key("general.alignment", GgufType::kUint32).put(alignment);
    for (size_t i = 0; i < 2; ++i) {
      bytes.text(i == 0 ? "a" : "b").put(static_cast<uint32_t>(samples[i].dims.size()));
      for (const uint64_t dim : samples[i].dims)
        bytes.put(dim);
      bytes.put(*ggml_type_of_layout(samples[i].layout)).put(samples[i].offset);
    }
    const uint64_t data = (bytes.data.size() + alignment - 1) / alignment * alignment;
    const Truth truths[2] = {truth_of(samples[0], alignment), truth_of(samples[1], alignment)};
    const bool is_apart = truths[0].end <= samples[1].offset || truths[1].end <= samples[0].offset;
    const bool is_valid = truths[0].is_valid && truths[1].is_valid && is_apart &&
                          truths[0].end + data <= kFileBytes && truths[1].end + data <= kFileBytes;
    const auto file = huge.parse(bytes.data);
    ASSERT_EQ(file.is_ok(), is_valid) << round << ": " << file.status().message();
    if (!is_valid) continue;
    ++accepted;
    for (size_t i = 0; i < 2; ++i) {
      const TensorEntry& entry = (*file)->tensors()[i];
      ASSERT_TRUE(Wide{entry.tensor.bytes.size()} == truths[i].size);
      ASSERT_EQ(entry.file_offset, data + samples[i].offset);
    }
  }
  EXPECT_GT(accepted, kPairs / 100);  // the property is not proved on refusals alone
}

}  // namespace
}  // namespace ingot
