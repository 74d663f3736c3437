// SPDX-License-Identifier: Apache-2.0
// Vectors become the body that a client reads: cut to the dimensions asked for, scaled to length 1,
// as numbers or as base64 of little-endian floats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/embeddings_request.h"
#include "base/json.h"

namespace ingot {

struct EmbeddingsResult {
  std::vector<std::vector<float>> vectors;  // [input][dimension], as the engine pooled them
  int64_t prompt_tokens = 0;                // of all inputs
  double seconds = 0;                       // all of it
};

Json embeddings_reply(const EmbeddingsRequest& request, const EmbeddingsResult& result,
                      const std::string& model);

// Cut to `dimensions` (0: none) and scaled to length 1; a vector of zeros stays one.
std::vector<float> unit_vector(std::span<const float> vector, int64_t dimensions);
std::string base64(std::span<const std::byte> bytes);

}  // namespace ingot
