// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/serve_probe.h"
#include "bench/serve_run.h"
#include "engine/random.h"

namespace ingot {
namespace {

struct Server {
  ServeTarget target;
  std::unique_ptr<HttpClient> client;
  ServerFacts facts;
  ProbedForm probed;
};

// Rounds have texts of their own: what a server kept of an earlier one must not help it.
uint64_t round_seed(uint64_t seed, int64_t round) {
  return round == 0 ? seed : random_bits(seed, 0x40000000 + static_cast<uint64_t>(round));
}
constexpr int64_t kWarmupRound = 1 << 20;

class Bench {
 public:
  explicit Bench(const ServeOptions& options) : options_(options) {
    const bool is_chat = options.workload.kind == WorkloadKind::kChat;
    result_.endpoint = options.endpoint;
    if (result_.endpoint.empty())
      result_.endpoint = is_chat ? "/v1/chat/completions" : "/v1/completions";
    result_.workload = options.workload;
  }

  Result<ServeResult> run() {
    INGOT_TRY(meet());
    INGOT_TRY(agree());
    for (int64_t i = 0; i < options_.rounds; ++i) {
      for (size_t s = 0; s < servers_.size(); ++s) {
        if (i == 0 && options_.warmup > 0) run_round(servers_[s], kWarmupRound);
        ServeRun run = run_round(servers_[s], i);
        const bool was_stopped = run.was_stopped;
        result_.servers[s].rounds.push_back(std::move(run));
        if (was_stopped) return finished();
      }
    }
    return finished();
  }

 private:
  Status meet() {
    for (const ServeTarget& target : options_.targets) {
      Server& server = servers_.emplace_back();
      server.target = target;
      const auto named = [&](const Status& status) {
        return status.with_context(options_.targets.size() > 1
                                       ? fmt::format("{} ({})", target.name, target.url_text)
                                       : target.url_text);
      };
      auto client = HttpClient::create(target.url, options_.http);
      if (!client.is_ok()) return named(client.status());
      server.client = *std::move(client);
      auto facts = ask_models(*server.client, target.url, options_.model);
      if (!facts.is_ok()) return named(facts.status());
      server.facts = *std::move(facts);
    }
    return Status::ok();
  }

  // All servers get the same requests: ids only when all take them, none above any vocabulary.
  Status agree() {
    const bool is_messages = result_.endpoint.ends_with("/chat/completions");
    const bool is_text = options_.wants_words || options_.workload.kind == WorkloadKind::kChat;
    PromptForm form = is_text ? PromptForm::kText : PromptForm::kIds;
    if (is_messages) form = PromptForm::kMessages;
    INGOT_TRY(probe(form));
    const auto falls_back = [](const Server& s) { return s.probed.form.form == PromptForm::kText; };
    if (form == PromptForm::kIds && std::ranges::any_of(servers_, falls_back)) {
      form = PromptForm::kText;
      INGOT_TRY(probe(form));
    }
    result_.workload.vocab = servers_[0].probed.vocab;
    for (Server& server : servers_) {
      result_.workload.vocab = std::min(result_.workload.vocab, server.probed.vocab);
      server.probed.form.tokens_per_word = servers_[0].probed.form.tokens_per_word;
    }
    const int64_t longest = make_workload(result_.workload).longest();
    for (Server& server : servers_) {
      if (server.facts.context && *server.facts.context < longest) {
        server.probed.notes.push_back(
            fmt::format("has a context of {} tokens; the longest request needs {}",
                        *server.facts.context, longest));
      }
    }
    return Status::ok();
  }

  Status probe(PromptForm form) {
    int64_t high = options_.vocab_high;
    for (const Server& server : servers_) {
      if (!options_.is_vocab_given) high = std::min(high, server.facts.vocab.value_or(high));
    }
    if (high <= options_.vocab_low) {
      return Status::invalid_argument("--vocab: no ids between {} and {}", options_.vocab_low,
                                      high);
    }
    for (Server& server : servers_) {
      ProbeOptions wanted;
      wanted.target = server.target.url.target(result_.endpoint);
      wanted.wanted.form = form;
      wanted.wanted.model = server.facts.model;
      wanted.wanted.first_id = static_cast<TokenId>(options_.vocab_low);
      wanted.wanted.sends_ignore_eos = wanted.wanted.sends_min_tokens = options_.ignores_eos;
      wanted.wanted.extra = options_.extra;
      wanted.vocab = high - options_.vocab_low;
      wanted.is_vocab_sure = options_.is_vocab_given || server.facts.vocab.has_value();
      wanted.context = server.facts.context;
      auto probed = find_form(*server.client, wanted);
      if (!probed.is_ok())
        return probed.status().with_context(
            fmt::format("{}{}", server.target.url_text, result_.endpoint));
      server.probed = *std::move(probed);
    }
    return Status::ok();
  }

  ServeRun run_round(Server& server, int64_t round) {
    WorkloadOptions workload = result_.workload;
    workload.seed = round_seed(workload.seed, round);
    Workload requests = make_workload(workload);
    const bool is_warmup = round == kWarmupRound;
    if (is_warmup)
      requests.conversations.resize(
          std::min<size_t>(requests.conversations.size(), static_cast<size_t>(options_.warmup)));
    std::string name = server.target.name;
    if (is_warmup) name += " (warm-up)";
    if (!is_warmup && options_.rounds > 1)
      name += fmt::format(" {}/{}", round + 1, options_.rounds);
    ServeLoad load;
    load.arrivals = options_.arrivals;
    load.arrivals.seed = workload.seed;
    load.max_concurrency = options_.max_concurrency;
    load.target = server.target.url.target(result_.endpoint);
    if (options_.progress)
      load.progress = [this, name](double fraction) { options_.progress(name, fraction); };
    if (result_.servers.size() < servers_.size()) begin_results();
    return run_serve(*server.client, requests, server.probed.form, load);
  }

  void begin_results() {
    for (const Server& server : servers_)
      result_.servers.push_back({server.target, server.probed.form, server.probed.notes, {}});
  }

  Result<ServeResult> finished() {
    for (const ServerResult& server : result_.servers) {
      if (server.rounds.empty() || server.rounds[0].requests.empty())
        return Status(StatusCode::kCancelled, "stopped before anything was measured");
    }
    return std::move(result_);
  }

  const ServeOptions& options_;
  std::vector<Server> servers_;
  ServeResult result_;
};

}  // namespace

Result<ServeResult> bench_serve(const ServeOptions& options) {
  return Bench(options).run();
}

}  // namespace ingot
