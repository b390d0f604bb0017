#include "runtime/serve/Sequences.h"

#include "runtime/base/Message.h"
#include "runtime/session/Pipeline.h"
#include "runtime/session/Settings.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Sequence
//===----------------------------------------------------------------------===//

Sequence::Sequence(std::shared_ptr<SharedPages> with, int64_t ofPage)
    : shared(std::move(with)), ofPage(ofPage) {
  std::lock_guard lock(shared->mutex);
  shared->sequences.insert(this);
}

Sequence::~Sequence() {
  std::lock_guard lock(shared->mutex);
  shared->sequences.erase(this);
  for (const auto *own : {&pages, &encoderPages})
    for (int64_t page : *own)
      shared->pool.release(page);
}

int64_t Sequence::length() const {
  std::lock_guard lock(shared->mutex);
  return positions;
}

int64_t Sequence::encoderLength() const {
  std::lock_guard lock(shared->mutex);
  return encoderKeys;
}

int64_t Sequence::numPages() const {
  std::lock_guard lock(shared->mutex);
  return std::ssize(pages) + std::ssize(encoderPages);
}

Status Sequence::truncate(int64_t length) {
  std::lock_guard lock(shared->mutex);
  if (length < 0 || length > positions)
    return argumentError("a sequence of ", positions,
                         " positions cannot be cut to ", length);
  const auto kept = static_cast<size_t>((length + ofPage - 1) / ofPage);
  for (size_t p = kept; p < pages.size(); ++p)
    shared->pool.release(pages[p]);
  pages.resize(kept);
  positions = length;
  return Status::ok();
}

std::unique_ptr<Sequence> Sequence::fork() const {
  std::unique_ptr<Sequence> made(new Sequence(shared, ofPage));
  std::lock_guard lock(shared->mutex);
  std::vector<int64_t> own = pages, ofEncoder = encoderPages;
  for (const auto *each : {&own, &ofEncoder}) // behind what may throw
    for (int64_t page : *each)
      shared->pool.share(page);
  made->pages.swap(own);
  made->encoderPages.swap(ofEncoder);
  made->positions = positions;
  made->encoderKeys = encoderKeys;
  return made;
}

//===----------------------------------------------------------------------===//
// A pool
//===----------------------------------------------------------------------===//

Status SequencePool::create(Session &session, int64_t positions,
                            std::unique_ptr<SequencePool> &pool, int replica) {
  return withoutExceptions([&] {
    const int64_t ofPage = session.page();
    if (ofPage == 0)
      return argumentError("the model was compiled for requests, not for a "
                           "step of rows; compile it with --serve");
    // More than there are addresses for are none that a rank could have.
    constexpr int64_t kMost = int64_t(1) << 40;
    if (positions < 1 || positions > kMost)
      return argumentError("a pool for ", positions,
                           " positions: expected 1 to ", kMost);
    const int64_t pages = (positions - 1) / ofPage + 1;
    std::unique_ptr<SequencePool> made(
        new SequencePool(session, ofPage, pages, replica));
    std::vector<size_t> caches;
    for (const CacheInfo &cache : session.caches())
      caches.push_back(cache.input);
    SHARDC_RETURN_IF_ERROR(
        StepInputs::make(session.inputs(), caches, ofPage, made->form));
    SHARDC_RETURN_IF_ERROR(session.createState(pages, made->state, replica));
    made->shared = std::make_shared<SharedPages>(pages);
    pool = std::move(made);
    return Status::ok();
  });
}

std::unique_ptr<Sequence> SequencePool::add() {
  return std::unique_ptr<Sequence>(new Sequence(shared, ofPage));
}

int64_t SequencePool::numFreePages() const {
  std::lock_guard lock(shared->mutex);
  return shared->pool.numFree();
}

Status SequencePool::lost() const {
  std::lock_guard lock(renewal);
  return state ? state->lost() : artifactError("the pool could not be renewed");
}

bool SequencePool::isLostByOthers() const {
  std::lock_guard lock(renewal);
  return state && state->isLostByOthers();
}

Status SequencePool::renew() {
  return withoutExceptions([&] {
    std::lock_guard lock(mutex);
    {
      std::lock_guard own(shared->mutex);
      for (Sequence *sequence : shared->sequences) {
        sequence->pages.clear();
        sequence->encoderPages.clear();
        sequence->positions = sequence->encoderKeys = 0;
      }
      shared->pool = PagePool(pages);
    }
    std::lock_guard other(renewal);
    state.reset(); // first: there may be no room for both
    return session.createState(pages, state, replica);
  });
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

SequencePool::Running &SequencePool::begin(const RowStep &step) {
  std::lock_guard lock(flow);
  if (idle.empty())
    idle.push_back(
        {nullptr, std::make_unique<Reservation>(shared, ofPage), form, {}});
  running.splice(running.end(), idle, idle.begin());
  running.back().step = &step;
  running.back().rows.clear();
  return running.back();
}

SequencePool::Running &SequencePool::first() {
  std::lock_guard lock(flow);
  return running.front();
}

Status SequencePool::noRoom(size_t row, int64_t count) const {
  return argumentError("row ", row, " needs pages for ", count,
                       " positions more, and there are too few in a pool of ",
                       numPages(), "; drop sequences that are done");
}

/// Its encoder's keys, or pages for those that are given.
Status SequencePool::reserveEncoder(Running &of, size_t row,
                                    const Sequence &sequence, int64_t given,
                                    StepRow &made) {
  made.givesEncoder = given > 0;
  made.encoderKeys = given > 0 ? given : sequence.encoderKeys;
  if (form.hasEncoder() && made.encoderKeys == 0)
    return argumentError("input '", form.encoderInput(), "' of row ", row,
                         " is missing: its sequence has nothing of the encoder "
                         "yet");
  return given == 0 || of.reservation->replace(sequence.encoderPages, given)
             ? Status::ok()
             : noRoom(row, given);
}

/// What its rows have, and pages for what they get.
Status SequencePool::reserve(Running &of) {
  const std::span<const Row> rows = of.step->rows;
  if (rows.empty())
    return argumentError("a step without rows");
  for (size_t r = 0; r < rows.size(); ++r) {
    const Row &row = rows[r];
    if (!row.sequence || row.sequence->shared != shared)
      return argumentError("row ", r, " is of no sequence of this pool");
    Sequence &sequence = *row.sequence;
    if (sequence.isRunning)
      return argumentError("row ", r,
                           " is of a sequence that another row goes on with");
    StepRow made{row.inputs, {}, sequence.positions};
    RowCounts counts;
    SHARDC_RETURN_IF_ERROR(form.countOf(row.inputs, counts));
    made.count = counts.positions;
    made.wanted = row.wanted == Wanted::All    ? made.count
                  : row.wanted == Wanted::Last ? 1
                                               : 0;
    if (!of.reservation->add(sequence.pages, sequence.positions, made.count))
      return noRoom(r, made.count);
    SHARDC_RETURN_IF_ERROR(
        reserveEncoder(of, r, sequence, counts.encoderKeys, made));
    of.rows.push_back(made); // what ends it gives the sequence back
    sequence.isRunning = true;
  }
  return Status::ok();
}

/// Pages that are copied are so before anything is written.
Status SequencePool::fill(Running &of) {
  SHARDC_RETURN_IF_ERROR(reserve(of));
  size_t number = 0;
  for (size_t r = 0; r < of.rows.size(); ++r) {
    StepRow &row = of.rows[r];
    row.pages = of.reservation->pages(number++);
    row.encoderPages =
        row.givesEncoder
            ? of.reservation->pages(number++)
            : std::span<const int64_t>(of.step->rows[r].sequence->encoderPages);
  }
  SHARDC_RETURN_IF_ERROR(of.inputs.fill(of.rows, of.reservation->copies()));
  of.request = {of.inputs.tensors(), of.step->outputs};
  return Status::ok();
}

/// Its sequences have their positions, or are as before.
void SequencePool::end(Running &of, bool isDone) {
  size_t number = 0;
  for (size_t r = 0; r < of.rows.size(); ++r) {
    Sequence &sequence = *of.step->rows[r].sequence;
    const StepRow &row = of.rows[r];
    sequence.isRunning = false;
    if (!isDone)
      continue;
    std::lock_guard lock(shared->mutex);
    of.reservation->keep(number++, sequence.pages);
    sequence.positions += row.count;
    if (!row.givesEncoder)
      continue;
    of.reservation->keep(number++, sequence.encoderPages);
    sequence.encoderKeys = row.encoderKeys;
  }
  of.reservation->end();
  std::lock_guard lock(flow);
  const auto here =
      std::find_if(running.begin(), running.end(),
                   [&](const Running &one) { return &one == &of; });
  idle.splice(idle.begin(), running, here);
}

/// A run, after which nothing is left of what it did not end.
class SequencePool::Turn {
public:
  explicit Turn(SequencePool &pool) : pool(pool), lock(pool.mutex) {}
  ~Turn() {
    while (!pool.running.empty())
      pool.end(pool.running.front(), /*isDone=*/false);
  }
  Turn(const Turn &) = delete;

private:
  SequencePool &pool;
  const std::lock_guard<std::mutex> lock;
};

Status SequencePool::run(std::span<const RowStep> steps,
                         const RunOptions &options) {
  return withoutExceptions([&] {
    const Turn turn(*this);
    SHARDC_RETURN_IF_ERROR(lost());
    requests.clear();
    for (const RowStep &step : steps) {
      Running &of = begin(step);
      SHARDC_RETURN_IF_ERROR(fill(of));
      requests.push_back(of.request);
    }
    SHARDC_RETURN_IF_ERROR(session.run(*state, requests, options));
    while (!running.empty())
      end(running.front(), /*isDone=*/true);
    return Status::ok();
  });
}

//===----------------------------------------------------------------------===//
// Steps that come one after the other
//===----------------------------------------------------------------------===//

class SequencePool::Steps : public RequestFeed {
public:
  Steps(SequencePool &pool, StepFeed &steps) : pool(pool), steps(steps) {}

  const PipelineRequest *next(bool waits) override {
    while (const RowStep *step = steps.next(waits)) {
      Running &of = pool.begin(*step);
      const Status status = pool.fill(of);
      request = {of.request.inputs, of.request.outputs};
      if (status.isOk())
        return &request;
      pool.end(of, /*isDone=*/false);
      steps.done(*step, status);
    }
    return nullptr;
  }
  void done() override {
    Running &of = pool.first();
    const RowStep &step = *of.step;
    pool.end(of, /*isDone=*/true);
    steps.done(step, Status::ok());
  }
  void stop() override { steps.stop(); }
  bool isApart() const override { return steps.isApart(); }

private:
  SequencePool &pool;
  StepFeed &steps;
  PipelineRequest request; ///< the last one
};

Status SequencePool::run(StepFeed &steps, const RunOptions &options) {
  return withoutExceptions([&] {
    const Turn turn(*this);
    SHARDC_RETURN_IF_ERROR(lost());
    Steps feed(*this, steps);
    return session.run(*state, feed, options);
  });
}

} // namespace shardc::runtime
