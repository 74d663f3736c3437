// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a server sends back, up to the answer read from it: once whole, once in pieces
// as long as the first byte says. Both must come to the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/http_response.h"
#include "bench/serve_answer.h"

namespace {

struct Outcome {
  bool is_ok = false;
  ingot::ServeAnswer answer;
};

Outcome read(std::string_view bytes, size_t piece) {
  ingot::HttpResponseParser parser;
  ingot::ServeAnswerReader reader;
  ingot::Status status;
  while (!bytes.empty() && status.is_ok()) {
    const std::string_view part = bytes.substr(0, piece);
    status = parser.push(
        part, {.on_head = [&](const ingot::HttpResponseHead& head) { reader.on_head(head); },
               .on_body = [&](std::string_view body) { reader.on_body(body, {}); }});
    bytes.remove_prefix(part.size());
  }
  if (status.is_ok()) status = parser.finish();
  Outcome outcome;
  outcome.is_ok = reader.finish(status, {}).is_ok();
  outcome.answer = reader.take();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, std::max<size_t>(bytes.size(), 1));
  const Outcome cut = read(bytes, data[0] % 16 + 1U);
  const bool is_same = whole.is_ok == cut.is_ok && whole.answer.text == cut.answer.text &&
                       whole.answer.chunks.size() == cut.answer.chunks.size() &&
                       whole.answer.http_status == cut.answer.http_status;
  if (!is_same) std::abort();
  return 0;
}
