// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "convert/gguf_arch.h"
#include "convert/gguf_keys.h"
#include "convert/gguf_preview.h"
#include "convert/gguf_tokenizer.h"
#include "convert/kind_of_name.h"
#include "convert/lora.h"
#include "convert/make_source.h"
#include "convert/rope_rows.h"
#include "convert/source_tensor.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr size_t kListedNames = 3;

Result<GgufPlan> keep_gguf(std::shared_ptr<const Checkpoint> input,
                           std::shared_ptr<const LoraAdapter> adapter) {
  GgufPlan plan;
  plan.values.copy(*input->gguf_metadata());
  for (const char* key : {"split.no", "split.count", "split.tensors.count", "general.alignment"})
    plan.values.erase(key);
  for (const TensorEntry* entry : input->tensors()) {
    SourceTensor tensor = kept_source(input, adapter, *entry);
    const NamedKind known = kind_of_gguf_name(entry->name);
    tensor.kind = known.kind;
    tensor.layer = known.layer;
    plan.tensors.push_back(std::move(tensor));
  }
  return plan;
}

// Tensors of numbers that config.json keeps: the first rope's divisors.
std::vector<SourceTensor> rope_tensors(const ModelSpec& spec) {
  std::vector<SourceTensor> tensors;
  if (spec.ropes.empty()) return tensors;
  const RopeSpec& rope = spec.ropes.front();
  if (rope.scaling == RopeScaling::kLlama3)
    tensors.push_back(computed_source("rope_freqs.weight", rope_divisors(rope)));
  if (rope.scaling == RopeScaling::kLongRope) {
    tensors.push_back(computed_source("rope_factors_long.weight", rope.long_factors));
    tensors.push_back(computed_source("rope_factors_short.weight", rope.short_factors));
  }
  return tensors;
}

// Adds the keys that the architecture's name does not imply, until the file reads as the input.
Result<ModelPlan> settle_keys(const Checkpoint& input, const ModelSpec& spec, const GgufArch& arch,
                              std::span<const PlannedTensor> planned, GgufKeyValues& values) {
  std::set<GgufExtra> extras;
  while (true) {
    GgufKeyValues tried = values;
    set_model_keys(spec, arch.gguf, extras, tried);
    INGOT_TRY(ModelPlan found, preview_gguf(tried, planned));
    const std::optional<SpecDifference> difference = compare_specs(spec, found.spec);
    if (!difference) {
      values = std::move(tried);
      return found;
    }
    if (!difference->remedy || !extras.insert(*difference->remedy).second) {
      return Status::unsupported("{}: GGUF's '{}' cannot express {} of this model", input.name(),
                                 arch.gguf, difference->what);
    }
  }
}

Status check_adapter(const WeightInput& input) {
  const LoraAdapter* adapter = input.adapter();
  if (adapter == nullptr) return Status::ok();
  if (adapter->is_gguf()) {
    return Status::unsupported("{}: a GGUF adapter goes with a GGUF model; {} is none",
                               adapter->name(), input.checkpoint().name());
  }
  for (const std::string& module : adapter->modules()) {
    if (input.find(module + ".weight") == nullptr) {
      return Status::invalid_data("{}: is for '{}', which {} does not have", adapter->name(),
                                  module, input.checkpoint().name());
    }
  }
  return Status::ok();
}

// What text does not need (vision towers, buffers) is left out, and said.
void note_unused(const WeightInput& input, std::vector<std::string>& notes) {
  std::set<std::string> used;
  for_each_source(input.plan().weights, [&](const TensorSource& source) {
    for (const TensorPart& part : source.parts) {
      const TensorEntry* entry = input.find(part.name);
      used.insert(entry == nullptr ? part.name : entry->name);
    }
  });
  std::vector<std::string> unused;
  for (const TensorEntry* entry : input.checkpoint().tensors()) {
    const std::string module = entry->name.substr(0, entry->name.rfind('.')) + ".weight";
    const bool is_buffer = entry->name.ends_with("rotary_emb.inv_freq") ||
                           entry->name.ends_with("attn.bias") ||
                           entry->name.ends_with("masked_bias");
    if (!used.contains(entry->name) && !used.contains(module) && !is_buffer)
      unused.push_back(entry->name);
  }
  // Tied heads are often stored all the same.
  std::erase_if(unused, [](const std::string& name) { return name == "lm_head.weight"; });
  if (unused.empty()) return;
  std::string text =
      fmt::format("{} tensors are left out, which text does not need:", unused.size());
  for (size_t i = 0; i < std::min(unused.size(), kListedNames); ++i)
    text += " " + unused[i];
  notes.push_back(text + (unused.size() > kListedNames ? " ..." : ""));
}

std::string model_name(const Checkpoint& input) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(input.folder(), error);
  const std::string name = folder.filename().string();
  return name.empty() ? "model" : name;
}

// How the model's makers sample from it.
void set_sampling_keys(const fs::path& folder, GgufKeyValues& values) {
  const auto config = read_json_file(folder / "generation_config.json");
  if (!config.is_ok() || !config->is_object()) return;
  const std::pair<const char*, const char*> numbers[] = {
      {"temperature", "general.sampling.temp"},
      {"top_p", "general.sampling.top_p"},
      {"min_p", "general.sampling.min_p"},
      {"repetition_penalty", "general.sampling.penalty_repeat"}};
  for (const auto& [name, key] : numbers) {
    if (config->contains(name) && (*config)[name].is_number())
      values.set(key, (*config)[name].get<float>());
  }
  if (config->contains("top_k") && (*config)["top_k"].is_number_integer())
    values.set("general.sampling.top_k", (*config)["top_k"].get<int32_t>());
}

Result<GgufPlan> convert_safetensors(std::shared_ptr<const Checkpoint> checkpoint,
                                     std::shared_ptr<const LoraAdapter> adapter) {
  INGOT_TRY(ModelPlan model, plan_model(*checkpoint));
  const GgufArch* arch = find_gguf_arch(model.spec.architecture);
  if (arch == nullptr) {
    return Status::unsupported("{}: GGUF has no architecture for '{}'", checkpoint->name(),
                               model.spec.architecture);
  }
  const ModelSpec spec = model.spec;
  const auto input =
      std::make_shared<const WeightInput>(checkpoint, std::move(model), std::move(adapter));
  GgufPlan plan;
  std::vector<RoleTensor> roles = role_tensors(*input, *arch);
  std::vector<SourceTensor> ropes = rope_tensors(spec);
  std::vector<PlannedTensor> planned;
  for (const RoleTensor& role : roles)
    planned.push_back({role.name, Layout::kF32, role.shape});
  for (const SourceTensor& rope : ropes)
    planned.push_back({rope.name, Layout::kF32, rope.shape});
  plan.values.set("general.architecture", std::string(arch->gguf));
  plan.values.set("general.type", "model");
  plan.values.set("general.name", model_name(*checkpoint));
  INGOT_TRY(const ModelPlan found, settle_keys(*checkpoint, spec, *arch, planned, plan.values));

  for (RoleTensor& role : roles) {
    if (!spec.ropes.empty() && !found.spec.ropes.empty()) {
      reorder_heads(spec.ropes.front().pairing, found.spec.ropes.front().pairing,
                    spec.ropes.front().rotary_dim, role);
    }
    const bool adds_one = role.is_norm_weight && spec.norm.adds_one;
    INGOT_TRY(SourceTensor tensor, make_source(input, role, adds_one ? 1.0F : 0.0F));
    plan.tensors.push_back(std::move(tensor));
  }
  std::ranges::move(ropes, std::back_inserter(plan.tensors));
  INGOT_TRY(check_adapter(*input));
  INGOT_TRY(set_tokenizer_keys(checkpoint->folder(), spec.vocab, plan.values, plan.notes));
  if (!plan.values.has("tokenizer.ggml.tokens") && !plan.values.has("tokenizer.huggingface.json")) {
    if (spec.bos_id >= 0)
      plan.values.set("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(spec.bos_id));
    if (!spec.eos_ids.empty())
      plan.values.set("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(spec.eos_ids.front()));
  }
  set_sampling_keys(checkpoint->folder(), plan.values);
  note_unused(*input, plan.notes);
  return plan;
}

}  // namespace

Result<GgufPlan> plan_gguf(std::shared_ptr<const Checkpoint> input,
                           std::shared_ptr<const LoraAdapter> adapter) {
  if (input->gguf_metadata() == nullptr)
    return convert_safetensors(std::move(input), std::move(adapter));
  if (adapter != nullptr) {
    if (!adapter->is_gguf()) {
      return Status::unsupported(
          "{}: a PEFT adapter goes with the original safetensors; {} is GGUF", adapter->name(),
          input->name());
    }
    for (const std::string& module : adapter->modules())
      INGOT_TRY(input->tensor(module + ".weight"));
  }
  return keep_gguf(std::move(input), std::move(adapter));
}

}  // namespace ingot
