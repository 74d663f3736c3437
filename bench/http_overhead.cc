// SPDX-License-Identifier: Apache-2.0
// What serving costs beside the model: a server over an engine that makes tokens from nothing at a
// given rate, and as many reading clients in a process of their own. Prints the share of one core
// that the server's process spends, the engine's thread apart.
//
//   build/release/bench/bench_http_overhead [tokens_per_second] [connections] [seconds]
#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/loaded_model.h"
#include "api/text_sink.h"
#include "engine/engine_stats.h"
#include "ingot/engine.h"
#include "server/http_server.h"
#include "server/server.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

double cpu_seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Every stream gets a token at each tick; what a token costs beside the model is all real.
class InstantEngine final : public TextEngine {
 public:
  InstantEngine(LoadedModel model, std::chrono::nanoseconds tick)
      : model_(std::move(model)),
        tick_(tick),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  Result<std::unique_ptr<TextStream>> submit(const TextRequest& request) override;
  Result<std::vector<TokenId>> prompt_ids(const TextRequest& request) const override {
    return model_.text.tokenizer->encode(request.prompt);
  }
  SamplingParams default_sampling() const override { return model_.sampling; }
  EngineStats stats() const override { return {}; }
  EngineProgress progress() const override { return {}; }
  void reset_prefix_cache() override {}
  int64_t context() const override { return int64_t{1} << 20; }
  int threads() const override { return 1; }
  const LoadedModel& model() const override { return model_; }
  double own_seconds() const { return own_seconds_; }

 private:
  struct Running {
    std::shared_ptr<TextSink> sink;
    int64_t left = 0;
    uint64_t state = 1;
  };
  class Stream;
  void run(const std::stop_token& stop);
  void tick();

  LoadedModel model_;
  const std::chrono::nanoseconds tick_;
  std::mutex mutex_;
  std::vector<Running> running_;  // under the mutex
  std::atomic<double> own_seconds_ = 0;
  std::jthread thread_;
};

class InstantEngine::Stream final : public TextStream {
 public:
  Stream(InstantEngine& engine, std::shared_ptr<TextSink> sink)
      : engine_(engine), sink_(std::move(sink)) {}
  ~Stream() override {
    sink_->notify({});
    cancel();
  }
  std::optional<TextEvent> next() override { return sink_->next(); }
  bool wait_for(std::chrono::milliseconds time) override { return sink_->wait_for(time); }
  std::optional<TextEvent> try_next() override { return sink_->try_next(); }
  bool is_over() const override { return sink_->is_over(); }
  bool has_ended() const override { return sink_->has_ended(); }
  void notify(std::function<void()> wake) override { sink_->notify(std::move(wake)); }
  void cancel() override {
    const std::scoped_lock lock(engine_.mutex_);
    std::erase_if(engine_.running_, [&](const Running& r) { return r.sink == sink_; });
  }
  void pause() override {}
  void resume() override {}
  Status status() const override { return sink_->status(); }

 private:
  InstantEngine& engine_;
  std::shared_ptr<TextSink> sink_;
};

Result<std::unique_ptr<TextStream>> InstantEngine::submit(const TextRequest& request) {
  auto sink =
      std::make_shared<TextSink>(TextSinkOptions{.tokenizer = model_.text.tokenizer, .stop = {}});
  sink->on_prompt({.tokens = static_cast<int64_t>(request.prompt_ids.size()), .logprobs = {}});
  const std::scoped_lock lock(mutex_);
  running_.push_back({sink, request.max_tokens, request.sampling.seed});
  return std::unique_ptr<TextStream>(std::make_unique<Stream>(*this, sink));
}

void InstantEngine::tick() {
  const std::scoped_lock lock(mutex_);
  const auto vocab = static_cast<uint64_t>(model_.model->spec().vocab);
  for (Running& running : running_) {
    running.state = running.state * 6364136223846793005U + 1442695040888963407U;
    running.sink->on_token(0, static_cast<TokenId>(10 + (running.state >> 33) % (vocab - 10)),
                           nullptr);
    if (--running.left > 0) continue;
    running.sink->on_finish(0, FinishReason::kLength);
    running.sink->on_end(Status::ok());
  }
  std::erase_if(running_, [](const Running& running) { return running.left <= 0; });
}

void InstantEngine::run(const std::stop_token& stop) {
  auto next = Clock::now();
  while (!stop.stop_requested()) {
    next += tick_;
    std::this_thread::sleep_until(next);
    tick();
    own_seconds_ = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
  }
}

// Reads `connections` streams until `seconds` are over; the exit code says whether all went well,
// the pipe how many events came.
[[noreturn]] void run_clients(int port, int connections, double seconds, int pipe) {
  const std::string body = R"({"model":"m","prompt":"Once","stream":true,"max_tokens":1000000})";
  const std::string request = fmt::format(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
  std::vector<pollfd> fds;
  for (int i = 0; i < connections; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) ::_exit(1);
    if (::send(fd, request.data(), request.size(), 0) < 0) ::_exit(1);
    fds.push_back({fd, POLLIN, 0});
  }
  std::vector<char> buffer(1 << 16);
  int64_t events = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    ::poll(fds.data(), fds.size(), 100);
    for (const pollfd& fd : fds) {
      if ((fd.revents & POLLIN) == 0) continue;
      const ssize_t bytes = ::recv(fd.fd, buffer.data(), buffer.size(), 0);
      if (bytes <= 0) ::_exit(1);
      std::string_view text(buffer.data(), static_cast<size_t>(bytes));
      for (size_t at = text.find("data: "); at != std::string_view::npos;
           at = text.find("data: ", at + 1))
        ++events;
    }
  }
  if (::write(pipe, &events, sizeof events) != sizeof events) ::_exit(1);
  ::_exit(0);
}

int run(double rate, int connections, double seconds) {
  ModelOptions model_options;
  auto model = load_model("default", model_options);
  if (!model.is_ok()) {
    fmt::print(stderr, "{}\n", model.status().message());
    return 2;
  }
  const std::chrono::nanoseconds tick(static_cast<int64_t>(1e9 * connections / rate));
  InstantEngine engine(*std::move(model), tick);
  ServerOptions options;
  options.model_names = {"m"};
  options.admission.running = 10'000;
  Server server(engine, options);
  ListenOptions listen;
  listen.port = 0;
  auto http = HttpServer::listen(listen, {}, server);
  if (!http.is_ok()) {
    fmt::print(stderr, "{}\n", http.status().message());
    return 2;
  }
  int pipe[2];
  if (::pipe(pipe) != 0) return 2;
  const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double own = engine.own_seconds();
  const pid_t clients = ::fork();
  if (clients == 0) run_clients((*http)->port(), connections, seconds, pipe[1]);
  std::jthread waiter([&] {
    int status = 0;
    ::waitpid(clients, &status, 0);
    (*http)->stop();
  });
  const auto start = Clock::now();
  (*http)->run({});
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  const double spent = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  const double engine_spent = engine.own_seconds() - own;
  int64_t events = 0;
  if (::read(pipe[0], &events, sizeof events) != sizeof events) return 1;
  fmt::print(
      "{:.0f} tokens/s over {} connections: {:.1f} % of one core for HTTP, {:.1f} % for text "
      "in the engine's thread\n",
      static_cast<double>(events) / wall, connections, 100 * (spent - engine_spent) / wall,
      100 * engine_spent / wall);
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  const double rate = argc > 1 ? std::atof(argv[1]) : 5000;
  const int connections = argc > 2 ? std::atoi(argv[2]) : 64;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 10;
  return ingot::run(rate, connections, seconds);
}
