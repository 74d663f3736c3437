// SPDX-License-Identifier: Apache-2.0
// Which files a conversion reads, so that a resumed run goes on only with the same ones.
#pragma once

#include <filesystem>
#include <string>

#include "formats/checkpoint.h"

namespace ingot {

// Names, sizes and times of change of the input's weight and configuration files.
std::string input_identity(const std::filesystem::path& path);

}  // namespace ingot
