// SPDX-License-Identifier: Apache-2.0
#include "cli/own_samples.h"

#include <algorithm>

#include "api/text_engine.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/progress_bar.h"

namespace ingot {
namespace {

constexpr int64_t kTogether = 32;  // windows of one batch

// What documents begin with: bos, or a new line where a model has none.
Result<std::vector<TokenId>> opening(const TextSide& text) {
  if (text.tokenizer == nullptr) return text.tokenizer_status;
  if (const auto bos = text.tokenizer->special().bos) return std::vector<TokenId>{*bos};
  INGOT_TRY(std::vector<TokenId> ids, text.tokenizer->encode("\n", {}));
  if (ids.empty()) return Status::unsupported("the tokenizer has no token to begin a text with");
  return ids;
}

}  // namespace

Result<std::vector<std::vector<TokenId>>> write_own_samples(const std::string& model, int64_t count,
                                                            int64_t length, int threads) {
  ModelFlags model_flags;
  model_flags.model = model;
  model_flags.threads = threads;
  EngineCliFlags engine_flags_of_cli;
  engine_flags_of_cli.engine.max_num_seqs = kTogether;
  INGOT_TRY(LoadedModel loaded, load_model(model_flags));
  TextRequest request;
  INGOT_TRY(request.prompt_ids, opening(loaded.text));
  // As the model itself would draw: nothing is cut off, and what follows an end is a new document.
  SamplingParams& sampling = request.sampling;
  sampling.temperature = 1;
  sampling.top_k = 0;
  sampling.top_p = 1;
  sampling.min_p = 0;
  sampling.ignore_eos = true;
  request.max_tokens = length - std::ssize(request.prompt_ids);
  INGOT_TRY(const EngineFlags flags, engine_flags(engine_flags_of_cli, model_flags));
  INGOT_TRY(const std::unique_ptr<TextEngine> engine, start_engine(std::move(loaded), flags));

  std::vector<std::vector<TokenId>> samples(static_cast<size_t>(count), request.prompt_ids);
  ProgressBar bar("Writing samples");
  const double tokens = static_cast<double>(count * std::max<int64_t>(1, request.max_tokens));
  int64_t written = 0;
  for (int64_t first = 0; first < count; first += kTogether) {
    request.n = static_cast<int32_t>(std::min(kTogether, count - first));
    sampling.seed = static_cast<uint64_t>(first + 1);
    INGOT_TRY(const std::unique_ptr<TextStream> stream, engine->submit(request));
    while (const std::optional<TextEvent> event = stream->next()) {
      if (event->kind != TextEvent::Kind::kToken) continue;
      samples[static_cast<size_t>(first + event->choice)].push_back(event->id);
      bar.update(static_cast<double>(++written) / tokens);
    }
    INGOT_TRY(stream->status());
  }
  bar.finish();
  return samples;
}

}  // namespace ingot
