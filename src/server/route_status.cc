// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "api/openapi.h"
#include "server/error_reply.h"
#include "server/page.h"
#include "server/routes.h"
#include "server/server.h"

namespace ingot {

// Alive: the engine moves whenever there is work. Nothing else keeps this from being answered.
Reply health(Server& server, HttpRequest /*request*/) {
  if (!server.engine().lost().is_ok())
    return json_reply({{"status", "lost"}, {"reason", "the device is lost"}}, 503);
  if (!server.is_stuck()) return json_reply({{"status", "ok"}});
  return json_reply({{"status", "stuck"}, {"reason", "the engine makes no progress"}}, 503);
}

// Ready: new requests would be taken.
Reply readiness(Server& server, HttpRequest request) {
  if (server.is_draining()) return json_reply({{"status", "draining"}}, 503);
  if (server.admission().is_full(server.key_of(request)))
    return json_reply({{"status", "busy"}}, 503);
  return health(server, std::move(request));
}

Reply version(Server& server, HttpRequest /*request*/) {
  return json_reply({{"version", server.options().version}});
}

Reply openapi(Server& server, HttpRequest /*request*/) {
  return json_reply(openapi_document(server.options().version));
}

Reply page(Server& /*server*/, HttpRequest /*request*/) {
  return std::make_unique<WholeReply>(web_page_head(), std::string(web_page()));
}

Reply metrics(Server& server, HttpRequest /*request*/) {
  return std::make_unique<WholeReply>(
      HttpHead{.status = 200, .content_type = std::string(kPrometheusContentType)},
      server.metrics().text(server.figures()));
}

}  // namespace ingot
