// SPDX-License-Identifier: Apache-2.0
// The access log: one line for each request when it is over. It names keys, never shows them, and
// has prompts and answers only where the report has them.
#pragma once

#include <string_view>

#include "server/http_service.h"

namespace ingot {

// Whether somebody only asks how we are: such requests come all the time and are no news.
bool is_poll(std::string_view route);

// `method` and `route` as metrics name them.
void log_request(const ExchangeRecord& record, std::string_view method, std::string_view route);

}  // namespace ingot
