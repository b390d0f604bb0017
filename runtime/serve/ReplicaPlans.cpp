//===- ReplicaPlans.cpp - Which step comes next ---------------------------===//
//
// All of it with the mutex held.
//
//===----------------------------------------------------------------------===//
#include "runtime/serve/ReplicaServer.h"

#include <algorithm>

namespace shardc::runtime {

/// What is under way, and what waits.
void ReplicaServer::count() {
  waits = waiting.size() + submitted.size();
  loaded = 0;
  for (const auto &text : running)
    loaded += text->request.room();
  for (const auto *list : {&waiting, &submitted})
    for (const auto &text : *list)
      loaded += text->request.room();
}

/// Those that are cancelled, or have come to their deadline, and are in no step.
std::vector<ReplicaServer::Text> ReplicaServer::takeEnded() {
  waiting.splice(waiting.end(), submitted);
  std::vector<Text> ended;
  const auto leaves = [&](const Text &text) {
    Status with;
    if (text->inFlight > 0 || !text->isToEnd(with))
      return false;
    ended.push_back(text);
    return true;
  };
  std::erase_if(running, leaves);
  std::erase_if(waiting, leaves);
  return ended;
}

/// Positions of a text with an encoder depend on that, and of others on how they
/// came.
bool ReplicaServer::mayShare(const Generation &text) const {
  return !isOfOneRow && text.encoderKeys == 0;
}

SharedPrefix ReplicaServer::prefixOf(const Generation &text) const {
  SharedPrefix prefix;
  if (!mayShare(text))
    return prefix;
  for (const auto &other : running)
    if (other->sequence && mayShare(*other))
      prefix.consider(text.all, other->all, *other->sequence,
                      /*isRetained=*/false, pool->page());
  for (const Retained &other : retained)
    prefix.consider(text.all, other.tokens, *other.sequence,
                    /*isRetained=*/true, pool->page());
  return prefix;
}

/// Of one that waits: what it can begin with counts as its own, but for pages of
/// texts that have ended, which count as free. Of one that a step is at: as it is
/// once the step is done.
SequenceLoad ReplicaServer::loadOf(const Text &text,
                                   const SharedPrefix &prefix) const {
  const auto total = static_cast<int64_t>(text->all.size());
  SequenceLoad load;
  load.beside = pagesFor(text->encoderKeys);
  load.rests = !suspects.empty() && !isSuspect(text);
  if (!text->sequence) {
    load.length = prefix.pages * pool->page();
    load.pages = prefix.isRetained ? 0 : prefix.pages;
  } else {
    load.length = text->sequence->length() + text->inFlight;
    load.isBusy = text->inFlight > 0;
    load.pages = load.isBusy ? pagesFor(load.length) + load.beside
                             : text->sequence->numPages();
  }
  load.pending = total - load.length;
  // What came token by token does so again.
  const auto prompt = static_cast<int64_t>(text->request.prompt.size());
  if (isOfOneRow)
    load.pending = load.length < prompt ? prompt - load.length
                                        : std::min<int64_t>(load.pending, 1);
  return load;
}

std::unique_ptr<Sequence>
ReplicaServer::beginningOf(const SharedPrefix &prefix) {
  if (!prefix.sequence)
    return pool->add();
  std::unique_ptr<Sequence> made = prefix.sequence->fork();
  if (!made->truncate(prefix.pages * pool->page()).isOk())
    return pool->add();
  counted.shared += made->length();
  return made;
}

/// Pages that a step takes beyond those that are there, be it of a text that has
/// ended.
int64_t ReplicaServer::newPages(const StepPlan &step,
                                std::span<const SequenceLoad> loads,
                                std::span<const SharedPrefix> prefixes) const {
  int64_t needed = 0;
  for (const StepPlan::Row &row : step.rows) {
    const SequenceLoad &load = loads[row.sequence];
    const int64_t pages = pagesFor(load.length + row.count) + load.beside;
    needed += std::max<int64_t>(
        0, pages - std::max(load.pages, prefixes[row.sequence].pages));
  }
  return needed;
}

/// A text that has ended gives up its pages: the oldest, but last of all what
/// the step begins texts with.
void ReplicaServer::dropRetained(const StepPlan &step,
                                 std::span<const SharedPrefix> prefixes) {
  const auto isUsed = [&](const Retained &text) {
    return std::any_of(
        step.rows.begin(), step.rows.end(), [&](const StepPlan::Row &row) {
          return prefixes[row.sequence].sequence == text.sequence.get();
        });
  };
  for (auto text = retained.end(); text != retained.begin();)
    if (!isUsed(*--text)) {
      retained.erase(text);
      return;
    }
  retained.pop_back();
}

//===----------------------------------------------------------------------===//
// Suspects
//===----------------------------------------------------------------------===//

bool ReplicaServer::isSuspect(const Text &text) const {
  const std::vector<Text> &texts = suspects.front().texts;
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// Those that are to run alone come first among those that wait.
void ReplicaServer::findSuspects() {
  while (!suspects.empty() && !suspects.front().isTried) {
    std::vector<Text> &texts = suspects.front().texts;
    std::erase_if(texts, [](const Text &text) { return text->isDone(); });
    if (!texts.empty())
      break;
    suspects.pop_front();
  }
  if (suspects.empty())
    return;
  std::list<Text> first;
  for (auto text = waiting.begin(); text != waiting.end();) {
    const auto at = text++;
    if (isSuspect(*at))
      first.splice(first.end(), waiting, at);
  }
  waiting.splice(waiting.begin(), first);
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// None where no row is left for it.
size_t ReplicaServer::mostAdmitted() const {
  constexpr size_t kMostConsidered = 16; // of those that wait
  if (!suspects.empty())
    return static_cast<size_t>(
        std::count_if(waiting.begin(), waiting.end(),
                      [this](const Text &text) { return isSuspect(text); }));
  const auto rowsLeft = static_cast<size_t>(std::max<int64_t>(
      0, options.rows - static_cast<int64_t>(running.size())));
  return std::min(kMostConsidered, rowsLeft);
}

/// Stages have equal parts of what there is to do, and prompts what those that
/// decode have time for.
StepLimits ReplicaServer::limits() const {
  StepLimits limits{options.tokens, options.rows, pool->numFreePages(),
                    pool->page()};
  for (const Retained &text : retained)
    limits.freePages += text.sequence->numPages();
  limits.ofRow = inputs.mostOfRow();
  limits.isOfOneRow = isOfOneRow;
  limits.first = turn;
  if (isOfOneRow)
    limits.tokens = INT64_MAX;
  if (!suspects.empty() || isOfOneRow)
    return limits;
  const auto stages = static_cast<int64_t>(numStages);
  int64_t decoding = 0, tokens = 0;
  for (const Text &text : running) {
    decoding += text->all.size() > text->request.prompt.size();
    tokens += static_cast<int64_t>(text->all.size()) - text->sequence->length();
  }
  for (const Text &text : waiting)
    tokens += static_cast<int64_t>(text->all.size());
  tokens = std::min(tokens, options.tokens);
  limits.tokens =
      std::clamp((tokens + stages - 1) / stages,
                 std::min(options.part, options.tokens), options.tokens);
  limits.prompts =
      pace.prompts((decoding + stages - 1) / stages, options.slowdown);
  return limits;
}

/// Texts that have ended make room first, then those that came last. False where
/// nobody had to go.
bool ReplicaServer::makeRoom(const StepPlan &step,
                             std::span<const SequenceLoad> loads,
                             std::span<const SharedPrefix> prefixes) {
  const int64_t needed = newPages(step, loads, prefixes);
  bool hasGone = false;
  for (size_t number : step.evicted) { // from the last one on
    running[number]->sequence.reset();
    waiting.push_front(running[number]);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(number));
    hasGone = true;
  }
  while (pool->numFreePages() < needed && !retained.empty()) {
    dropRetained(step, prefixes);
    hasGone = true;
  }
  counted.evicted += static_cast<int64_t>(step.evicted.size());
  return hasGone;
}

/// Whether it is to be asked again: what went may have been shared, or what
/// others were to begin with.
bool ReplicaServer::planOnce(StepPlan &step) {
  std::vector<SequenceLoad> loads;
  std::vector<SharedPrefix> prefixes(running.size());
  for (const Text &text : running)
    loads.push_back(loadOf(text, {}));
  const size_t most = running.size() + mostAdmitted();
  for (const Text &text : waiting) {
    if (prefixes.size() == most)
      break;
    prefixes.push_back(prefixOf(*text));
    loads.push_back(loadOf(text, prefixes.back()));
  }
  const std::span<const SequenceLoad> all = loads;
  step = planStep(all.first(running.size()), all.subspan(running.size()),
                  limits());
  return makeRoom(step, loads, prefixes);
}

/// False: there is none, until something changes.
bool ReplicaServer::plan(StepPlan &step) {
  for (;;) {
    findSuspects();
    if (suspects.empty() ? flights.size() >= numStages
                         : !flights.empty() || suspects.front().isTried)
      return false;
    while (planOnce(step)) {
    }
    if (!step.rows.empty() || suspects.empty() || !flights.empty())
      return !step.rows.empty();
    suspects.pop_front(); // there is no room for it alone
  }
}

} // namespace shardc::runtime
