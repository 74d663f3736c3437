// SPDX-License-Identifier: Apache-2.0
// An answer's text as it is told to clients: text, and calls of tools taken out of it. Writers of
// every protocol read parts, so that none of them knows how a model spells a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

struct AnswerPart {
  enum class Kind : uint8_t { kText, kCall, kArguments };
  Kind kind = Kind::kText;
  std::string text = {};  // kText; kArguments: the next fragment of the call's JSON
  size_t call = 0;        // kCall, kArguments: which one of the answer, from 0
  std::string id = {};    // kCall
  std::string name = {};  // kCall: of the tool
};

// Of one answer. Calls follow each other: the arguments of one are over when another part begins.
// Single thread.
class AnswerParts {
 public:
  virtual ~AnswerParts() = default;
  // Appends what is certain now.
  virtual void push(std::string_view text, std::vector<AnswerPart>& out) = 0;
  // The answer is over: what was held back.
  virtual void finish(std::vector<AnswerPart>& out) = 0;
};

// All text is text: for requests without tools.
class PlainParts final : public AnswerParts {
 public:
  void push(std::string_view text, std::vector<AnswerPart>& out) override {
    if (!text.empty()) out.push_back({.text = std::string(text)});
  }
  void finish(std::vector<AnswerPart>& /*out*/) override {}
};

}  // namespace ingot
