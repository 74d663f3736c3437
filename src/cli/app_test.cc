// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/chat_commands.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace ingot {
namespace {

using testing::HasSubstr;

TEST(ExitCode, TellsBadInputFromAFailedRun) {
  EXPECT_EQ(exit_code(Status::ok()), 0);
  EXPECT_EQ(exit_code(Status::refused("no")), 1);
  EXPECT_EQ(exit_code(Status::internal("NaN")), 1);
  EXPECT_EQ(exit_code(Status::invalid_data("file")), 2);
  EXPECT_EQ(exit_code(Status::not_found("file")), 2);
  EXPECT_EQ(exit_code(Status::resource_exhausted("too large")), 2);
}

TEST(CommandLine, EveryCommandHasHelpWithExamples) {
  const CommandLine line;
  const auto all_of = [](const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
  };
  auto commands = all_of(line.app());
  EXPECT_EQ(commands.size(), 15u);
  const auto benchmarks = all_of(*line.app().get_subcommand("bench"));
  EXPECT_EQ(benchmarks.size(), 4u);
  commands.insert(commands.end(), benchmarks.begin(), benchmarks.end());
  for (const CLI::App* command : commands) {
    const std::string help = command->help();
    EXPECT_THAT(help, HasSubstr("Examples:")) << command->get_name();
    EXPECT_FALSE(command->get_description().empty()) << command->get_name();
    for (const CLI::Option* option : command->get_options())
      EXPECT_FALSE(option->get_description().empty()) << option->get_name();
  }
}

TEST(CommandLine, BadFlagsAreExitCodeTwo) {
  for (const std::vector<const char*>& args :
       std::vector<std::vector<const char*>>{{"ingot", "nonsense"},
                                             {"ingot", "generate", "--no-such-flag"},
                                             {"ingot", "generate", "--temp", "hot"},
                                             {"ingot", "generate", "--max-tokens", "-2"},
                                             {"ingot", "completion"},
                                             {"ingot", "bench"},
                                             {"ingot", "bench", "latency", "--no-such-flag"},
                                             {"ingot", "run", "--kv-cache-dtype", "int3"}}) {
    EXPECT_EQ(CommandLine().run(static_cast<int>(args.size()), args.data()), 2) << args[1];
  }
}

TEST(Completion, NamesEveryCommandAndFlagInEveryShell) {
  const CommandLine line;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(line.app(), shell);
    for (const char* word : {"generate", "detokenize", "perplexity", "max-tokens", "no-special",
                             "throughput", "num-prompts"})
      EXPECT_THAT(script, HasSubstr(word)) << shell;
  }
}

TEST(ChatCommands, AreOneWordAfterASlash) {
  EXPECT_TRUE(is_chat_command("/help"));
  EXPECT_TRUE(is_chat_command("/set temp 1"));
  EXPECT_FALSE(is_chat_command("/etc/hosts is a file"));
  EXPECT_FALSE(is_chat_command("/"));
  EXPECT_FALSE(is_chat_command("what about /help"));
}

TEST(Output, RemovesWhatCouldDriveATerminal) {
  EXPECT_EQ(without_control_characters("a\x1b]0;title\x07 b\r\n\tc\u009b"), "a]0;title b\n\tc");
  EXPECT_EQ(without_control_characters("\u4F60\U0001F600"), "\u4F60\U0001F600");
}

}  // namespace
}  // namespace ingot
