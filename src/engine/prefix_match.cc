// SPDX-License-Identifier: Apache-2.0
// The search: from a prompt to the longest prefix whose pages are there. First the path of whole
// pages is walked down, then ends are tried from the longest on; only what is chosen is pinned,
// loaded and referred to.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/prefix_tree.h"

namespace ingot {
namespace {

int64_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

PrefixMatch PrefixTree::match(const PrefixNamespace& space, std::span<const TokenId> tokens,
                              int64_t max_tokens) {
  forget_dropped();
  tokens =
      tokens.first(static_cast<size_t>(std::clamp<int64_t>(max_tokens, 0, std::ssize(tokens))));
  PrefixNode* const root = &root_of(namespace_key(space)).node;
  pin(root);
  PrefixMatch match;
  Path path = find_path(root, tokens, false);
  bool is_attached = attach(path, match);
  if (options_.store != nullptr) {
    const Path longer = find_path(root, tokens, true);
    if (longer.tokens > path.tokens) {
      // What is resident stays referred to meanwhile: loading may evict, and may fail.
      PrefixMatch loaded;
      if (!attach(longer, loaded)) {
        drop_references(loaded);
        path = find_path(root, tokens, false);  // as far as the loading came
        is_attached = attach(path, loaded);
      }
      std::swap(match, loaded);
      drop_references(loaded);
    }
  }
  INGOT_CHECK(is_attached);
  unpin(root);
  match.asked = std::ssize(tokens);
  stats_.tokens_asked += match.asked;
  stats_.tokens_reused += match.tokens;
  stats_.tokens_loaded += match.loaded_tokens;
  return match;
}

PrefixTree::Path PrefixTree::find_path(PrefixNode* root, std::span<const TokenId> tokens,
                                       bool may_load) const {
  const auto page = static_cast<size_t>(options_.page_tokens);
  const size_t groups = groups_.size();
  Path path;
  path.nodes.push_back(root);
  path.runs.assign(groups, 0);
  while (tokens.size() / page >= path.nodes.size()) {
    const PrefixNode& above = *path.nodes.back();
    const auto found = above.children.find(tokens.subspan((path.nodes.size() - 1) * page, page));
    if (found == above.children.end()) break;
    bool is_passable = true;
    for (size_t g = 0; g < groups; ++g) {
      const bool is_here = is_usable(**found, g, may_load);
      if (groups_[g].window == 0) is_passable = is_passable && is_here;
      path.runs.push_back(is_here ? path.runs[path.runs.size() - groups] + 1 : 0);
    }
    if (!is_passable) break;
    path.nodes.push_back(found->get());
  }
  for (size_t depth = path.nodes.size() - 1;; --depth) {
    if (find_partial(path, depth, tokens, may_load)) return path;
    path.tokens = static_cast<int64_t>(depth * page);
    if (is_window_present(path, depth, path.tokens)) return path;  // always so for depth 0
  }
}

// The longest usable end inside a page under path.nodes[depth]. Among the siblings in their order,
// what they share with the prompt shrinks in both directions from where the prompt would stand.
bool PrefixTree::find_partial(Path& path, size_t depth, std::span<const TokenId> tokens,
                              bool may_load) const {
  const PrefixChildren& children = path.nodes[depth]->children;
  const auto page = static_cast<size_t>(options_.page_tokens);
  std::span<const TokenId> rest = tokens.subspan(depth * page);
  rest = rest.first(std::min(rest.size(), page));
  if (rest.empty() || children.empty()) return false;
  auto right = children.lower_bound(rest);
  auto left = right;
  const auto shared = [&](auto it) { return common_prefix((*it)->tokens, rest); };
  for (int tried = 0; tried < 2 * options_.neighbours; ++tried) {
    const int64_t on_right = right == children.end() ? 0 : shared(right);
    const int64_t on_left = left == children.begin() ? 0 : shared(std::prev(left));
    const int64_t longest = std::max(on_left, on_right);
    if (longest == 0) return false;
    PrefixNode* const child = on_right >= on_left ? (right++)->get() : (--left)->get();
    // A whole page is no partial match: it is on the path, or was not passable.
    bool is_chosen = longest < options_.page_tokens;
    for (size_t g = 0; g < groups_.size(); ++g)
      is_chosen = is_chosen && is_usable(*child, g, may_load);
    const int64_t end = static_cast<int64_t>(depth * page) + longest;
    if (!is_chosen || !is_window_present(path, depth, end)) continue;
    path.tokens = end;
    path.partial = child;
    return true;
  }
  return false;
}

bool PrefixTree::is_usable(const PrefixNode& node, size_t group, bool may_load) const {
  return may_load ? has_page(node, group) : node.pages[group] != kNoPage;
}

// Whether the pages above that a window ending at `end` touches are there, down to `depth`.
bool PrefixTree::is_window_present(const Path& path, size_t depth, int64_t end) const {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].window == 0) continue;
    const int64_t needed = static_cast<int64_t>(depth) - first_needed_page(g, end);
    if (needed > path.runs[depth * groups_.size() + g]) return false;
  }
  return true;
}

int64_t PrefixTree::first_needed_page(size_t group, int64_t end) const {
  const int64_t window = groups_[group].window;
  return window == 0 ? 0 : std::max<int64_t>(0, end - window) / options_.page_tokens;
}

// Pins and refers to what the path says; false when a page could not be loaded.
bool PrefixTree::attach(const Path& path, PrefixMatch& match) {
  const auto depth = static_cast<size_t>(path.tokens / options_.page_tokens);
  match.tokens = path.tokens;
  match.node = path.nodes[depth];
  pin(match.node);
  if (path.partial != nullptr) {
    match.partial_node = path.partial;
    match.partial.assign(groups_.size(), kNoPage);
    pin(path.partial);
    path.partial->last_used = ++clock_;
  }
  match.pages.assign(groups_.size(), PageTable(depth, kNoPage));

  // What is resident first: loading may evict, and must not evict these.
  std::vector<size_t> first(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g)
    first[g] = static_cast<size_t>(first_needed_page(g, path.tokens));
  const auto visit = [&](auto&& attach_one) {
    for (size_t i = 0; i < depth; ++i) {
      PrefixNode* const node = path.nodes[i + 1];
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (i >= first[g] && !attach_one(node, g, match.pages[g][i])) return false;
      }
    }
    for (size_t g = 0; g < match.partial.size(); ++g) {
      if (!attach_one(path.partial, g, match.partial[g])) return false;
    }
    return true;
  };
  ++clock_;
  const PrefixNode* incomplete = nullptr;
  visit([&](PrefixNode* node, size_t g, PageId& entry) {
    node->last_used = clock_;
    entry = node->pages[g];
    if (entry != kNoPage) {
      groups_[g].pool->add_reference(entry);
    } else if (std::exchange(incomplete, node) != node) {
      match.loaded_tokens +=
          node == path.partial ? path.tokens % options_.page_tokens : options_.page_tokens;
    }
    return true;
  });
  if (incomplete == nullptr) return true;
  for (size_t i = 1; i <= depth; ++i) {
    if (!load_node(path.nodes[i], match)) return false;
  }
  if (path.partial != nullptr && !load_node(path.partial, match)) return false;
  return visit([&](PrefixNode* node, size_t g, PageId& entry) {
    return entry != kNoPage || attach_page(node, g, entry, match);
  });
}

// Refers to a page that was missing in the first round, loading it where it still is.
bool PrefixTree::attach_page(PrefixNode* node, size_t group, PageId& entry, PrefixMatch& match) {
  if (node->pages[group] != kNoPage) {
    entry = node->pages[group];
    groups_[group].pool->add_reference(entry);
    return true;
  }
  const std::optional<PageId> loaded = load_page(node, group);
  if (!loaded) return false;
  hold_page(node, group, *loaded);
  entry = *loaded;  // the reference that it was taken with
  ++match.loaded_pages;
  return true;
}

// Makes a node resident: all of its full-attention pages, or none.
bool PrefixTree::load_node(PrefixNode* node, PrefixMatch& match) {
  if (node->is_resident) return true;
  PageTable loaded(groups_.size(), kNoPage);
  bool is_complete = true;
  for (size_t g = 0; g < groups_.size() && is_complete; ++g) {
    if (groups_[g].window > 0) continue;
    loaded[g] = load_page(node, g).value_or(kNoPage);
    is_complete = loaded[g] != kNoPage;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (loaded[g] == kNoPage) continue;
    if (is_complete) hold_page(node, g, loaded[g]);
    groups_[g].pool->release(loaded[g]);
    match.loaded_pages += is_complete ? 1 : 0;
  }
  if (is_complete) set_resident(node, true);
  return is_complete;
}

void PrefixTree::release(PrefixMatch& match) {
  stats_.tokens_asked -= match.asked;  // it was given up, and will be asked for again
  stats_.tokens_reused -= match.tokens;
  stats_.tokens_loaded -= match.loaded_tokens;
  drop_references(match);
}

void PrefixTree::drop_partial(PrefixMatch& match) {
  if (match.partial_node == nullptr) return;
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (match.partial[g] != kNoPage) groups_[g].pool->release(match.partial[g]);
  }
  match.partial.clear();
  unpin(std::exchange(match.partial_node, nullptr));
}

void PrefixTree::drop_references(PrefixMatch& match) {
  drop_partial(match);
  for (size_t g = 0; g < match.pages.size(); ++g) {
    for (const PageId id : match.pages[g]) {
      if (id != kNoPage) groups_[g].pool->release(id);
    }
  }
  if (match.node != nullptr) unpin(match.node);
  match = PrefixMatch();
}

}  // namespace ingot
