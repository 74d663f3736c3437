// SPDX-License-Identifier: Apache-2.0
#include "cli/batch_mode.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "api/batch_file.h"
#include "api/text_engine.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/progress_bar.h"

namespace ingot {
namespace {

std::string summary(const BatchProgress& progress, double seconds) {
  std::string text = fmt::format("{} requests", progress.requests);
  if (progress.resumed > 0) text += fmt::format(" ({} of them earlier)", progress.resumed);
  text += fmt::format(", {} failed; {} tokens in {:.1f} s, {:.1f} tokens/s", progress.failed,
                      progress.answer_tokens, seconds,
                      static_cast<double>(progress.answer_tokens) / std::max(seconds, 1e-9));
  if (progress.prompt_tokens > 0) {
    text += fmt::format("; {:.0f} % of {} prompt tokens reused",
                        100.0 * static_cast<double>(progress.reused_tokens) /
                            static_cast<double>(progress.prompt_tokens),
                        progress.prompt_tokens);
  }
  return text;
}

Status run_lines(BatchFile& file, TextEngine& engine, int64_t most_in_flight) {
  const InterruptScope interrupt;
  ProgressBar bar("Answering");
  BatchOptions options;
  options.most_in_flight = most_in_flight;
  options.goes_on = [&bar](const BatchProgress& progress) {
    // Of what this run has to do, so that the estimate is right after a resume.
    const int64_t left = std::max<int64_t>(progress.requests - progress.resumed, 1);
    bar.set_label(
        fmt::format("Answering {}/{}", progress.resumed + progress.answered, progress.requests));
    bar.update(static_cast<double>(progress.answered) / static_cast<double>(left));
    return !InterruptScope::was_pressed();
  };
  return file.run(engine, options);
}

}  // namespace

void add_batch_flags(CLI::App& command, BatchFlags& flags) {
  constexpr const char* kGroup = "Batch file (docs/batch.md)";
  command
      .add_option(
          "--input", flags.input,
          "Answer every request of this file, one JSON object a line as in OpenAI's batches")
      ->type_name("FILE.jsonl")
      ->group(kGroup);
  command
      .add_option("--output", flags.output,
                  "Where the answers go; a run that was stopped goes on where it was")
      ->type_name("FILE.jsonl")
      ->group(kGroup);
  command.add_flag("--overwrite", flags.overwrites, "Replace an output that exists")->group(kGroup);
}

Status run_batch(const BatchFlags& batch, const ModelFlags& model, const EngineCliFlags& engine) {
  if (batch.input.empty() || batch.output.empty())
    return Status::invalid_argument("a batch needs both --input and --output");
  INGOT_TRY(BatchFile file, BatchFile::open({batch.input, batch.output, batch.overwrites}));
  const auto start = std::chrono::steady_clock::now();
  if (file.is_answered()) {
    INGOT_TRY(file.finish());
  } else {
    INGOT_TRY(EngineFlags flags, engine_flags(engine, model));
    INGOT_TRY(LoadedModel loaded, load_model(model));
    flags = settled(flags, *loaded.model);
    INGOT_TRY(const std::unique_ptr<TextEngine> running, start_engine(std::move(loaded), flags));
    const Status status = run_lines(file, *running, 2 * flags.max_num_seqs);
    for (const std::string& warning : file.warnings())
      log_warning("{}", warning);
    if (status.code() == StatusCode::kCancelled && InterruptScope::was_pressed()) {
      const BatchProgress& progress = file.progress();
      return Status::cancelled(
          "stopped after {} of {} requests; run the same command again to go on",
          progress.resumed + progress.answered, progress.requests);
    }
    INGOT_TRY(Status(status));
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  fmt::print(stderr, "{}\n", summary(file.progress(), time.count()));
  return Status::ok();
}

}  // namespace ingot
