// SPDX-License-Identifier: Apache-2.0
// Where a model runs, as people say it: the same words for commands and the library.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "kernels/device.h"

namespace ingot {

// The GPU of that name, "cuda" or "cuda:N"; null for "cpu". "auto" takes the first where there is
// one, unless `kernels` names those of a processor: it is neither empty nor "auto".
Result<std::shared_ptr<Device>> find_device(std::string_view name, std::string_view kernels);

}  // namespace ingot
