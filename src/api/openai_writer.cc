// SPDX-License-Identifier: Apache-2.0
#include "api/openai_writer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/answer_collector.h"
#include "api/openai_stream.h"

namespace ingot {
namespace {

class WholeWriter final : public AnswerWriter {
 public:
  WholeWriter(const OpenAiRequest& request, ReplyInfo info)
      : request_(request), info_(std::move(info)), collector_(request, info_.tokenizer) {}

  bool streams() const override { return false; }
  std::string_view content_type() const override { return "application/json"; }
  void begin(std::string& /*out*/) override {}
  void take(size_t prompt, TextEvent event, std::string& /*out*/) override {
    collector_.take(prompt, std::move(event));
  }
  void end(const Status& status, std::string& out) override {
    if (!status.is_ok() || collector_.broken_off()) return;
    out += dump_json(openai_reply(request_, collector_.answers(), collector_.counts(), info_));
  }
  std::optional<OpenAiError> broken_off() const override { return collector_.broken_off(); }
  std::string fail(const OpenAiError& error) const override { return dump_json(error_body(error)); }

 private:
  const OpenAiRequest& request_;
  const ReplyInfo info_;
  AnswerCollector collector_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_openai_writer(const OpenAiRequest& request, ReplyInfo info) {
  if (request.streams) return make_openai_stream(request, std::move(info));
  return std::make_unique<WholeWriter>(request, std::move(info));
}

}  // namespace ingot
