// SPDX-License-Identifier: Apache-2.0
#include "bench/random_weights.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/float_types.h"
#include "blocks/layout.h"
#include "engine/random.h"
#include "kernels/code_levels.h"
#include "quant/quantize_rows.h"

namespace ingot {

struct ApartFormat {
  std::string_view name;
  QuantScheme scheme;  // group_columns 0: a whole row
  InputQuant input;
  double deviation;        // of the numbers that its codes stand for, before the scale
  int64_t scale_rows = 1;  // that share a scale
};

namespace {

constexpr InputQuant kE4m3Tokens{.kind = InputKind::kE4m3};
constexpr InputQuant kE4m3Blocks{.kind = InputKind::kE4m3, .block = 128};
constexpr InputQuant kInt8Tokens{.kind = InputKind::kInt8};
constexpr double kE4m3Deviation = 64;  // the largest number is 448
constexpr ApartFormat kApartFormats[] = {
    {"fp8", {CodeMeaning::kE4m3, CodeOrder::kRows, 8, 0}, kE4m3Tokens, kE4m3Deviation},
    {"fp8_block", {CodeMeaning::kE4m3, CodeOrder::kRows, 8, 128}, kE4m3Blocks, kE4m3Deviation, 128},
    {"int8", {CodeMeaning::kAffine, CodeOrder::kRowsSigned, 8, 0}, kInt8Tokens, 74},
    {"gptq", {CodeMeaning::kAffine, CodeOrder::kColumns, 4, 128}, {}, 4.6},
    {"awq", {CodeMeaning::kAffine, CodeOrder::kAwq, 4, 128}, {}, 4.6},
    {"nf4", {CodeMeaning::kLevels, CodeOrder::kRowsHighFirst, 4, 64}, {}, 0.52},
};
constexpr uint64_t kSeed = 619;
constexpr int64_t kTileRows = 16;
constexpr size_t kTileBytes = (size_t{1} << 20) - 3;  // odd: repetitions fall on other columns

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// About normal: the sum of four even numbers.
double normal(uint64_t counter) {
  double sum = -2;
  for (uint64_t i = 0; i < 4; ++i)
    sum += uniform(kSeed, counter * 4 + i);
  return sum * std::sqrt(3.0);
}

double deviation_for(int64_t cols) {
  return 1 / std::sqrt(static_cast<double>(cols));
}

void repeat(std::span<const std::byte> tile, std::span<std::byte> out) {
  for (size_t at = 0; at < out.size(); at += tile.size())
    std::memcpy(out.data() + at, tile.data(), std::min(tile.size(), out.size() - at));
}

MatrixKind kind_of(WeightPart part) {
  switch (part) {
    case WeightPart::kEmbedding:
      return MatrixKind::kEmbedding;
    case WeightPart::kHead:
      return MatrixKind::kOutput;
    case WeightPart::kQ:
      return MatrixKind::kAttentionQ;
    case WeightPart::kK:
      return MatrixKind::kAttentionK;
    case WeightPart::kV:
      return MatrixKind::kAttentionV;
    case WeightPart::kO:
      return MatrixKind::kAttentionOutput;
    case WeightPart::kGate:
      return MatrixKind::kFfnGate;
    case WeightPart::kUp:
      return MatrixKind::kFfnUp;
    case WeightPart::kDown:
      return MatrixKind::kFfnDown;
  }
  return MatrixKind::kOther;
}

uint64_t layout_bytes(Layout layout, const WantedWeight& wanted) {
  const auto rows = static_cast<uint64_t>(wanted.rows);
  const auto cols = static_cast<uint64_t>(wanted.cols);
  return storage_bytes(layout, CheckedSize(rows) * CheckedSize(cols)).value_or(0);
}

GeneratedWeight make_plain(Layout layout, const WantedWeight& wanted) {
  const int64_t rows = std::min(kTileRows, wanted.rows);
  std::vector<float> values(static_cast<size_t>(rows * wanted.cols));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(normal(i) * deviation_for(wanted.cols));
  WantedWeight few = wanted;
  few.rows = rows;
  std::vector<std::byte> tile(layout_bytes(layout, few));
  quantize_rows(layout, values, wanted.cols, {}, tile);
  GeneratedWeight made;
  made.bytes.resize(layout_bytes(layout, wanted));
  repeat(tile, made.bytes);
  made.plain.layout = layout;
  made.plain.shape = {static_cast<uint64_t>(wanted.rows), static_cast<uint64_t>(wanted.cols)};
  made.plain.bytes = made.bytes;
  return made;
}

std::vector<std::byte> random_codes(CodeMeaning meaning) {
  std::vector<std::byte> tile(kTileBytes);
  for (size_t i = 0; i < tile.size(); ++i) {
    const uint8_t code = meaning == CodeMeaning::kE4m3
                             ? to_float8_e4m3(static_cast<float>(normal(i) * kE4m3Deviation)).bits
                             : static_cast<uint8_t>(random_bits(kSeed, i));
    tile[i] = static_cast<std::byte>(code);
  }
  return tile;
}

GeneratedWeight make_apart(const ApartFormat& format, const WantedWeight& wanted) {
  GeneratedWeight made;
  QuantTensor& tensor = made.quantized.emplace();
  tensor.scheme = format.scheme;
  if (tensor.scheme.group_columns == 0) tensor.scheme.group_columns = wanted.cols;
  tensor.rows = wanted.rows;
  tensor.cols = wanted.cols;
  tensor.input = format.input;
  made.bytes.resize(static_cast<size_t>(wanted.rows * wanted.cols * format.scheme.bits / 8));
  repeat(random_codes(format.scheme.meaning), made.bytes);
  tensor.codes = made.bytes;
  const double scale = deviation_for(wanted.cols) / format.deviation;
  tensor.scales.resize(static_cast<size_t>(wanted.rows * tensor.groups()));
  for (int64_t row = 0; row < wanted.rows; ++row) {
    for (int64_t group = 0; group < tensor.groups(); ++group) {
      const int64_t scaled = row / format.scale_rows * tensor.groups() + group;
      tensor.scales[static_cast<size_t>(row * tensor.groups() + group)] =
          static_cast<float>(scale * (0.75 + 0.5 * uniform(kSeed, static_cast<uint64_t>(scaled))));
    }
  }
  if (format.scheme.meaning == CodeMeaning::kAffine) {
    const int middle = 1 << (format.scheme.bits - 1);
    tensor.zeros.assign(tensor.scales.size(), static_cast<uint8_t>(middle));
  }
  if (format.scheme.meaning == CodeMeaning::kLevels) {
    for (size_t i = 0; i < 16; ++i)
      tensor.levels.push_back(static_cast<float>(128 * kNf4High[i] + kNf4Low[i]) / kNf4Unit);
  }
  return made;
}

}  // namespace

Result<RandomFormat> parse_random_format(std::string_view name) {
  RandomFormat format{.name = lower(name)};
  const auto found = std::ranges::find(kApartFormats, format.name, &ApartFormat::name);
  if (found != std::end(kApartFormats)) {
    format.apart = found;
    return format;
  }
  format.mixture = find_mixture(name);
  if (format.mixture != nullptr) return format;
  return Status::invalid_argument("'{}' is no format of random weights; there are {}", name,
                                  random_format_names());
}

std::string random_format_names() {
  std::string names;
  for (const ApartFormat& format : kApartFormats)
    names += fmt::format("{}, ", format.name);
  for (const Mixture& mixture : all_mixtures())
    names +=
        fmt::format("{}{}", &mixture == all_mixtures().data() ? "" : ", ", lower(mixture.name));
  return names;
}

bool RandomWeights::is_apart(const WantedWeight& wanted) const {
  return format_.apart != nullptr && wanted.part != WeightPart::kEmbedding &&
         wanted.part != WeightPart::kHead;
}

Layout RandomWeights::layout_of(const WantedWeight& wanted) const {
  if (format_.mixture == nullptr) return Layout::kBF16;  // what such checkpoints leave alone
  const auto& attention = std::get<AttentionSpec>(spec_.layers.front().mixer);
  return choose(*format_.mixture, {.kind = kind_of(wanted.part),
                                   .is_tied = spec_.ties_output,
                                   .layer = static_cast<int>(wanted.layer),
                                   .layers = static_cast<int>(spec_.layers.size()),
                                   .heads = static_cast<int>(attention.heads),
                                   .kv_heads = static_cast<int>(attention.kv_heads),
                                   .rows = wanted.rows,
                                   .cols = wanted.cols});
}

uint64_t RandomWeights::size_bytes(const WantedWeight& wanted) const {
  if (!is_apart(wanted)) return layout_bytes(layout_of(wanted), wanted);
  const QuantScheme& scheme = format_.apart->scheme;
  const int64_t groups = scheme.group_columns == 0
                             ? 1
                             : (wanted.cols + scheme.group_columns - 1) / scheme.group_columns;
  const int64_t row = wanted.cols * scheme.bits / 8 + groups * int64_t{sizeof(float)};
  return static_cast<uint64_t>(wanted.rows * row);
}

const GeneratedWeight& RandomWeights::weight(const WantedWeight& wanted) {
  const bool apart = is_apart(wanted);
  const Layout layout = apart ? Layout::kU8 : layout_of(wanted);
  const auto [it, is_new] = made_.try_emplace(Key{apart, layout, wanted.rows, wanted.cols});
  if (!is_new) return it->second;
  it->second = apart ? make_apart(*format_.apart, wanted) : make_plain(layout, wanted);
  // Moved: what points into the bytes still does, as vectors keep their memory.
  return it->second;
}

}  // namespace ingot
