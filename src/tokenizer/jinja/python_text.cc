// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/python_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

void write_quoted(TextBuilder& out, std::string_view text) {
  out.fail(out.heap().budget().scan(text.size()));
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append(quote);
  for (size_t at = 0; at < text.size() && !out.has_failed();) {
    const utf8::Decoded next = utf8::decode(text.substr(at));
    const char32_t c = next.code_point;
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out.append('\\');
      out.append(static_cast<char>(c));
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\r') {
      out.append("\\r");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (is_printable(c)) {
      out.append(text.substr(at, next.size));
    } else if (c <= 0xFF) {
      out.append(fmt::format("\\x{:02x}", static_cast<uint32_t>(c)));
    } else if (c <= 0xFFFF) {
      out.append(fmt::format("\\u{:04x}", static_cast<uint32_t>(c)));
    } else {
      out.append(fmt::format("\\U{:08x}", static_cast<uint32_t>(c)));
    }
    at += next.size;
  }
  out.append(quote);
}

void write_items(TextBuilder& out, std::span<const Value> items, int depth) {
  for (size_t i = 0; i < items.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append(", ");
    write_repr(out, items[i], depth + 1);
  }
}

void write_entries(TextBuilder& out, std::span<const DictEntry> entries, int depth) {
  out.append('{');
  for (size_t i = 0; i < entries.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append(", ");
    write_repr(out, entries[i].key, depth + 1);
    out.append(": ");
    write_repr(out, entries[i].value, depth + 1);
  }
  out.append('}');
}

void write_range(TextBuilder& out, const SequenceObject& range) {
  out.append(fmt::format("range({}, {}", range.range[0], range.range[1]));
  if (range.range[2] != 1) out.append(fmt::format(", {}", range.range[2]));
  out.append(')');
}

void write_sequence(TextBuilder& out, Value value, int depth) {
  const std::span<const Value> items = value.items();
  switch (value.kind()) {
    case Kind::kList:
      out.append('[');
      write_items(out, items, depth);
      out.append(']');
      return;
    case Kind::kTuple:
      out.append('(');
      write_items(out, items, depth);
      out.append(items.size() == 1 ? ",)" : ")");
      return;
    case Kind::kRange:
      write_range(out, value.sequence());
      return;
    case Kind::kGenerator:
      out.append("<generator object>");
      return;
    default:
      out.append(type_name(value));
      out.append("([");
      write_items(out, items, depth);
      out.append("])");
      return;
  }
}

// What has no literal: objects of Jinja's own.
void write_object(TextBuilder& out, Value value, int depth) {
  switch (value.kind()) {
    case Kind::kNamespace:
      out.append("<Namespace ");
      write_entries(out, {value.names().entries, value.names().size}, depth);
      out.append('>');
      return;
    case Kind::kLoop:
      out.append(
          fmt::format("<LoopContext {}/{}>", value.loop().index + 1, value.loop().items.size()));
      return;
    case Kind::kMacro:
      out.append("<Macro '");
      out.append(value.macro().name);
      out.append("'>");
      return;
    case Kind::kFunction:
      out.append("<function ");
      out.append(value.function().name);
      out.append('>');
      return;
    case Kind::kMethod:
      out.append("<method ");
      out.append(value.method().method->name);
      out.append('>');
      return;
    default:
      out.append('<');
      out.append(type_name(value));
      out.append('>');
  }
}

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto scientific =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  const size_t e = text.find('e');
  const int exponent =
      std::atoi(std::string(text.substr(e + 1)).c_str());  // NOLINT(cert-err34-c): ours
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, e), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  char fixed[64];
  const auto end = std::to_chars(fixed, fixed + sizeof(fixed), value, std::chars_format::fixed);
  std::string result(fixed, end.ptr);
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

void write_str(TextBuilder& out, Value value) {
  if (value.is_string()) {
    out.append(value.text());
  } else if (!value.is_undefined()) {
    write_repr(out, value);
  }
}

void write_repr(TextBuilder& out, Value value, int depth) {
  if (depth > kValueDepth) {
    out.fail(Status::resource_exhausted("a value is nested deeper than {}", kValueDepth));
  }
  out.fail(out.heap().budget().step());
  if (out.has_failed()) return;
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kUndefined:
      out.append("Undefined");
      return;
    case Kind::kNone:
      out.append("None");
      return;
    case Kind::kBool:
      out.append(value.as_integer() != 0 ? "True" : "False");
      return;
    case Kind::kInt:
      out.append(fmt::format("{}", value.as_integer()));
      return;
    case Kind::kFloat:
      out.append(float_repr(value.as_number()));
      return;
    case Kind::kString:
      if (value.is_markup()) out.append("Markup(");
      write_quoted(out, value.text());
      if (value.is_markup()) out.append(')');
      return;
    case Kind::kDict:
      write_entries(out, value.dict().entries, depth);
      return;
    default:
      if (value.is_sequence()) {
        write_sequence(out, value, depth);
      } else {
        write_object(out, value, depth);
      }
  }
}

Result<Value> soft_string(Heap& heap, Value value) {
  if (value.is_string()) return value;
  return plain_string(heap, value);
}

Result<Value> plain_string(Heap& heap, Value value) {
  if (value.is_string()) return value.is_markup() ? heap.view(value.text()) : value;
  TextBuilder out(heap);
  write_str(out, value);
  return out.finish();
}

void write_escaped(TextBuilder& out, std::string_view text) {
  size_t copied = 0;
  out.fail(out.heap().budget().scan(text.size()));
  for (size_t at = 0; at < text.size() && !out.has_failed(); ++at) {
    std::string_view entity;
    switch (text[at]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '"':
        entity = "&#34;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      default:
        continue;
    }
    out.append(text.substr(copied, at - copied));
    out.append(entity);
    copied = at + 1;
  }
  out.append(text.substr(copied));
}

Result<Value> escape_value(Heap& heap, Value value) {
  if (value.is_markup()) return value;
  INGOT_TRY(const Value text, plain_string(heap, value));
  TextBuilder out(heap);
  write_escaped(out, text.text());
  return out.finish(true);
}

}  // namespace ingot::jinja
