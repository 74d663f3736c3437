// SPDX-License-Identifier: Apache-2.0
// Tokens of rows that are drawn, and reports of logprobs: one thread block a row, behind the scan.
// Cuts keep the best of a row in the order of its keys, so all of them together are one bound.
// Where few are left (nearly always) these are listed with the help of the largest of each block of
// 64 and sorted in shared memory; a nucleus of thousands is bounded by buckets over the whole row.
// What even these cannot tell apart (thousands of equal logits) is left to the host: token -1.
#include "kernels/cuda/sampling_search.cuh"

namespace ingot::cuda {
namespace {

constexpr float kCountedReach = 40;  // below the largest; where the best are counted in buckets
constexpr double kWeightUnit = 1.0 / (1ull << 40);

// A row that is searched.
struct Search {
  const SamplingPass& pass;
  const RowPlan& plan;
  RowView row;
  float* block_tops;  // [row.blocks()]
  float* block_sums;
  float top;
  SearchMemory& memory;

  __device__ double listed_weight(int i, float scale) const {
    return static_cast<double>(weight_of(logit_of(memory.list[i]), top, scale));
  }
  __device__ double row_sum() const {
    return sum_weights(
        row.blocks(), [&](int i) { return static_cast<double>(block_sums[i]); }, memory);
  }
  __device__ int list_from(float floor) const {
    const auto is_in = [floor](float x) { return x >= floor; };
    return list_keys(row, block_tops, is_in, is_in, memory);
  }
};

// Puts logits in buckets by their distance from the largest; the last one has the rest.
struct Buckets {
  float top;
  float step;

  __device__ int operator()(float x) const {
    const float distance = (top - x) * step;
    return distance < static_cast<float>(kSearchBuckets - 1) ? static_cast<int>(distance)
                                                             : kSearchBuckets - 1;
  }
};

// Sums are of whole numbers, so that threads may add in any order.
__device__ Buckets fill_buckets(const Search& search, float reach, float scale) {
  auto& buckets = search.memory.buckets;
  const Buckets bucket_of{search.top, static_cast<float>(kSearchBuckets - 1) / reach};
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kSearchBuckets; i += kSearchThreads) {
    buckets.sums[i] = 0;
    buckets.counts[i] = 0;
  }
  __syncthreads();
  for (int id = static_cast<int>(threadIdx.x); id < search.row.vocab; id += kSearchThreads) {
    const float x = search.row.at(id);
    const int bucket = bucket_of(x);
    if (bucket == kSearchBuckets - 1) continue;  // most are there, and nobody asks how many
    atomicAdd(&buckets.counts[bucket], 1);
    const double weight = static_cast<double>(weight_of(x, search.top, scale));
    atomicAdd(&buckets.sums[bucket], __double2ull_rn(weight / kWeightUnit));
  }
  __syncthreads();
  return bucket_of;
}

// Lists and sorts what is in the buckets from `first` to `last`; 0 when that is too much.
__device__ int list_buckets(const Search& search, const Buckets& bucket_of, int first, int last) {
  const int count = list_keys(
      search.row, search.block_tops, [&](float x) { return bucket_of(x) <= last; },
      [&](float x) {
        const int bucket = bucket_of(x);
        return bucket >= first && bucket <= last;
      },
      search.memory);
  if (count > kMostListed) return 0;
  sort_list(count, search.memory);
  return count;
}

// Lists the k best or more, sorted; 0 when the host has to do it.
__device__ int list_best(const Search& search, int k) {
  const int blocks = search.row.blocks();
  // As many blocks have one as large.
  const float floor =
      k <= blocks ? find_kth_largest(search.block_tops, blocks, k, search.memory) : -kInfinity;
  int count = search.list_from(floor);
  if (count <= kMostListed) {
    sort_list(count, search.memory);
    return count;
  }
  const Buckets bucket_of = fill_buckets(search, kCountedReach, 1);
  const auto& counts = search.memory.buckets.counts;
  const int last = find_sum(
                       kSearchBuckets - 1, [&](int i) { return static_cast<double>(counts[i]); },
                       [k](double sum) { return sum >= static_cast<double>(k); }, search.memory)
                       .index;
  return last == kSearchBuckets - 1 ? 0 : list_buckets(search, bucket_of, 0, last);
}

// Draws one of the first `count` of the list. The processor goes through them by their ids.
__device__ int draw_listed(const Search& search, int count) {
  SearchMemory& memory = search.memory;
  const float scale = search.plan.scale;
  __syncthreads();
  // Keys turned around: those with the lower ids are the larger.
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSearchThreads)
    memory.list[i] = (memory.list[i] << 32) | (memory.list[i] >> 32);
  __syncthreads();
  sort_list(count, memory);
  const auto weight = [&](int i) {
    const float x = from_order(static_cast<uint32_t>(memory.list[i]));
    return static_cast<double>(weight_of(x, search.top, scale));
  };
  const double target = search.plan.uniform * sum_weights(count, weight, memory);
  int drawn = find_sum(
                  count, weight, [target](double sum) { return sum > target; }, memory)
                  .index;
  if (drawn == count) {  // by rounding: the last that has a weight
    int last = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kSearchThreads)
      if (weight(i) > 0) last = i;
    drawn = block_reduce(last, Max{}, memory.ints);
  }
  return static_cast<int>(~static_cast<uint32_t>(memory.list[drawn] >> 32));
}

// Draws from the whole row, by the sums of its blocks of 64: what `keeps` keeps of it.
template <class Keeps>
__device__ int draw_from_row(const Search& search, Keeps keeps) {
  SearchMemory& memory = search.memory;
  const int blocks = search.row.blocks();
  const auto sum_of = [&](int i) { return static_cast<double>(search.block_sums[i]); };
  const double target = search.plan.uniform * search.row_sum();
  Reached at = find_sum(
      blocks, sum_of, [target](double sum) { return sum > target; }, memory);
  double left = target - at.before;
  if (at.index == blocks) {  // by rounding: the last that has a weight
    int last = 0;
    for (int i = static_cast<int>(threadIdx.x); i < blocks; i += kSearchThreads)
      if (search.block_sums[i] > 0) last = i;
    at.index = block_reduce(last, Max{}, memory.ints);
    left = static_cast<double>(kInfinity);
  }
  // Every warp does the same. Lane l has two of the block's 64.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first = at.index * kRowBlock + 2 * lane;
  double weights[2];
  for (int i = 0; i < 2; ++i) {
    const int id = first + i;
    const float x = id < search.row.vocab ? search.row.at(id) : -kInfinity;
    const bool is_kept = id < search.row.vocab && keeps(x, id);
    weights[i] = is_kept ? static_cast<double>(weight_of(x, search.top, search.plan.scale)) : 0.0;
  }
  double upto = weights[0] + weights[1];
  for (int offset = 1; offset < 32; offset *= 2) {
    const double other = __shfl_up_sync(0xFFFFFFFF, upto, offset);
    if (lane >= offset) upto += other;
  }
  int drawn = search.row.vocab;
  if (weights[1] > 0 && upto > left) drawn = first + 1;
  if (weights[0] > 0 && upto - weights[1] > left) drawn = first;
  drawn = warp_reduce(drawn, Min{});
  if (drawn < search.row.vocab) return drawn;
  int last = -1;
  for (int i = 0; i < 2; ++i)
    if (weights[i] > 0) last = first + i;
  return warp_reduce(last, Max{});
}

// What min-p and the draw make of the `count` best, listed and sorted.
__device__ int finish_listed(const Search& search, int count) {
  const float floor = min_p_floor(search.plan, search.top);
  int kept = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSearchThreads)
    if (logit_of(search.memory.list[i]) >= floor) ++kept;
  return draw_listed(search, block_reduce(kept, Add{}, search.memory.ints));
}

__device__ int draw_from_best(const Search& search) {
  int count = list_best(search, search.plan.top_k);
  if (count == 0) return -1;
  count = min(count, search.plan.top_k);
  if (search.plan.top_p < 1) {
    const float scale = search.plan.top_p_scale;
    const auto weight = [&](int i) { return search.listed_weight(i, scale); };
    const double target = search.plan.top_p * sum_weights(count, weight, search.memory);
    const int last =
        find_sum(
            count, weight, [target](double sum) { return sum >= target; }, search.memory)
            .index;
    count = min(count, last + 1);
  }
  return finish_listed(search, count);
}

// A nucleus that is too large to list: its last bucket is, which gives the least key in it; then
// the row is weighed again without what is below.
__device__ int draw_from_wide_nucleus(const Search& search, const Buckets& bucket_of, int bucket,
                                      double before, double target) {
  SearchMemory& memory = search.memory;
  const int count = list_buckets(search, bucket_of, bucket, bucket);
  if (count == 0) return -1;
  const float nucleus_scale = search.plan.top_p_scale;
  const int last = find_sum(
                       count, [&](int i) { return search.listed_weight(i, nucleus_scale); },
                       [=](double sum) { return before + sum >= target; }, memory)
                       .index;
  const RowKey least = memory.list[min(last, count - 1)];
  const float floor = min_p_floor(search.plan, search.top);
  const auto keeps = [=](float x, int id) { return x >= floor && key_of(x, id) >= least; };
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int block = static_cast<int>(threadIdx.x) / 32; block < search.row.blocks();
       block += kSearchWarps) {
    float weights[2];
    for (int half = 0; half < 2; ++half) {
      const int id = block * kRowBlock + half * 32 + lane;
      const float x = id < search.row.vocab ? search.row.at(id) : -kInfinity;
      const bool is_kept = id < search.row.vocab && keeps(x, id);
      weights[half] = is_kept ? weight_of(x, search.top, search.plan.scale) : 0.0f;
    }
    const float sum = sum_row_block(weights[0], weights[1]);
    if (lane == 0) search.block_sums[block] = sum;
  }
  __syncthreads();
  return draw_from_row(search, keeps);
}

__device__ int draw_from_nucleus(const Search& search) {
  SearchMemory& memory = search.memory;
  const float scale = search.plan.top_p_scale;
  const double total = search.row_sum();
  const double target = search.plan.top_p * total;
  const auto weight = [&](int i) { return search.listed_weight(i, scale); };
  // All tokens further away than this are together too light to matter.
  const double outside = fmax((1 - search.plan.top_p) * total, 1e-30);
  const auto enough =
      static_cast<float>(log(static_cast<double>(search.row.vocab) / outside) + 1e-3);
  for (const float reach : {4.0f, 8.0f}) {
    if (reach < enough && enough < 10) continue;  // flat: most of the row is in it
    const int count = search.list_from(search.top - reach / scale);
    if (count > kMostListed) break;
    sort_list(count, memory);
    const int last = find_sum(
                         count, weight, [target](double sum) { return sum >= target; }, memory)
                         .index;
    if (last < count) return finish_listed(search, last + 1);
  }
  const Buckets bucket_of =
      fill_buckets(search, fminf(enough, -kLowestWeightExponent) / scale, scale);
  const auto& buckets = memory.buckets;
  const Reached at = find_sum(
      kSearchBuckets - 1, [&](int i) { return static_cast<double>(buckets.sums[i]) * kWeightUnit; },
      [target](double sum) { return sum >= target; }, memory);
  if (at.index == kSearchBuckets - 1) return -1;
  const int count = list_buckets(search, bucket_of, 0, at.index);
  if (count == 0) return draw_from_wide_nucleus(search, bucket_of, at.index, at.before, target);
  const int last = find_sum(
                       count, weight, [target](double sum) { return sum >= target; }, memory)
                       .index;
  return finish_listed(search, min(last + 1, count));
}

__device__ int draw(const Search& search) {
  if (search.plan.top_k > 0) return draw_from_best(search);
  if (search.plan.top_p < 1) return draw_from_nucleus(search);
  const float floor = min_p_floor(search.plan, search.top);
  return draw_from_row(search, [floor](float x, int) { return x >= floor; });
}

// False when the host has to do it.
__device__ bool report(const Search& search, int token, RowReport& out) {
  const double log_sum = log(search.row_sum()) + static_cast<double>(search.top);
  const auto logprob = [log_sum](float x) {
    return static_cast<float>(static_cast<double>(x) - log_sum);
  };
  int count = 0;
  if (search.plan.top_k > 0) {
    count = min(list_best(search, search.plan.top_k), search.plan.top_k);
    if (count == 0) return false;
  }
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) {
    const RowKey key = search.memory.list[i];
    out.ids[i] = id_of(key);
    out.logprobs[i] = logprob(logit_of(key));
  }
  if (i == 0) {
    out.count = count;
    out.logprob = logprob(search.row.x[token]);
  }
  return true;
}

__global__ __launch_bounds__(kSearchThreads) void search_kernel(
    const __grid_constant__ SamplingPass pass) {
  __shared__ SearchMemory memory;
  const int index = static_cast<int>(blockIdx.x);
  const RowPlan& plan = pass.plans[index];
  const RowView row = view_of(pass, plan);
  const int64_t first_block = static_cast<int64_t>(index) * row.blocks();
  const RowKey top = pass.tops[index];
  const Search search{
      pass,          plan,  row, pass.block_tops + first_block, pass.block_sums + first_block,
      logit_of(top), memory};
  if (plan.kind == RowKind::kDrawn) {
    const int token = is_number(top) ? draw(search) : -1;
    if (threadIdx.x != 0) return;
    pass.tokens[plan.row] = token;
    pass.host_tokens[plan.row] = token;
    return;
  }
  const int token = pass.tokens[plan.row];
  if (token < 0) return;  // the host samples this row, and reports
  const bool is_told = is_number(top) && report(search, token, pass.host_reports[index]);
  if (!is_told && threadIdx.x == 0) pass.host_tokens[plan.row] = -1;
}

}  // namespace

void search_rows(const SamplingPass& pass, Stream stream) {
  search_kernel<<<static_cast<unsigned>(pass.searched), kSearchThreads, 0, stream>>>(pass);
}

}  // namespace ingot::cuda
