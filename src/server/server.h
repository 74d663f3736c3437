// SPDX-License-Identifier: Apache-2.0
// The server: a TextEngine behind HTTP. Knows the routes, who may use them, and what is logged;
// HttpServer moves the bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai_request.h"
#include "api/tokenize_api.h"
#include "server/admission.h"
#include "server/api_keys.h"
#include "server/http_service.h"
#include "server/metrics.h"

namespace ingot {

struct ServerOptions {
  std::vector<std::string> model_names;  // the first is told; at least one
  std::string version;
  ApiKeys keys;                            // none: everybody may ask
  bool shares_prefixes = false;            // between keys
  std::vector<std::string> cors_origins;   // "*": all; none: no page of another site may ask
  std::vector<std::string> allowed_hosts;  // names that Host may have, beside addresses; "*": any
  AdmissionLimits admission;
  Pooling pooling = Pooling::kMean;                               // of embeddings
  bool has_public_metrics = false;                                // /metrics needs no key
  std::vector<std::pair<std::string, std::string>> cache_config;  // for vllm:cache_config_info
};

struct Route {
  enum class Access : uint8_t { kPublic, kKey, kMetrics };
  std::string_view method;
  std::string_view path;
  Access access;
  bool is_quick;       // answered on the I/O thread
  bool is_generation;  // counts for admission
  std::unique_ptr<ReplySource> (*handle)(class Server& server, HttpRequest request);
};

// handle() on any thread; the rest as HttpService says. Outlives the HttpServer.
class Server final : public HttpService {
 public:
  Server(TextEngine& engine, ServerOptions options);

  std::unique_ptr<ReplySource> check(HttpRequest& head) override;
  bool is_quick(const HttpRequest& request) const override;
  std::unique_ptr<ReplySource> handle(HttpRequest request) override;
  std::unique_ptr<ReplySource> refuse(const HttpProblem& problem, std::string_view path) override;
  void decorate(const HttpRequest& request, HttpHeaders& headers) const override;
  void finished(const ExchangeRecord& record) override;

  // Who knows how many connections there are; asked on the I/O thread. Before the first request.
  void observe_connections(std::function<size_t()> connections) {
    connections_ = std::move(connections);
  }
  // Every second or so, for figures that are speeds.
  void tick() { metrics_.sample(engine_.stats()); }
  // New requests are refused from now on.
  void drain() { is_draining_ = true; }
  // The engine makes no progress: /livez says so.
  void set_stuck(bool is_stuck) { is_stuck_ = is_stuck; }
  bool is_draining() const { return is_draining_; }
  bool is_stuck() const { return is_stuck_; }

  // For routes.
  TextEngine& engine() { return engine_; }
  const OpenAiParser& parser() const { return parser_; }
  const ServerOptions& options() const { return options_; }
  const std::string& model_name() const { return options_.model_names.front(); }
  bool has_model(std::string_view name) const;
  int64_t created() const { return created_; }
  const TokenizeApi& text() const { return text_; }
  Admission& admission() { return admission_; }
  ServerMetrics& metrics() { return metrics_; }
  ServerFigures figures() const;  // I/O thread only
  std::optional<size_t> key_of(const HttpRequest& request) const;
  // The key's namespace of cached prefixes, around whatever the request asked for.
  void apply_key(const HttpRequest& http, OpenAiRequest& request) const;
  std::unique_ptr<ReplySource> too_busy(std::string_view path);

 private:
  std::unique_ptr<ReplySource> check_origin(const HttpRequest& head) const;
  std::unique_ptr<ReplySource> check_key(HttpRequest& head) const;
  std::unique_ptr<ReplySource> preflight(const HttpRequest& head) const;
  bool allows_origin(std::string_view origin) const;
  bool needs_key(const Route& route) const;

  TextEngine& engine_;
  const ServerOptions options_;
  const OpenAiParser parser_;
  const TokenizeApi text_;
  Admission admission_;
  ServerMetrics metrics_;
  std::function<size_t()> connections_;
  const int64_t created_;
  std::atomic<bool> is_draining_ = false;
  std::atomic<bool> is_stuck_ = false;
};

std::span<const Route> routes();
// A request id that is ours: 24 hexadecimal digits.
std::string new_request_id();
int64_t unix_seconds();

}  // namespace ingot
