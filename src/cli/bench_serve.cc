// SPDX-License-Identifier: Apache-2.0
// ingot bench serve: load for any server that speaks OpenAI's API, ours or another's.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "cli/bench_output.h"
#include "cli/bench_serve_flags.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress_bar.h"

namespace ingot {
namespace {

constexpr const char* kBenchServeFooter =
    R"(Workloads (the same --seed makes the same requests; docs/benchmarking.md says what each number means):
  random         independent prompts, a part of which may share a prefix
  chat           8 users x 6 turns over one system prompt; a turn repeats the whole history
  fewshot        32 questions over the same examples
  shared-prefix  32 requests over a 512-token prefix

Examples:
  ingot bench serve --num-prompts 64 --max-concurrency 8 --input-len 256 --output-len 64
  ingot bench serve --base-url http://host:8000 --request-rate 4 --goodput ttft:500 tpot:50
  ingot bench serve --workload chat --users 16 --plot chat.html
  ingot bench serve --compare a=http://127.0.0.1:8080 --compare b=http://127.0.0.1:8081 --rounds 3)";

// A connection is a file: as many as the system lets us have.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class BenchServeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("serve", "Measure a server under load: latency, speed, goodput");
    command->footer(kBenchServeFooter);
    add_bench_serve_flags(*command, flags_);
    add_bench_output_flags(*command, output_);
    return command;
  }

  Status run() override {
    INGOT_TRY(check(output_));
    INGOT_TRY(ServeOptions options, serve_options(flags_));
    INGOT_TRY(const ServeReportOptions report_options, serve_report_options(flags_));
    INGOT_TRY(const ServeResult result, measure(options));
    const BenchReport report = serve_report(result, report_options);
    if (!flags_.save_requests.empty()) {
      INGOT_TRY(AtomicFile file, AtomicFile::create(flags_.save_requests));
      INGOT_TRY(file.write(request_lines(result)));
      INGOT_TRY(file.commit());
    }
    INGOT_TRY(tell(report, setting_of(result, options), output_));
    return verdict(result);
  }

 private:
  static Result<ServeResult> measure(ServeOptions& options) {
    allow_many_files();
    const InterruptScope interrupt;
    ProgressBar bar("Requests");
    options.http.should_stop = [] { return InterruptScope::was_pressed(); };
    options.progress = [&bar](std::string_view name, double fraction) {
      bar.set_label(std::string(name));
      bar.update(fraction);
    };
    return bench_serve(options);
  }

  static BenchSetting setting_of(const ServeResult& result, const ServeOptions& options) {
    BenchSetting setting;
    setting.json.emplace_back("machine", Json{{"cpu", describe_cpu()}});
    const ArrivalOptions& arrivals = options.arrivals;
    Json load = {{"request_rate", arrivals.rate > 0 ? Json(arrivals.rate) : Json("inf")},
                 {"burstiness", arrivals.burstiness},
                 {"max_concurrency", options.max_concurrency},
                 {"rounds", options.rounds},
                 {"ignore_eos", options.ignores_eos}};
    setting.json.emplace_back("load", std::move(load));
    setting.line = describe_cpu();
    for (const ServerResult& server : result.servers) {
      setting.line += fmt::format("\n{}: {} ({})", server.target.name, server.target.url_text,
                                  server.form.model);
    }
    return setting;
  }

  // Numbers of nothing are no success.
  static Status verdict(const ServeResult& result) {
    for (const ServerResult& server : result.servers) {
      const auto is_failure = [](const ServeRecord& r) {
        return r.outcome == ServeOutcome::kFailed;
      };
      const std::vector<ServeRecord>& requests = server.rounds[0].requests;
      if (std::ranges::all_of(requests, is_failure)) {
        return Status(StatusCode::kRefused, fmt::format("{}: every request failed; the first: {}",
                                                        server.target.url_text, requests[0].error));
      }
    }
    return Status::ok();
  }

  BenchServeFlags flags_;
  BenchOutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> make_bench_serve_command() {
  return std::make_unique<BenchServeCommand>();
}

}  // namespace ingot
