// SPDX-License-Identifier: Apache-2.0
// Spans as OTLP's JSON: the body of an ExportTraceServiceRequest (opentelemetry-proto 1.x).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/span.h"

namespace ingot {

std::string otlp_json(std::span<const Span> spans, std::string_view version);

}  // namespace ingot
