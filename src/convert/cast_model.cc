// SPDX-License-Identifier: Apache-2.0
#include "convert/cast_model.h"

#include <algorithm>
#include <map>

#include "blocks/elements.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

constexpr int64_t kPieceBytes = 8 << 20;  // of floats

bool container_has(Layout layout, bool is_gguf) {
  return is_gguf ? ggml_type_of_layout(layout).has_value()
                 : safetensors_dtype_of_layout(layout).has_value();
}

bool is_number(Layout layout) {
  return can_encode_elements(layout) || layout == Layout::kF64 || info(layout).is_quantized;
}

// How many bits of a float survive; a wider type with fewer exponents may lose as well.
bool holds(Layout from, Layout to) {
  if (from == to || to == Layout::kF32) return from != Layout::kF64;
  return false;
}

Layout cast_of(const SourceTensor& source, std::optional<Layout> wanted, bool is_gguf) {
  const bool is_matrix = source.shape.rank() >= 2 && source.kind != TensorKind::kNorm;
  if (!is_number(source.natural)) return source.natural;  // indices, masks
  // GGUF's readers add vectors in float; small tables are kept as exact as they come.
  if (is_gguf && (!is_matrix || source.kind == TensorKind::kPositions)) return Layout::kF32;
  if (wanted && (is_matrix || !source.is_quantized)) return *wanted;
  if (is_gguf && source.exact) return *source.exact;
  return container_has(source.natural, is_gguf) ? source.natural : Layout::kF32;
}

}  // namespace

CastChoice choose_casts(std::span<const SourceTensor> tensors, std::optional<Layout> wanted,
                        bool is_gguf) {
  CastChoice choice;
  for (const SourceTensor& source : tensors) {
    const Layout layout = cast_of(source, wanted, is_gguf);
    choice.is_lossy |= layout != source.exact && !holds(source.natural, layout);
    if (!wanted && source.is_quantized && layout == Layout::kF32 && source.shape.rank() >= 2)
      choice.widened.push_back(source.name);
    choice.tensors.push_back({source.name, layout, source.shape});
    choice.size_bytes += storage_bytes(layout, source.shape.elements()).value_or(0);
  }
  return choice;
}

Status write_tensor(const SourceTensor& source, const PlannedTensor& planned, size_t index,
                    TensorWriter& writer, const WriteProgress& progress) {
  const int64_t rows = source.rows();
  const int64_t cols = source.cols();
  const size_t row_bytes = *storage_bytes(planned.layout, static_cast<uint64_t>(cols)).value();
  const bool is_exact = source.exact && planned.layout == *source.exact;
  const Result<TensorView> plain =
      source.natural == planned.layout ? source.plain() : Status::unsupported("cast");
  if (!plain.is_ok() && !is_exact && !can_encode_elements(planned.layout)) {
    return Status::unsupported(
        "tensor '{}' must change, and {} is not a type that convert writes; choose --outtype f32, "
        "f16 or bf16",
        source.name, info(planned.layout).name);
  }
  const int64_t step = std::clamp<int64_t>(kPieceBytes / 4 / std::max<int64_t>(cols, 1), 1,
                                           std::max<int64_t>(rows, 1));
  std::vector<float> values;
  std::vector<std::byte> encoded;
  if (!plain.is_ok()) encoded.resize(static_cast<size_t>(step) * row_bytes);
  if (!plain.is_ok() && !is_exact) values.resize(static_cast<size_t>(step * cols));
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t end = std::min(rows, row + step);
    const size_t begin_bytes = static_cast<size_t>(row) * row_bytes;
    const size_t size = static_cast<size_t>(end - row) * row_bytes;
    std::span<const std::byte> bytes;
    if (plain.is_ok()) {
      bytes = plain->bytes.subspan(begin_bytes, size);
    } else if (is_exact) {
      INGOT_TRY(source.read_exact(row, end, std::span(encoded).first(size)));
      bytes = std::span(encoded).first(size);
    } else {
      const auto piece = std::span(values).first(static_cast<size_t>((end - row) * cols));
      INGOT_TRY(source.read_rows(row, end, piece));
      encode_elements(planned.layout, piece, std::span(encoded).first(size));
      bytes = std::span(encoded).first(size);
    }
    INGOT_TRY(writer.write_part(index, begin_bytes, bytes));
    if (plain.is_ok()) MappedFile::release(bytes);
    if (progress) progress(size);
  }
  return writer.finish(index);
}

Status write_tensors(std::span<const SourceTensor> sources, const CastChoice& choice,
                     TensorWriter& writer, const WriteProgress& progress) {
  INGOT_CHECK(sources.size() == writer.size() && choice.tensors.size() == writer.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (writer.is_done(i)) {
      if (progress) progress(writer.size_bytes(i));
      continue;
    }
    INGOT_TRY(write_tensor(sources[i], choice.tensors[i], i, writer, progress));
  }
  return Status::ok();
}

void set_file_type(const CastChoice& choice, GgufKeyValues& values) {
  std::map<Layout, uint64_t> sizes;
  for (const PlannedTensor& tensor : choice.tensors) {
    if (tensor.shape.rank() >= 2) sizes[tensor.layout] += tensor.shape.elements().value_or(0);
  }
  const auto most =
      std::ranges::max_element(sizes, {}, [](const auto& item) { return item.second; });
  if (most == sizes.end()) return;
  switch (most->first) {
    case Layout::kF32:
      return values.set("general.file_type", uint32_t{0});
    case Layout::kF16:
      return values.set("general.file_type", uint32_t{1});
    case Layout::kBF16:
      return values.set("general.file_type", uint32_t{32});
    default:
      return;  // quantizers know theirs
  }
}

}  // namespace ingot
