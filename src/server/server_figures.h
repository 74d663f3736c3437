// SPDX-License-Identifier: Apache-2.0
// How things stand at the moment somebody asks for metrics. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine_stats.h"

namespace ingot {

struct ServerFigures {
  EngineStats engine;
  int64_t queued = 0;  // requests that wait for their key's turn, before the engine
  size_t connections = 0;
  bool is_draining = false;
  bool is_stuck = false;
};

}  // namespace ingot
