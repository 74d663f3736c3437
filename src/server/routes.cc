// SPDX-License-Identifier: Apache-2.0
// Every path that is answered, and by what. All but the public ones need a key where there are
// keys.
#include "server/routes.h"

#include <array>

#include "server/server.h"

namespace ingot {
namespace {

using enum Route::Access;

constexpr std::array kRoutes = std::to_array<Route>({
    // method, path, access, quick, generation
    {"POST", "/v1/chat/completions", kKey, false, true, chat_completions},
    {"POST", "/v1/completions", kKey, false, true, completions},
    {"GET", "/v1/models", kKey, true, false, list_models},
    {"GET", "/health", kPublic, true, false, health},
    {"GET", "/livez", kPublic, true, false, health},
    {"GET", "/readyz", kPublic, true, false, readiness},
    {"GET", "/version", kKey, true, false, version},
});

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace ingot
