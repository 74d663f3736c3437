// SPDX-License-Identifier: Apache-2.0
// Eviction, and the way of pages into lower tiers and back.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "engine/prefix_tree.h"

namespace ingot {

int64_t PrefixTree::evict(size_t group, int64_t count) {
  PagePool& pool = *groups_[group].pool;
  const int64_t free_before = pool.free_pages();
  while (pool.free_pages() - free_before < count) {
    if (groups_[group].window == 0) {
      PrefixNode* const leaf = oldest_leaf(group);
      if (leaf == nullptr) break;
      evict_node(leaf);
    } else {
      const PageId id = oldest_idle(group);
      if (id == kNoPage) break;
      PrefixNode* const node = groups_[group].node_of[static_cast<size_t>(id)];
      store_page(node, group);
      drop_page(node, group);
      ++stats_.pages_evicted;
      remove_if_empty(node);
    }
  }
  forget_dropped();
  return pool.free_pages() - free_before;
}

int64_t PrefixTree::clear() {
  forget_dropped();
  if (options_.store != nullptr) {
    for (const StoredPage& page : options_.store->list())
      options_.store->erase(page.id);
  }
  const int64_t before = stats_.nodes;
  std::vector<PrefixNode*> nodes;
  for_each([&](const PrefixNode& node) { nodes.push_back(const_cast<PrefixNode*>(&node)); });
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {  // children first
    PrefixNode* const node = *it;
    if (node->is_root()) {
      remove_if_empty(node);
      continue;
    }
    node->stored = 0;
    if (node->is_protected()) continue;
    for (size_t g = 0; g < groups_.size(); ++g)
      drop_page(node, g);
    remove_leaf(node);
  }
  return before - stats_.nodes;
}

// Namespaces above their share first; they are few, see Group::over_share.
PrefixNode* PrefixTree::oldest_leaf(size_t group) const {
  PrefixNode* oldest = nullptr;
  for (const PrefixRoot* root : groups_[group].over_share) {
    if (root->leaves.empty()) continue;
    PrefixNode* const leaf = *root->leaves.begin();
    if (oldest == nullptr || LastUsedLess()(leaf, oldest)) oldest = leaf;
  }
  if (oldest == nullptr && !leaves_.empty()) oldest = *leaves_.begin();
  return oldest;
}

PageId PrefixTree::oldest_idle(size_t group) const {
  const Group& in = groups_[group];
  PageId oldest = kNoPage;
  for (const PrefixRoot* root : in.over_share) {
    const PageId id = root->idle[group].front();
    if (id == kNoPage) continue;
    if (oldest == kNoPage ||
        in.idle_since[static_cast<size_t>(id)] < in.idle_since[static_cast<size_t>(oldest)]) {
      oldest = id;
    }
  }
  return oldest != kNoPage ? oldest : in.idle.front();
}

void PrefixTree::evict_node(PrefixNode* node) {
  // Its parent was in use for as long as it was.
  PrefixNode* const parent = node->parent;
  parent->last_used = std::max(parent->last_used, node->last_used);
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (node->pages[g] == kNoPage) continue;
    store_page(node, g);
    drop_page(node, g);
    ++stats_.pages_evicted;
  }
  set_resident(node, false);
  remove_if_empty(node);
}

bool PrefixTree::store_page(PrefixNode* node, size_t group) {
  if (options_.store == nullptr) return false;
  const std::span<const std::byte> bytes = options_.memory->read(group, node->pages[group]);
  const bool is_stored = !bytes.empty() && options_.store->put(describe(*node, group), bytes);
  if (is_stored) ++stats_.pages_stored;
  const uint32_t bit = uint32_t{1} << group;
  node->stored = is_stored ? node->stored | bit : node->stored & ~bit;
  return is_stored;
}

// A page with one reference and the bytes in it; nothing where the store has lost it or no page is
// to be had.
std::optional<PageId> PrefixTree::load_page(PrefixNode* node, size_t group) {
  const uint32_t bit = uint32_t{1} << group;
  if (options_.store == nullptr || (node->stored & bit) == 0) return std::nullopt;
  PagePool& pool = *groups_[group].pool;
  if (pool.free_pages() == 0 && evict(group, 1) == 0) return std::nullopt;
  const std::optional<PageId> id = pool.take();
  INGOT_CHECK(id.has_value());
  const std::span<std::byte> bytes = options_.memory->open(group, *id);
  if (!options_.store->load(describe(*node, group), bytes) || !options_.memory->close(group, *id)) {
    node->stored &= ~bit;  // the node is pinned by the match; its end comes with unpin()
    pool.release(*id);
    return std::nullopt;
  }
  ++stats_.pages_loaded;
  return id;
}

StoredPage PrefixTree::describe(const PrefixNode& node, size_t group) const {
  return {.id = {.key = node.key, .group = static_cast<uint32_t>(group)},
          .space = node.root->key,
          .parent = node.parent->key,
          .tokens = node.tokens};
}

void PrefixTree::drop_stored(PrefixNode* node) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (((node->stored >> g) & 1U) != 0)
      options_.store->erase({.key = node->key, .group = static_cast<uint32_t>(g)});
  }
  node->stored = 0;
}

void PrefixTree::forget_dropped() {
  if (options_.store == nullptr) return;
  for (const StoredId& id : options_.store->take_dropped()) {
    const auto found = by_key_.find(id.key);
    if (found == by_key_.end()) continue;
    PrefixNode* const node = found->second;
    node->stored &= ~(uint32_t{1} << id.group);
    remove_if_empty(node);
  }
}

void PrefixTree::restore() {
  if (options_.store == nullptr) return;
  const std::vector<StoredPage> pages = options_.store->list();
  std::unordered_map<PageKey, std::vector<const StoredPage*>, PageKeyHash> by_parent;
  std::unordered_set<PageKey, PageKeyHash> spaces;
  for (const StoredPage& page : pages) {
    by_parent[page.parent].push_back(&page);
    if (page.parent == page.space) spaces.insert(page.space);
  }
  std::vector<PrefixNode*> todo;
  todo.reserve(spaces.size());
  for (const PageKey& space : spaces)
    todo.push_back(&root_of(space).node);
  while (!todo.empty()) {
    PrefixNode* const above = todo.back();
    todo.pop_back();
    const auto below = by_parent.find(above->key);
    if (below == by_parent.end()) continue;
    for (const StoredPage* page : below->second) {
      const bool fits = page->space == above->root->key && page->id.group < groups_.size() &&
                        !page->tokens.empty() && std::ssize(page->tokens) <= options_.page_tokens &&
                        page->id.key == child_key(above->key, page->tokens);
      if (!fits) continue;
      const auto found = above->children.find(std::span<const TokenId>(page->tokens));
      PrefixNode* node = found != above->children.end() ? found->get() : nullptr;
      if (node == nullptr) {
        node = add_child(above, page->tokens);
        if (std::ssize(node->tokens) == options_.page_tokens) todo.push_back(node);
      }
      node->stored |= uint32_t{1} << page->id.group;
    }
  }
  // Pages that hang on nothing would never be asked for.
  for (const StoredPage& page : pages) {
    const auto found = by_key_.find(page.id.key);
    if (found == by_key_.end() || page.id.group >= groups_.size()) options_.store->erase(page.id);
  }
  for (const PageKey& space : spaces)
    remove_if_empty(&root_of(space).node);
}

void PrefixTree::save() {
  if (options_.store == nullptr) return;
  // Children first: a tier that fills up drops what came first, and a page without its parents is
  // worth nothing.
  std::vector<PrefixNode*> nodes;
  for_each([&](const PrefixNode& node) { nodes.push_back(const_cast<PrefixNode*>(&node)); });
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if ((*it)->pages[g] == kNoPage || store_page(*it, g)) continue;
      options_.store->flush();
      store_page(*it, g);
    }
  }
  options_.store->flush();
  forget_dropped();
}

}  // namespace ingot
