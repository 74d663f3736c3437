// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_flags.h"

#include <filesystem>
#include <limits>

#include "cli/read_input.h"

namespace ingot {
namespace {

// A time in seconds on the command line.
void add_time(CLI::App& command, const char* name, std::chrono::milliseconds& time,
              const char* what, const char* group) {
  command
      .add_option_function<double>(
          name,
          [&time](double seconds) {
            time = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
          },
          what)
      ->check(CLI::Range(0.001, 1e6))
      ->default_str(fmt::format("{}", static_cast<double>(time.count()) / 1000))
      ->type_name("SECONDS")
      ->group(group);
}

void add_listen_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Listening";
  command.add_option("--host", flags.listen.host, "Address to listen on; 0.0.0.0: all")
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--port", flags.listen.port, "Port to listen on; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--uds", flags.listen.unix_socket, "A Unix socket instead of a port")
      ->type_name("PATH")
      ->group(kGroup);
  command.add_option("--ssl-certfile", flags.listen.tls_certificate, "Certificate chain, PEM")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_option("--ssl-keyfile", flags.listen.tls_key, "The certificate's key, PEM")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_option("--served-model-name", flags.model_names,
                  "Names that clients may ask for; default: the file's name")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--pooling",
          [&flags](const std::string& name) {
            flags.pooling = name == "last" ? Pooling::kLast : Pooling::kMean;
          },
          "How token vectors become one for /v1/embeddings: mean (default) or last")
      ->check(CLI::IsMember({"mean", "last"}))
      ->default_str("mean")
      ->type_name("HOW")
      ->group(kGroup);
}

void add_access_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Who may ask";
  command.add_option("--api-key", flags.api_keys, "A key that clients must send; repeatable")
      ->type_name("KEY")
      ->group(kGroup);
  command
      .add_option("--api-key-file", flags.api_key_file,
                  "Keys, one a line: KEY [name=NAME] [running=N] [queue=N]")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_flag("--share-prefix", flags.shares_prefixes,
                "Keys share cached prefixes (timing then tells them of each other)")
      ->group(kGroup);
  command
      .add_flag("--metrics-public", flags.has_public_metrics,
                "GET /metrics needs no key (Prometheus can send one: bearer_token_file)")
      ->group(kGroup);
  command
      .add_option("--cors-origins", flags.cors_origins,
                  "Sites whose pages may ask, such as https://example.org; *: all")
      ->type_name("ORIGIN")
      ->group(kGroup);
  command
      .add_option("--allowed-hosts", flags.allowed_hosts,
                  "Names of this server, beside addresses and localhost (without keys)")
      ->type_name("NAME")
      ->group(kGroup);
}

void add_queue_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Queue";
  const auto add = [&](const char* name, int64_t& value, const char* what) {
    command.add_option(name, value, what)
        ->check(CLI::Range(int64_t{0}, int64_t{1} << 20))
        ->capture_default_str()
        ->type_name("N")
        ->group(kGroup);
  };
  add("--max-queue", flags.admission.queued, "Requests that may wait; more get a 429");
  add("--max-queue-per-key", flags.admission.key_queued, "The same for one key");
  add("--max-running-per-key", flags.admission.key_running,
      "Requests of one key that run at a time");
  command
      .add_option("--drain,--shutdown-timeout", flags.drain_seconds,
                  "Seconds that running answers get when the server is told to stop")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(kGroup);
}

void add_watchdog_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Watchdog";
  command
      .add_option("--watchdog-timeout", flags.watchdog_seconds,
                  "A step that takes longer is stuck: /livez answers 503 (0: no watchdog)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(kGroup);
  command
      .add_option("--watchdog-grace", flags.watchdog_grace_seconds,
                  "Then it has so long to move again, before the process ends with code 70")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(kGroup);
}

void add_limit_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Limits of a connection";
  HttpLimits& limits = flags.limits;
  const auto add = [&](const char* name, size_t& value, const char* what) {
    command.add_option(name, value, what)
        ->check(CLI::Range(size_t{1}, size_t{1} << 40))
        ->capture_default_str()
        ->type_name("N")
        ->group(kGroup);
  };
  add("--max-connections", limits.connections, "Connections at the same time");
  add("--max-header-bytes", limits.header_bytes, "Bytes of a request's head");
  add("--max-header-line", limits.header_line_bytes, "Bytes of one header");
  add("--max-headers", limits.headers, "Headers of a request");
  add("--max-body-bytes", limits.body_bytes, "Bytes of a request's body");
  add("--max-bodies-bytes", limits.all_bodies_bytes,
      "Bytes of all bodies that are being read; more get a 429");
  add("--min-body-rate", limits.body_bytes_per_second, "Least bytes a second of a body");
  add("--send-buffer", limits.send_buffer_bytes,
      "Bytes that a slow reader may leave unread before its answer rests");
  add_time(command, "--header-timeout", limits.header_time, "For a request's head", kGroup);
  add_time(command, "--body-grace", limits.body_grace, "Before the least rate counts", kGroup);
  add_time(command, "--write-timeout", limits.write_stall,
           "Without the client reading a byte; then it is cut off", kGroup);
  add_time(command, "--keep-alive", limits.keep_alive, "Between two requests", kGroup);
}

void add_log_flags(CLI::App& command, ServeFlags& flags) {
  constexpr const char* kGroup = "Logs and traces";
  command
      .add_option("--log-format", flags.log_format,
                  "Lines of text, or of JSON for programs that read them")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT")
      ->group(kGroup);
  command
      .add_flag("--log-content", flags.logs_content,
                "Log prompts and answers too; without it neither is ever logged")
      ->group(kGroup);
  command
      .add_option("--otlp-traces-endpoint", flags.traces_endpoint,
                  "A collector for traces, such as http://localhost:4318/v1/traces")
      ->type_name("URL")
      ->group(kGroup);
}

std::string name_of_model(const std::string& model) {
  if (model == "default") return model;
  const std::filesystem::path path(model);
  const std::filesystem::path last = path.has_filename() ? path : path.parent_path();
  const bool is_file = last.extension() == ".gguf" || last.extension() == ".safetensors";
  const std::string name = is_file ? last.stem().string() : last.filename().string();
  return name.empty() ? "model" : name;
}

// With vLLM's names: dashboards read some of them.
std::vector<std::pair<std::string, std::string>> cache_config(const EngineFlags& engine) {
  return {{"block_size", fmt::format("{}", engine.block_size)},
          {"cache_dtype", engine.kv_cache_dtype},
          {"enable_prefix_caching", engine.enable_prefix_caching ? "True" : "False"},
          {"gpu_memory_utilization", fmt::format("{}", engine.kv_cache_fraction)},
          {"kv_cache_memory_bytes", fmt::format("{}", engine.kv_cache_memory)}};
}

}  // namespace

void add_serve_flags(CLI::App& command, ServeFlags& flags) {
  add_listen_flags(command, flags);
  add_access_flags(command, flags);
  add_queue_flags(command, flags);
  add_watchdog_flags(command, flags);
  add_limit_flags(command, flags);
  add_log_flags(command, flags);
}

Result<ServerOptions> server_options(const ServeFlags& flags, const ModelFlags& model) {
  ServerOptions options;
  options.model_names = flags.model_names;
  if (options.model_names.empty()) options.model_names = {name_of_model(model.model)};
  options.version = INGOT_VERSION;
  std::string given;
  for (const std::string& key : flags.api_keys)
    given += key + "\n";
  INGOT_TRY(options.keys, ApiKeys::parse(given, "--api-key"));
  if (!flags.api_key_file.empty()) {
    INGOT_TRY(const std::string text, read_text(flags.api_key_file));
    INGOT_TRY(const ApiKeys keys, ApiKeys::parse(text, flags.api_key_file));
    if (keys.is_empty())
      return Status::invalid_argument("{} has no keys; put one on each line", flags.api_key_file);
    INGOT_TRY(options.keys.add(keys));
  }
  options.pooling = flags.pooling;
  options.shares_prefixes = flags.shares_prefixes;
  options.logs_content = flags.logs_content;
  options.has_public_metrics = flags.has_public_metrics;
  options.cors_origins = flags.cors_origins;
  options.allowed_hosts = flags.allowed_hosts;
  options.admission = flags.admission;
  options.admission.has_keys = !options.keys.is_empty();
  return options;
}

void tell_of_engine(const EngineFlags& engine, ServerOptions& options) {
  options.cache_config = cache_config(engine);
  options.admission.running = engine.max_num_seqs;
}

}  // namespace ingot
