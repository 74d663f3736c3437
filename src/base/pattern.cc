// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <bitset>
#include <limits>
#include <vector>

namespace ingot {
namespace {

constexpr size_t kMostBytes = 4096;      // of a pattern
constexpr int kMostDepth = 32;           // of groups in it
constexpr int64_t kMostSteps = 200'000;  // of one match
constexpr int kMostFrames = 4096;
constexpr int kNoLimit = std::numeric_limits<int>::max();

using Set = std::bitset<256>;

}  // namespace

struct Pattern::Node {
  enum class Kind { kSet, kStart, kEnd, kBoundary, kChoice, kRepeat, kAhead };
  using Sequence = std::vector<Node>;
  Kind kind = Kind::kChoice;
  Set set;
  std::vector<Sequence> choices;  // of kChoice; the one of kRepeat and kAhead
  int least = 0;                  // of kRepeat
  int most = 0;
  bool is_lazy = false;
  bool is_negated = false;  // kAhead, kBoundary
};

namespace {

using Node = Pattern::Node;
using Kind = Node::Kind;

Set range_of(int first, int last) {
  Set set;
  for (int c = first; c <= last; ++c)
    set.set(static_cast<size_t>(c));
  return set;
}

Set class_of(char letter) {
  switch (letter) {
    case 'd':
      return range_of('0', '9');
    case 's':
      return range_of('\t', '\r') | range_of(' ', ' ');
    default:
      return range_of('0', '9') | range_of('a', 'z') | range_of('A', 'Z') | range_of('_', '_');
  }
}

bool is_word(char c) {
  return class_of('w').test(static_cast<unsigned char>(c));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Node> parse() {
    Node root;
    INGOT_TRY(choices(0, root));
    if (at_ < text_.size()) return wrong("an unmatched )");
    return root;
  }

 private:
  Status wrong(std::string_view what) const {
    return Status::unsupported("pattern '{}': {} at {}", text_.substr(0, 100), what, at_);
  }
  bool is_done() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Status choices(int depth, Node& out) {
    if (depth > kMostDepth) return wrong("groups too deep");
    out.choices.emplace_back();
    while (!is_done() && peek() != ')') {
      if (take("|")) {
        out.choices.emplace_back();
        continue;
      }
      INGOT_TRY(Node node, atom(depth));
      INGOT_TRY(repeated(node));
      out.choices.back().push_back(std::move(node));
    }
    return Status::ok();
  }

  Result<Node> atom(int depth) {
    Node node;
    if (take("(")) return group(depth);
    if (take("[")) return set();
    if (take("^")) return of(Kind::kStart);
    if (take("$")) return of(Kind::kEnd);
    if (take("\\")) return escape();
    const char c = peek();
    if (c == '*' || c == '+' || c == '?') return wrong("nothing to repeat");
    ++at_;
    node.kind = Kind::kSet;
    if (c == '.') {
      node.set = ~range_of('\n', '\n');
    } else {
      node.set.set(static_cast<unsigned char>(c));
    }
    return node;
  }

  static Node of(Kind kind) {
    Node node;
    node.kind = kind;
    return node;
  }

  Result<Node> group(int depth) {
    Node node;
    const bool is_ahead = take("?=");
    const bool is_not_ahead = !is_ahead && take("?!");
    if (is_ahead || is_not_ahead) {
      node.kind = Kind::kAhead;
      node.is_negated = is_not_ahead;
    } else if (!take("?:") && !is_done() && peek() == '?') {
      return wrong("a kind of group that is not known");
    }
    INGOT_TRY(choices(depth + 1, node));
    if (!take(")")) return wrong("a group without its end");
    return node;
  }

  // After a backslash: a class, or the letter itself.
  Result<Node> escape() {
    if (is_done()) return wrong("a \\ at the end");
    const char c = peek();
    ++at_;
    if (c == 'b' || c == 'B') {
      Node node = of(Kind::kBoundary);
      node.is_negated = c == 'B';
      return node;
    }
    Node node = of(Kind::kSet);
    INGOT_TRY(node.set, escaped_set(c));
    return node;
  }
  Result<Set> escaped_set(char c) const {
    if (c == 'd' || c == 'w' || c == 's') return class_of(c);
    if (c == 'D' || c == 'W' || c == 'S') return ~class_of(static_cast<char>(c - 'A' + 'a'));
    if (is_word(c)) return wrong("an escape that is not known");
    Set set;
    set.set(static_cast<unsigned char>(c));
    return set;
  }

  Result<Node> set() {
    Node node = of(Kind::kSet);
    const bool is_negated = take("^");
    bool is_first = true;
    while (!is_done() && (peek() != ']' || is_first)) {
      is_first = false;
      char c = peek();
      ++at_;
      if (c == '\\') {
        if (is_done()) break;
        c = peek();
        ++at_;
        INGOT_TRY(const Set escaped, escaped_set(c));
        node.set |= escaped;
        continue;
      }
      const bool is_range = at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']';
      char last = c;
      if (is_range) {
        last = text_[at_ + 1];
        at_ += 2;
      }
      if (static_cast<unsigned char>(last) < static_cast<unsigned char>(c))
        return wrong("a range that ends before it begins");
      node.set |= range_of(static_cast<unsigned char>(c), static_cast<unsigned char>(last));
    }
    if (!take("]")) return wrong("a set without its end");
    if (is_negated) node.set = ~node.set;
    return node;
  }

  Status repeated(Node& node) {
    int least = 0;
    int most = kNoLimit;
    if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (!is_done() && peek() == '{' && counts(least, most)) {
    } else if (!take("*")) {
      return Status::ok();
    }
    if (most < least) return wrong("a repeat that ends before it begins");
    Node repeat = of(Kind::kRepeat);
    repeat.least = least;
    repeat.most = most;
    repeat.is_lazy = take("?");
    if (!is_done() && (peek() == '*' || peek() == '+' || peek() == '{'))
      return wrong("a repeat of a repeat");
    repeat.choices.emplace_back().push_back(std::move(node));
    node = std::move(repeat);
    return Status::ok();
  }

  // {m}, {m,} {,n} or {m,n}; anything else is a brace.
  bool counts(int& least, int& most) {
    size_t at = at_ + 1;
    const auto number = [&](int fallback) {
      const size_t begin = at;
      int value = 0;
      while (at < text_.size() && text_[at] >= '0' && text_[at] <= '9' && at - begin < 4)
        value = value * 10 + (text_[at++] - '0');
      return at == begin ? fallback : value;
    };
    const int first = number(0);
    int last = first;
    if (at < text_.size() && text_[at] == ',') {
      ++at;
      last = number(kNoLimit);
    }
    if (at >= text_.size() || text_[at] != '}' || at == at_ + 1) return false;
    least = first;
    most = last;
    at_ = at + 1;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Backtracking: a node is matched with what comes after it as a chain of frames.
class Matcher {
 public:
  explicit Matcher(std::string_view name) : name_(name) {}

  // What is left to match: nodes of a sequence, then the frames above. A repeat's frame counts.
  struct Frame {
    const Node::Sequence* nodes;
    size_t next;
    const Frame* above;
    const Node* repeat = nullptr;
    int count = 0;
    size_t begun = 0;
  };

  bool run(size_t at, const Frame* frame) {
    if (++steps_ > kMostSteps || depth_ > kMostFrames) return false;
    ++depth_;
    const bool found = step(at, frame);
    --depth_;
    return found;
  }

 private:
  bool step(size_t at, const Frame* frame) {
    while (frame != nullptr && frame->repeat == nullptr && frame->next == frame->nodes->size())
      frame = frame->above;
    if (frame == nullptr) return true;
    if (frame->repeat != nullptr && frame->next == frame->nodes->size())
      return again(at, *frame->repeat, frame->count, frame->begun, frame->above);
    const Node& node = (*frame->nodes)[frame->next];
    const Frame after{frame->nodes,  frame->next + 1, frame->above,
                      frame->repeat, frame->count,    frame->begun};
    switch (node.kind) {
      case Kind::kSet:
        return at < name_.size() && node.set.test(static_cast<unsigned char>(name_[at])) &&
               run(at + 1, &after);
      case Kind::kStart:
        return at == 0 && run(at, &after);
      case Kind::kEnd:
        return at == name_.size() && run(at, &after);
      case Kind::kBoundary: {
        const bool before = at > 0 && is_word(name_[at - 1]);
        const bool here = at < name_.size() && is_word(name_[at]);
        return ((before != here) != node.is_negated) && run(at, &after);
      }
      case Kind::kAhead:
        return any_choice(at, node, nullptr) != node.is_negated && run(at, &after);
      case Kind::kChoice:
        return any_choice(at, node, &after);
      case Kind::kRepeat:
        return is_plain(node) ? run_of_set(at, node, &after) : again(at, node, 0, at + 1, &after);
    }
    return false;
  }

  bool any_choice(size_t at, const Node& node, const Frame* after) {
    for (const Node::Sequence& choice : node.choices) {
      const Frame frame{&choice, 0, after};
      if (run(at, &frame)) return true;
    }
    return false;
  }

  static bool is_plain(const Node& repeat) {
    return repeat.choices.front().front().kind == Kind::kSet;
  }
  // One set again and again: no frames.
  bool run_of_set(size_t at, const Node& repeat, const Frame* after) {
    const Set& set = repeat.choices.front().front().set;
    size_t most = at;
    while (most < name_.size() && most - at < static_cast<size_t>(repeat.most) &&
           set.test(static_cast<unsigned char>(name_[most])))
      ++most;
    const size_t least = at + static_cast<size_t>(repeat.least);
    if (most < least) return false;
    for (size_t i = 0; i <= most - least; ++i) {
      if (run(repeat.is_lazy ? least + i : most - i, after)) return true;
    }
    return false;
  }

  // `count` repetitions are done, the last of them begun at `begun`.
  bool again(size_t at, const Node& repeat, int count, size_t begun, const Frame* after) {
    const bool is_empty = count > 0 && begun == at;  // would go on for ever
    const bool can_repeat = count < repeat.most && !is_empty;
    const auto once_more = [&] {
      const Frame frame{&repeat.choices.front(), 0, after, &repeat, count + 1, at};
      return run(at, &frame);
    };
    if (count < repeat.least && !is_empty) return once_more();
    if (repeat.is_lazy) return run(at, after) || (can_repeat && once_more());
    return (can_repeat && once_more()) || run(at, after);
  }

  std::string_view name_;
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kMostBytes) {
    return Status::unsupported("pattern '{}...': {} bytes where at most {} are read",
                               text.substr(0, 40), text.size(), kMostBytes);
  }
  INGOT_TRY(Node root, Parser(text).parse());
  return Pattern(std::make_shared<const Node>(std::move(root)));
}

bool Pattern::matches(std::string_view name) const {
  const Node::Sequence whole = {*root_};
  const Matcher::Frame frame{&whole, 0, nullptr};
  return Matcher(name).run(0, &frame);
}

}  // namespace ingot
