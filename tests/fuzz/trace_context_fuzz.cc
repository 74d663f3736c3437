// SPDX-License-Identifier: Apache-2.0
// A line of traceparent, the rest tracestate: whatever they are, what goes on is valid.
#include <cstdint>
#include <string>

#include "server/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  ingot::HttpHeaders headers = {{"traceparent", text.substr(0, end)}};
  if (end < text.size()) headers.emplace_back("tracestate", text.substr(end + 1));
  const ingot::TraceContext trace = ingot::begin_trace(headers);
  const auto told = ingot::parse_traceparent(ingot::traceparent_text(trace));
  if (!told || told->trace_id != trace.trace_id || told->is_sampled != trace.is_sampled)
    __builtin_trap();
  if (!trace.state.empty() && !ingot::is_tracestate(trace.state)) __builtin_trap();
  return 0;
}
