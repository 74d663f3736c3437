// SPDX-License-Identifier: Apache-2.0
// A request that is over as a span, with the attributes that vLLM's spans have and those of HTTP.
#pragma once

#include <chrono>
#include <string_view>

#include "server/http_service.h"
#include "server/span.h"

namespace ingot {

// `method` and `route` as metrics name them; `end` is now.
Span span_of(const ExchangeRecord& record, std::string_view method, std::string_view route,
             std::chrono::system_clock::time_point end);

}  // namespace ingot
