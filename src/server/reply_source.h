// SPDX-License-Identifier: Apache-2.0
// Where a reply's bytes come from. A route returns one; the connection asks it for parts whenever
// it says that there are some and the client has read the earlier ones. Destroying it cancels the
// work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/http_message.h"
#include "server/request_report.h"

namespace ingot {

struct ReplyPart {
  std::optional<HttpHead> head = {};  // with the first part, and only with it
  std::string bytes = {};
  bool is_last = false;  // a first part that is also the last is sent with its length
};

// One caller at a time.
class ReplySource {
 public:
  virtual ~ReplySource() = default;
  // What is there now; nothing when there is none. Never waits.
  virtual std::optional<ReplyPart> next() = 0;
  // `wake` is called from any thread when next() may have something; must be short.
  virtual void notify(std::function<void()> wake) = 0;
  // The client reads slowly (or again): the work rests.
  virtual void pause(bool /*is_paused*/) {}
  // The server shuts down before the work is done: the next part says so and is the last.
  virtual void interrupt() {}
  // How it went, once no more parts will be asked for; nothing but for requests for text.
  virtual std::optional<RequestReport> report() const { return std::nullopt; }
  // Whether next() costs little enough for the thread that serves all sockets.
  virtual bool is_light() const { return true; }
};

// A reply that is known at once.
class WholeReply final : public ReplySource {
 public:
  WholeReply(HttpHead head, std::string body) : part_{{{std::move(head)}, std::move(body), true}} {}
  std::optional<ReplyPart> next() override { return std::exchange(part_, std::nullopt); }
  void notify(std::function<void()> wake) override { wake(); }

 private:
  std::optional<ReplyPart> part_;
};

}  // namespace ingot
