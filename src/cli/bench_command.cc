// SPDX-License-Identifier: Apache-2.0
// ingot bench: how fast, in four questions, each a command of its own.
#include <vector>

#include "cli/command.h"

namespace ingot {
namespace {

constexpr const char* kBenchFooter = R"(Examples:
  ingot bench serve --base-url http://127.0.0.1:8080 --max-concurrency 8
  ingot bench throughput model.gguf --workload chat
  ingot bench latency model.gguf -p 512 -n 64 -b 1,2,4,8
  ingot bench kernels --plot kernels.html
  ingot bench throughput --help)";

class BenchCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("bench", "Measure how fast servers, requests, model and kernels are");
    command->footer(kBenchFooter);
    command->require_subcommand(1);
    for (const auto make : {make_bench_serve_command, make_bench_throughput_command,
                            make_bench_latency_command, make_bench_kernels_command}) {
      Entry entry{make(), nullptr};
      entry.parser = entry.command->add_to(*command);
      entries_.push_back(std::move(entry));
    }
    return command;
  }

  Status run() override {
    for (const Entry& entry : entries_)
      if (entry.parser->parsed()) return entry.command->run();
    return Status::internal("bench has no such command");
  }

 private:
  struct Entry {
    std::unique_ptr<Command> command;
    CLI::App* parser;
  };
  std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() {
  return std::make_unique<BenchCommand>();
}

}  // namespace ingot
