// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "api/loaded_model.h"
#include "server/error_reply.h"
#include "server/origin.h"
#include "server/request_log.h"
#include "server/request_span.h"
#include "server/trace.h"

namespace ingot {
namespace {

// A path that ends in "/*" stands for everything below it.
bool matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with("/*")) return pattern == path;
  pattern.remove_suffix(1);
  return path.size() > pattern.size() && path.starts_with(pattern);
}

const Route* find_route(std::string_view method, std::string_view path) {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  const auto found = std::ranges::find_if(routes(), [&](const Route& route) {
    return route.method == wanted && matches(route.path, path);
  });
  return found == routes().end() ? nullptr : &*found;
}

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& route : routes()) {
    if (matches(route.path, path))
      methods += fmt::format("{}{}", methods.empty() ? "" : ", ", route.method);
  }
  return methods;
}

// Names for metrics and logs that a client cannot invent.
std::string_view route_label(std::string_view path) {
  const auto found =
      std::ranges::find_if(routes(), [&](const Route& route) { return matches(route.path, path); });
  return found == routes().end() ? "other" : found->path;
}

std::string_view method_label(std::string_view method) {
  static constexpr std::array<std::string_view, 7> kMethods = {"GET", "POST",   "HEAD", "OPTIONS",
                                                               "PUT", "DELETE", "PATCH"};
  const auto found = std::ranges::find(kMethods, method);
  return found == kMethods.end() ? "other" : *found;
}

std::vector<Admission::KeyLimits> key_limits(const ApiKeys& keys) {
  std::vector<Admission::KeyLimits> limits;
  for (size_t i = 0; i < keys.size(); ++i)
    limits.push_back({keys.at(i).max_running, keys.at(i).max_queued});
  return limits;
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= limits::kHttpRequestIdBytes &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string new_request_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  return fmt::format("{:016x}{:08x}", random(), static_cast<uint32_t>(random()));
}

Server::Server(TextEngine& engine, ServerOptions options)
    : engine_(engine),
      options_(std::move(options)),
      parser_(openai_defaults(engine)),
      text_(engine.model().text, {.model = options_.model_names.front(),
                                  .build = "ingot " + options_.version,
                                  .context = engine.context(),
                                  .vocab = parser_.defaults().vocab,
                                  .slots = options_.admission.running,
                                  .sampling = engine.default_sampling()}),
      admission_(options_.admission, key_limits(options_.keys)),
      metrics_({.model_name = options_.model_names.front(),
                .context = engine.context(),
                .version = options_.version,
                .cache_config = options_.cache_config}),
      created_(unix_seconds()) {}

bool Server::has_model(std::string_view name) const {
  return name.empty() ||
         std::ranges::find(options_.model_names, name) != options_.model_names.end();
}

std::optional<size_t> Server::key_of(const HttpRequest& request) const {
  if (options_.keys.is_empty()) return std::nullopt;
  std::string_view presented = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  const bool is_bearer =
      presented.size() > kBearer.size() &&
      std::ranges::equal(presented.substr(0, kBearer.size()), kBearer, {}, [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
  presented = is_bearer ? presented.substr(kBearer.size()) : request.header("x-api-key");
  return options_.keys.find(presented);
}

void Server::apply_key(const HttpRequest& http, OpenAiRequest& request) const {
  if (http.cache_salt.empty()) return;
  for (TextRequest& text : request.requests)
    text.cache_salt = http.cache_salt + text.cache_salt;
}

std::unique_ptr<ReplySource> Server::check_key(HttpRequest& head) const {
  if (options_.keys.is_empty()) return nullptr;
  const std::optional<size_t> key = key_of(head);
  if (!key) {
    return error_reply(head.path,
                       {.http_status = 401,
                        .message = "the API key is missing or not known; send it as "
                                   "'Authorization: Bearer KEY'",
                        .type = "authentication_error",
                        .param = {},
                        .code = "invalid_api_key"},
                       {{"www-authenticate", "Bearer"}});
  }
  head.key_name = options_.keys.at(*key).name;
  if (!options_.shares_prefixes) head.cache_salt = options_.keys.at(*key).salt;
  return nullptr;
}

bool Server::allows_origin(std::string_view origin) const {
  return std::ranges::any_of(options_.cors_origins, [&](const std::string& allowed) {
    return allowed == "*" || allowed == origin;
  });
}

// Browsers send requests of any page to any address: without a key, only our own page and tools
// that are no browser may ask, and only by a name that is ours.
std::unique_ptr<ReplySource> Server::check_origin(const HttpRequest& head) const {
  const std::string_view origin = head.header("origin");
  const std::string_view host = head.header("host");
  if (!origin.empty() && !is_same_origin(origin, host) && !allows_origin(origin)) {
    return error_reply(head.path, {.http_status = 403,
                                   .message = "pages of other sites may not ask this server; allow "
                                              "them with --cors-origins",
                                   .type = "permission_error",
                                   .param = {},
                                   .code = "origin_not_allowed"});
  }
  if (options_.keys.is_empty() && !is_own_host(host, options_.allowed_hosts)) {
    return error_reply(head.path, {.http_status = 403,
                                   .message = "this name is not the server's; allow it with "
                                              "--allowed-hosts, or set an API key",
                                   .type = "permission_error",
                                   .param = {},
                                   .code = "host_not_allowed"});
  }
  return nullptr;
}

std::unique_ptr<ReplySource> Server::preflight(const HttpRequest& head) const {
  if (head.header("origin").empty() || !allows_origin(head.header("origin"))) return nullptr;
  HttpHead reply{.status = 204, .content_type = {}};
  reply.headers = {{"access-control-allow-methods", "GET, POST, OPTIONS"},
                   {"access-control-allow-headers",
                    "authorization, content-type, x-api-key, x-request-id, anthropic-version"},
                   {"access-control-max-age", "86400"}};
  return std::make_unique<WholeReply>(std::move(reply), "");
}

bool Server::needs_key(const Route& route) const {
  return route.access == Route::Access::kKey ||
         (route.access == Route::Access::kMetrics && !options_.has_public_metrics);
}

std::unique_ptr<ReplySource> Server::check(HttpRequest& head) {
  const std::string_view given = head.header("x-request-id");
  head.id = is_request_id(given) ? std::string(given) : new_request_id();
  head.trace = begin_trace(head.headers);
  if (auto reply = check_origin(head)) return reply;
  if (head.method == "OPTIONS") {
    if (auto reply = preflight(head)) return reply;
  }
  const Route* route = find_route(head.method, head.path);
  // Without a key nobody learns which paths there are.
  if (route == nullptr || needs_key(*route)) {
    if (auto reply = check_key(head)) return reply;
  }
  if (route == nullptr) {
    const std::string methods = methods_of(head.path);
    if (methods.empty()) {
      return error_reply(head.path,
                         {.http_status = 404,
                          .message = fmt::format("there is no {}; GET /openapi.json lists "
                                                 "what there is",
                                                 head.path.substr(0, 64)),
                          .param = {},
                          .code = "not_found"});
    }
    return error_reply(head.path,
                       {.http_status = 405,
                        .message = fmt::format("{} answers to {}", head.path, methods),
                        .param = {},
                        .code = "method_not_allowed"},
                       {{"allow", methods}});
  }
  if (!route->is_generation) return nullptr;
  if (is_draining_ || !engine_.lost().is_ok()) {
    return error_reply(head.path,
                       {.http_status = 503,
                        .message = "the server is shutting down",
                        .type = "server_error",
                        .param = {},
                        .code = "shutting_down"},
                       {{"retry-after", "5"}});
  }
  if (admission_.is_full(key_of(head))) return too_busy(head.path);
  return nullptr;
}

std::unique_ptr<ReplySource> Server::too_busy(std::string_view path) {
  metrics_.count_refused();
  return error_reply(path,
                     {.http_status = 429,
                      .message = "too many requests wait already; try again in a moment",
                      .type = "rate_limit_error",
                      .param = {},
                      .code = "rate_limit_exceeded"},
                     {{"retry-after", std::to_string(admission_.retry_after())}});
}

ServerFigures Server::figures() const {
  return {.engine = engine_.stats(),
          .queued = admission_.queued(),
          .connections = connections_ ? connections_() : 0,
          .spans = options_.spans != nullptr ? options_.spans->counts() : SpanCounts(),
          .is_draining = is_draining_,
          .is_stuck = is_stuck_};
}

bool Server::is_quick(const HttpRequest& request) const {
  const Route* route = find_route(request.method, request.path);
  return route == nullptr || route->is_quick;
}

std::unique_ptr<ReplySource> Server::handle(HttpRequest request) {
  const Route* route = find_route(request.method, request.path);
  const std::string path = request.path;
  try {
    return route->handle(*this, std::move(request));
  } catch (const std::exception&) {  // std::bad_alloc, and what a library threw past its caller
    return error_reply(path, {.http_status = 500,
                              .message = "there was not enough memory for this request",
                              .type = "server_error",
                              .param = {},
                              .code = "out_of_memory"});
  }
}

std::unique_ptr<ReplySource> Server::refuse(const HttpProblem& problem, std::string_view path) {
  const bool is_busy = problem.status == 429;
  return error_reply(path,
                     {.http_status = problem.status,
                      .message = problem.message,
                      .type = is_busy ? "rate_limit_error" : "invalid_request_error",
                      .param = {},
                      .code = is_busy ? "rate_limit_exceeded" : ""},
                     is_busy ? HttpHeaders{{"retry-after", "1"}} : HttpHeaders{});
}

void Server::decorate(const HttpRequest& request, HttpHeaders& headers) const {
  if (!request.id.empty()) headers.emplace_back("x-request-id", request.id);
  if (!request.trace.trace_id.empty())
    headers.emplace_back("traceparent", traceparent_text(request.trace));
  if (!request.trace.state.empty()) headers.emplace_back("tracestate", request.trace.state);
  headers.emplace_back("x-content-type-options", "nosniff");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !options_.cors_origins.empty() && allows_origin(origin)) {
    const bool is_for_all =
        std::ranges::find(options_.cors_origins, "*") != options_.cors_origins.end();
    headers.emplace_back("access-control-allow-origin", is_for_all ? "*" : std::string(origin));
    headers.emplace_back("access-control-expose-headers", "x-request-id, retry-after");
    headers.emplace_back("vary", "origin");
  }
}

void Server::finished(const ExchangeRecord& record) {
  const std::string_view method = method_label(record.method);
  const std::string_view route = route_label(record.path);
  metrics_.count_http(method, route, record.status,
                      std::chrono::duration<double>(record.time).count());
  log_request(record, method, route);
  if (options_.spans != nullptr && record.trace.is_sampled && !is_poll(route))
    options_.spans->take(span_of(record, method, route, std::chrono::system_clock::now()));
}

}  // namespace ingot
