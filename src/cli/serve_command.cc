// SPDX-License-Identifier: Apache-2.0
// ingot serve: a model behind an OpenAI-compatible HTTP API, until a signal ends it.
#include "base/log.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/serve_flags.h"
#include "cli/serve_run.h"

namespace ingot {
namespace {

constexpr const char* kFooter =
    R"(The first Ctrl-C (or SIGTERM) lets running answers finish, the second stops at once.

Examples:
  ingot serve                                   the small model inside, on http://127.0.0.1:8080
  ingot serve model.gguf --port 9000
  ingot serve model.gguf --host 0.0.0.0 --api-key-file keys.txt
  ingot serve model.gguf --ssl-certfile cert.pem --ssl-keyfile key.pem)";

class ServeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    command_ = app.add_subcommand("serve", "Serve a model over HTTP (OpenAI's API)");
    command_->footer(kFooter);
    add_model_flags(*command_, model_, "info");
    add_engine_flags(*command_, engine_);
    add_serve_flags(*command_, serve_);
    return command_;
  }

  Status run() override {
    if (command_->get_option("--log-level")->count() == 0) set_log_level(LogLevel::kInfo);
    const Status status = run_server({model_, engine_, serve_});
    if (status.is_ok() || serve_.log_format != "json") return status;
    log_error("{}", status.message());
    return {status.code(), ""};  // it has been told
  }

 private:
  CLI::App* command_ = nullptr;
  ModelFlags model_;
  EngineCliFlags engine_;
  ServeFlags serve_;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() {
  return std::make_unique<ServeCommand>();
}

}  // namespace ingot
