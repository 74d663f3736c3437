// SPDX-License-Identifier: Apache-2.0
// One page of tokens in the prefix tree, and the root of one namespace. Callers hold nodes as
// handles and may read them; only PrefixTree changes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/page_key.h"
#include "engine/page_list.h"
#include "engine/page_pool.h"

namespace ingot {

struct PrefixNode;
struct PrefixRoot;

// Siblings in lexicographic order of their token runs, a run before its extensions: the sibling
// that shares most with a given run stands next to where that run would.
struct TokenRunLess {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
  static std::span<const TokenId> run(std::span<const TokenId> tokens) { return tokens; }
  static std::span<const TokenId> run(const std::unique_ptr<PrefixNode>& node);
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return std::ranges::lexicographical_compare(run(a), run(b));
  }
};
using PrefixChildren = std::set<std::unique_ptr<PrefixNode>, TokenRunLess>;

struct PrefixNode {
  PrefixRoot* root = nullptr;
  PrefixNode* parent = nullptr;  // null for a root
  std::vector<TokenId> tokens;   // page_tokens of them; fewer in a partial leaf; none in a root
  PrefixChildren children;
  PageTable pages;        // [group]; kNoPage where the cache has no page
  uint32_t stored = 0;    // bit g: a lower tier has group g's page
  uint64_t id = 0;        // in order of creation; breaks ties
  int64_t last_used = 0;  // of the tree's own clock
  int32_t pins = 0;
  int32_t protected_children = 0;
  int32_t resident_children = 0;
  bool is_resident = false;  // has the pages of all full-attention groups
  bool is_listed = false;    // stands among the leaves that may be evicted
  PageKey key;               // set where there are tiers

  // A pin here or below: the node and its full-attention pages stay.
  bool is_protected() const { return pins > 0 || protected_children > 0; }
  bool is_root() const { return parent == nullptr; }
};

inline std::span<const TokenId> TokenRunLess::run(const std::unique_ptr<PrefixNode>& node) {
  return node->tokens;
}

// Least recently used first.
struct LastUsedLess {
  bool operator()(const PrefixNode* a, const PrefixNode* b) const {
    return a->last_used != b->last_used ? a->last_used < b->last_used : a->id < b->id;
  }
};
using PrefixLeaves = std::set<PrefixNode*, LastUsedLess>;

struct PrefixRoot {
  uint64_t id = 0;
  PageKey key;  // of the namespace
  PrefixNode node;
  PrefixLeaves leaves;         // of this namespace alone
  std::vector<int64_t> held;   // [group] pages
  std::vector<PageList> idle;  // [group] of sliding groups
};

struct RootIdLess {
  bool operator()(const PrefixRoot* a, const PrefixRoot* b) const { return a->id < b->id; }
};

}  // namespace ingot
