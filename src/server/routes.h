// SPDX-License-Identifier: Apache-2.0
// What answers each path: parses, submits and relays. A new route is a function here and a line in
// routes.cc.
#pragma once

#include <memory>

#include "server/http_message.h"
#include "server/reply_source.h"

namespace ingot {

class Server;
using Reply = std::unique_ptr<ReplySource>;

// OpenAI: route_openai.cc
Reply chat_completions(Server& server, HttpRequest request);
Reply completions(Server& server, HttpRequest request);
Reply list_models(Server& server, HttpRequest request);
Reply show_model(Server& server, HttpRequest request);

// Embeddings, of both: route_embeddings.cc
Reply embeddings(Server& server, HttpRequest request);
Reply ollama_embed(Server& server, HttpRequest request);
Reply ollama_embeddings(Server& server, HttpRequest request);

// Anthropic: route_anthropic.cc
Reply messages(Server& server, HttpRequest request);
Reply count_message_tokens(Server& server, HttpRequest request);

// Ollama: route_ollama.cc
Reply ollama_chat(Server& server, HttpRequest request);
Reply ollama_generate(Server& server, HttpRequest request);
Reply ollama_tags(Server& server, HttpRequest request);
Reply ollama_ps(Server& server, HttpRequest request);
Reply ollama_show(Server& server, HttpRequest request);
Reply ollama_version(Server& server, HttpRequest request);

// Text alone: route_text.cc
Reply tokenize(Server& server, HttpRequest request);
Reply detokenize(Server& server, HttpRequest request);
Reply apply_template(Server& server, HttpRequest request);
Reply tokenizer_info(Server& server, HttpRequest request);
Reply props(Server& server, HttpRequest request);

// The server itself: route_status.cc
Reply health(Server& server, HttpRequest request);
Reply readiness(Server& server, HttpRequest request);
Reply version(Server& server, HttpRequest request);
Reply openapi(Server& server, HttpRequest request);
Reply page(Server& server, HttpRequest request);
Reply metrics(Server& server, HttpRequest request);

}  // namespace ingot
