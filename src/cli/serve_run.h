// SPDX-License-Identifier: Apache-2.0
// What `ingot serve` does with its flags: loads the model, listens, and serves until a signal ends
// it.
#pragma once

#include "base/status.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/serve_flags.h"

namespace ingot {

struct ServeSettings {
  const ModelFlags& model;
  const EngineCliFlags& engine;
  const ServeFlags& serve;
};

// Main thread only.
Status run_server(const ServeSettings& settings);

}  // namespace ingot
