// SPDX-License-Identifier: Apache-2.0
// The load benchmark as a whole: asks every server what it takes, then drives them by turns
// (A B A B ...) with the same requests, so that none has the quieter hour.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "bench/http_client.h"
#include "bench/serve_arrivals.h"
#include "bench/serve_prompt.h"
#include "bench/serve_record.h"
#include "bench/workload.h"

namespace ingot {

struct ServeTarget {
  std::string name;
  std::string url_text;  // as it was given
  Url url;
};

struct ServeOptions {
  std::vector<ServeTarget> targets;
  std::string endpoint;      // empty: chat for a chat, completions for all else
  std::string model;         // empty: the first that each server lists
  WorkloadOptions workload;  // its vocab is set from the following
  bool wants_words = false;  // as prompts, even where the server takes ids
  int64_t vocab_low = 100;   // ids are drawn from [low, high)
  int64_t vocab_high = 20000;
  bool is_vocab_given = false;  // else the servers may lower it
  ArrivalOptions arrivals;      // the seed is the workload's
  int64_t max_concurrency = 0;
  int64_t rounds = 1;
  int64_t warmup = 0;  // requests before each server's first round
  bool ignores_eos = true;
  std::shared_ptr<const Json> extra;  // merged into every body; may be null
  HttpClientOptions http;
  // Told what runs and how far it is; may be empty.
  std::function<void(std::string_view name, double fraction)> progress;
};

struct ServerResult {
  ServeTarget target;
  RequestForm form;
  std::vector<std::string> notes;
  std::vector<ServeRun> rounds;
};
struct ServeResult {
  std::string endpoint;
  WorkloadOptions workload;  // as it was run
  std::vector<ServerResult> servers;
};

Result<ServeResult> bench_serve(const ServeOptions& options);

}  // namespace ingot
