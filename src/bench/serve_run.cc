// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_run.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <memory>

#include "bench/serve_answer.h"

namespace ingot {
namespace {

double own_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Callbacks come from HttpClient::run() on the caller's thread.
class ServeDriver {
 public:
  ServeDriver(HttpClient& client, const Workload& workload, const RequestForm& form,
              const ServeLoad& load)
      : client_(client),
        workload_(workload),
        form_(form),
        load_(load),
        arrivals_(
            arrival_times(load.arrivals, static_cast<int64_t>(workload.conversations.size()))),
        dialogues_(workload.conversations.size()),
        expected_tokens_(std::max<int64_t>(workload.output_tokens(), 1)) {
    // Made ahead, so that nothing slow happens while others' tokens arrive.
    for (size_t i = 0; i < dialogues_.size(); ++i)
      dialogues_[i].body = body_of(form, workload.conversations[i], {});
  }

  ServeRun run() {
    const double cpu = own_cpu_seconds();
    start_ = changed_ = ended_ = BenchClock::now();
    arrive();
    client_.run();
    record_.seconds = seconds_between(start_, ended_);
    record_.mean_in_flight = record_.seconds > 0 ? flight_seconds_ / record_.seconds : 0;
    record_.own_cpu_seconds = own_cpu_seconds() - cpu;
    record_.unsent = workload_.requests() - static_cast<int64_t>(record_.requests.size());
    record_.was_stopped = client_.was_stopped();
    return std::move(record_);
  }

 private:
  struct Dialogue {
    std::string body;                  // of the next turn
    std::vector<std::string> answers;  // to the turns before it
    double due = 0;
  };

  class Flight final : public HttpListener {
   public:
    Flight(ServeDriver& driver, size_t conversation)
        : driver_(driver), conversation_(conversation) {}
    void on_head(const HttpResponseHead& head, BenchClock::time_point) override {
      reader_.on_head(head);
    }
    void on_body(std::string_view bytes, BenchClock::time_point time) override {
      const size_t before = reader_.answer().chunks.size();
      reader_.on_body(bytes, time);
      driver_.count(reader_.answer().chunks.size() - before);
    }
    void on_end(const Status& status, BenchClock::time_point time) override {
      const Status outcome = reader_.finish(status, time);
      driver_.land(conversation_, sent, reader_.take(), outcome, time);
    }

    BenchClock::time_point sent;

   private:
    ServeDriver& driver_;
    size_t conversation_;
    ServeAnswerReader reader_;
  };

  // Everyone whose time has come; then waits for the next.
  void arrive() {
    const double now = seconds_between(start_, BenchClock::now());
    for (; arrived_ < arrivals_.size() && arrivals_[arrived_] <= now; ++arrived_) {
      dialogues_[arrived_].due = arrivals_[arrived_];
      ready_.push_back(arrived_);
    }
    if (arrived_ < arrivals_.size()) {
      const std::chrono::duration<double> next(arrivals_[arrived_]);
      client_.at(start_ + std::chrono::ceil<BenchClock::duration>(next), [this] { arrive(); });
    }
    send_ready();
  }

  void send_ready() {
    while (!ready_.empty() && !client_.was_stopped() &&
           (load_.max_concurrency == 0 || in_flight_ < load_.max_concurrency)) {
      const size_t conversation = ready_.front();
      ready_.pop_front();
      count_flights(BenchClock::now(), 1);
      const auto flight = std::make_shared<Flight>(*this, conversation);
      flight->sent = client_.send({.method = "POST",
                                   .target = load_.target,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .body = std::move(dialogues_[conversation].body)},
                                  flight);
    }
  }

  void count_flights(BenchClock::time_point time, int64_t change) {
    flight_seconds_ += static_cast<double>(in_flight_) * seconds_between(changed_, time);
    changed_ = time;
    in_flight_ += change;
    record_.peak_in_flight = std::max(record_.peak_in_flight, in_flight_);
  }

  void count(size_t tokens) {
    done_tokens_ += static_cast<int64_t>(tokens);
    if (tokens > 0 && load_.progress)
      load_.progress(static_cast<double>(done_tokens_) / static_cast<double>(expected_tokens_));
  }

  void land(size_t conversation, BenchClock::time_point sent, ServeAnswer answer,
            const Status& status, BenchClock::time_point time) {
    count_flights(time, -1);
    ended_ = time;
    if (status.code() == StatusCode::kCancelled) return;
    Dialogue& dialogue = dialogues_[conversation];
    const std::vector<Turn>& turns = workload_.conversations[conversation].turns;
    const size_t turn = dialogue.answers.size();
    const auto seen = static_cast<int64_t>(answer.chunks.size());
    count(static_cast<size_t>(std::max<int64_t>(turns[turn].answer_tokens - seen, 0)));
    record_.requests.push_back(record_of(dialogue, turns, sent, answer, status, time));
    record_.requests.back().conversation = conversation;
    if (status.is_ok() && turn + 1 < turns.size()) {
      dialogue.answers.push_back(std::move(answer.text));
      dialogue.body = body_of(form_, workload_.conversations[conversation], dialogue.answers);
      dialogue.due = seconds_between(start_, time);
      ready_.push_back(conversation);
    }
    send_ready();
  }

  ServeRecord record_of(const Dialogue& dialogue, const std::vector<Turn>& turns,
                        BenchClock::time_point sent, const ServeAnswer& answer,
                        const Status& status, BenchClock::time_point time) const {
    ServeRecord record;
    record.outcome = status.is_ok()              ? ServeOutcome::kOk
                     : answer.http_status == 429 ? ServeOutcome::kRefused
                                                 : ServeOutcome::kFailed;
    record.error = status.message();
    record.http_status = answer.http_status;
    record.retry_after = answer.retry_after;
    record.turn = dialogue.answers.size();
    record.due = dialogue.due;
    record.sent = seconds_between(start_, sent);
    record.last = seconds_between(sent, answer.last.value_or(time));
    record.first =
        answer.chunks.empty() ? record.last : seconds_between(sent, answer.chunks.front());
    for (size_t i = 1; i < answer.chunks.size(); ++i)
      record.gaps.push_back(seconds_between(answer.chunks[i - 1], answer.chunks[i]));
    record.asked_tokens = turns[record.turn].answer_tokens;
    record.output_tokens =
        answer.output_tokens.value_or(static_cast<int64_t>(answer.chunks.size()));
    record.prompt_tokens =
        answer.prompt_tokens.value_or(static_cast<int64_t>(turns[record.turn].text.size()));
    record.cached_tokens = answer.cached_tokens;
    record.has_usage = answer.output_tokens.has_value() && answer.prompt_tokens.has_value();
    record.finish_reason = answer.finish_reason;
    return record;
  }

  HttpClient& client_;
  const Workload& workload_;
  const RequestForm& form_;
  const ServeLoad& load_;
  std::vector<double> arrivals_;  // of each conversation
  std::vector<Dialogue> dialogues_;
  std::deque<size_t> ready_;  // conversations with a turn to send
  size_t arrived_ = 0;
  int64_t in_flight_ = 0;
  double flight_seconds_ = 0;
  int64_t expected_tokens_;
  int64_t done_tokens_ = 0;
  BenchClock::time_point start_;
  BenchClock::time_point changed_;  // the number in flight
  BenchClock::time_point ended_;
  ServeRun record_;
};

}  // namespace

ServeRun run_serve(HttpClient& client, const Workload& workload, const RequestForm& form,
                   const ServeLoad& load) {
  return ServeDriver(client, workload, form, load).run();
}

}  // namespace ingot
