// SPDX-License-Identifier: Apache-2.0
// A request for text on its way through the house: waits for its permit, submits its prompts, and
// turns what the engine tells into the bytes of the reply.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/answer_writer.h"
#include "api/openai_request.h"
#include "ingot/engine.h"
#include "server/admission.h"
#include "server/metrics.h"
#include "server/reply_source.h"

namespace ingot {

struct GenerationParts {
  TextEngine& engine;  // outlives the source, as does `metrics`
  ServerMetrics& metrics;
  std::shared_ptr<const OpenAiRequest> request;  // its prompts are ids; the writer reads it
  std::unique_ptr<AnswerWriter> writer;
  std::unique_ptr<Admission::Permit> permit;
  std::string path = {};       // whose protocol errors follow
  HttpHeaders headers = {};    // of the reply
  std::string model = {};      // for the report
  bool keeps_content = false;  // prompts and answers are part of the report
};

// One caller at a time, but for the wake, which comes from the engine's thread.
class Generation final : public ReplySource {
 public:
  explicit Generation(GenerationParts parts);
  ~Generation() override;

  std::optional<ReplyPart> next() override;
  void notify(std::function<void()> wake) override;
  void pause(bool is_paused) override;
  void interrupt() override;
  std::optional<RequestReport> report() const override;
  bool is_light() const override { return parts_.writer->streams(); }

 private:
  // The prompts go to the engine; a reply when it refuses.
  std::optional<ReplyPart> submit();
  bool has_ended() const;
  void take_events(std::string& out);
  // Cancels what still runs.
  void abandon();
  void keep(size_t prompt, const TextEvent& event);
  ReplyPart last_part(std::string bytes);
  ReplyPart failure(const OpenAiError& error);
  HttpHead head(int status) const;

  GenerationParts parts_;
  std::function<void()> wake_;
  std::vector<std::unique_ptr<TextStream>> streams_;           // [prompt]; null once it is over
  std::vector<RequestTimes> times_;                            // [prompt]
  std::set<std::string> finishes_;                             // why answers ended
  std::map<std::pair<size_t, int32_t>, std::string> outputs_;  // [prompt, choice], if kept
  Status status_;
  bool is_submitted_ = false;
  bool has_begun_ = false;  // the head has been sent
  bool is_done_ = false;
  std::atomic<bool> is_interrupted_ = false;
};

}  // namespace ingot
