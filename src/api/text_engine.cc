// SPDX-License-Identifier: Apache-2.0
#include "api/text_engine.h"

#include <utility>

#include "api/device_choice.h"
#include "api/render_prompt.h"
#include "api/text_sink.h"
#include "base/json.h"

namespace ingot {
namespace {

class Stream final : public TextStream {
 public:
  Stream(Engine& engine, RequestId id, std::shared_ptr<TextSink> sink)
      : engine_(&engine), id_(id), sink_(std::move(sink)) {}
  ~Stream() override {
    sink_->notify({});
    engine_->cancel(id_);
  }
  std::optional<TextEvent> next() override { return sink_->next(); }
  bool wait_for(std::chrono::milliseconds time) override { return sink_->wait_for(time); }
  std::optional<TextEvent> try_next() override { return sink_->try_next(); }
  bool is_over() const override { return sink_->is_over(); }
  bool has_ended() const override { return sink_->has_ended(); }
  void notify(std::function<void()> wake) override { sink_->notify(std::move(wake)); }
  void cancel() override { engine_->cancel(id_); }
  void pause() override { engine_->pause(id_); }
  void resume() override { engine_->resume(id_); }
  Status status() const override { return sink_->status(); }

 private:
  Engine* engine_;
  RequestId id_;
  std::shared_ptr<TextSink> sink_;
};

class LocalEngine final : public TextEngine {
 public:
  LocalEngine(LoadedModel model, Result<ChatTemplate> chat_template, std::unique_ptr<Engine> engine)
      : model_(std::move(model)), template_(std::move(chat_template)), engine_(std::move(engine)) {}

  Result<std::unique_ptr<TextStream>> submit(const TextRequest& request) override;
  Result<std::vector<TokenId>> prompt_ids(const TextRequest& request) const override;
  SamplingParams default_sampling() const override {
    SamplingParams sampling = model_.sampling;
    sampling.eos_ids = model_.stop_ids;
    return sampling;
  }
  EngineStats stats() const override { return engine_->stats(); }
  void reset_prefix_cache() override { engine_->reset_prefixes(); }
  EngineProgress progress() const override { return engine_->progress(); }
  Status lost() const override { return engine_->lost(); }
  int64_t context() const override { return engine_->context(); }
  int threads() const override { return engine_->threads(); }
  const LoadedModel& model() const override { return model_; }

 private:
  LoadedModel model_;
  Result<ChatTemplate> template_;   // or why there is none
  std::unique_ptr<Engine> engine_;  // last: its thread uses the model
};

Result<std::vector<TokenId>> LocalEngine::prompt_ids(const TextRequest& request) const {
  const int given = int{!request.prompt.empty()} + int{!request.prompt_ids.empty()} +
                    int{!request.messages.empty()};
  if (given > 1) {
    return Status::invalid_argument(
        "a request has one of prompt, prompt_ids and messages, not {} of them", given);
  }
  if (!request.prompt_ids.empty()) return request.prompt_ids;
  if (model_.text.tokenizer == nullptr)
    return model_.text.tokenizer_status.with_context("text needs a tokenizer (or give token ids)");
  EncodeOptions options;
  options.add_special = request.add_special.value_or(request.messages.empty());
  if (request.messages.empty()) return model_.text.tokenizer->encode(request.prompt, options);
  if (!template_.is_ok()) return template_.status();
  INGOT_TRY(const std::string prompt,
            render_messages(*template_, model_.text,
                            {.messages = request.messages,
                             .tools = request.tools,
                             .template_kwargs = request.template_kwargs,
                             .add_generation_prompt = request.add_generation_prompt,
                             .continue_final_message = request.continue_final_message}));
  return model_.text.tokenizer->encode(prompt, options);
}

Result<std::unique_ptr<TextStream>> LocalEngine::submit(const TextRequest& request) {
  if (request.best_of != 0 && request.best_of < request.n) {
    return Status::invalid_argument("best_of is {} but must be at least n ({})", request.best_of,
                                    request.n);
  }
  if (!request.stop.empty() && model_.text.tokenizer == nullptr)
    return model_.text.tokenizer_status.with_context("stop strings need a tokenizer");
  TextSinkOptions sink{.tokenizer = model_.text.tokenizer,
                       .stop = request.stop,
                       .include_stop = request.include_stop,
                       .skip_special = request.skip_special,
                       .n = request.n,
                       .made = std::max(request.n, request.best_of)};
  EngineRequest inner;
  Result<std::vector<TokenId>> ids = prompt_ids(request);
  if (ids.status().code() == StatusCode::kResourceExhausted) {  // of the prompt's own making
    return Status(StatusCode::kInvalidArgument, ids.status().message());
  }
  INGOT_TRY(inner.prompt, std::move(ids));
  inner.max_tokens = request.max_tokens;
  inner.sampling = request.sampling;
  inner.n = sink.made;
  if (sink.made > sink.n && !inner.sampling.logprobs) {
    inner.sampling.logprobs = 0;
    sink.hides_logprobs = true;
  }
  if (request.beam) {
    inner.beam = BeamParams{.width = request.beam->width,
                            .length_penalty = request.beam->length_penalty,
                            .early_stopping = request.beam->early_stopping};
    if (!inner.sampling.ignore_eos) inner.beam->stop_ids = inner.sampling.eos_ids;
    for (const TokenId id : inner.sampling.stop_token_ids)
      inner.beam->stop_ids.push_back(id);
  }
  inner.priority = request.priority;
  inner.timeout = request.timeout;
  inner.cache_salt = request.cache_salt;
  inner.pooling = request.pooling;
  auto text_sink = std::make_shared<TextSink>(std::move(sink));
  INGOT_TRY(const RequestId id, engine_->submit(std::move(inner), text_sink));
  return std::unique_ptr<TextStream>(std::make_unique<Stream>(*engine_, id, std::move(text_sink)));
}

}  // namespace

EngineFlags settled(EngineFlags flags, const Model& model) {
  constexpr uint64_t kLargeDevice = uint64_t{64} << 30;
  const Device* device = model.device().get();
  // The rest of a device's memory is for the step's own buffers, that of a host for everyone else.
  if (flags.kv_cache_fraction == 0) flags.kv_cache_fraction = device == nullptr ? 0.5 : 0.85;
  // Layers on the processor set the pace where there are any.
  const bool is_on_device = model.is_all_on_device();
  if (flags.max_num_seqs == 0) flags.max_num_seqs = is_on_device ? 256 : 64;
  if (flags.max_num_batched_tokens == 0) {
    flags.max_num_batched_tokens = 512;
    if (is_on_device)
      flags.max_num_batched_tokens = device->info().memory_bytes < kLargeDevice ? 2048 : 8192;
  }
  flags.max_num_batched_tokens = std::max(flags.max_num_batched_tokens, flags.max_num_seqs);
  return flags;
}

Result<EngineOptions> engine_options(const EngineFlags& given, const Model& model) {
  const EngineFlags flags = settled(given, model);
  EngineOptions options;
  options.threads.threads = flags.threads;
  options.threads.threads_batch = flags.threads_batch;
  INGOT_TRY(options.threads.numa, parse_numa_mode(flags.numa));
  options.context = flags.context;
  if (flags.kv_cache_dtype == "auto") {
    options.cache_type = default_cache_type(model.spec());
  } else {
    INGOT_TRY(options.cache_type, parse_kv_cache_type(flags.kv_cache_dtype));
  }
  options.page_tokens = flags.block_size;
  options.kv_cache_memory = flags.kv_cache_memory;
  options.kv_cache_fraction = flags.kv_cache_fraction;
  options.max_num_seqs = flags.max_num_seqs;
  options.max_num_batched_tokens = flags.max_num_batched_tokens;
  options.has_prefix_cache = flags.enable_prefix_caching;
  options.tenant_share = flags.tenant_share;
  options.host_cache_bytes = flags.host_cache_bytes;
  options.disk_cache_directory = flags.disk_cache;
  options.disk_cache_bytes = flags.disk_cache_bytes;
  INGOT_TRY(options.fault, parse_fault(flags.fault));
  return options;
}

Result<std::unique_ptr<TextEngine>> start_engine(LoadedModel model, const EngineFlags& flags) {
  Result<ChatTemplate> chat_template =
      model.text.chat_template
          ? ChatTemplate::parse(model.text.chat_template->text, model.text.chat_template->origin)
          : Result<ChatTemplate>(model.text.template_status);
  INGOT_TRY(const EngineOptions options, engine_options(flags, *model.model));
  INGOT_TRY(std::unique_ptr<Engine> engine, Engine::create(model.model, options, flags.max_queue));
  return std::unique_ptr<TextEngine>(
      std::make_unique<LocalEngine>(std::move(model), std::move(chat_template), std::move(engine)));
}

Result<std::unique_ptr<TextEngine>> TextEngine::load(const LoadOptions& options) {
  ModelOptions model;
  if (options.gpu_layers < -1) {
    return Status::invalid_argument("gpu_layers is {} but must be -1 (as many as fit) or more",
                                    options.gpu_layers);
  }
  INGOT_TRY(model.device, find_device(options.device, options.kernels));
  model.device_layers = options.gpu_layers;
  if (options.engine.context > 0) model.device_context = options.engine.context;
  INGOT_TRY(model.targets, TargetSet::parse(options.kernels.empty() ? "auto" : options.kernels));
  INGOT_TRY(model.dtype, parse_dtype(options.dtype));
  model.threads = options.engine.threads;
  model.checks_tensors = options.check_tensors;
  model.progress = options.progress;
  INGOT_TRY(LoadedModel loaded, load_model(options.model, model));
  return start_engine(std::move(loaded), options.engine);
}

}  // namespace ingot
