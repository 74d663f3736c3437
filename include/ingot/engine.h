// SPDX-License-Identifier: Apache-2.0
// ingot as a library: load a model, submit requests from any thread, read each one's stream,
// cancel.
//
//   auto engine = ingot::TextEngine::load({.model = "model.gguf"});
//   if (!engine.is_ok()) return fail(engine.status().message());
//   ingot::TextRequest request;
//   request.prompt = "Once upon a time";
//   auto stream = (*engine)->submit(request);
//   while (auto event = stream->next()) std::cout << event->text;
//
// Requests that run at the same time share every step; none changes another's tokens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/sampling.h"
#include "ingot/status.h"

namespace ingot {

struct EngineStats;
struct LoadedModel;

struct EngineFlags {
  int threads = 0;                      // 0: one per usable core
  int threads_batch = 0;                // of steps with prompts; 0: as many
  std::string numa = "auto";            // or "off": threads are not bound to memory nodes
  int64_t context = 0;                  // tokens of one sequence; 0: the model's own, at most 8192
  std::string kv_cache_dtype = "auto";  // f32 f16 bf16 fp8_e4m3 fp8_e5m2 int8 int4; auto: f16
  int64_t block_size = 16;              // tokens a page of the cache
  uint64_t kv_cache_memory = 0;         // bytes; 0: kv_cache_fraction of the free memory
  // 0: what suits the machine (docs/engine.md, "Defaults").
  double kv_cache_fraction = 0;
  int64_t max_num_seqs = 0;            // sequences in one step
  int64_t max_num_batched_tokens = 0;  // tokens in one step
  bool enable_prefix_caching = true;
  double tenant_share = 1;                         // of the prefix cache for one cache_salt
  uint64_t host_cache_bytes = 0;                   // evicted prefixes kept in memory
  std::string disk_cache;                          // a folder for evicted prefixes; empty: none
  uint64_t disk_cache_bytes = uint64_t{16} << 30;  // at most so many there
  int64_t max_queue = int64_t{1} << 20;            // requests that have not ended
  // For tests: what goes wrong in the N-th step, as "step:fail@N" (docs/engine.md).
  std::string fault;
};

struct LoadOptions {
  std::string model = "default";  // a GGUF file, a safetensors folder, or "default"
  std::string kernels;            // "": the best of this machine; "avx2", "reference"
  std::string dtype = "auto";     // of plain float weights: half, bfloat16 or float
  bool check_tensors = true;      // refuse weights that are not finite numbers
  std::string device = "auto";    // "auto": a GPU where there is one; "cpu", "cuda", "cuda:1"
  // So many of the last layers on that GPU; more than there are: embedding and head too. -1: as
  // many as fit.
  int64_t gpu_layers = -1;
  EngineFlags engine;
  std::function<void(double fraction)> progress;  // told how far loading is; may be empty
};

struct BeamOptions {
  int32_t width = 4;
  double length_penalty = 1;
  bool early_stopping = false;
};

// How the hidden states of a prompt's tokens become one vector.
enum class Pooling : uint8_t { kMean, kLast };

// The prompt is one of: text, token ids, or the messages of a chat (a JSON array as in OpenAI's
// API) for the model's template.
struct TextRequest {
  std::string prompt;
  std::vector<TokenId> prompt_ids;
  std::string messages;
  std::string tools;                    // JSON array for the template, or empty
  std::string template_kwargs;          // JSON object for the template, or empty
  bool add_generation_prompt = true;    // the template opens the answer's turn
  bool continue_final_message = false;  // ... or the answer goes on with the last message
  std::optional<bool>
      add_special;  // what the tokenizer adds (bos); unset: to a text, not to a chat

  int64_t max_tokens = -1;  // -1: until the context is full
  SamplingParams sampling;  // see TextEngine::default_sampling()
  int32_t n = 1;            // answers
  int32_t best_of = 0;      // answers made, the n likeliest of which are told; 0: n
  std::optional<BeamOptions> beam;
  std::vector<std::string> stop;  // the answer ends before the first of these
  bool include_stop = false;      // ... or after it
  bool skip_special = true;       // special tokens have no text
  int32_t priority = 0;           // lower runs first
  std::optional<std::chrono::nanoseconds> timeout;
  std::string cache_salt;  // cached prefixes are shared only within a salt
  // An embedding instead of answers: n must be 1 and beam and prompt_logprobs unset.
  std::optional<Pooling> pooling;
};

enum class FinishReason : uint8_t { kStop, kLength, kCancelled, kDeadline };
std::string_view to_string(FinishReason reason);  // "stop", "length", "cancelled", "deadline"

struct PromptReport {
  int64_t tokens = 0;
  int64_t reused_tokens = 0;                              // found in the cache
  double queue_seconds = 0;                               // from submit to the first step
  double prompt_seconds = 0;                              // from the first step to the first token
  std::vector<std::optional<PositionLogprobs>> logprobs;  // when asked; the first entry is empty
};

struct TextEvent {
  enum class Kind : uint8_t { kPrompt, kToken, kFinish, kEmbedding };
  Kind kind = Kind::kToken;
  int32_t choice = 0;
  // kToken: the id and the text that is now certain, often none or that of several tokens. kFinish:
  // text that was held back, and why the answer ended.
  TokenId id = 0;
  std::string text;
  std::optional<PositionLogprobs> logprobs;
  FinishReason reason = FinishReason::kStop;
  std::string stop;                            // the stop string that ended it, if one did
  std::shared_ptr<const PromptReport> prompt;  // kPrompt
  std::vector<float> embedding;                // kEmbedding: [hidden size], not normalised
  std::chrono::steady_clock::time_point time;  // when the engine told of it
};

// One request's answer. Destroying it cancels the request. One reading thread; cancel(), pause()
// and resume() from any.
class TextStream {
 public:
  virtual ~TextStream() = default;
  // Waits for the next event; nothing when the request is over: status() then says how.
  virtual std::optional<TextEvent> next() = 0;
  // Whether next() would return at once; waits so long for it.
  virtual bool wait_for(std::chrono::milliseconds time) = 0;
  // The next event if one is there: never waits. After nothing, is_over() says whether more comes.
  virtual std::optional<TextEvent> try_next() = 0;
  virtual bool is_over() const = 0;    // it has ended and every event was taken
  virtual bool has_ended() const = 0;  // no event will come beside those that are there
  // For readers that must not wait: `wake` is called whenever the first untaken event arrives and
  // at the end, on the engine thread, so it must be short; at once where there is news already. Not
  // any more once the stream is destroyed.
  virtual void notify(std::function<void()> wake) = 0;
  virtual void cancel() = 0;
  // For a reader that cannot keep up: from the next step on nothing is computed for this request,
  // until resume(). Its timeout goes on; others notice nothing, and its answer stays the same.
  virtual void pause() = 0;
  virtual void resume() = 0;
  virtual Status status() const = 0;
};

// Whether the engine moves, for a watchdog.
struct EngineProgress {
  int64_t steps = 0;      // rounds of the engine thread that are done
  bool has_work = false;  // requests to compute, or messages to take; not paused ones alone
  // When the step that runs now began; nothing while the engine thread sleeps. It is stuck when
  // this stays the same for too long, or when there is work and no step begins.
  std::optional<std::chrono::steady_clock::time_point> step_began;
};

// Thread-safe.
class TextEngine {
 public:
  static Result<std::unique_ptr<TextEngine>> load(const LoadOptions& options);
  virtual ~TextEngine() = default;

  // Fails at once on a request that can never run; the message names the field. kResourceExhausted
  // means one thing here: max_queue requests have not ended yet; try again in a moment.
  virtual Result<std::unique_ptr<TextStream>> submit(const TextRequest& request) = 0;
  // The ids that submit() would prompt the model with.
  virtual Result<std::vector<TokenId>> prompt_ids(const TextRequest& request) const = 0;
  // What the makers of the model recommend, with its end tokens.
  virtual SamplingParams default_sampling() const = 0;
  virtual EngineStats stats() const = 0;  // engine/engine_stats.h
  // Never waits for anything, not for a step that hangs either.
  virtual EngineProgress progress() const = 0;
  // An error once nothing can be computed any more, as the device is lost: the requests that ran
  // have failed with it, and submit() refuses with it. The process has to be started again.
  virtual Status lost() const = 0;
  // Forgets every cached prefix that no running request uses, in all tiers, before the next step:
  // requests submitted after this call find nothing of what was before it.
  virtual void reset_prefix_cache() = 0;
  virtual int64_t context() const = 0;
  virtual int threads() const = 0;
  virtual const LoadedModel& model() const = 0;  // api/loaded_model.h
};

}  // namespace ingot
