// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluate.h"

#include <algorithm>
#include <chrono>

#include "api/text_engine.h"
#include "eval/divergence.h"
#include "eval/perplexity.h"
#include "eval/task_runner.h"

namespace ingot {
namespace {

constexpr int64_t kUsualContext = 512;
constexpr int64_t kLongestUsualContext = 8192;
constexpr int64_t kTaskBatchTokens = 2048;

// Whether the tokenizer itself puts a bos in front of a text.
Result<bool> begins_with_bos(const Tokenizer& tokenizer) {
  INGOT_TRY(const std::vector<TokenId> ids, tokenizer.encode(""));
  const std::optional<TokenId> bos = tokenizer.special().bos;
  return bos && !ids.empty() && ids.front() == *bos;
}

Result<std::vector<TokenId>> encode_text(const Tokenizer& tokenizer, std::string_view text,
                                         Protocol protocol) {
  EncodeOptions encoding;
  // llama-perplexity takes spelled-out special tokens as text; the others take them as tokens.
  encoding.add_special = protocol != Protocol::kWindows;
  encoding.parse_special = protocol != Protocol::kLlama;
  return tokenizer.encode(text, encoding);
}

class Evaluation {
 public:
  Evaluation(const LoadedModel& model, const EvalRequest& request)
      : model_(model), request_(request) {}

  Result<EvaluatedModel> run() {
    const auto start = std::chrono::steady_clock::now();
    describe();
    if (needs_scores()) {
      ThreadPool pool(request_.threads);
      pool_ = &pool;
      INGOT_TRY(run_scores_of_texts());
      pool_ = nullptr;
    }
    if (!request_.tasks.empty()) {
      INGOT_TRY(run_tasks());
    }
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  bool needs_scores() const { return !request_.texts.empty() || request_.reference_file; }

  void describe() {
    result_.name = model_.name;
    result_.bytes = model_.checkpoint->size_bytes();
    result_.parameters = model_.model->parameters();
    uint64_t bytes = 0;
    for (const TensorEntry* entry : model_.checkpoint->tensors())
      bytes += entry->tensor.bytes.size();
    if (result_.parameters > 0)
      result_.bits_per_weight =
          static_cast<double>(bytes) * 8 / static_cast<double>(result_.parameters);
  }

  Result<WindowOptions> window_options() const {
    WindowOptions windows = request_.windows;
    const Tokenizer& tokenizer = *model_.text.tokenizer;
    const bool is_hf = windows.protocol == Protocol::kHuggingFace;
    if (windows.context == 0) {
      windows.context = kUsualContext;
      if (const int64_t own = model_.model->spec().context; is_hf && own > 0)
        windows.context = std::min(own, kLongestUsualContext);
    }
    if (is_hf && windows.stride == 0)
      windows.stride = std::max<int64_t>(std::min(kUsualContext, windows.context / 2), 1);
    INGOT_TRY(windows.adds_bos, begins_with_bos(tokenizer));
    windows.bos = tokenizer.special().bos.value_or(-1);
    return windows;
  }

  Result<ScoreModel> score_model(const LoadedModel& model, const ScoredText& text) {
    ScoreModelOptions options;
    options.cache = default_cache_type(model.model->spec());
    if (request_.cache_dtype != "auto") {
      INGOT_TRY(options.cache, parse_kv_cache_type(request_.cache_dtype));
    }
    options.context = text.longest();
    options.batch_tokens = request_.batch_tokens;
    return ScoreModel::create(model.model, *pool_, options);
  }

  GoesOn progress_of(std::string label) const {
    return [this, label = std::move(label)](const ScoreProgress& progress) {
      if (!request_.progress) return true;
      if (progress.perplexity <= 0) return request_.progress(label, progress.fraction);
      return request_.progress(fmt::format("{} {:.4f}", label, progress.perplexity),
                               progress.fraction);
    };
  }

  Status run_scores_of_texts() {
    size_t first = 0;
    if (request_.reference_file != nullptr) {
      INGOT_TRY(compare_with_file());
      first = 1;
    }
    for (size_t i = first; i < request_.texts.size(); ++i) {
      INGOT_TRY(score_one(request_.texts[i], i == 0));
    }
    return Status::ok();
  }

  // The saved tokens are the text; one that is given too must be the same.
  Status compare_with_file() {
    const ReferenceLogits& reference = *request_.reference_file;
    std::string name = request_.reference_name;
    if (!request_.texts.empty()) {
      if (model_.text.tokenizer == nullptr) return model_.text.tokenizer_status;
      name = request_.texts.front().name;
      INGOT_TRY(const std::vector<TokenId> ids,
                encode_text(*model_.text.tokenizer, request_.texts.front().content,
                            reference.windows().protocol));
      if (hash_tokens(ids) != reference.tokens_hash())
        return Status::invalid_argument(
            "{} is not the text whose logits {} holds ({} tokens, {} there), or the tokenizers "
            "differ",
            name, request_.reference_name, ids.size(), reference.tokens().size());
    }
    INGOT_TRY(ScoreModel model, score_model(model_, reference.text()));
    INGOT_TRY(const KlDivergence kl,
              diverge_from_file(reference, model, *pool_, progress_of("Divergence, perplexity")));
    add_divergence(kl, name, reference.windows(), reference.text());
    return Status::ok();
  }

  Status score_one(const EvalText& text, bool is_first) {
    if (model_.text.tokenizer == nullptr) return model_.text.tokenizer_status;
    INGOT_TRY(const WindowOptions windows, window_options());
    INGOT_TRY(const std::vector<TokenId> ids,
              encode_text(*model_.text.tokenizer, text.content, windows.protocol));
    INGOT_TRY(const ScoredText cut, cut_text(ids, windows));
    INGOT_TRY(ScoreModel model, score_model(model_, cut));
    if (is_first && request_.reference_model != nullptr) {
      INGOT_TRY(check_tokens(text, ids, windows));
      INGOT_TRY(ScoreModel reference, score_model(*request_.reference_model, cut));
      INGOT_TRY(const KlDivergence kl, diverge_from_model(reference, model, *pool_, cut,
                                                          progress_of("Divergence, perplexity")));
      add_divergence(kl, text.name, windows, cut);
      return Status::ok();
    }
    std::vector<float> nll;
    if (is_first && !request_.save_reference.empty()) {
      INGOT_TRY(nll, write_reference(request_.save_reference, model, *pool_, ids, windows,
                                     progress_of("Saving logits, perplexity")));
    } else {
      INGOT_TRY(nll, score_text(model, *pool_, cut, progress_of("Perplexity")));
    }
    add_perplexity(nll, text.name, windows, cut);
    return Status::ok();
  }

  Status check_tokens(const EvalText& text, std::span<const TokenId> ids,
                      const WindowOptions& windows) const {
    const TextSide& side = request_.reference_model->text;
    if (side.tokenizer == nullptr) return Status::ok();
    INGOT_TRY(const std::vector<TokenId> theirs,
              encode_text(*side.tokenizer, text.content, windows.protocol));
    if (std::ranges::equal(ids, theirs)) return Status::ok();
    return Status::invalid_argument(
        "the model and the reference {} cut {} into different tokens ({} and {}); they must be "
        "the same model in two formats",
        request_.reference_name, text.name, ids.size(), theirs.size());
  }

  void add_perplexity(std::span<const float> nll, const std::string& name,
                      const WindowOptions& windows, const ScoredText& text) {
    result_.perplexities.push_back(
        {.text = name,
         .protocol = std::string(to_string(windows.protocol)),
         .context = windows.context,
         .stride = windows.stride,
         .result = summarize_nll(nll, static_cast<int64_t>(text.sequences.size()))});
  }

  void add_divergence(const KlDivergence& kl, const std::string& name, const WindowOptions& windows,
                      const ScoredText& text) {
    result_.kl = KlEntry{request_.reference_name, name, kl.stats(), make_histogram(kl.values())};
    add_perplexity(kl.nll(), name, windows, text);
  }

  Status run_tasks() {
    EngineFlags flags = settled(request_.engine, *model_.model);
    flags.max_num_batched_tokens = std::max(flags.max_num_batched_tokens, kTaskBatchTokens);
    INGOT_TRY(const std::unique_ptr<TextEngine> engine, start_engine(model_, flags));
    for (const TaskSpec& spec : request_.tasks) {
      INGOT_TRY(const Task task, load_task(spec));
      TaskRunOptions options;
      options.most_in_flight = 2 * flags.max_num_seqs;
      options.goes_on = [&](const TaskProgress& progress) {
        if (!request_.progress) return true;
        return request_.progress(
            task.name, static_cast<double>(progress.done) / static_cast<double>(progress.all));
      };
      Result<TaskEntry> entry = run_task(*engine, task, options);
      if (!entry.is_ok()) return entry.status().with_context(task.name);
      result_.tasks.push_back(*std::move(entry));
    }
    return Status::ok();
  }

  const LoadedModel& model_;
  const EvalRequest& request_;
  ThreadPool* pool_ = nullptr;  // while texts are scored
  EvaluatedModel result_;
};

}  // namespace

Result<EvaluatedModel> evaluate(const LoadedModel& model, const EvalRequest& request) {
  return Evaluation(model, request).run();
}

}  // namespace ingot
