// SPDX-License-Identifier: Apache-2.0
// Before measuring: which model a server has, which of our fields it takes, how it counts tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/http_client.h"
#include "bench/serve_prompt.h"

namespace ingot {

struct ServerFacts {
  std::string model;               // the first it lists
  std::optional<int64_t> vocab;    // where it tells
  std::optional<int64_t> context;  // tokens of one request, likewise
};
// GET /v1/models. With `model` given, a server without that route is fine too.
Result<ServerFacts> ask_models(HttpClient& client, const Url& url, const std::string& model);

struct ProbeOptions {
  std::string target;         // what is posted to
  RequestForm wanted;         // the most we would send
  int64_t vocab = 0;          // ids from wanted.first_id on
  bool is_vocab_sure = true;  // else a refusal may mean that it is smaller
  std::optional<int64_t> context;
};
struct ProbedForm {
  RequestForm form;
  int64_t vocab = 0;
  std::vector<std::string> notes;  // what had to be left out, in the server's words
};
// Asks for a few tokens, leaving out what is refused until an answer comes; then, for words, finds
// how many tokens they are.
Result<ProbedForm> find_form(HttpClient& client, const ProbeOptions& options);

}  // namespace ingot
