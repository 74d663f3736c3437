// SPDX-License-Identifier: Apache-2.0
// Time of work on a GPU: links of a chain, which is recorded once as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

namespace ingot {

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fmt::print(stderr, "CUDA: {}\n", cudaGetErrorString(error));
  std::exit(1);
}

// Seconds of one link: the median of several runs of a chain.
inline double seconds_of_link(int links, cudaStream_t stream,
                              const std::function<void(int)>& link) {
  cudaGraph_t graph{};
  cudaGraphExec_t chain{};
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < links; ++i)
    link(i);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&chain, graph, 0));
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int round = 0; round < 12; ++round) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(chain, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (round >= 2) times.push_back(milliseconds);
  }
  std::ranges::sort(times);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(chain);
  cudaGraphDestroy(graph);
  return static_cast<double>(times[times.size() / 2]) * 1e-3 / links;
}

}  // namespace ingot
