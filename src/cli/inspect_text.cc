// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/inspect_report.h"

namespace ingot {
namespace {

std::string bytes_text(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string count_text(uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} B", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", value / 1e6);
  if (count >= 1'000) return fmt::format("{:.1f} K", value / 1e3);
  return fmt::format("{}", count);
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("{:<18} {}\n", name, value);
}

std::string shape_rows(const InspectReport& report) {
  const ModelSpec& spec = *report.spec;
  std::string text = row("layers", fmt::format("{}", spec.layers.size()));
  text += row("hidden", fmt::format("{}", spec.hidden));
  if (!spec.layers.empty()) {
    if (const auto* attention = std::get_if<AttentionSpec>(&spec.layers.front().mixer))
      text += row("heads", fmt::format("{} ({} for keys and values, of {})", attention->heads,
                                       attention->kv_heads, attention->key_dim));
  }
  text += row("vocabulary", fmt::format("{}", spec.vocab));
  text += row("context", fmt::format("{} tokens", spec.context));
  for (const KvCacheType type : kv_cache_types()) {
    text += row(
        fmt::format("KV cache {}", to_string(type)),
        fmt::format("{} a token, {} at full context", bytes_text(report.kv_bytes_per_token(type)),
                    bytes_text(report.kv_bytes_full_context(type))));
  }
  return text;
}

}  // namespace

std::string describe_summary(const InspectReport& report) {
  std::string text = row("model", report.name);
  text += row("format", report.format);
  text += row("architecture", report.architecture.empty() ? "not stated" : report.architecture);
  if (!report.spec) text += row("not supported", report.unsupported);
  text +=
      row("parameters", fmt::format("{} ({})", count_text(report.parameters), report.parameters));
  text += row("bits per weight", fmt::format("{:.2f}", report.bits_per_weight()));
  text += row("weights", bytes_text(report.tensor_bytes));
  text += row("files", bytes_text(report.file_bytes));
  if (report.spec) text += shape_rows(report);
  for (const auto& [name, share] : report.types) {
    text += row(fmt::format("  {}", name),
                fmt::format("{} tensors, {} elements, {}", share.tensors,
                            count_text(share.elements), bytes_text(share.bytes)));
  }
  return text;
}

std::string describe_metadata(const InspectReport& report) {
  constexpr size_t kLongestValue = 200;  // chat templates go on for pages
  size_t width = 0;
  for (const auto& [key, value] : report.metadata)
    width = std::max(width, std::min<size_t>(key.size(), 48));
  std::string text;
  for (const auto& [key, value] : report.metadata) {
    std::string line = value.substr(0, kLongestValue);
    std::ranges::replace(line, '\n', ' ');
    if (value.size() > kLongestValue) line += " ...";
    text += fmt::format("{:<{}}  {}\n", key, width, line);
  }
  return text;
}

std::string describe_tensors(const Checkpoint& checkpoint) {
  size_t width = 0;
  for (const TensorEntry* entry : checkpoint.tensors())
    width = std::max(width, std::min<size_t>(entry->name.size(), 64));
  std::string text;
  for (const TensorEntry* entry : checkpoint.tensors()) {
    text += fmt::format("{:<{}}  {:<8} {}\n", entry->name, width, info(entry->tensor.layout).name,
                        entry->tensor.shape.to_string());
  }
  return text;
}

}  // namespace ingot
