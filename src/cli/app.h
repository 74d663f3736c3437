// SPDX-License-Identifier: Apache-2.0
// The whole command line: parses, runs the chosen subcommand, turns its Status into a message on
// standard error and an exit code.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace ingot {

// 0: done. 1: the run failed or was refused. 2: bad input (an argument, a file).
int exit_code(const Status& status);

// Main thread only.
class CommandLine {
 public:
  CommandLine();
  int run(int argc, const char* const* argv);
  const CLI::App& app() const { return app_; }

 private:
  struct Entry {
    std::unique_ptr<Command> command;
    CLI::App* parser;
  };
  int report_usage(const CLI::ParseError& error);

  CLI::App app_;
  std::vector<Entry> commands_;
};

}  // namespace ingot
