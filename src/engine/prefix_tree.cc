// SPDX-License-Identifier: Apache-2.0
// The tree's structure: nodes come, are pinned, hold pages and go. The search is in
// prefix_match.cc, eviction and tiers in prefix_evict.cc.
#include "engine/prefix_tree.h"

#include <utility>

#include "base/check.h"

namespace ingot {
namespace {

bool is_proper_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return a.size() < b.size() && std::ranges::equal(a, b.first(a.size()));
}

}  // namespace

PrefixTree::Group::Group(PrefixTree& owner, PrefixGroup group, size_t group_index)
    : tree(&owner),
      pool(group.pool),
      window(group.window),
      index(group_index),
      node_of(static_cast<size_t>(pool->size()), nullptr),
      links(window > 0 ? pool->size() : 0),
      root_links(window > 0 ? pool->size() : 0),
      idle_since(window > 0 ? static_cast<size_t>(pool->size()) : 0) {}

void PrefixTree::Group::page_became_idle(PageId id) {
  const auto i = static_cast<size_t>(id);
  idle.push_back(links, id);
  node_of[i]->root->idle[index].push_back(root_links, id);
  idle_since[i] = ++tree->clock_;
  ++evictable;
}

void PrefixTree::Group::page_became_busy(PageId id) {
  idle.remove(links, id);
  node_of[static_cast<size_t>(id)]->root->idle[index].remove(root_links, id);
  --evictable;
}

PrefixTree::PrefixTree(PrefixTreeOptions options) : options_(std::move(options)) {
  INGOT_CHECK(options_.page_tokens > 0);
  INGOT_CHECK(!options_.groups.empty() && options_.groups.size() <= 32);  // bits of `stored`
  INGOT_CHECK((options_.memory == nullptr) == (options_.store == nullptr));
  groups_.reserve(options_.groups.size());
  for (const PrefixGroup& group : options_.groups) {
    INGOT_CHECK(group.pool != nullptr && group.window >= 0);
    groups_.emplace_back(*this, group, groups_.size());
    if (group.window > 0)
      group.pool->set_watcher(&groups_.back());
    else
      has_full_group_ = true;
  }
  stats_.pages_held.resize(groups_.size());
}

PrefixTree::~PrefixTree() {
  for (const Group& group : groups_) {
    if (group.window > 0) group.pool->set_watcher(nullptr);
  }
  // Not by recursion: a chain is as deep as the longest context has pages.
  std::vector<PrefixChildren> todo;
  for (auto& [key, root] : roots_)
    todo.push_back(std::move(root->node.children));
  while (!todo.empty()) {
    const PrefixChildren children = std::move(todo.back());
    todo.pop_back();
    for (const std::unique_ptr<PrefixNode>& node : children) {
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (node->pages[g] != kNoPage) groups_[g].pool->unhold(node->pages[g]);
      }
      if (!node->children.empty()) todo.push_back(std::move(node->children));
    }
  }
}

PrefixRoot& PrefixTree::root_of(const PageKey& key) {
  std::unique_ptr<PrefixRoot>& root = roots_[key];
  if (root == nullptr) {
    root = std::make_unique<PrefixRoot>();
    root->id = next_id_++;
    root->key = key;
    root->held.resize(groups_.size());
    root->idle.resize(groups_.size());
    root->node.root = root.get();
    root->node.key = key;
    root->node.pages.assign(groups_.size(), kNoPage);
    root->node.is_resident = true;
  }
  return *root;
}

PrefixNode* PrefixTree::add_child(PrefixNode* parent, std::span<const TokenId> tokens) {
  auto node = std::make_unique<PrefixNode>();
  node->root = parent->root;
  node->parent = parent;
  node->tokens.assign(tokens.begin(), tokens.end());
  node->pages.assign(groups_.size(), kNoPage);
  node->id = next_id_++;
  node->last_used = ++clock_;
  PrefixNode* const added = node.get();
  if (options_.store != nullptr) {
    added->key = child_key(parent->key, tokens);
    by_key_.emplace(added->key, added);
  }
  parent->children.insert(std::move(node));
  ++stats_.nodes;
  if (!has_full_group_) set_resident(added, true);  // no page is missing that a match must have
  return added;
}

PrefixNode* PrefixTree::extend(PrefixNode* node, std::span<const TokenId> tokens,
                               std::span<PageId> pages) {
  INGOT_CHECK(node->pins > 0 && pages.size() == groups_.size());
  INGOT_CHECK(std::ssize(tokens) == options_.page_tokens);
  INGOT_CHECK(node->is_root() || std::ssize(node->tokens) == options_.page_tokens);
  const auto found = node->children.find(tokens);
  PrefixNode* const child = found != node->children.end() ? found->get() : add_child(node, tokens);
  pin(child);
  --node->pins;  // the pinned child protects it
  child->last_used = ++clock_;
  fill_in(child, pages);
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (pages[g] == kNoPage || pages[g] == child->pages[g]) continue;
    groups_[g].pool->add_reference(child->pages[g]);
    groups_[g].pool->release(std::exchange(pages[g], child->pages[g]));
  }
  remove_redundant(node, tokens, child->pages);
  return child;
}

void PrefixTree::insert_partial(PrefixNode* node, std::span<const TokenId> tokens,
                                std::span<const PageId> pages) {
  INGOT_CHECK(node->pins > 0 && pages.size() == groups_.size());
  INGOT_CHECK(!tokens.empty() && std::ssize(tokens) < options_.page_tokens);
  INGOT_CHECK(node->is_root() || std::ssize(node->tokens) == options_.page_tokens);
  const auto next = node->children.lower_bound(tokens);
  PrefixNode* leaf = nullptr;
  if (next != node->children.end()) {
    const bool is_equal = std::ranges::equal((*next)->tokens, tokens);
    if (!is_equal && is_proper_prefix(tokens, (*next)->tokens) && covers(**next, pages)) {
      touch(next->get());
      return;
    }
    if (is_equal) leaf = next->get();
  }
  if (leaf == nullptr) leaf = add_child(node, tokens);
  fill_in(leaf, pages);
  touch(leaf);
  remove_redundant(node, tokens, leaf->pages);
  remove_if_empty(leaf);  // no group had a page for it
}

// Partial leaves that say less than a sibling which has all their pages.
void PrefixTree::remove_redundant(PrefixNode* parent, std::span<const TokenId> tokens,
                                  std::span<const PageId> pages) {
  for (size_t size = 1; size < tokens.size() && parent->children.size() > 1; ++size) {
    const auto found = parent->children.find(tokens.first(size));
    if (found == parent->children.end()) continue;
    PrefixNode* const leaf = found->get();
    bool is_covered = !leaf->is_protected();
    for (size_t g = 0; g < groups_.size(); ++g)
      is_covered = is_covered && (pages[g] != kNoPage || !has_page(*leaf, g));
    if (!is_covered) continue;
    drop_stored(leaf);
    for (size_t g = 0; g < groups_.size(); ++g)
      drop_page(leaf, g);
    set_resident(leaf, false);
    remove_if_empty(leaf);
  }
}

// Takes the caller's pages where the node has none.
void PrefixTree::fill_in(PrefixNode* node, std::span<const PageId> pages) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    INGOT_CHECK(groups_[g].window > 0 || pages[g] != kNoPage);
    if (node->pages[g] == kNoPage && pages[g] != kNoPage) hold_page(node, g, pages[g]);
  }
  set_resident(node, true);
}

void PrefixTree::hold_page(PrefixNode* node, size_t group, PageId id) {
  Group& in = groups_[group];
  in.node_of[static_cast<size_t>(id)] = node;
  in.pool->hold(id);
  node->pages[group] = id;
  ++node->root->held[group];
  ++stats_.pages_held[group];
  update_share(*node->root, group);
}

void PrefixTree::drop_page(PrefixNode* node, size_t group) {
  const PageId id = std::exchange(node->pages[group], kNoPage);
  if (id == kNoPage) return;
  Group& in = groups_[group];
  if (in.window > 0 && in.pool->is_idle(id)) in.page_became_busy(id);
  in.pool->unhold(id);
  in.node_of[static_cast<size_t>(id)] = nullptr;
  --node->root->held[group];
  --stats_.pages_held[group];
  update_share(*node->root, group);
}

// A leaf that holds nothing any more goes, and so do the ancestors that were there for it alone.
void PrefixTree::remove_if_empty(PrefixNode* node) {
  while (!node->is_protected() && node->children.empty()) {
    PrefixNode* const parent = node->parent;
    if (parent == nullptr) {
      for (Group& group : groups_)
        group.over_share.erase(node->root);
      roots_.erase(PageKey(node->key));  // a copy: the key lives in what is erased
      return;
    }
    const bool is_empty = node->stored == 0 &&
                          std::ranges::all_of(node->pages, [](PageId id) { return id == kNoPage; });
    if (!is_empty) return;
    remove_leaf(node);
    node = parent;
  }
}

void PrefixTree::remove_leaf(PrefixNode* node) {
  set_resident(node, false);
  if (options_.store != nullptr) by_key_.erase(node->key);
  PrefixChildren& siblings = node->parent->children;
  siblings.erase(siblings.find(std::span<const TokenId>(node->tokens)));
  --stats_.nodes;
}

// True where the cache or a lower tier has the page.
bool PrefixTree::has_page(const PrefixNode& node, size_t group) const {
  return node.pages[group] != kNoPage || ((node.stored >> group) & 1U) != 0;
}

bool PrefixTree::covers(const PrefixNode& node, std::span<const PageId> pages) const {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (pages[g] != kNoPage && !has_page(node, g)) return false;
  }
  return true;
}

void PrefixTree::pin(PrefixNode* node) {
  const bool was_protected = node->is_protected();
  ++node->pins;
  if (was_protected) return;
  count_evictable(*node, -1);
  update_listed(node);
  for (PrefixNode* above = node->parent; above != nullptr; above = above->parent) {
    const bool is_known = above->is_protected();
    ++above->protected_children;
    if (is_known) break;
    count_evictable(*above, -1);
    update_listed(above);
  }
}

void PrefixTree::unpin(PrefixNode* node) {
  INGOT_CHECK(node->pins > 0);
  node->last_used = ++clock_;
  --node->pins;
  if (node->is_protected()) return;
  count_evictable(*node, 1);
  update_listed(node);
  for (PrefixNode* above = node->parent; above != nullptr; above = above->parent) {
    --above->protected_children;
    if (above->is_protected()) break;
    count_evictable(*above, 1);
    update_listed(above);
  }
  remove_if_empty(node);
}

void PrefixTree::set_resident(PrefixNode* node, bool is_resident) {
  if (node->is_resident == is_resident) return;
  if (!node->is_protected()) count_evictable(*node, -1);
  node->is_resident = is_resident;
  if (!node->is_protected()) count_evictable(*node, 1);
  node->parent->resident_children += is_resident ? 1 : -1;
  update_listed(node);
  update_listed(node->parent);
}

// A resident node has one page in each full group.
void PrefixTree::count_evictable(const PrefixNode& node, int64_t change) {
  if (node.is_root() || !node.is_resident) return;
  for (Group& group : groups_) {
    if (group.window == 0) group.evictable += change;
  }
}

void PrefixTree::update_listed(PrefixNode* node) {
  const bool is_listed = !node->is_root() && node->is_resident && !node->is_protected() &&
                         node->resident_children == 0;
  if (is_listed == node->is_listed) return;
  node->is_listed = is_listed;
  if (is_listed) {
    leaves_.insert(node);
    node->root->leaves.insert(node);
  } else {
    leaves_.erase(node);
    node->root->leaves.erase(node);
  }
}

void PrefixTree::touch(PrefixNode* node) {
  if (node->is_listed) {  // the lists are ordered by what changes here
    leaves_.erase(node);
    node->root->leaves.erase(node);
  }
  node->last_used = ++clock_;
  if (node->is_listed) {
    leaves_.insert(node);
    node->root->leaves.insert(node);
  }
}

void PrefixTree::update_share(PrefixRoot& root, size_t group) {
  if (options_.namespace_share >= 1.0) return;
  Group& in = groups_[group];
  const double limit = options_.namespace_share * static_cast<double>(in.pool->size());
  if (static_cast<double>(root.held[group]) > limit)
    in.over_share.insert(&root);
  else
    in.over_share.erase(&root);
}

PrefixStats PrefixTree::stats() const {
  PrefixStats stats = stats_;
  stats.namespaces = std::ssize(roots_);
  return stats;
}

void PrefixTree::for_each(const std::function<void(const PrefixNode&)>& visit) const {
  std::vector<const PrefixNode*> todo;
  for (const auto& [key, root] : roots_)
    todo.push_back(&root->node);
  while (!todo.empty()) {
    const PrefixNode* const node = todo.back();
    todo.pop_back();
    visit(*node);
    for (const std::unique_ptr<PrefixNode>& child : node->children)
      todo.push_back(child.get());
  }
}

}  // namespace ingot
