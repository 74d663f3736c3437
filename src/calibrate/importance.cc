// SPDX-License-Identifier: Apache-2.0
#include "calibrate/importance.h"

#include <array>
#include <cmath>

#include "base/byte_reader.h"
#include "base/limits.h"
#include "base/mapped_file.h"
#include "calibrate/input_stats.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "model/module_name.h"

namespace ingot {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

Status check_columns(const std::filesystem::path& path, const std::string& name,
                     const std::vector<float>& columns) {
  for (const float value : columns) {
    if (std::isfinite(value) && value >= 0) continue;
    return Status::invalid_data(
        "{}: the importance of '{}' is not a positive number; make it again", path.string(), name);
  }
  return Status::ok();
}

Result<ImportanceMatrix> read_gguf(const std::filesystem::path& path) {
  INGOT_TRY(const auto file, GgufFile::open(path));
  ImportanceMatrix matrix;
  const GgufMetadata& metadata = file->metadata();
  if (metadata.has("imatrix.chunk_size")) {
    INGOT_TRY(matrix.chunk_size, metadata.integer("imatrix.chunk_size"));
  }
  if (metadata.has("imatrix.chunk_count")) {
    INGOT_TRY(const int64_t chunks, metadata.integer("imatrix.chunk_count"));
    if (chunks > 0 && matrix.chunk_size > 0 && chunks < (int64_t{1} << 30) &&
        matrix.chunk_size < (int64_t{1} << 30))
      matrix.tokens = chunks * matrix.chunk_size;
  }
  std::map<std::string_view, const TensorEntry*> counts;
  for (const TensorEntry& entry : file->tensors()) {
    if (entry.name.ends_with(kCounts)) counts[entry.name] = &entry;
  }
  for (const TensorEntry& entry : file->tensors()) {
    if (!entry.name.ends_with(kSums)) continue;
    const std::string name = entry.name.substr(0, entry.name.size() - kSums.size());
    const auto it = counts.find(name + std::string(kCounts));
    if (it == counts.end() || entry.tensor.layout != Layout::kF32 ||
        it->second->tensor.layout != Layout::kF32 || it->second->tensor.bytes.size() < 4) {
      return Status::invalid_data("{}: '{}' has no counts, or is not F32", path.string(), name);
    }
    std::vector<float> columns(entry.tensor.shape.elements().value_or(0));
    dequantize(Layout::kF32, entry.tensor.bytes, columns);
    std::vector<float> count(it->second->tensor.shape.elements().value_or(0));
    dequantize(Layout::kF32, it->second->tensor.bytes, count);
    // Experts have one count each.
    const size_t width = columns.size() / count.size();
    if (width * count.size() != columns.size()) {
      return Status::invalid_data("{}: '{}' has {} sums and {} counts", path.string(), name,
                                  columns.size(), count.size());
    }
    for (size_t i = 0; i < columns.size(); ++i)
      columns[i] = count[i / width] > 0 ? columns[i] / count[i / width] : 0.0F;
    INGOT_TRY(check_columns(path, name, columns));
    matrix.columns[module_of(name)] = std::move(columns);
  }
  return matrix;
}

// count, then of each: length and name, calls, number of values, values.
Result<ImportanceMatrix> read_binary(const std::filesystem::path& path) {
  INGOT_TRY(const auto file, MappedFile::open(path));
  ByteReader reader(file->bytes(), path.string());
  ImportanceMatrix matrix;
  INGOT_TRY(const auto entries, reader.read<int32_t>("entries"));
  if (entries < 1 || entries > 1'000'000) {
    return Status::invalid_data("{}: not an importance matrix ({} entries)", path.string(),
                                entries);
  }
  for (int32_t i = 0; i < entries; ++i) {
    INGOT_TRY(const auto length, reader.read<int32_t>("name"));
    if (length < 1 || length > 4096)
      return Status::invalid_data("{}: a name of {} bytes", path.string(), length);
    INGOT_TRY(const std::string_view text, reader.text(static_cast<uint64_t>(length), "name"));
    const std::string name(text);
    INGOT_TRY(const auto calls, reader.read<int32_t>("calls"));
    INGOT_TRY(const auto values, reader.read<int32_t>("values"));
    if (values < 1) return Status::invalid_data("{}: '{}' is empty", path.string(), name);
    INGOT_TRY(const auto bytes, reader.bytes(static_cast<uint64_t>(values) * sizeof(float), name));
    std::vector<float> columns(static_cast<size_t>(values));
    dequantize(Layout::kF32, bytes, columns);
    for (float& value : columns)
      value /= static_cast<float>(std::max(calls, 1));
    INGOT_TRY(check_columns(path, name, columns));
    matrix.columns[module_of(name)] = std::move(columns);
  }
  return matrix;
}

}  // namespace

const std::vector<float>* ImportanceMatrix::find(std::string_view name) const {
  const auto it = columns.find(name);
  return it == columns.end() ? nullptr : &it->second;
}

Result<ImportanceMatrix> gather_importance(LayerWalk& walk, const ModelPlan& plan,
                                           const std::function<void(double fraction)>& progress) {
  ImportanceMatrix matrix;
  matrix.tokens = walk.tokens();
  for (size_t layer = 0; layer < walk.layers(); ++layer) {
    std::array<InputStats, kLinearInputs> stats;
    for (size_t i = 0; i < kLinearInputs; ++i)
      stats[i] = InputStats(walk.columns(static_cast<LinearInput>(i)));
    INGOT_TRY(walk.advance({}, [&](LinearInput input, std::span<const float> x) {
      stats[static_cast<size_t>(input)].add(x);
    }));
    const LayerSources& from = plan.weights.layers[layer];
    const std::pair<const LinearSource*, LinearInput> sources[] = {
        {&from.q, LinearInput::kMixerIn},    {&from.k, LinearInput::kMixerIn},
        {&from.v, LinearInput::kMixerIn},    {&from.o, LinearInput::kMixerInner},
        {&from.gate, LinearInput::kFfnIn},   {&from.up, LinearInput::kFfnIn},
        {&from.down, LinearInput::kFfnInner}};
    for (const auto& [source, input] : sources) {
      for (const TensorPart& part : source->weight.parts)
        matrix.columns[module_of(part.name)] = stats[static_cast<size_t>(input)].mean_squares();
    }
    if (progress) progress(static_cast<double>(layer + 1) / static_cast<double>(walk.layers()));
  }
  return matrix;
}

Result<ImportanceMatrix> read_importance(const std::filesystem::path& path) {
  INGOT_TRY(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  const bool is_gguf = bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
  INGOT_TRY(ImportanceMatrix matrix, is_gguf ? read_gguf(path) : read_binary(path));
  if (matrix.columns.empty()) {
    return Status::invalid_data("{}: no importance matrix in it; make one with 'ingot imatrix'",
                                path.string());
  }
  return matrix;
}

Status write_importance(const ImportanceMatrix& matrix, const std::filesystem::path& path) {
  GgufWriter writer;
  writer.set("general.type", "imatrix");
  writer.set("imatrix.datasets", std::vector<std::string>{matrix.dataset});
  const int64_t chunk = std::max<int64_t>(1, matrix.chunk_size);
  writer.set("imatrix.chunk_count", static_cast<uint32_t>((matrix.tokens + chunk - 1) / chunk));
  writer.set("imatrix.chunk_size", static_cast<uint32_t>(chunk));
  std::map<std::string, std::vector<float>> sums;
  const std::vector<float> count = {static_cast<float>(std::max<int64_t>(1, matrix.tokens))};
  const TensorView counts{Layout::kF32, Shape{1, 1}, std::as_bytes(std::span(count))};
  for (const auto& [name, columns] : matrix.columns) {
    std::vector<float>& sum = sums[name];
    for (const float value : columns)
      sum.push_back(value * count[0]);
    const std::string full = name + std::string(kWeightSuffix);
    writer.add(full + std::string(kSums),
               {Layout::kF32, Shape{1, sum.size()}, std::as_bytes(std::span(sum))});
    writer.add(full + std::string(kCounts), counts);
  }
  return writer.write(path);
}

}  // namespace ingot
