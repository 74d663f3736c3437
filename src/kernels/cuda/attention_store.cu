// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention.h"

namespace ingot::cuda {}
