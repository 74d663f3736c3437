// SPDX-License-Identifier: Apache-2.0
#include "api/embeddings_reply.h"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace ingot {
namespace {

static_assert(std::endian::native == std::endian::little);  // base64 is of the floats as they lie

Json shown(const EmbeddingsRequest& request, const std::vector<float>& vector) {
  const std::vector<float> unit = unit_vector(vector, request.dimensions);
  if (request.is_base64) return base64(std::as_bytes(std::span(unit)));
  return unit;
}

Json openai_body(const EmbeddingsRequest& request, const EmbeddingsResult& result,
                 const std::string& model) {
  Json data = Json::array();
  for (const std::vector<float>& vector : result.vectors) {
    data.push_back(
        {{"object", "embedding"}, {"index", data.size()}, {"embedding", shown(request, vector)}});
  }
  return {
      {"object", "list"},
      {"data", std::move(data)},
      {"model", model},
      {"usage", {{"prompt_tokens", result.prompt_tokens}, {"total_tokens", result.prompt_tokens}}}};
}

Json ollama_body(const EmbeddingsRequest& request, const EmbeddingsResult& result,
                 const std::string& model) {
  Json vectors = Json::array();
  for (const std::vector<float>& vector : result.vectors)
    vectors.push_back(shown(request, vector));
  if (request.endpoint == EmbeddingsEndpoint::kOllamaOne)
    return {{"embedding", vectors.empty() ? Json::array() : std::move(vectors.front())}};
  return {{"model", model},
          {"embeddings", std::move(vectors)},
          {"total_duration", static_cast<int64_t>(result.seconds * 1e9)},
          {"load_duration", 0},
          {"prompt_eval_count", result.prompt_tokens}};
}

}  // namespace

Json embeddings_reply(const EmbeddingsRequest& request, const EmbeddingsResult& result,
                      const std::string& model) {
  Json body = request.endpoint == EmbeddingsEndpoint::kOpenAi ? openai_body(request, result, model)
                                                              : ollama_body(request, result, model);
  if (!request.warnings.empty()) body["warnings"] = request.warnings;
  return body;
}

std::vector<float> unit_vector(std::span<const float> vector, int64_t dimensions) {
  if (dimensions > 0 && static_cast<size_t>(dimensions) < vector.size())
    vector = vector.first(static_cast<size_t>(dimensions));
  double squares = 0;
  for (const float value : vector)
    squares += double{value} * double{value};
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> unit;
  unit.reserve(vector.size());
  for (const float value : vector)
    unit.push_back(static_cast<float>(double{value} * scale));
  return unit;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < count ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      text += k <= count ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace ingot
