// SPDX-License-Identifier: Apache-2.0
// INGOT_TARGET_CODE marks plain functions that are built once for each target, in an anonymous
// namespace, where a GPU is one more target: what nvcc compiles of them runs there, and only there.
#pragma once

#ifdef __CUDACC__
#define INGOT_TARGET_CODE __device__
#else
#define INGOT_TARGET_CODE
#endif
