// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/hf_fields.h"

#include "base/limits.h"

namespace ingot::tok {

const Json* find_field(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> string_field(const Json& object, const char* key, std::string_view source) {
  const Json* field = find_field(object, key);
  if (field == nullptr || !field->is_string()) {
    return Status::invalid_data("{}: '{}' must be a string", source, key);
  }
  return field->get_ref<const std::string&>();
}

std::string string_field_or(const Json& object, const char* key, std::string_view fallback) {
  const Json* field = find_field(object, key);
  return field == nullptr || !field->is_string() ? std::string(fallback)
                                                 : field->get_ref<const std::string&>();
}

bool bool_field_or(const Json& object, const char* key, bool fallback) {
  const Json* field = find_field(object, key);
  return field == nullptr || !field->is_boolean() ? fallback : field->get<bool>();
}

Result<int64_t> integer_field(const Json& object, const char* key, int64_t most,
                              std::string_view source) {
  const Json* field = find_field(object, key);
  if (field == nullptr || !field->is_number_integer()) {
    return Status::invalid_data("{}: '{}' must be a whole number", source, key);
  }
  // A number past int64 is kept as uint64, and reads as negative here.
  const auto value = field->get<int64_t>();
  if (value < 0 || value > most) {
    return Status::invalid_data("{}: '{}' is {}; it must be between 0 and {}", source, key, value,
                                most);
  }
  return value;
}

std::string type_of(const Json& object) {
  return string_field_or(object, "type", "");
}

Result<std::vector<const Json*>> flatten_steps(const Json& json, const char* list_key,
                                               std::string_view what, std::string_view source) {
  std::vector<const Json*> steps;
  std::vector<const Json*> stack;
  if (!json.is_null()) stack.push_back(&json);
  while (!stack.empty()) {
    const Json* node = stack.back();
    stack.pop_back();
    if (type_of(*node) != "Sequence") {
      steps.push_back(node);
    } else {
      const Json* list = find_field(*node, list_key);
      if (list == nullptr || !list->is_array()) {
        return Status::invalid_data("{}: a {} of type Sequence needs the list '{}'", source, what,
                                    list_key);
      }
      for (size_t i = list->size(); i-- > 0;)
        stack.push_back(&(*list)[i]);
    }
    if (steps.size() + stack.size() > limits::kPipelineSteps) {
      return Status::resource_exhausted("{}: more than {} steps in its {}", source,
                                        limits::kPipelineSteps, what);
    }
  }
  return steps;
}

Status unknown_step(const Json& json, std::string_view what, std::string_view source) {
  return Status::unsupported("{}: a {} of type '{}' is not known", source, what, type_of(json));
}

}  // namespace ingot::tok
