#include "runtime/serve/ReplicaServer.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"
#include "runtime/session/Settings.h"

#include <algorithm>

namespace shardc::runtime {

Status ReplicaServer::start(Session &session, SessionKeeper &keeper,
                            int replica, const ServerOptions &options,
                            std::unique_ptr<ReplicaServer> &server) {
  std::unique_ptr<ReplicaServer> made(
      new ReplicaServer(session, keeper, replica, options));
  SHARDC_RETURN_IF_ERROR(made->open());
  server = std::move(made);
  return Status::ok();
}

Status ReplicaServer::open() {
  if (options.tokens < 1 || options.rows < 1)
    return argumentError("a step of ", options.tokens, " tokens and ",
                         options.rows, " rows, expected at least 1 of each");
  if (!(options.slowdown == 0 || options.slowdown >= 1))
    return argumentError("a slowdown of ", options.slowdown,
                         ", expected at least 1, or 0 for any");
  SHARDC_RETURN_IF_ERROR(
      SequencePool::create(session, options.positions, pool, replica));
  std::vector<size_t> caches;
  numOutputs = session.outputs().size();
  numStages = static_cast<size_t>(session.numStages());
  std::vector<char> isCache(numOutputs);
  for (const CacheInfo &cache : session.caches()) {
    caches.push_back(cache.input);
    isCache[cache.output] = 1;
  }
  SHARDC_RETURN_IF_ERROR(TextInputs::make(session.inputs(), caches, inputs));
  // Prompts come in parts, are computed again, and share what they begin with;
  // of one row at a time whole, and then token by token, as they did at first.
  isOfOneRow = pool->isOfOneRow();
  if (!session.isCausal() && !isOfOneRow)
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
  logitsName = session.outputs()[logits].name;
  active = SpentTimes::join(session.spentTimes(), "active", "");
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

int64_t ReplicaServer::pagesFor(int64_t positions) const {
  return (positions + pool->page() - 1) / pool->page();
}

Status ReplicaServer::check(const TextRequest &text,
                            int64_t &encoderKeys) const {
  const auto prompt = static_cast<int64_t>(text.prompt.size());
  if (prompt == 0 || text.mostTokens < 1)
    return argumentError("a text of ", prompt, " tokens, to which ",
                         text.mostTokens,
                         " may be added: expected at least 1 of each");
  SHARDC_RETURN_IF_ERROR(inputs.check(text.inputs, encoderKeys));
  const int64_t pages = pool->numPages(), room = pages * pool->page();
  if (prompt > room || text.mostTokens > room - prompt || encoderKeys > room ||
      pagesFor(text.room()) + pagesFor(encoderKeys) > pages)
    return argumentError(
        "a text of ", prompt, " tokens and up to ", text.mostTokens, " more",
        encoderKeys > 0
            ? ", with " + std::to_string(encoderKeys) + " of its encoder,"
            : "",
        " does not fit a pool of ", room, " positions");
  return Status::ok();
}

Status ReplicaServer::submit(Text text) {
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
  ServerCounts now = counted;
  now.waiting = static_cast<int64_t>(waits);
  now.running = std::ssize(running);
  now.pages = pool->numPages();
  now.freePages = pool->numFreePages();
  return now;
}

//===----------------------------------------------------------------------===//
// The server's thread
//===----------------------------------------------------------------------===//

void ReplicaServer::serve() {
  Status status;
  while (status.isOk() && collect())
    status = withoutExceptions([this] {
      const Status ran = runOn();
      return ran.isOk() ? ran : recover(ran);
    });
  std::vector<Text> left;
  {
    std::lock_guard lock(mutex);
    // What threw may be half done: nobody is to wait for it.
    gone = status.isOk() ? artifactError("the server has ended") : status;
    left.assign(submitted.begin(), submitted.end());
    left.insert(left.end(), waiting.begin(), waiting.end());
    left.insert(left.end(), running.begin(), running.end());
    submitted.clear();
    waiting.clear();
    running.clear();
    suspects.clear();
    flights.clear();
    waits = 0;
    loaded = 0;
  }
  end(left, gone);
}

/// Without the lock: the last reference to a text may go, and with it what its
/// caller's functions hold.
void ReplicaServer::end(std::vector<Text> &texts, const Status &with) {
  for (Text &text : texts)
    text->end(with);
  texts.clear();
}

/// Waits until there is something to do; false once the server ends.
bool ReplicaServer::collect() {
  std::unique_lock lock(mutex);
  if (submitted.empty())
    count();
  changed.wait(lock, [this] {
    return stops || !submitted.empty() || !running.empty() || !waiting.empty();
  });
  return !stops;
}

/// Steps as they come, until there are none, or something has gone wrong.
Status ReplicaServer::runOn() {
  uint64_t number = 0;
  sessionIsLost = poolIsLost = true;
  SHARDC_RETURN_IF_ERROR(keeper.enter(number));
  const Status status = withoutExceptions([&] { return runInside(number); });
  sessionIsLost = session.isLost();
  poolIsLost = pool->isLost();
  keeper.leave();
  return status;
}

Status ReplicaServer::runInside(uint64_t number) {
  if (number != sessionNumber || pool->isLost()) {
    forget();
    renewal = pool->renew();
    SHARDC_RETURN_IF_ERROR(renewal);
    sessionNumber = number;
  }
  {
    std::lock_guard lock(mutex);
    isOver = false;
  }
  SHARDC_RETURN_IF_ERROR(pool->run(*this));
  return confirm();
}

/// Of a suspect all ranks say that they are done, before others go on.
Status ReplicaServer::confirm() {
  {
    std::lock_guard lock(mutex);
    if (suspects.empty() || !suspects.front().isTried)
      return Status::ok();
  }
  SHARDC_RETURN_IF_ERROR(session.confirm());
  SHARDC_RETURN_IF_ERROR(pool->lost());
  std::lock_guard lock(mutex);
  suspects.pop_front();
  return Status::ok();
}

/// All have to be computed again, in the order in which they came.
void ReplicaServer::forget() {
  std::lock_guard lock(mutex);
  for (const Text &text : running)
    text->sequence.reset();
  waiting.insert(waiting.begin(), running.begin(), running.end());
  running.clear();
  retained.clear();
  ++counted.recovered;
}

/// Whether the pool was lost by what is at hand: some request of this replica
/// failed when rank 0 had called it done, and only a trial has been alone in it
/// since the pool was renewed.
bool ReplicaServer::hasLostPool(const Flight &flight) const {
  return flight.isTrial && !suspects.empty() && suspects.front().hasLostAll &&
         !pool->isLostByOthers();
}

/// What runs is over, and so may be what ranks held, or the session.
Status ReplicaServer::recover(const Status &why) {
  const bool hasLostAll = sessionIsLost || poolIsLost;
  if (!sessionIsLost && (!renewal.isOk() || (flights.empty() && !hasLostAll)))
    return why; // of no step, and so of the next one, too
  std::vector<Text> guilty;
  if (flights.empty()) {
    // It failed when others had called it done.
    std::lock_guard lock(mutex);
    if (!suspects.empty() && suspects.front().isTried) {
      if (!sessionIsLost && pool->isLostByOthers()) {
        suspects.front().isTried = false; // once more
        return Status::ok();
      }
      guilty = std::move(suspects.front().texts);
      suspects.pop_front();
    } else
      for (const Text &text : running)
        suspects.push_back({{text}, /*hasLostAll=*/true});
  }
  for (const Text &text : guilty)
    finish(text, why);
  const bool isOne = flights.size() == 1 && (sessionIsLost || !poolIsLost ||
                                             hasLostPool(flights.front()));
  while (!flights.empty()) // no thread of the session is in it any more
    fail(flights.front(), why, hasLostAll, isOne);
  if (!sessionIsLost)
    return Status::ok();
  keeper.reopen(why);
  uint64_t number = 0;
  if (!keeper.enter(number).isOk())
    return why; // it cannot be opened again
  keeper.leave();
  return Status::ok();
}

} // namespace shardc::runtime
