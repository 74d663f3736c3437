// SPDX-License-Identifier: Apache-2.0
// ingot serve: a model behind an OpenAI-compatible HTTP API, until a signal ends it.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "api/text_engine.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/serve_flags.h"
#include "server/http_server.h"
#include "server/server.h"

namespace ingot {
namespace {

constexpr std::chrono::milliseconds kTick{1000};

constexpr const char* kFooter =
    R"(The first Ctrl-C (or SIGTERM) lets running answers finish, the second stops at once.

Examples:
  ingot serve                                   the small model inside, on http://127.0.0.1:8080
  ingot serve model.gguf --port 9000
  ingot serve model.gguf --host 0.0.0.0 --api-key-file keys.txt
  ingot serve model.gguf --ssl-certfile cert.pem --ssl-keyfile key.pem)";

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

class ServeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API)");
    command->footer(kFooter);
    add_model_flags(*command, model_);
    add_engine_flags(*command, engine_);
    add_serve_flags(*command, serve_);
    return command;
  }

  Status run() override {
    INGOT_TRY(EngineFlags flags, engine_flags(engine_, model_));
    INGOT_TRY(ServerOptions options, server_options(serve_, model_, flags));
    INGOT_TRY(LoadedModel loaded, load_model(model_));
    INGOT_TRY(const std::unique_ptr<TextEngine> engine, start_engine(std::move(loaded), flags));
    Server server(*engine, std::move(options));
    INGOT_TRY(const std::unique_ptr<HttpServer> http,
              HttpServer::listen(serve_.listen, serve_.limits, server));
    server.observe_connections([&] { return http->connections(); });
    http->every(kTick, [&] { server.tick(); });
    print_welcome(*http, server);
    bool was_told = false;
    http->run([&](int signal) {
      if (signal == SIGHUP) return;  // the terminal went away; the server stays
      if (std::exchange(was_told, true)) return http->stop();
      tell("ingot: finishing what runs, for {} s at most; again to stop at once\n",
           serve_.drain_seconds);
      server.drain();
      http->drain(std::chrono::milliseconds(static_cast<int64_t>(serve_.drain_seconds * 1000)));
    });
    return Status::ok();
  }

 private:
  ModelFlags model_;
  EngineCliFlags engine_;
  ServeFlags serve_;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace ingot
