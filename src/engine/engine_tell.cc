// SPDX-License-Identifier: Apache-2.0
// Where a device samples, its host tells the sinks of a step's tokens (text, stop strings, waking
// readers) while the next step runs, instead of letting the device wait for that. Mostly that step
// has begun before (engine_step.cc); where it could not, tokens are told as soon as it has. The
// next step has then begun with sequences whose sinks may want no more: these end when it is
// committed, and what it computes for them is dropped. A sink hears the same in the same order.
#include <algorithm>

#include "engine/engine_core.h"

namespace ingot {

void EngineCore::tell_untold() {
  for (const Untold& untold : untold_) {
    const Answer& answer = answers_.at(untold.sequence);
    RequestSink& sink = *requests_.at(answer.request).sink;
    const bool goes_on =
        sink.on_token(answer.choice, untold.token, untold.logprobs ? &*untold.logprobs : nullptr);
    if (!goes_on) stopped_.push_back(untold.sequence);
  }
  untold_.clear();
}

void EngineCore::end_stopped() {
  for (const SequenceId id : stopped_) {
    Sequence* const sequence = scheduler_->find(id);
    if (sequence == nullptr) continue;  // its request has ended meanwhile
    end_answer(*sequence, requests_.at(answers_.at(id).request), FinishReason::kStop);
  }
  stopped_.clear();
}

// No plan waits to be committed.
void EngineCore::settle() {
  tell_untold();
  end_stopped();
}

// Before a request ends for another reason than its last token.
void EngineCore::tell_rest(RequestId id) {
  std::erase_if(untold_, [&](const Untold& untold) {
    const Answer& answer = answers_.at(untold.sequence);
    if (answer.request != id) return false;
    requests_.at(id).sink->on_token(answer.choice, untold.token,
                                    untold.logprobs ? &*untold.logprobs : nullptr);
    return true;
  });
}

}  // namespace ingot
