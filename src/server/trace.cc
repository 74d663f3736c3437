// SPDX-License-Identifier: Apache-2.0
#include "server/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>

namespace ingot {
namespace {

constexpr size_t kParentSize = 55;  // 00-<32>-<16>-<2>
constexpr size_t kStateMembers = 32;
constexpr size_t kStateBytes = 4096;
constexpr size_t kKeyBytes = 256, kValueBytes = 256;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

bool is_key_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_key(std::string_view key) {
  if (key.empty() || key.size() > kKeyBytes || !is_key_start(key.front())) return false;
  size_t ats = 0;
  for (const char c : key) {
    if (c == '@') {
      ++ats;
    } else if (!is_key_start(c) && c != '_' && c != '-' && c != '*' && c != '/') {
      return false;
    }
  }
  return ats <= 1 && key.back() != '@';
}

bool is_value(std::string_view value) {
  if (value.empty() || value.size() > kValueBytes || value.back() == ' ') return false;
  return std::ranges::all_of(value,
                             [](char c) { return c >= 0x20 && c <= 0x7E && c != ',' && c != '='; });
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string random_hex(size_t digits) {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::string text;
  while (text.size() < digits)
    text += fmt::format("{:016x}", random());
  text.resize(digits);
  if (is_zero(text)) text.back() = '1';
  return text;
}

// All headers of a name as one list; nothing when one that may come once comes twice.
std::optional<std::string> joined(const HttpHeaders& headers, std::string_view name,
                                  bool may_repeat) {
  std::optional<std::string> all;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (all && !may_repeat) return std::nullopt;
    all = all ? *all + "," + value : value;
  }
  return all;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (text.size() < kParentSize) return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  const std::string_view trace_id = text.substr(3, 32);
  const std::string_view parent_id = text.substr(36, 16);
  const std::string_view flags = text.substr(53, 2);
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  if (!is_hex(version) || version == "ff" || !is_hex(flags)) return std::nullopt;
  if (!is_hex(trace_id) || is_zero(trace_id) || !is_hex(parent_id) || is_zero(parent_id))
    return std::nullopt;
  // Later versions may append something, after a dash.
  if (text.size() > kParentSize && (version == "00" || text[kParentSize] != '-'))
    return std::nullopt;
  const bool is_sampled = (flags[1] - (flags[1] >= 'a' ? 'a' - 10 : '0')) % 2 == 1;
  return TraceParent{std::string(trace_id), std::string(parent_id), is_sampled};
}

bool is_tracestate(std::string_view text) {
  if (text.size() > kStateBytes) return false;
  std::array<std::string_view, kStateMembers> keys;
  size_t count = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view member = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (member.empty()) continue;  // allowed
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos || count == kStateMembers) return false;
    const std::string_view key = member.substr(0, equals);
    if (!is_key(key) || !is_value(member.substr(equals + 1))) return false;
    const auto known = std::span(keys).first(count);
    if (std::ranges::find(known, key) != known.end()) return false;
    keys[count++] = key;
  }
  return count > 0;
}

TraceContext begin_trace(const HttpHeaders& headers) {
  TraceContext trace{.span_id = random_hex(16)};
  const std::optional<std::string> parent = joined(headers, "traceparent", false);
  if (auto parsed = parent ? parse_traceparent(*parent) : std::nullopt) {
    trace.trace_id = std::move(parsed->trace_id);
    trace.parent_id = std::move(parsed->parent_id);
    trace.is_sampled = parsed->is_sampled;
    auto state = joined(headers, "tracestate", true);
    if (state && is_tracestate(*state)) trace.state = *std::move(state);
  } else {
    trace.trace_id = random_hex(32);
    trace.is_sampled = true;
  }
  return trace;
}

std::string traceparent_text(const TraceContext& trace) {
  return fmt::format("00-{}-{}-{}", trace.trace_id, trace.span_id, trace.is_sampled ? "01" : "00");
}

}  // namespace ingot
