// SPDX-License-Identifier: Apache-2.0
// Which prefixes the cache still holds: a trie with one page of tokens a node. The scheduler asks
// it with every prompt (match), gives it every page that fills up (extend) and a finished
// sequence's tail (insert_partial), and takes pages back from it when the pools run dry (evict).
// Invariant: the tree holds one reference to each page it names; a node's ancestors are resident
// where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/page_key.h"
#include "engine/page_pool.h"
#include "engine/page_store.h"
#include "engine/prefix_node.h"

namespace ingot {

// One group of layers whose pages come and go together.
struct PrefixGroup {
  PagePool* pool = nullptr;  // outlives the tree, and serves no other tree
  int64_t window = 0;        // sliding window in tokens; 0: full attention
};

struct PrefixTreeOptions {
  int64_t page_tokens = kDefaultPageTokens;
  std::vector<PrefixGroup> groups;  // 1 to 32
  // A namespace that holds more than this fraction of a pool loses pages before others do.
  double namespace_share = 1.0;
  // How many neighbours on either side are tried for a match that ends inside a page when the
  // nearest ones have lost their pages.
  int neighbours = 16;
  // Tiers: both or neither, and both outlive the tree.
  PageMemory* memory = nullptr;
  PageStore* store = nullptr;
};

// What a prompt finds. Whoever gets one hands it back by release(), or keeps node and pages: then
// drop_partial() is called after the copy, and in the end the pages are released to their pools and
// `node` (or what extend() made of it) is unpinned, in this order.
struct PrefixMatch {
  int64_t tokens = 0;  // how many leading tokens need no computing
  // The last whole page of the match (the namespace's root for none), pinned once.
  PrefixNode* node = nullptr;
  // [group][tokens / page_tokens], each with a reference for the caller. In a sliding group the
  // pages before position tokens - window are kNoPage.
  std::vector<PageTable> pages;
  // When tokens is no multiple of page_tokens: the page of each group [group] whose first
  // tokens % page_tokens slots are the rest of the match, with a reference, of a node that is
  // pinned too. It is others' as well: the caller copies it into a page of its own. Otherwise
  // empty.
  std::vector<PageId> partial;
  PrefixNode* partial_node = nullptr;
  int64_t loaded_pages = 0;   // that came from a lower tier just now
  int64_t loaded_tokens = 0;  // of `tokens`, those in such pages
  int64_t asked = 0;          // how long it could have been; for the statistics
};

struct PrefixStats {
  int64_t tokens_asked = 0;   // the lengths that matches could have had at most
  int64_t tokens_reused = 0;  // and had
  int64_t tokens_loaded = 0;  // of these, found in a lower tier
  int64_t nodes = 0;          // without the roots
  int64_t namespaces = 0;
  std::vector<int64_t> pages_held;  // [group]
  int64_t pages_evicted = 0;
  int64_t pages_stored = 0;  // of these, taken by a lower tier
  int64_t pages_loaded = 0;  // tier hits
};

// Costs: match O(pages matched * groups), extend and insert_partial O(log siblings), pin and unpin
// O(nodes whose protection changes), evict O(log nodes) a page, evictable O(1).
// Engine thread only.
class PrefixTree {
 public:
  explicit PrefixTree(PrefixTreeOptions options);
  ~PrefixTree();  // gives all pages back to the pools; callers' references are their own
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest prefix of `tokens`, of at most `max_tokens`, whose pages are all there: every page
  // in full-attention groups, in sliding groups those that positions [end - window, end) touch.
  // Pages in lower tiers are loaded into free pages, or into ones evicted for it; where neither is
  // to be had the match ends at what is resident. Callers ask for at most size - 1 tokens, because
  // the last one must run to give logits.
  PrefixMatch match(const PrefixNamespace& space, std::span<const TokenId> tokens,
                    int64_t max_tokens);
  // Gives up everything the match holds.
  void release(PrefixMatch& match);
  // After the copy: gives up the references and the pin of the partial page.
  void drop_partial(PrefixMatch& match);

  // A page under `node` has filled up: `tokens` are its page_tokens tokens, `pages` [group] the
  // caller's entries. A sliding group's may be kNoPage, a full one's may not. Moves one pin from
  // `node` to the child and returns it. Where the child exists, `pages` is changed to its pages:
  // the caller's duplicates are released and references to the tree's added (equal tokens under
  // equal parents mean equal bytes); pages that it lost are filled in from the caller's.
  PrefixNode* extend(PrefixNode* node, std::span<const TokenId> tokens, std::span<PageId> pages);
  // The tail of a finished sequence: 1 to page_tokens - 1 tokens under `node`. The tree takes its
  // own references where the tail is new; the caller still releases its own.
  void insert_partial(PrefixNode* node, std::span<const TokenId> tokens,
                      std::span<const PageId> pages);

  // A pinned node, its ancestors and their full-attention pages are never evicted. Sliding pages
  // are kept by references alone: a sequence gives up those that left its window, and the tree may
  // too.
  void pin(PrefixNode* node);
  // A namespace's root may be gone after its last pin and child.
  void unpin(PrefixNode* node);

  // Frees up to `count` pages of a group; returns how many. Full groups: least recently used leaves
  // first, each with the pages of all groups. Sliding groups: the pages whose last use by a window
  // is longest ago. The bytes go to the store where there is one, and the node stays.
  int64_t evict(size_t group, int64_t count);
  // What evict() could free right now. Exact as long as callers keep a pin on a node for as long as
  // they have references to full-attention pages of its path.
  int64_t evictable(size_t group) const { return groups_[group].evictable; }

  // Forgets everything that nobody is using, in the tiers too; what is pinned stays. How many nodes
  // are gone.
  int64_t clear();

  // Before the first match: the store's pages become nodes that match() can load. Pages whose
  // parents are missing are erased from the store.
  void restore();
  // Copies every page into the store and flushes it: before the process ends. Waits for the disk.
  void save();

  PrefixStats stats() const;
  int64_t page_tokens() const { return options_.page_tokens; }
  size_t group_count() const { return groups_.size(); }
  // Every node, parents before children, the roots too: for tests and inspection.
  void for_each(const std::function<void(const PrefixNode&)>& visit) const;

 private:
  struct Group final : PageWatcher {
    Group(PrefixTree& owner, PrefixGroup group, size_t group_index);
    void page_became_idle(PageId id) override;
    void page_became_busy(PageId id) override;

    PrefixTree* tree;
    PagePool* pool;
    int64_t window;
    size_t index;
    int64_t evictable = 0;
    std::vector<PrefixNode*> node_of;              // [page]
    std::set<PrefixRoot*, RootIdLess> over_share;  // at most 1 / namespace_share of them
    // Sliding groups: pages that only the tree refers to, in the order in which the last window
    // let go of them. A match takes the pages of its window out and so renews them.
    PageLinks links;
    PageLinks root_links;
    PageList idle;
    std::vector<int64_t> idle_since;  // [page]
  };
  // Where a prompt leads, before anything is pinned or loaded.
  struct Path {
    std::vector<PrefixNode*> nodes;  // of whole pages, the root first
    std::vector<int64_t> runs;       // [nodes][group] pages present without a gap up to that node
    int64_t tokens = 0;              // the longest usable end
    PrefixNode* partial = nullptr;   // in whose page it lies, when not at a page's end
  };

  // prefix_tree.cc: structure.
  PrefixRoot& root_of(const PageKey& key);
  PrefixNode* add_child(PrefixNode* parent, std::span<const TokenId> tokens);
  void remove_redundant(PrefixNode* parent, std::span<const TokenId> tokens,
                        std::span<const PageId> pages);
  void remove_if_empty(PrefixNode* node);
  void remove_leaf(PrefixNode* node);
  void fill_in(PrefixNode* node, std::span<const PageId> pages);
  void hold_page(PrefixNode* node, size_t group, PageId id);
  void drop_page(PrefixNode* node, size_t group);
  void drop_stored(PrefixNode* node);
  bool has_page(const PrefixNode& node, size_t group) const;
  bool covers(const PrefixNode& node, std::span<const PageId> pages) const;
  void set_resident(PrefixNode* node, bool is_resident);
  void count_evictable(const PrefixNode& node, int64_t change);
  void update_listed(PrefixNode* node);
  void touch(PrefixNode* node);
  void update_share(PrefixRoot& root, size_t group);

  // prefix_match.cc: the search.
  Path find_path(PrefixNode* root, std::span<const TokenId> tokens, bool may_load) const;
  bool find_partial(Path& path, size_t depth, std::span<const TokenId> tokens, bool may_load) const;
  bool is_usable(const PrefixNode& node, size_t group, bool may_load) const;
  bool is_window_present(const Path& path, size_t depth, int64_t end) const;
  bool attach(const Path& path, PrefixMatch& match);
  bool attach_page(PrefixNode* node, size_t group, PageId& entry, PrefixMatch& match);
  bool load_node(PrefixNode* node, PrefixMatch& match);
  void drop_references(PrefixMatch& match);
  int64_t first_needed_page(size_t group, int64_t end) const;

  // prefix_evict.cc: eviction and tiers.
  PrefixNode* oldest_leaf(size_t group) const;
  PageId oldest_idle(size_t group) const;
  void evict_node(PrefixNode* node);
  bool store_page(PrefixNode* node, size_t group);
  std::optional<PageId> load_page(PrefixNode* node, size_t group);
  StoredPage describe(const PrefixNode& node, size_t group) const;
  void forget_dropped();

  PrefixTreeOptions options_;
  std::vector<Group> groups_;  // never resized: the pools know their addresses
  std::unordered_map<PageKey, std::unique_ptr<PrefixRoot>, PageKeyHash> roots_;
  std::unordered_map<PageKey, PrefixNode*, PageKeyHash> by_key_;  // where there are tiers
  PrefixLeaves leaves_;  // resident, unprotected, without resident children
  bool has_full_group_ = false;
  int64_t clock_ = 0;
  uint64_t next_id_ = 0;
  PrefixStats stats_;
};

}  // namespace ingot
