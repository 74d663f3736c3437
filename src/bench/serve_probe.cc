// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_probe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/serve_answer.h"

namespace ingot {
namespace {

constexpr int64_t kSmallVocab = 1000;  // no model has fewer
constexpr uint64_t kProbeSeed = 0x9A0BE;

std::optional<int64_t> count_at(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer() || it->get<int64_t>() <= 0)
    return std::nullopt;
  return it->get<int64_t>();
}

class AnswerListener final : public HttpListener {
 public:
  void on_head(const HttpResponseHead& head, BenchClock::time_point) override {
    reader.on_head(head);
  }
  void on_body(std::string_view bytes, BenchClock::time_point time) override {
    reader.on_body(bytes, time);
  }
  void on_end(const Status& end, BenchClock::time_point time) override {
    status = reader.finish(end, time);
  }
  ServeAnswerReader reader;
  Status status;
};

struct Reply {
  Status status;
  ServeAnswer answer;
};

// One request of `tokens` ids, the highest there is among them.
Reply ask(HttpClient& client, const ProbeOptions& options, const RequestForm& form, int64_t vocab,
          int64_t tokens) {
  Conversation conversation;
  Turn& turn = conversation.turns.emplace_back();
  turn.text = random_text(kProbeSeed, static_cast<uint64_t>(tokens), tokens, vocab);
  turn.text.back() = static_cast<TokenId>(vocab - 1);
  turn.answer_tokens = 2;
  const auto listener = std::make_shared<AnswerListener>();
  client.send({.method = "POST",
               .target = options.target,
               .headers = {{"Content-Type", "application/json"}},
               .body = body_of(form, conversation, {})},
              listener);
  client.run();
  return {listener->status, listener->reader.take()};
}

// Whether the request was understood and found wanting: then another form may do.
bool is_about_the_body(const ServeAnswer& answer) {
  return answer.http_status == 400 || answer.http_status == 422;
}

struct Change {
  const char* what;
  void (*apply)(ProbedForm&);
  bool is_possible;
};

std::vector<Change> changes_of(const ProbeOptions& options) {
  const RequestForm& wanted = options.wanted;
  const bool sends_ids = wanted.form == PromptForm::kIds;
  return {
      {"min_tokens", [](ProbedForm& p) { p.form.sends_min_tokens = false; },
       wanted.sends_min_tokens},
      {"ignore_eos",
       [](ProbedForm& p) { p.form.sends_ignore_eos = p.form.sends_min_tokens = false; },
       wanted.sends_ignore_eos},
      {"high token ids, so low ones are sent",
       [](ProbedForm& p) { p.vocab = std::min(p.vocab, kSmallVocab); },
       sends_ids && !options.is_vocab_sure && options.vocab > kSmallVocab},
      {"token ids as a prompt", [](ProbedForm& p) { p.form.form = PromptForm::kText; }, sends_ids},
      {"stream_options", [](ProbedForm& p) { p.form.sends_usage = false; }, wanted.sends_usage},
  };
}

// Two prompts of words tell what a word costs, whatever the template around it.
Status count_words(HttpClient& client, const ProbeOptions& options, ProbedForm& probed) {
  const int64_t most = std::min<int64_t>(options.context.value_or(1 << 20) / 4, 256);
  const int64_t few = most / 8 + 1;
  std::optional<int64_t> counts[2];
  for (const int i : {0, 1}) {
    const Reply reply = ask(client, options, probed.form, probed.vocab, i == 0 ? few : few + most);
    INGOT_TRY(reply.status);
    counts[i] = reply.answer.prompt_tokens;
  }
  if (counts[0] && counts[1] && *counts[1] > *counts[0]) {
    probed.form.tokens_per_word =
        static_cast<double>(*counts[1] - *counts[0]) / static_cast<double>(most);
  } else {
    probed.notes.emplace_back("does not count prompt tokens: lengths are words");
  }
  return Status::ok();
}

}  // namespace

Result<ServerFacts> ask_models(HttpClient& client, const Url& url, const std::string& model) {
  INGOT_TRY(const HttpReply reply,
            client.fetch({.method = "GET", .target = url.target("/v1/models")}));
  ServerFacts facts;
  facts.model = model;
  if (!reply.head.is_success()) {
    if (!model.empty() && reply.head.status == 404) return facts;
    return Status(StatusCode::kRefused, fmt::format("GET {}: HTTP {}: {}", url.target("/v1/models"),
                                                    reply.head.status, error_message(reply.body)));
  }
  INGOT_TRY(const Json body, parse_json(reply.body, "/v1/models"));
  const auto data = body.is_object() ? body.find("data") : body.end();
  const bool has_models = body.is_object() && data != body.end() && data->is_array() &&
                          !data->empty() && data->front().is_object();
  if (!has_models) {
    if (!model.empty()) return facts;
    return Status::invalid_data("/v1/models lists no model; name one with --model");
  }
  for (const Json& entry : *data) {
    if (!entry.is_object() || !entry.contains("id") || !entry["id"].is_string()) continue;
    const auto id = entry["id"].get<std::string>();
    if (facts.model.empty()) facts.model = id;
    if (facts.model != id) continue;
    const Json meta = entry.contains("meta") ? entry["meta"] : Json();
    facts.vocab = count_at(meta, "n_vocab");
    facts.context = count_at(entry, "max_model_len");
    if (!facts.context) facts.context = count_at(meta, "n_ctx");
  }
  return facts;
}

Result<ProbedForm> find_form(HttpClient& client, const ProbeOptions& options) {
  ProbedForm whole;
  whole.form = options.wanted;
  whole.vocab = options.vocab;
  const Reply first = ask(client, options, whole.form, whole.vocab, 8);
  if (!first.status.is_ok()) {
    if (!is_about_the_body(first.answer)) return first.status;
    // Each change alone, then one more at a time.
    const std::vector<Change> changes = changes_of(options);
    std::vector<ProbedForm> attempts;
    ProbedForm all = whole;
    for (const Change& change : changes) {
      if (!change.is_possible) continue;
      attempts.push_back(whole);
      change.apply(attempts.back());
      change.apply(all);
      attempts.back().notes.push_back(
          fmt::format("refuses {}: {}", change.what, first.status.message()));
    }
    all.notes = {fmt::format("refuses some of our fields: {}", first.status.message())};
    attempts.push_back(all);
    const auto works = std::ranges::find_if(attempts, [&](const ProbedForm& attempt) {
      return ask(client, options, attempt.form, attempt.vocab, 8).status.is_ok();
    });
    if (works == attempts.end()) return first.status;
    whole = *works;
  }
  if (whole.form.form != PromptForm::kIds) {
    INGOT_TRY(count_words(client, options, whole));
  }
  return whole;
}

}  // namespace ingot
