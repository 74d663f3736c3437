// SPDX-License-Identifier: Apache-2.0
// json.dumps(), the way the chat templates' `tojson` calls it: no HTML escaping, key order kept.
#include <cmath>

#include "base/utf8.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/python_text.h"

namespace ingot::jinja {
namespace {

// Empty where the character stands for itself.
std::string escape_sequence(char32_t c, bool ensure_ascii) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  const auto number = static_cast<uint32_t>(c);
  if (number < 0x20 || (ensure_ascii && number > 0x7E && number < 0x10000)) {
    return fmt::format("\\u{:04x}", number);
  }
  if (ensure_ascii && number >= 0x10000) {
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((number - 0x10000) >> 10),
                       0xDC00 + ((number - 0x10000) & 0x3FF));
  }
  return {};
}

void write_json_string(TextBuilder& out, std::string_view text, const JsonStyle& style) {
  out.fail(out.heap().budget().scan(text.size()));
  out.append('"');
  size_t copied = 0;
  for (size_t at = 0; at < text.size() && !out.has_failed();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    size_t size = 1;
    std::string escaped;
    if (byte >= 0x7F && style.ensure_ascii) {
      const utf8::Decoded next = utf8::decode(text.substr(at));
      size = next.size;
      escaped = escape_sequence(next.code_point, true);
    } else if (byte < 0x20 || byte == '"' || byte == '\\') {
      escaped = escape_sequence(byte, style.ensure_ascii);
    }
    if (!escaped.empty()) {
      out.append(text.substr(copied, at - copied));
      out.append(escaped);
      copied = at + size;
    }
    at += size;
  }
  out.append(text.substr(copied));
  out.append('"');
}

void write_json_float(TextBuilder& out, double value) {
  if (std::isnan(value)) {
    out.append("NaN");
  } else if (std::isinf(value)) {
    out.append(value < 0 ? "-Infinity" : "Infinity");
  } else {
    out.append(float_repr(value));
  }
}

// Keys are strings in JSON: numbers, booleans and null are printed into one.
void write_json_key(TextBuilder& out, Value key, const JsonStyle& style) {
  if (key.is_string()) {
    write_json_string(out, key.text(), style);
    return;
  }
  if (!key.is_number() && !key.is_none()) {
    out.fail(
        Status::invalid_data("keys must be str, int, float, bool or None, not {}", type_name(key)));
    return;
  }
  out.append('"');
  write_json(out, key, style);
  out.append('"');
}

void write_line(TextBuilder& out, const JsonStyle& style, int depth) {
  if (!style.indent) return;
  out.append('\n');
  out.repeat(*style.indent, static_cast<uint64_t>(depth));
}

void write_json_list(TextBuilder& out, std::span<const Value> items, const JsonStyle& style,
                     int depth) {
  if (items.empty()) {
    out.append("[]");
    return;
  }
  out.append('[');
  for (size_t i = 0; i < items.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append(style.item_separator);
    write_line(out, style, depth + 1);
    write_json(out, items[i], style, depth + 1);
  }
  write_line(out, style, depth);
  out.append(']');
}

void write_json_dict(TextBuilder& out, const DictObject& dict, const JsonStyle& style, int depth) {
  const std::span<const DictEntry> entries = dict.entries;
  if (entries.empty()) {
    out.append("{}");
    return;
  }
  std::vector<uint32_t> order;
  if (style.sort_keys) {
    Result<std::vector<uint32_t>> sorted =
        sorted_positions(entries.size(), [&](uint32_t a, uint32_t b) {
          return is_less(out.heap(), entries[a].key, entries[b].key);
        });
    if (!sorted.is_ok()) {
      out.fail(sorted.status());
      return;
    }
    order = *std::move(sorted);
  }
  out.append('{');
  for (size_t i = 0; i < entries.size() && !out.has_failed(); ++i) {
    const DictEntry& entry = entries[style.sort_keys ? order[i] : i];
    if (i > 0) out.append(style.item_separator);
    write_line(out, style, depth + 1);
    write_json_key(out, entry.key, style);
    out.append(style.key_separator);
    write_json(out, entry.value, style, depth + 1);
  }
  write_line(out, style, depth);
  out.append('}');
}

}  // namespace

void write_json(TextBuilder& out, Value value, const JsonStyle& style, int depth) {
  if (depth > kValueDepth) {
    out.fail(Status::resource_exhausted("a value is nested deeper than {}", kValueDepth));
  }
  out.fail(out.heap().budget().step());
  if (out.has_failed()) return;
  switch (value.kind()) {
    case Kind::kNone:
      out.append("null");
      return;
    case Kind::kBool:
      out.append(value.as_integer() != 0 ? "true" : "false");
      return;
    case Kind::kInt:
      out.append(fmt::format("{}", value.as_integer()));
      return;
    case Kind::kFloat:
      write_json_float(out, value.as_number());
      return;
    case Kind::kString:
      write_json_string(out, value.text(), style);
      return;
    case Kind::kList:
    case Kind::kTuple:
      write_json_list(out, value.items(), style, depth);
      return;
    case Kind::kDict:
      write_json_dict(out, value.dict(), style, depth);
      return;
    default:
      out.fail(
          Status::invalid_data("Object of type {} is not JSON serializable", type_name(value)));
  }
}

}  // namespace ingot::jinja
