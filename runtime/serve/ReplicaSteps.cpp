//===- ReplicaSteps.cpp - Steps under way ---------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/serve/ReplicaServer.h"

#include <algorithm>

namespace shardc::runtime {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// The session asks, and tells
//===----------------------------------------------------------------------===//

const RowStep *ReplicaServer::next(bool mayWait) {
  std::unique_lock lock(mutex);
  for (;;) {
    std::vector<Text> ended = takeEnded();
    if (submitted.empty())
      count();
    if (!ended.empty()) {
      lock.unlock();
      for (const Text &text : ended)
        text->endAsAsked();
      ended.clear(); // the last reference to one may go, and with it whatever
                     // its caller's functions hold
      lock.lock();
      continue;
    }
    if (stops || isOver || keeper.isWanted())
      return nullptr;
    if (StepPlan step; plan(step)) {
      Flight &flight = begin(step);
      lock.unlock();
      fill(flight);
      return &flight.step;
    }
    if (flights.empty() || !mayWait)
      return nullptr;
    changed.wait(lock);
  }
}

void ReplicaServer::stop() {
  std::lock_guard lock(mutex);
  isOver = true;
  changed.notify_all();
}

bool ReplicaServer::isApart() const {
  std::lock_guard lock(mutex);
  return !suspects.empty() && suspects.front().hasLostAll;
}

void ReplicaServer::done(const RowStep &step, const Status &status) {
  std::unique_lock lock(mutex);
  const auto flight =
      std::find_if(flights.begin(), flights.end(),
                   [&](const Flight &one) { return &one.step == &step; });
  if (!status.isOk()) {
    lock.unlock();
    return fail(*flight, status, /*hasLostAll=*/false, /*isItsOwn=*/true);
  }
  if (counted.steps++ > 0) // the first one waits for weights
    pace.took(
        flight->tokens,
        std::chrono::duration<double>(Clock::now() - flight->since).count());
  counted.tokens += flight->tokens;
  lock.unlock();
  if (const Status taken = take(*flight); !taken.isOk())
    for (const Text &text : flight->texts)
      finish(text, taken);
  lock.lock();
  for (const Text &text : flight->texts)
    text->inFlight = 0;
  acquit(*flight);
  flight->texts.clear();
  land(flight);
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// A step begins
//===----------------------------------------------------------------------===//

/// With the mutex held.
ReplicaServer::Flight &ReplicaServer::begin(const StepPlan &step) {
  for (size_t i = 0; i < step.admitted; ++i) {
    Text text = waiting.front();
    waiting.pop_front();
    text->sequence = beginningOf(prefixOf(*text));
    running.push_back(std::move(text)); // its number stays
  }
  if (idle.empty())
    idle.emplace_back();
  if (flights.empty())
    activeSince = Clock::now();
  flights.splice(flights.end(), idle, idle.begin());
  Flight &flight = flights.back();
  flight.texts.clear();
  flight.counts.clear();
  flight.tokens = 0;
  flight.isTrial = !suspects.empty();
  flight.since = Clock::now();
  for (const StepPlan::Row &row : step.rows) {
    const Text &text = running[row.sequence];
    // What it begins with may have grown since the step was planned: of other texts
    // steps end meanwhile.
    const int64_t count =
        std::min(row.count, std::ssize(text->all) - text->sequence->length());
    flight.texts.push_back(text);
    flight.counts.push_back(count);
    flight.tokens += count;
    text->inFlight = count;
  }
  turn = step.admitted > 0 || step.rows.empty() ? 0 : step.rows[0].sequence + 1;
  return flight;
}

/// It is no longer under way; with the mutex held.
void ReplicaServer::land(std::list<Flight>::iterator flight) {
  idle.splice(idle.begin(), flights, flight);
  const Clock::time_point now = Clock::now();
  active.add(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - activeSince)
          .count());
  activeSince = now;
}

/// Nobody else changes its texts.
void ReplicaServer::fill(Flight &flight) {
  const size_t count = flight.texts.size();
  flight.inputs.resize(std::max(flight.inputs.size(), count));
  flight.rows.resize(count);
  flight.outputs.resize(numOutputs);
  for (size_t r = 0; r < count; ++r) {
    const Generation &text = *flight.texts[r];
    const int64_t length = text.sequence->length();
    const auto own = std::span(text.all).subspan(
        static_cast<size_t>(length), static_cast<size_t>(flight.counts[r]));
    inputs.fill(own, length, text.request.inputs,
                text.sequence->encoderLength() == 0, flight.inputs[r]);
    const bool isLast = length + flight.counts[r] == std::ssize(text.all);
    flight.rows[r] = {text.sequence.get(), flight.inputs[r].tensors,
                      isLast ? Wanted::Last : Wanted::None};
  }
  flight.step = {flight.rows, flight.outputs};
}

//===----------------------------------------------------------------------===//
// It has failed
//===----------------------------------------------------------------------===//

/// One text alone has that error; of several it is to be found whose it is, also
/// where other steps failed with it.
void ReplicaServer::fail(Flight &flight, const Status &why, bool hasLostAll,
                         bool isItsOwn) {
  std::vector<Text> texts;
  bool isGuilty = false;
  {
    std::lock_guard lock(mutex);
    const auto here =
        std::find_if(flights.begin(), flights.end(),
                     [&](const Flight &one) { return &one == &flight; });
    texts = std::move(flight.texts);
    flight.texts.clear();
    land(here);
    for (const Text &text : texts)
      text->inFlight = 0;
    if (flight.isTrial && !suspects.empty())
      suspects.pop_front();
    isGuilty = isItsOwn && texts.size() == 1;
    const auto half = texts.begin() + std::ssize(texts) / 2;
    if (texts.size() > 1 && !hasLostAll)
      suspects.insert(suspects.begin(),
                      {{{texts.begin(), half}}, {{half, texts.end()}}});
    else if (!isGuilty)
      for (size_t i = texts.size(); i-- > 0;)
        suspects.push_front({{texts[i]}, hasLostAll});
    changed.notify_all();
  }
  if (isGuilty)
    finish(texts[0], why);
}

/// With the mutex held: its step ran well.
void ReplicaServer::acquit(const Flight &flight) {
  if (!flight.isTrial || suspects.empty())
    return;
  Suspects &front = suspects.front();
  if (front.hasLostAll) {
    // What it lost may come with any of its tokens.
    front.isTried =
        std::all_of(flight.rows.begin(), flight.rows.end(),
                    [](const Row &row) { return row.wanted == Wanted::Last; });
    isOver |= front.isTried;
    return;
  }
  std::erase_if(front.texts, [&](const Text &text) {
    return std::find(flight.texts.begin(), flight.texts.end(), text) !=
           flight.texts.end();
  });
  if (front.texts.empty())
    suspects.pop_front();
}

//===----------------------------------------------------------------------===//
// It has run
//===----------------------------------------------------------------------===//

/// The next token of each row whose logits were wanted.
Status ReplicaServer::take(Flight &flight) {
  const Tensor &found = flight.outputs[logits];
  const int64_t words = found.dims().empty() ? 0 : found.dims().back();
  const auto wanted =
      std::count_if(flight.rows.begin(), flight.rows.end(),
                    [](const Row &row) { return row.wanted != Wanted::None; });
  if (wanted > 0 && (words == 0 || found.numElements() != wanted * words))
    return artifactError("output '", logitsName,
                         "' has no logits for each row");
  int64_t next = 0;
  for (size_t r = 0; r < flight.rows.size(); ++r) {
    if (flight.rows[r].wanted == Wanted::None)
      continue;
    numbers.resize(static_cast<size_t>(words));
    SHARDC_RETURN_IF_ERROR(host::dispatch(
        host::FloatTypes(), found.element(), "logits", [&](auto tag) {
          using T = typename decltype(tag)::Type;
          const T *from = found.as<T>() + next * words;
          for (int64_t w = 0; w < words; ++w)
            numbers[static_cast<size_t>(w)] =
                static_cast<float>(host::Compute<T>(from[w]));
        }));
    // Its caller's functions may throw anything: then it is this text that ends.
    try {
      takeToken(flight.texts[r], numbers);
    } catch (const std::exception &error) {
      finish(flight.texts[r],
             argumentError("a function of the request threw: ", error.what()));
    } catch (...) {
      finish(flight.texts[r], argumentError("a function of the request threw"));
    }
    ++next;
  }
  return Status::ok();
}

/// Without the mutex: functions of a request may call the server.
void ReplicaServer::takeToken(const Text &text,
                              std::span<const float> logitsOfRow) {
  const TextRequest &request = text->request;
  std::optional<int64_t> token;
  if (request.choose)
    token = request.choose(logitsOfRow);
  else
    token = std::max_element(logitsOfRow.begin(), logitsOfRow.end()) -
            logitsOfRow.begin();
  int64_t count = 0;
  if (token) {
    std::lock_guard lock(mutex);
    text->all.push_back(*token);
    ++counted.made;
    std::lock_guard ofText(text->mutex);
    text->made.push_back(*token);
    count = static_cast<int64_t>(text->made.size());
  }
  if (token && request.onToken)
    request.onToken(*token);
  if (!token || count == request.mostTokens)
    finish(text, Status::ok());
}

/// It has ended; where it is well, others may begin as it does.
void ReplicaServer::finish(const Text &text, const Status &with) {
  constexpr size_t kMost = 64;
  std::list<Retained> left;
  {
    std::lock_guard lock(mutex);
    std::erase(running, text);
    std::erase(waiting, text);
    if (with.isOk() && text->sequence && mayShare(*text))
      retained.push_front({text->all, std::move(text->sequence)});
    if (retained.size() > kMost)
      left.splice(left.end(), retained, std::prev(retained.end()));
  }
  text->end(with);
}

} // namespace shardc::runtime
