// SPDX-License-Identifier: Apache-2.0
#include "compress/allocate.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace ingot {
namespace {

// Indexes of the choices worth taking, smallest first, each step gaining less a byte than the one
// before: the lower hull of loss over bytes.
std::vector<size_t> hull_of(const TensorChoices& choices) {
  std::vector<size_t> order(choices.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return choices[a].bytes != choices[b].bytes ? choices[a].bytes < choices[b].bytes
                                                : choices[a].loss < choices[b].loss;
  });
  const auto slope = [&](size_t from, size_t to) {
    return (choices[from].loss - choices[to].loss) /
           static_cast<double>(choices[to].bytes - choices[from].bytes);
  };
  std::vector<size_t> hull;
  for (const size_t next : order) {
    if (!hull.empty() && choices[next].loss >= choices[hull.back()].loss) continue;
    while (hull.size() >= 2 &&
           slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), next))
      hull.pop_back();
    hull.push_back(next);
  }
  return hull;
}

struct Step {
  double gain;  // of loss a byte
  size_t tensor;
  size_t to;  // index into the hull
  bool operator<(const Step& other) const {
    return gain != other.gain ? gain < other.gain : tensor > other.tensor;
  }
};

// Takes steps while `goes_on(allocation, bytes of the next step)` says so.
template <class GoesOn>
Allocation climb(std::span<const TensorChoices> tensors, GoesOn goes_on) {
  Allocation result;
  std::vector<std::vector<size_t>> hulls;
  std::priority_queue<Step> steps;
  const auto offer = [&](size_t tensor, size_t to) {
    const std::vector<size_t>& hull = hulls[tensor];
    if (to >= hull.size()) return;
    const TypeChoice& a = tensors[tensor][hull[to - 1]];
    const TypeChoice& b = tensors[tensor][hull[to]];
    steps.push({(a.loss - b.loss) / static_cast<double>(b.bytes - a.bytes), tensor, to});
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    INGOT_CHECK(!tensors[i].empty());
    hulls.push_back(hull_of(tensors[i]));
    const TypeChoice& first = tensors[i][hulls[i].front()];
    result.chosen.push_back(hulls[i].front());
    result.bytes += first.bytes;
    result.loss += first.loss;
    offer(i, 1);
  }
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    const TypeChoice& from = tensors[step.tensor][result.chosen[step.tensor]];
    const size_t next = hulls[step.tensor][step.to];
    const TypeChoice& to = tensors[step.tensor][next];
    if (!goes_on(result, to.bytes - from.bytes)) continue;
    result.bytes += to.bytes - from.bytes;
    result.loss += to.loss - from.loss;
    result.chosen[step.tensor] = next;
    offer(step.tensor, step.to + 1);
  }
  return result;
}

}  // namespace

Allocation allocate_bytes(std::span<const TensorChoices> tensors, uint64_t bytes) {
  return climb(tensors,
               [bytes](const Allocation& now, uint64_t more) { return now.bytes + more <= bytes; });
}

Allocation allocate_loss(std::span<const TensorChoices> tensors, double loss) {
  return climb(tensors, [loss](const Allocation& now, uint64_t) { return now.loss > loss; });
}

}  // namespace ingot
