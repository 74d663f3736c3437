// SPDX-License-Identifier: Apache-2.0
// The flags of `ingot serve`: where to listen, who may ask, and every limit.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/model_flags.h"
#include "server/http_limits.h"
#include "server/http_server.h"
#include "server/server.h"

namespace ingot {

struct ServeFlags {
  ListenOptions listen;
  HttpLimits limits;
  std::vector<std::string> model_names;
  std::vector<std::string> api_keys;
  std::string api_key_file;
  bool shares_prefixes = false;
  bool has_public_metrics = false;
  std::vector<std::string> cors_origins, allowed_hosts;
  AdmissionLimits admission;
  Pooling pooling = Pooling::kMean;
  double drain_seconds = 30;
  double watchdog_seconds = 120;  // 0: none
  double watchdog_grace_seconds = 10;
  std::string log_format = "text";
  bool logs_content = false;
  std::string traces_endpoint;
};

void add_serve_flags(CLI::App& command, ServeFlags& flags);
// Reads the key file.
Result<ServerOptions> server_options(const ServeFlags& flags, const ModelFlags& model);
// What of the engine's settings the server says and counts on, once they are settled().
void tell_of_engine(const EngineFlags& engine, ServerOptions& options);

}  // namespace ingot
