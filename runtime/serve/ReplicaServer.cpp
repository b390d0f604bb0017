#include "runtime/serve/ReplicaServer.h"

#include "runtime/base/Message.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/launch/QuietThread.h"
#include "runtime/session/Settings.h"

#include <algorithm>
#include <numeric>

namespace shardc::runtime {

Status ReplicaServer::start(Session &session, const ServerOptions &options,
                            std::unique_ptr<ReplicaServer> &server) {
  std::unique_ptr<ReplicaServer> made(new ReplicaServer(session, options));
  SHARDC_RETURN_IF_ERROR(made->open());
  server = std::move(made);
  return Status::ok();
}

Status ReplicaServer::open() {
  if (options.tokens < 1 || options.rows < 1)
    return argumentError("a step of ", options.tokens, " tokens and ",
                         options.rows, " rows, expected at least 1 of each");
  SHARDC_RETURN_IF_ERROR(
      SequencePool::create(session, options.positions, pool));
  std::vector<size_t> caches;
  std::vector<char> isCache(session.outputs().size());
  for (const CacheInfo &cache : session.caches()) {
    caches.push_back(cache.input);
    isCache[cache.output] = 1;
  }
  SHARDC_RETURN_IF_ERROR(TextInputs::make(session.inputs(), caches, inputs));
  // Prompts come in parts, are computed again, and share what they begin with.
  if (!session.isCausal())
    return argumentError("it is not known of the model that a position depends "
                         "on those before it alone: feed its rows to a "
                         "SequencePool");
  while (logits < isCache.size() &&
         (options.logits.empty()
              ? isCache[logits] != 0
              : session.outputs()[logits].name != options.logits))
    ++logits;
  if (logits == isCache.size())
    return argumentError("the model has no output '", options.logits, "'");
  thread = quietThread([this] { serve(); });
  return Status::ok();
}

ReplicaServer::~ReplicaServer() {
  {
    std::lock_guard lock(mutex);
    stops = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

Status ReplicaServer::submit(std::shared_ptr<Generation> text) {
  std::lock_guard lock(mutex);
  if (!gone.isOk())
    return gone;
  loaded += text->request.room();
  submitted.push_back(std::move(text));
  ++waits;
  changed.notify_all();
  return Status::ok();
}

int64_t ReplicaServer::load() const {
  std::lock_guard lock(mutex);
  return loaded;
}

size_t ReplicaServer::numWaiting() const {
  std::lock_guard lock(mutex);
  return waits;
}

bool ReplicaServer::isGone() const {
  std::lock_guard lock(mutex);
  return !gone.isOk();
}

ServerCounts ReplicaServer::counts() const {
  std::lock_guard lock(mutex);
  return counted;
}

//===----------------------------------------------------------------------===//
// The server's thread
//===----------------------------------------------------------------------===//

void ReplicaServer::serve() {
  bool goesOn = true;
  Status status;
  while (goesOn && status.isOk())
    status = withoutExceptions([&] {
      StepPlan step;
      if (!(goesOn = collect()))
        return Status::ok();
      plan(step);
      return step.rows.empty() ? Status::ok() : run(step);
    });
  std::list<std::shared_ptr<Generation>> left;
  {
    std::lock_guard lock(mutex);
    // What threw may be half done: nobody is to wait for it.
    gone = status.isOk() ? artifactError("the server has ended") : status;
    left.swap(submitted);
    waits = 0;
    loaded = 0;
  }
  left.splice(left.end(), waiting);
  left.insert(left.end(), running.begin(), running.end());
  running.clear();
  for (auto &text : left)
    text->end(gone);
}

/// What is under way, and what waits.
void ReplicaServer::count() {
  waits = waiting.size();
  loaded = 0;
  for (const auto &text : running)
    loaded += text->request.room();
  for (const auto &text : waiting)
    loaded += text->request.room();
}

/// Waits until there is something to do; false once the server ends.
bool ReplicaServer::collect() {
  bool isOver;
  {
    std::unique_lock lock(mutex);
    if (submitted.empty())
      count();
    changed.wait(lock, [this] {
      return stops || !submitted.empty() || !running.empty() ||
             !waiting.empty();
    });
    waiting.splice(waiting.end(), submitted);
    isOver = stops;
  }
  // Without the lock: the last reference to a text may go, and with it what its
  // caller's functions hold.
  const auto leaves = [](const std::shared_ptr<Generation> &text) {
    Status with;
    const bool leaves = text->isToEnd(with);
    if (leaves)
      text->end(with);
    return leaves;
  };
  running.erase(std::remove_if(running.begin(), running.end(), leaves),
                running.end());
  waiting.remove_if(leaves);
  std::lock_guard lock(mutex);
  if (submitted.empty())
    count();
  return !isOver;
}

Generation &ReplicaServer::textOf(size_t number) const {
  if (number < running.size())
    return *running[number];
  return **std::next(waiting.begin(),
                     static_cast<std::ptrdiff_t>(number - running.size()));
}

SharedPrefix ReplicaServer::prefixOf(const Generation &text) const {
  SharedPrefix prefix;
  for (const auto &other : running)
    if (other->sequence)
      prefix.consider(text.all, other->all, *other->sequence,
                      /*isRetained=*/false, pool->page());
  for (const Retained &other : retained)
    prefix.consider(text.all, other.tokens, *other.sequence,
                    /*isRetained=*/true, pool->page());
  return prefix;
}

/// Of one that waits: what it can begin with counts as its own, but for pages of
/// texts that have ended, which count as free.
SequenceLoad ReplicaServer::loadOf(const Generation &text,
                                   const SharedPrefix &prefix) const {
  const auto total = static_cast<int64_t>(text.all.size());
  if (text.sequence)
    return {text.sequence->length(), total - text.sequence->length(),
            text.sequence->numPages()};
  const int64_t length = prefix.pages * pool->page();
  return {length, total - length, prefix.isRetained ? 0 : prefix.pages};
}

std::unique_ptr<Sequence>
ReplicaServer::beginningOf(const SharedPrefix &prefix) {
  if (!prefix.sequence)
    return pool->add();
  std::unique_ptr<Sequence> made = prefix.sequence->fork();
  if (!made->truncate(prefix.pages * pool->page()).isOk())
    return pool->add();
  std::lock_guard lock(mutex);
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
    const int64_t pages =
        (load.length + row.count + pool->page() - 1) / pool->page();
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

/// Texts that have ended make room first, then those that came last.
void ReplicaServer::plan(StepPlan &step) {
  constexpr size_t kMostConsidered = 16; // of those that wait
  for (;;) {
    std::vector<SequenceLoad> loads;
    std::vector<SharedPrefix> prefixes(running.size());
    for (const auto &text : running)
      loads.push_back(loadOf(*text, {}));
    // None is admitted where no row is left for it.
    const auto rowsLeft = static_cast<size_t>(std::max<int64_t>(
        0, options.rows - static_cast<int64_t>(running.size())));
    const size_t most = running.size() + std::min(kMostConsidered, rowsLeft);
    for (const auto &text : waiting) {
      if (prefixes.size() == most)
        break;
      prefixes.push_back(prefixOf(*text));
      loads.push_back(loadOf(*text, prefixes.back()));
    }
    StepLimits limits{options.tokens, options.rows, pool->numFreePages(),
                      pool->page()};
    for (const Retained &text : retained)
      limits.freePages += text.sequence->numPages();
    const std::span<const SequenceLoad> all = loads;
    step = planStep(all.first(running.size()), all.subspan(running.size()),
                    limits);
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
    if (!hasGone)
      return;
    // What went may have been shared, or what others were to begin with.
    std::lock_guard lock(mutex);
    counted.evicted += static_cast<int64_t>(step.evicted.size());
  }
}

/// An error is that of the row which has it, unless nothing runs any more.
Status ReplicaServer::run(const StepPlan &step) {
  const std::vector<StepPlan::Row> &left = step.rows;
  for (size_t i = 0; i < step.admitted; ++i) {
    std::shared_ptr<Generation> text = waiting.front();
    waiting.pop_front();
    text->sequence = beginningOf(prefixOf(*text));
    running.push_back(std::move(text)); // its number stays
  }
  const Status status = runHalves(left);
  if (session.isLost())
    return status;
  running.erase(std::remove_if(running.begin(), running.end(),
                               [](const auto &text) { return text->isDone(); }),
                running.end());
  return Status::ok();
}

/// Where some of them cannot run, in halves: what is wrong is with a few.
Status ReplicaServer::runHalves(std::span<const StepPlan::Row> planned) {
  const Status status = runRows(planned);
  if (status.isOk() || planned.size() == 1 || session.isLost())
    return status;
  const size_t half = planned.size() / 2;
  const Status first = runHalves(planned.first(half));
  return session.isLost() ? first : runHalves(planned.subspan(half));
}

void ReplicaServer::setRow(const StepPlan::Row &planned, size_t number) {
  Generation &text = textOf(planned.sequence);
  const int64_t length = text.sequence->length();
  const auto count = static_cast<size_t>(planned.count);
  inputs.fill(std::span(text.all).subspan(static_cast<size_t>(length), count),
              length, rowInputs[number]);
  const bool isLast = static_cast<size_t>(length) + count == text.all.size();
  rows[number] = {text.sequence.get(), rowInputs[number].tensors,
                  isLast ? Wanted::Last : Wanted::None};
  rowTokens[number] = planned.count;
}

/// Parts of about as many tokens, enough to keep all stages at work.
void ReplicaServer::cutSteps() {
  const int64_t tokens =
      std::accumulate(rowTokens.begin(), rowTokens.end(), int64_t(0));
  const int64_t stages = session.numStages();
  const int64_t most = stages == 1 ? 1 : 2 * stages;
  const int64_t count =
      std::clamp<int64_t>(tokens / std::max<int64_t>(options.part, 1), 1, most);
  steps.clear();
  int64_t sum = 0;
  for (size_t begin = 0, r = 0; r < rows.size(); ++r) {
    sum += rowTokens[r];
    const auto cut = static_cast<int64_t>(steps.size()) + 1;
    if (sum * count < cut * tokens && r + 1 < rows.size())
      continue;
    steps.push_back({std::span(rows).subspan(begin, r + 1 - begin), {}});
    begin = r + 1;
  }
  outputs.resize(std::max(outputs.size(), steps.size()));
  for (size_t s = 0; s < steps.size(); ++s) {
    outputs[s].resize(session.outputs().size());
    steps[s].outputs = outputs[s];
  }
}

Status ReplicaServer::runRows(std::span<const StepPlan::Row> planned) {
  rowInputs.resize(std::max(rowInputs.size(), planned.size()));
  rows.resize(planned.size());
  rowTokens.resize(planned.size());
  for (size_t r = 0; r < planned.size(); ++r)
    setRow(planned[r], r);
  cutSteps();
  const Status status = pool->run(steps);
  if (!status.isOk()) {
    if (planned.size() == 1)
      textOf(planned[0].sequence).end(status);
    return status;
  }
  std::span<const StepPlan::Row> left = planned;
  for (const RowStep &step : steps) {
    const auto own = left.first(step.rows.size());
    left = left.subspan(own.size());
    if (const Status taken = take(own, step); !taken.isOk())
      for (const StepPlan::Row &row : own)
        if (Generation &text = textOf(row.sequence); !text.isDone())
          text.end(taken);
  }
  std::lock_guard lock(mutex);
  ++counted.steps;
  counted.tokens +=
      std::accumulate(rowTokens.begin(), rowTokens.end(), int64_t(0));
  return status;
}

/// The next token of each row whose logits were wanted.
Status ReplicaServer::take(std::span<const StepPlan::Row> planned,
                           const RowStep &step) {
  const Tensor &found = step.outputs[logits];
  const int64_t words = found.dims().empty() ? 0 : found.dims().back();
  const auto wanted =
      std::count_if(step.rows.begin(), step.rows.end(),
                    [](const Row &row) { return row.wanted != Wanted::None; });
  if (wanted > 0 && (words == 0 || found.numElements() != wanted * words))
    return artifactError("output '", session.outputs()[logits].name,
                         "' has no logits for each row");
  int64_t next = 0;
  for (size_t r = 0; r < planned.size(); ++r) {
    if (step.rows[r].wanted == Wanted::None)
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
    Generation &text = textOf(planned[r].sequence);
    // Its caller's functions may throw anything: then it is this text that ends.
    try {
      takeToken(text, numbers);
    } catch (const std::exception &error) {
      text.end(
          argumentError("a function of the request threw: ", error.what()));
    } catch (...) {
      text.end(argumentError("a function of the request threw"));
    }
    ++next;
  }
  return Status::ok();
}

void ReplicaServer::takeToken(Generation &text,
                              std::span<const float> numbers) {
  const TextRequest &request = text.request;
  std::optional<int64_t> token;
  if (request.choose)
    token = request.choose(numbers);
  else
    token = std::max_element(numbers.begin(), numbers.end()) - numbers.begin();
  int64_t count = 0;
  if (token) {
    text.all.push_back(*token);
    std::lock_guard lock(text.mutex);
    text.made.push_back(*token);
    count = static_cast<int64_t>(text.made.size());
  }
  if (token && request.onToken)
    request.onToken(*token);
  if (!token || count == request.mostTokens)
    retain(text);
}

/// It has ended; others may begin as it does.
void ReplicaServer::retain(Generation &text) {
  constexpr size_t kMost = 64;
  retained.push_front({text.all, std::move(text.sequence)});
  if (retained.size() > kMost)
    retained.pop_back();
  text.end(Status::ok());
}

} // namespace shardc::runtime
