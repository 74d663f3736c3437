// SPDX-License-Identifier: Apache-2.0
#include "convert/to_hf.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "blocks/elements.h"
#include "convert/gguf_keys.h"
#include "convert/hf_config_text.h"
#include "convert/hf_tokenizer.h"
#include "convert/lora.h"
#include "convert/make_source.h"
#include "convert/rope_rows.h"

namespace ingot {
namespace {

// Rows of a Hugging Face tensor, each with its row of the GGUF file.
struct HfTensor {
  std::string name;
  Shape shape;
  TensorKind kind = TensorKind::kOther;
  int layer = -1;
  bool is_transposed = false;
  bool is_norm_weight = false;
  int64_t cols = 1;
  std::map<int64_t, PlacedRow> rows;  // by the row of this tensor
  std::vector<RowPart> parts;         // of the GGUF file; PlacedRow counts in them
};

// The type most weights have: what vectors, which GGUF widens, are written in if that is exact.
Layout main_layout(const Checkpoint& input) {
  std::map<Layout, uint64_t> sizes;
  for (const TensorEntry* entry : input.tensors()) {
    if (entry->tensor.shape.rank() >= 2)
      sizes[entry->tensor.layout] += entry->tensor.shape.elements().value_or(0);
  }
  const auto most =
      std::ranges::max_element(sizes, {}, [](const auto& item) { return item.second; });
  const bool is_plain = most != sizes.end() && can_encode_elements(most->first);
  return is_plain ? most->first : Layout::kF32;
}

bool is_exact_in(Layout layout, std::span<const float> values) {
  std::vector<std::byte> encoded(*storage_bytes(layout, values.size()).value());
  encode_elements(layout, values, encoded);
  std::vector<float> back(values.size());
  dequantize(layout, encoded, back);
  return std::ranges::equal(values, back);
}

// GGUF keeps vectors in F32: they go back to the type of the matrices where nothing is lost.
// Gemma's norms are rounded to it: less one they are what was stored, but for the last bits.
Status narrow(Layout layout, bool may_round, SourceTensor& tensor) {
  if (tensor.natural != Layout::kF32 || layout == Layout::kF32) return Status::ok();
  std::vector<float> values(tensor.shape.elements().value_or(0));
  INGOT_TRY(tensor.read_rows(0, tensor.rows(), values));
  if (!may_round && !is_exact_in(layout, values)) return Status::ok();
  tensor.natural = layout;
  tensor.plain = [name = tensor.name]() -> Result<TensorView> {
    return Status::unsupported("tensor '{}' is F32 in the input", name);
  };
  return Status::ok();
}

Result<std::vector<float>> numbers(const Checkpoint& input, const char* name) {
  std::vector<float> values;
  const TensorEntry* entry = input.find(name);
  if (entry == nullptr) return values;
  values.resize(entry->tensor.shape.elements().value_or(0));
  dequantize(entry->tensor.layout, entry->tensor.bytes, values);
  return values;
}

Result<TensorFacts> facts_of(const Checkpoint& input) {
  TensorFacts facts;
  facts.has_qkv_bias =
      input.find("blk.0.attn_q.bias") != nullptr || input.find("blk.0.attn_qkv.bias") != nullptr;
  facts.has_o_bias = input.find("blk.0.attn_output.bias") != nullptr;
  facts.has_ffn_bias = input.find("blk.0.ffn_up.bias") != nullptr;
  INGOT_TRY(facts.rope_freqs, numbers(input, "rope_freqs.weight"));
  INGOT_TRY(facts.rope_short, numbers(input, "rope_factors_short.weight"));
  INGOT_TRY(facts.rope_long, numbers(input, "rope_factors_long.weight"));
  return facts;
}

// Distributes the rows of one role of the GGUF file over the tensors that the other map names.
Status place_role(const RoleTensor& from, const RoleTensor& to, const Checkpoint& input,
                  std::map<std::string, HfTensor>& tensors) {
  const std::vector<PlacedRow> sources = placed_rows(from.parts);
  const std::vector<PlacedRow> places = placed_rows(to.parts);
  if (sources.size() != places.size())
    return Status::internal("{}: '{}' has {} rows for {}", input.name(), from.name, sources.size(),
                            places.size());
  const bool is_vector = from.kind == TensorKind::kNorm || from.kind == TensorKind::kBias;
  for (size_t i = 0; i < places.size(); ++i) {
    const TensorPart& part = to.parts[places[i].part].part;
    HfTensor& tensor = tensors[part.name];
    if (tensor.name.empty()) {
      tensor.name = part.name;
      tensor.kind = from.kind;
      tensor.layer = from.layer;
      tensor.is_transposed = part.is_transposed && !is_vector;
      tensor.is_norm_weight = from.is_norm_weight;
      tensor.cols = is_vector ? 1 : static_cast<int64_t>(from.shape.back());
      tensor.shape = to.shape;  // kept where this role is the whole tensor
    }
    const auto offset = static_cast<size_t>(tensor.parts.size());
    const RowPart& source = from.parts[sources[i].part];
    const bool is_new =
        tensor.parts.empty() || !(tensor.parts.back().part.name == source.part.name);
    if (is_new) tensor.parts.push_back({{source.part.name, {}, source.part.is_transposed}, 0});
    tensor.rows[places[i].row] = {is_new ? offset : offset - 1, sources[i].row};
  }
  return Status::ok();
}

// [out, in] read as [in, out]: Conv1D's order. The matrix is held while it is read.
SourceTensor transposed(SourceTensor matrix) {
  struct Cache {
    std::mutex mutex;
    std::vector<float> values;
  };
  const int64_t rows = matrix.rows();
  const int64_t cols = matrix.cols();
  SourceTensor tensor = matrix;
  tensor.shape = Shape{static_cast<uint64_t>(cols), static_cast<uint64_t>(rows)};
  tensor.read_rows = [read = matrix.read_rows, rows, cols, cache = std::make_shared<Cache>()](
                         int64_t begin, int64_t end, std::span<float> out) -> Status {
    const std::scoped_lock lock(cache->mutex);
    if (cache->values.empty()) {
      cache->values.resize(static_cast<size_t>(rows * cols));
      INGOT_TRY(read(0, rows, cache->values));
    }
    for (int64_t col = begin; col < end; ++col) {
      for (int64_t row = 0; row < rows; ++row)
        out[static_cast<size_t>((col - begin) * rows + row)] =
            cache->values[static_cast<size_t>(row * cols + col)];
    }
    if (end == cols) cache->values = {};
    return Status::ok();
  };
  tensor.plain = [name = tensor.name]() -> Result<TensorView> {
    return Status::unsupported("tensor '{}' is transposed in the input", name);
  };
  return tensor;
}

Result<SourceTensor> make_tensor(const std::shared_ptr<const WeightInput>& input,
                                 const HfTensor& tensor, bool subtracts_one, Layout main) {
  std::vector<PlacedRow> rows;
  for (const auto& [row, place] : tensor.rows) {
    if (row != static_cast<int64_t>(rows.size()))
      return Status::internal("tensor '{}' lacks row {}", tensor.name, rows.size());
    rows.push_back(place);
  }
  RoleTensor role;
  role.name = tensor.name;
  role.kind = tensor.kind;
  role.layer = tensor.layer;
  role.parts = gathered_rows(tensor.parts, rows);
  const bool is_whole =
      tensor.shape.elements().value_or(0) == rows.size() * static_cast<uint64_t>(tensor.cols);
  role.shape = is_whole           ? tensor.shape
               : tensor.cols == 1 ? Shape{rows.size()}
                                  : Shape{rows.size(), static_cast<uint64_t>(tensor.cols)};
  const bool is_one_less = subtracts_one && tensor.is_norm_weight;
  INGOT_TRY(SourceTensor source, make_source(input, role, is_one_less ? -1.0F : 0.0F));
  if (tensor.is_transposed) source = transposed(std::move(source));
  const bool is_small = tensor.cols == 1 || tensor.kind == TensorKind::kPositions;
  if (is_small) INGOT_TRY(narrow(main, is_one_less, source));
  return source;
}

}  // namespace

Result<SafetensorsPlan> convert_to_hf(std::shared_ptr<const Checkpoint> checkpoint,
                                      std::shared_ptr<const LoraAdapter> adapter) {
  if (adapter != nullptr && !adapter->is_gguf()) {
    return Status::unsupported("{}: a PEFT adapter goes with the original safetensors; {} is GGUF",
                               adapter->name(), checkpoint->name());
  }
  INGOT_TRY(ModelPlan model, plan_model(*checkpoint));
  INGOT_TRY(const TensorFacts facts, facts_of(*checkpoint));
  const Layout main = main_layout(*checkpoint);
  const char* dtype = main == Layout::kF16    ? "float16"
                      : main == Layout::kBF16 ? "bfloat16"
                                              : "float32";
  INGOT_TRY(const Json config, make_hf_config(model.spec, model.spec.architecture, facts, dtype));
  const std::string text = dump_json(config, 2) + "\n";
  INGOT_TRY(const HfConfig parsed, HfConfig::parse(text, "config.json"));
  INGOT_TRY(ModelPlan target, plan_from_config(parsed));
  if (const auto difference = compare_specs(model.spec, target.spec)) {
    return Status::unsupported("{}: Hugging Face's '{}' cannot express {} of this model",
                               checkpoint->name(), target.spec.architecture, difference->what);
  }
  const ModelSpec spec = model.spec;
  const ModelSpec target_spec = target.spec;
  const auto input = std::make_shared<const WeightInput>(checkpoint, std::move(model), adapter);
  const WeightInput output(checkpoint, std::move(target), nullptr);
  std::map<std::string, RoleTensor> roles;
  for (RoleTensor& role : role_tensors(*input, {})) {
    if (!spec.ropes.empty()) {
      reorder_heads(spec.ropes.front().pairing, target_spec.ropes.front().pairing,
                    spec.ropes.front().rotary_dim, role);
    }
    const std::string name = role.name;
    roles.emplace(name, std::move(role));
  }
  std::map<std::string, HfTensor> tensors;
  for (const RoleTensor& wanted : role_tensors(output, {})) {
    const auto found = roles.find(wanted.name);
    if (found == roles.end()) {
      return Status::unsupported("{}: has no '{}', which Hugging Face's '{}' needs",
                                 checkpoint->name(), wanted.name, target_spec.architecture);
    }
    INGOT_TRY(place_role(found->second, wanted, *checkpoint, tensors));
    roles.erase(found);
  }
  if (!roles.empty()) {
    return Status::unsupported("{}: Hugging Face's '{}' has no place for '{}'", checkpoint->name(),
                               target_spec.architecture, roles.begin()->first);
  }
  SafetensorsPlan plan;
  plan.metadata = {{"format", "pt"}};
  for (const auto& [name, tensor] : tensors) {
    INGOT_TRY(SourceTensor source, make_tensor(input, tensor, target_spec.norm.adds_one, main));
    plan.tensors.push_back(std::move(source));
  }
  plan.files.push_back({"config.json", text, {}});
  INGOT_TRY(add_tokenizer_files(*checkpoint->gguf_metadata(), plan.files, plan.notes));
  return plan;
}

}  // namespace ingot
