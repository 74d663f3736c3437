// SPDX-License-Identifier: Apache-2.0
// The library's TextEngine (ingot/engine.h): a loaded model, its text side and the engine thread.
#pragma once

#include <memory>

#include "api/loaded_model.h"
#include "engine/engine.h"
#include "ingot/engine.h"

namespace ingot {

// With what suits the machine in the place of zeros: a GPU takes more sequences and tokens at once.
EngineFlags settled(EngineFlags flags, const Model& model);

Result<EngineOptions> engine_options(const EngineFlags& flags, const Model& model);

// For callers that have loaded the model already.
Result<std::unique_ptr<TextEngine>> start_engine(LoadedModel model, const EngineFlags& flags);

}  // namespace ingot
