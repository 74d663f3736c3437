// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_flags.h"

#include <filesystem>

#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/read_input.h"

namespace ingot {

void add_text_flags(CLI::App& command, EvalTextFlags& flags) {
  constexpr const char* kGroup = "Texts";
  command
      .add_option("--stride", flags.stride,
                  "Tokens that windows move by, scoring only the new ones (0: chunks, for hf 512)")
      ->type_name("N")
      ->group(kGroup);
  command.add_option("--chunks", flags.chunks, "Stop after this many windows (-1: all)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->type_name("N")
      ->group(kGroup);
  command
      .add_option("--batch-tokens", flags.batch_tokens,
                  "Tokens computed in one pass: several short windows go together")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
}

Result<EvalRequest> make_eval_request(const ModelFlags& model, const EvalTextFlags& text) {
  EvalRequest request;
  INGOT_TRY(request.windows.protocol, parse_protocol(text.protocol));
  request.windows.context = model.context;
  request.windows.stride = text.stride;
  request.windows.max_chunks = text.chunks;
  request.batch_tokens = text.batch_tokens;
  request.cache_dtype = model.cache_dtype;
  INGOT_TRY(request.threads, thread_options(model));
  INGOT_TRY(request.engine, engine_flags(EngineCliFlags{}, model));
  request.engine.context = 0;  // -c is the windows'; tasks may use all of the model's
  return request;
}

Result<EvalText> read_eval_text(const std::string& path) {
  INGOT_TRY(std::string content, read_text(path));
  return EvalText{path == "-" ? "standard input" : std::filesystem::path(path).filename().string(),
                  std::move(content)};
}

bool EvalProgressBar::update(std::string_view label, double fraction) {
  // The first word names the stage; numbers behind it change.
  const std::string_view stage = label.substr(0, label.find(' '));
  if (bar_ == nullptr || stage != stage_) {
    bar_ = nullptr;  // wipes itself
    bar_ = std::make_unique<ProgressBar>(std::string(label));
    stage_ = stage;
  }
  bar_->set_label(std::string(label));
  bar_->update(fraction);
  if (fraction >= 1) bar_ = nullptr;
  return !InterruptScope::was_pressed();
}

}  // namespace ingot
