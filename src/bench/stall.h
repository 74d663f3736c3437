// SPDX-License-Identifier: Apache-2.0
// How long decoding sequences wait for their next token when a long prompt arrives among them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"
#include "bench/spread.h"
#include "engine/engine_core.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct StallOptions {
  int64_t sequences = 7;         // that decode
  int64_t sequence_prompt = 32;  // tokens
  int64_t long_prompt = 4000;    // tokens
  int64_t tokens_before = 8;     // that each sequence has when the prompt arrives
  int64_t tokens_after = 8;      // that answer the long prompt
  SamplingParams sampling;
  std::shared_ptr<const Tokenizer> tokenizer;     // may be null
  std::function<void(double fraction)> progress;  // may be empty

  int64_t context() const { return long_prompt + tokens_after + tokens_before; }
};

struct StallRecord {
  int64_t tokens_per_step = 0;  // the engine's limit
  Spread gaps;                  // of the sequences, from the prompt's arrival to its last token
  Spread quiet_gaps;            // before it arrived
  Spread chunks;                // steps that computed a part of the prompt, in seconds
  int64_t chunk_count = 0;
  double first_token_seconds = 0;  // of the long prompt
};

Result<StallRecord> run_stall(EngineCore& core, const StallOptions& options);

}  // namespace ingot
