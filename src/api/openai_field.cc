// SPDX-License-Identifier: Apache-2.0
#include "api/openai_field.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_values.h"
#include "base/limits.h"
#include "engine/sampling_params.h"

namespace ingot {
namespace {

Status check_size(const Json& value, int64_t most) {
  if (value.size() <= static_cast<size_t>(most)) return Status::ok();
  return Status::invalid_argument("has {} entries but may have {}", value.size(), most);
}

// The value has been checked.
void assign(const Json& value, float& out) {
  out = static_cast<float>(value.get<double>());
}
void assign(const Json& value, bool& out) {
  out = value.get<bool>();
}
void assign(const Json& value, int32_t& out) {
  out = static_cast<int32_t>(value.is_number_integer() ? value.get<int64_t>()
                                                       : static_cast<int64_t>(value.get<double>()));
}
void assign(const Json& value, int64_t& out) {
  out =
      value.is_number_integer() ? value.get<int64_t>() : static_cast<int64_t>(value.get<double>());
}
template <class T>
void assign(const Json& value, std::optional<T>& out) {
  assign(value, out.emplace());
}

// Stores a value of the right shape where its field points to.
class Storing {
 public:
  Storing(OpenAiDraft& draft, const OpenAiField& field, const Json& value)
      : draft_(draft), field_(field), value_(value) {}

  Status operator()(FieldReader read) const { return read(draft_, value_); }
  Status operator()(const QuietField& /*quiet*/) const { return Status::ok(); }
  Status operator()(const RefusedField& refused) const {
    if (!refused.harmless.empty()) {
      const Result<Json> harmless = parse_json(refused.harmless, field_.name);
      if (harmless.is_ok() && *harmless == value_) return Status::ok();
    }
    return Status::unsupported("is not supported: {}", refused.reason);
  }
  template <class T>
  Status operator()(T SamplingParams::*member) const {
    SamplingParams probe;  // alone, so that an error is this field's
    assign(value_, probe.*member);
    if (const Status status = validate(probe); !status.is_ok())
      return Status::invalid_argument("cannot be taken: {}", status.message());
    assign(value_, draft_.text.sampling.*member);
    draft_.gives_penalty |= field_.name.ends_with("_penalty");
    draft_.gives_window |= field_.name == "repeat_last_n";
    draft_.gives_penalize_prompt |= field_.name == "penalize_prompt";
    return Status::ok();
  }
  template <class T>
  Status operator()(T OpenAiRequest::*member) const {
    assign(value_, draft_.result.*member);
    return Status::ok();
  }
  template <class T>
  Status operator()(T TextRequest::*member) const {
    assign(value_, draft_.text.*member);
    return Status::ok();
  }
  template <class T>
  Status operator()(T OpenAiDraft::*member) const {
    assign(value_, draft_.*member);
    return Status::ok();
  }

 private:
  OpenAiDraft& draft_;
  const OpenAiField& field_;
  const Json& value_;
};

}  // namespace

Status check_shape(const Json& value, const ValueShape& shape, int64_t vocab) {
  switch (shape.type) {
    case ValueShape::Type::kAny:
      return Status::ok();
    case ValueShape::Type::kBoolean:
      return bool_of(value).status();
    case ValueShape::Type::kInteger:
      return integer_of(value, shape.least, shape.most).status();
    case ValueShape::Type::kNumber:
      return number_of(value, shape.low, shape.high).status();
    case ValueShape::Type::kText:
      return text_of(value, static_cast<size_t>(shape.most)).status();
    case ValueShape::Type::kTexts:
      return texts_of(value, false).status();
    case ValueShape::Type::kTextOrTexts:
      return texts_of(value, true).status();
    case ValueShape::Type::kIds:
      return ids_of(value, vocab, static_cast<size_t>(shape.most)).status();
    case ValueShape::Type::kList:
      if (!value.is_array()) return Status::invalid_argument("must be a list");
      return check_size(value, shape.most);
    case ValueShape::Type::kObject:
      if (!value.is_object()) return Status::invalid_argument("must be an object");
      return check_size(value, shape.most);
  }
  return Status::ok();
}

Result<FieldUse> read_openai_field(OpenAiDraft& draft, std::string_view name, const Json& value) {
  const std::span<const OpenAiField> fields = openai_fields();
  const auto field = std::ranges::find_if(fields, [&](const OpenAiField& candidate) {
    return candidate.name == name && candidate.is_for(draft.result.endpoint);
  });
  if (field == fields.end()) return FieldUse::kUnknown;
  if (value.is_null()) return FieldUse::kTaken;  // as if it were absent
  Status status = check_shape(value, field->shape, draft.parser.defaults().vocab);
  if (status.is_ok()) status = std::visit(Storing(draft, *field, value), field->target);
  if (status.is_ok()) return FieldUse::kTaken;
  return Status(status.code(), fmt::format("{} {}", name, status.message()));
}

}  // namespace ingot
