// SPDX-License-Identifier: Apache-2.0
// Which model this is: a digest of every tensor's name, shape, layout and bytes. Guards what is
// kept on disk for one model against use with another; not meant to withstand forgery.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/exec.h"
#include "model/model.h"

namespace ingot {

// Reads all weights once, at memory speed, on all threads of `exec`.
std::array<uint8_t, 32> fingerprint(const Model& model, const Exec& exec);

}  // namespace ingot
