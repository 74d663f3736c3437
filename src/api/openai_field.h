// SPDX-License-Identifier: Apache-2.0
// One field of a body: its name, what values it takes, and where the value goes. The table of all
// of them (openai_fields.cc) is what bodies are read by and what /openapi.json is made from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "api/openai_draft.h"
#include "api/openai_request.h"
#include "base/json.h"
#include "base/status.h"

namespace ingot {

struct ValueShape {
  enum class Type : uint8_t {
    kAny,
    kBoolean,
    kInteger,      // least and most
    kNumber,       // low and high
    kText,         // most: bytes
    kTexts,        // a list; most: entries
    kTextOrTexts,  // one or a list
    kIds,          // of tokens; most: entries
    kList,         // most: entries
    kObject,       // most: entries
  };
  Type type = Type::kAny;
  int64_t least = 0;
  int64_t most = 0;
  double low = 0;
  double high = 0;
};

// The error does not name the field.
Status check_shape(const Json& value, const ValueShape& shape, int64_t vocab);

// Where a value of the right shape goes.
using FieldReader = Status (*)(OpenAiDraft& draft, const Json& value);
struct QuietField {};         // nowhere: it says nothing to us
struct RefusedField {         // it cannot be honoured
  std::string_view harmless;  // the value, as JSON, that is taken all the same; null always is
  std::string_view reason;
};
using FieldTarget =
    std::variant<FieldReader, QuietField, RefusedField, float SamplingParams::*,
                 int32_t SamplingParams::*, bool SamplingParams::*, bool OpenAiRequest::*,
                 bool TextRequest::*, int32_t TextRequest::*, bool OpenAiDraft::*,
                 std::optional<bool> OpenAiDraft::*, std::optional<int32_t> OpenAiDraft::*,
                 std::optional<int64_t> OpenAiDraft::*>;

struct OpenAiField {
  std::string_view name;
  uint8_t endpoints;  // of OpenAiEndpoint, together
  ValueShape shape;
  FieldTarget target;

  bool is_for(OpenAiEndpoint endpoint) const {
    return (endpoints & static_cast<uint8_t>(endpoint)) != 0;
  }
};

std::span<const OpenAiField> openai_fields();

}  // namespace ingot
