// SPDX-License-Identifier: Apache-2.0
// A parsed template: nodes in one vector, their lists in another, texts as views of the source.
// Chains (a + b + c, a or b or c, x.y.z|f|g, if/elif) are one node with a list, so only real
// nesting is deep. Immutable once parsed; thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

using NodeId = uint32_t;
using NameId = uint32_t;
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

// Fields by kind: `a`, `b`, `c` are nodes unless said otherwise; `list` is a run of Program::lists.
enum class NodeKind : uint8_t {
  // Expressions.
  kConstant,    // a: constant
  kName,        // a: name
  kList,        // list: items
  kTuple,       // list: items
  kDict,        // list: key, value, key, value ...
  kOr,          // list: operands
  kAnd,         // list: operands
  kNot,         // a
  kNegative,    // a
  kPositive,    // a
  kArithmetic,  // a: first operand; list: operator, operand, operator, operand ... (one precedence)
  kConcat,      // list: operands of ~
  kCompare,     // a: first operand; list: operator, operand ...
  kConditional,  // list: value, condition, value, condition ...; b: otherwise, or none
  kPath,         // a: where it begins; list: steps, each one of the next six
  kAttribute,    // a: name
  kItem,         // a: subscript
  kSlice,        // a, b, c: from, to, step, each or none
  kCall,         // list: arguments
  kFilter,       // a: name; list: arguments
  kTest,         // a: name; list: arguments; flag: negated
  kKeyword,      // an argument: a: name; b: value
  kSpread,       // an argument: *a
  kSpreadPairs,  // an argument: **a
  // Targets of assignments: kName, kTuple of targets, and
  kNamespaceName,  // a: name of the namespace; b: name of the attribute
  // Statements.
  kText,         // a: constant
  kOutput,       // a
  kBody,         // list: statements
  kIf,           // list: condition, body, condition, body ...; b: otherwise, or none
  kFor,          // a: target; b: iterable; c: filter or none; list: body, body without items; flag:
                 // recursive
  kSet,          // a: target; b: value
  kSetBlock,     // a: target; b: body; list: filters
  kFilterBlock,  // b: body; list: filters
  kWith,         // b: body; list: target, value, target, value ...
  kMacro,        // a: name; b: body; list: name, default, name, default ...; flag: Uses
  kCallBlock,    // a: kPath that ends in a call; b: kMacro, the caller
  kGeneration,   // b: body
  kBreak,
  kContinue,
};

enum class BinaryOperator : uint32_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

// Which special names a macro's body reads: they become parameters.
enum Uses : uint8_t { kUsesCaller = 1, kUsesVarargs = 2, kUsesKwargs = 4 };

struct Node {
  NodeKind kind = NodeKind::kConstant;
  uint8_t flag = 0;
  uint32_t line = 1;
  uint32_t a = kNoNode;
  uint32_t b = kNoNode;
  uint32_t c = kNoNode;
  uint32_t list_begin = 0;
  uint32_t list_size = 0;
};

// A literal. Strings are made into values by each rendering, in its own heap.
struct Constant {
  Value scalar;  // absent: a string
  std::string_view text;
};

struct Program {
  std::string source;  // normalized; the views below point into it and into `unescaped`
  std::deque<std::string> unescaped;
  std::vector<Node> nodes;
  std::vector<uint32_t> lists;
  std::vector<Constant> constants;
  std::vector<std::string_view> names;
  NodeId body = kNoNode;

  std::span<const uint32_t> list(const Node& node) const {
    return std::span(lists).subspan(node.list_begin, node.list_size);
  }
};

}  // namespace ingot::jinja
