// SPDX-License-Identifier: Apache-2.0
// Drives one server with a workload: conversations arrive, each sends its next turn with the real
// answers to the ones before, so many requests in flight at most. Measures, judges nothing.
#pragma once

#include <functional>
#include <string>

#include "bench/http_client.h"
#include "bench/serve_arrivals.h"
#include "bench/serve_prompt.h"
#include "bench/serve_record.h"
#include "bench/workload.h"

namespace ingot {

struct ServeLoad {
  ArrivalOptions arrivals;
  int64_t max_concurrency = 0;                    // 0: as many as arrive
  std::string target;                             // what is posted to
  std::function<void(double fraction)> progress;  // may be empty
};

ServeRun run_serve(HttpClient& client, const Workload& workload, const RequestForm& form,
                   const ServeLoad& load);

}  // namespace ingot
