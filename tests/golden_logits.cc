// SPDX-License-Identifier: Apache-2.0
#include "golden_logits.h"

#include <algorithm>
#include <cmath>

#include "formats/safetensors.h"

namespace ingot::testing {

Result<Goldens> Goldens::open(const std::filesystem::path& folder) {
  Goldens goldens;
  INGOT_TRY(goldens.json_, read_json_file(folder / "goldens.json"));
  INGOT_TRY(const auto arrays, SafetensorsFile::open(folder / "goldens.safetensors"));
  for (const TensorEntry& entry : arrays->tensors()) {
    std::vector<float>& floats = goldens.values_[entry.name];
    floats.resize(*entry.tensor.shape.elements().value());
    dequantize(entry.tensor.layout, entry.tensor.bytes, floats);
  }
  return goldens;
}

std::vector<TokenId> Goldens::ids(size_t prompt) const {
  return json_["prompts"][prompt]["ids"].get<std::vector<TokenId>>();
}

Result<double> Goldens::worst_difference(Solo& solo, size_t prompt) const {
  INGOT_TRY(const Agreement found, compare(solo, prompt, ""));
  return found.worst;
}

Result<Agreement> Goldens::compare(Solo& solo, size_t prompt, const std::string& run) const {
  const auto values = [&](const char* name) -> const std::vector<float>& {
    return values_.at(fmt::format("{}p{}.{}", run, prompt, name));
  };
  const std::vector<TokenId> tokens = ids(prompt);
  const std::vector<float>& last = values("logits_last");
  const std::vector<float>& top_values = values("top_values");
  const std::vector<float>& top_ids = values("top_ids");
  const auto known = values_.find(fmt::format("{}p{}.prompt_logprobs", run, prompt));
  const std::vector<float>* logprobs = known == values_.end() ? nullptr : &known->second;
  const size_t top = top_ids.size() / tokens.size();
  Agreement agreement;
  double& worst = agreement.worst;
  const auto compare = [&](double found, double expected) {
    const double difference = std::fabs(found - expected);
    worst = difference <= worst ? worst : difference;  // NaN counts as worse
  };
  INGOT_TRY(solo.score(tokens, [&](int64_t row, std::span<const float> logits) {
    const auto r = static_cast<size_t>(row);
    for (size_t i = r * top; i < (r + 1) * top; ++i) {
      compare(logits[static_cast<size_t>(top_ids[i])], top_values[i]);
    }
    if (r + 1 < tokens.size()) {
      if (logprobs != nullptr)
        compare(position_logprobs(logits, tokens[r + 1], 0).logprob, (*logprobs)[r]);
    } else {
      for (size_t i = 0; i < last.size(); ++i)
        compare(logits[i], last[i]);
    }
    if (worst < kLogitBound) agreement.first_exact = r + 1;
  }));
  return agreement;
}

}  // namespace ingot::testing
