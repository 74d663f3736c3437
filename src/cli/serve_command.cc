// SPDX-License-Identifier: Apache-2.0
// ingot serve: a model behind an OpenAI-compatible HTTP API, until a signal ends it.
#include "base/log.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/engine_flags.h"
#include "cli/environment.h"
#include "cli/flag_sources.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/read_input.h"
#include "cli/serve_flags.h"
#include "cli/serve_run.h"
#include "server/server.h"

namespace ingot {
namespace {

constexpr const char* kServeFooter =
    R"(The first Ctrl-C (or SIGTERM) lets running answers finish, the second stops at once.

Examples:
  ingot serve                                   the small model inside, on http://127.0.0.1:8080
  ingot serve model.gguf --port 9000
  ingot serve model.gguf --host 0.0.0.0 --api-key-file keys.txt
  ingot serve model.gguf --ssl-certfile cert.pem --ssl-keyfile key.pem
  ingot serve --config ingot.yaml               settings from a file; INGOT_PORT=9000 beats it)";

class ServeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    command_ = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API)");
    command_->footer(kServeFooter);
    add_model_flags(*command_, model_, "info");
    add_engine_flags(*command_, engine_);
    add_serve_flags(*command_, serve_);
    add_orders(*command_);
    return command_;
  }

  Status run() override {
    if (prints_routes_) return print_routes();
    FlagSources sources(*command_, {"help", "config", "print-config", "print-routes"});
    INGOT_TRY(take_settings(sources));
    if (prints_config_) return print(sources.text({"api-key"}));
    if (command_->get_option("--log-level")->count() == 0) set_log_level(LogLevel::kInfo);
    Status status = run_server({model_, engine_, serve_});
    if (status.is_ok() || serve_.log_format != "json") return status;
    log_error("{}", status.message());
    return {status.code(), ""};  // it has been told
  }

 private:
  void add_orders(CLI::App& command) {
    constexpr const char* kGroup = "Settings";
    command
        .add_option("--config", config_,
                    "A file with settings: 'port: 9000' or 'port = 9000', names of flags as keys")
        ->type_name("FILE")
        ->group(kGroup);
    command
        .add_flag("--print-config", prints_config_,
                  "Show all settings and where they come from, without secrets, and exit")
        ->group(kGroup);
    command.add_flag("--print-routes", prints_routes_, "List method, path and access, and exit")
        ->group(kGroup);
  }

  // Command line before environment before file.
  Status take_settings(FlagSources& sources) {
    INGOT_TRY(sources.apply_environment(environment::setting));
    if (config_.empty()) config_ = environment::setting("INGOT_CONFIG").value_or("");
    if (config_.empty()) return Status::ok();
    INGOT_TRY(const std::string text, read_text(config_));
    INGOT_TRY(const std::vector<ConfigSetting> settings, parse_config(text, config_));
    return sources.apply_file(settings, config_);
  }

  static Status print_routes() {
    std::string text;
    for (const Route& route : routes())
      text += fmt::format("{} {} {}\n", route.method, route.path, to_string(route.access));
    return print(text);
  }

  CLI::App* command_ = nullptr;
  ModelFlags model_;
  EngineCliFlags engine_;
  ServeFlags serve_;
  std::string config_;
  bool prints_config_ = false;
  bool prints_routes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace ingot
