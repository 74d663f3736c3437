// SPDX-License-Identifier: Apache-2.0
// How answers become the body of a reply, whole or as a stream of events: one class for each
// protocol and form. It sees what the engine tells and appends bytes; it knows no sockets, so the
// server, batch files and tests share it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/openai_error.h"
#include "base/status.h"
#include "ingot/engine.h"

namespace ingot {

// Single thread. begin(), then take() for each event, then end() once.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  // Whether bytes may be sent as they come; else all of them come with end().
  virtual bool streams() const = 0;
  virtual std::string_view content_type() const = 0;
  // What is sent before the engine has told anything, often nothing.
  virtual void begin(std::string& out) = 0;
  // `prompt` counts the prompts of the request.
  virtual void take(size_t prompt, TextEvent event, std::string& out) = 0;
  // All prompts are over, well or not. A writer that streams appends its last events; one that does
  // not appends the whole body when `status` is ok and nothing otherwise: the caller then answers
  // with fail().
  virtual void end(const Status& status, std::string& out) = 0;
  // Why an answer was broken off although the engine is well: it ran out of time or was cancelled.
  // A writer that streams tells it in end(); one that does not then appends nothing in end(), and
  // the caller answers with fail() of this.
  virtual std::optional<OpenAiError> broken_off() const { return std::nullopt; }
  // The body of an error in this protocol; in the middle of a stream, as an event.
  virtual std::string fail(const OpenAiError& error) const = 0;
};

}  // namespace ingot
