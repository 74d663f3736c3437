// SPDX-License-Identifier: Apache-2.0
// The library's TextEngine (ingot/engine.h): a loaded model, its text side and the engine thread.
#pragma once

#include <memory>

#include "api/loaded_model.h"
#include "engine/engine.h"
#include "ingot/engine.h"

namespace ingot {

Result<EngineOptions> engine_options(const EngineFlags& flags, const ModelSpec& spec);

// For callers that have loaded the model already.
Result<std::unique_ptr<TextEngine>> start_engine(LoadedModel model, const EngineFlags& flags);

}  // namespace ingot
