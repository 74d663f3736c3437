// SPDX-License-Identifier: Apache-2.0
#include "cli/logprobs_json.h"

#include <nlohmann/json.hpp>

namespace ingot {

Json to_json(const PositionLogprobs& position) {
  Json top = Json::array();
  for (const TokenLogprob& token : position.top)
    top.push_back({{"id", token.id}, {"logprob", token.logprob}});
  return {{"id", position.id}, {"logprob", position.logprob}, {"top", std::move(top)}};
}

Json to_json(std::span<const PositionLogprobs> positions) {
  Json list = Json::array();
  for (const PositionLogprobs& position : positions)
    list.push_back(to_json(position));
  return list;
}

Json to_json(std::span<const std::optional<PositionLogprobs>> positions) {
  Json list = Json::array();
  for (const std::optional<PositionLogprobs>& position : positions)
    list.push_back(position ? to_json(*position) : Json());
  return list;
}

}  // namespace ingot
