// SPDX-License-Identifier: Apache-2.0
// What the system says of this process, under the names that every Prometheus client library uses.
#pragma once

#include "server/prometheus.h"

namespace ingot {

// process_*: CPU, memory, file descriptors, start. What /proc does not tell is left out.
void write_process_stats(MetricText& out);

}  // namespace ingot
