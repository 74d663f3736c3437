// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_run.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "api/text_engine.h"
#include "base/log.h"
#include "base/log_thread.h"
#include "server/http_server.h"
#include "server/otlp.h"
#include "server/server.h"
#include "server/stack_dump.h"
#include "server/watchdog.h"

namespace ingot {
namespace {

constexpr std::chrono::milliseconds kTick{1000};
constexpr std::chrono::milliseconds kLostTick{100};
constexpr std::chrono::milliseconds kLostDrain{500};  // for the errors of what ran to be sent
constexpr int kStuckExitCode = 70;                    // EX_SOFTWARE: a supervisor starts us again

// Nobody may be listening: a server goes on without its standard error (fmt::print would throw).
template <class... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stderr);
}

void print_welcome(const HttpServer& http, const Server& server) {
  const std::string url = http.url();
  std::string curl = fmt::format("curl {}/v1/chat/completions", url);
  if (url.starts_with("unix:")) {
    curl = fmt::format("curl --unix-socket {} http://localhost/v1/chat/completions",
                       url.substr(std::string_view("unix:").size()));
  }
  if (url.starts_with("https:")) curl += " --insecure";
  if (!server.options().keys.is_empty()) curl += " -H 'Authorization: Bearer YOUR_KEY'";
  tell(
      "\n  {} is served at {}\n\n  Try it:\n    {} -H 'Content-Type: application/json' \\\n"
      "      -d '{{\"messages\": [{{\"role\": \"user\", \"content\": \"Tell me a "
      "story.\"}}]}}'\n\n",
      server.model_name(), url, curl);
}

void log_start(const ServeSettings& settings) {
  const std::array fields = {
      LogField{"version", std::string_view(INGOT_VERSION)},
      LogField{"model", std::string_view(settings.model.model)},
      LogField{"pid", int64_t{::getpid()}},
  };
  log_event(LogLevel::kInfo, "starting", fields);
}

// How long it took, and at what speed a file's weights came.
void log_loaded(const LoadedModel& loaded, double seconds) {
  double bytes = 0;
  for (const TensorEntry* entry : loaded.checkpoint->tensors())
    bytes += static_cast<double>(entry->tensor.bytes.size());
  const std::array fields = {LogField{"seconds", seconds},
                             LogField{"gb_per_second", bytes / 1e9 / seconds}};
  log_event(LogLevel::kInfo, "loaded", std::span(fields).first(bytes > 0 ? 2 : 1));
}

// For people with an example to try, for programs as one line.
void announce(const ServeFlags& flags, const HttpServer& http, Server& server) {
  if (flags.log_format != "json") return print_welcome(http, server);
  const std::array fields = {
      LogField{"context", server.engine().context()},
      LogField{"threads", int64_t{server.engine().threads()}},
      LogField{"keys", static_cast<int64_t>(server.options().keys.size())},
  };
  log_event(LogLevel::kInfo,
            fmt::format("{} is served at {} from now on", server.model_name(), http.url()), fields);
}

void log_stacks() {
  constexpr std::chrono::milliseconds kPerThread{500};
  for (const ThreadStack& stack : stacks_of_other_threads(kPerThread)) {
    const std::string frames =
        stack.frames.empty() ? "no answer" : fmt::format("{}", fmt::join(stack.frames, " < "));
    const std::array fields = {LogField{"thread", std::string_view(stack.name)},
                               LogField{"tid", int64_t{stack.id}},
                               LogField{"frames", std::string_view(frames)}};
    log_event(LogLevel::kError, "stack", fields);
  }
}

[[noreturn]] void give_up(LogThread& log) {
  const std::array fields = {LogField{"exit_code", int64_t{kStuckExitCode}}};
  log_event(LogLevel::kError, "the engine is stuck: giving up", fields);
  log.flush(std::chrono::seconds(2));
  // Nothing is destroyed: the stuck thread would have to be waited for.
  std::_Exit(kStuckExitCode);
}

// Lets clients hear that their requests have failed, and no more.
void end_when_lost(HttpServer& http, Server& server) {
  http.every(kLostTick, [&, was_told = false]() mutable {
    const Status lost = server.engine().lost();
    if (lost.is_ok() || std::exchange(was_told, true)) return;
    const std::array fields = {LogField{"exit_code", int64_t{kStuckExitCode}}};
    log_event(LogLevel::kError, fmt::format("{}: ending", lost.message()), fields);
    server.drain();
    http.drain(kLostDrain);
  });
}

// Nothing is destroyed: that would ask the lost device for its memory.
[[noreturn]] void exit_lost(LogThread& log) {
  log.flush(std::chrono::seconds(2));
  std::_Exit(kStuckExitCode);
}

// Health first: the rest takes a while.
WatchdogActions watchdog_actions(Server& server, LogThread& log) {
  return {
      .progress = [&server] { return server.engine().progress(); },
      .on_stuck =
          [&server](auto unmoved) {
            server.set_stuck(true);
            log_error("the engine has made no progress for {:.1f} s; where its threads are follows",
                      std::chrono::duration<double>(unmoved).count());
            log_stacks();
          },
      .on_recovered =
          [&server] {
            server.set_stuck(false);
            log_warning("the engine moves again");
          },
      .on_given_up = [&log] { give_up(log); },
  };
}

// Null without an endpoint.
Result<std::unique_ptr<OtlpExporter>> start_exporter(const ServeFlags& flags) {
  if (flags.traces_endpoint.empty()) return std::unique_ptr<OtlpExporter>();
  return OtlpExporter::start({.url = flags.traces_endpoint, .version = INGOT_VERSION});
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

void serve_until_told(const ServeFlags& flags, HttpServer& http, Server& server) {
  bool was_told = false;
  http.run([&](int signal) {
    if (signal == SIGHUP) return;  // the terminal went away; the server stays
    if (std::exchange(was_told, true)) return http.stop();
    log_info("finishing what runs, for {} s at most; again to stop at once", flags.drain_seconds);
    server.drain();
    http.drain(milliseconds(flags.drain_seconds));
  });
}

}  // namespace

Status run_server(const ServeSettings& settings) {
  const ServeFlags& serve = settings.serve;
  set_log_format(serve.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  LogThread log;
  std::optional<ExitGuard> guard;  // outlives the engine, whose end it watches
  log_start(settings);
  INGOT_TRY(EngineFlags flags, engine_flags(settings.engine, settings.model));
  INGOT_TRY(ServerOptions options, server_options(serve, settings.model));
  // Before the model is loaded: a wrong flag should not take that long.
  INGOT_TRY(const std::unique_ptr<OtlpExporter> exporter, start_exporter(serve));
  const auto start = std::chrono::steady_clock::now();
  INGOT_TRY(LoadedModel loaded, load_model(settings.model));
  log_loaded(loaded,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  flags = settled(flags, *loaded.model);
  tell_of_engine(flags, options);
  INGOT_TRY(const std::unique_ptr<TextEngine> engine, start_engine(std::move(loaded), flags));
  options.spans = exporter.get();
  Server server(*engine, std::move(options));
  INGOT_TRY(const std::unique_ptr<HttpServer> http,
            HttpServer::listen(serve.listen, serve.limits, server));
  server.observe_connections([&] { return http->connections(); });
  http->every(kTick, [&] { server.tick(); });
  end_when_lost(*http, server);
  std::optional<Watchdog> watchdog;
  if (serve.watchdog_seconds > 0) {
    watchdog.emplace(WatchdogOptions{.limit = milliseconds(serve.watchdog_seconds),
                                     .grace = milliseconds(serve.watchdog_grace_seconds)},
                     watchdog_actions(server, log));
  }
  announce(serve, *http, server);
  serve_until_told(serve, *http, server);
  if (!engine->lost().is_ok()) exit_lost(log);
  if (serve.watchdog_seconds > 0)
    guard.emplace(milliseconds(serve.watchdog_seconds), [&log] { give_up(log); });
  log_message(LogLevel::kInfo, "stopped");
  return Status::ok();
}

}  // namespace ingot
