#include "runtime/serve/Sequences.h"

#include "runtime/base/Message.h"
#include "runtime/session/Settings.h"

#include <algorithm>

namespace shardc::runtime {

//===----------------------------------------------------------------------===//
// Sequence
//===----------------------------------------------------------------------===//

Sequence::~Sequence() {
  std::lock_guard lock(shared->mutex);
  for (int64_t page : pages)
    shared->pool.release(page);
}

Status Sequence::truncate(int64_t length) {
  if (length < 0 || length > positions)
    return argumentError("a sequence of ", positions,
                         " positions cannot be cut to ", length);
  const auto kept = static_cast<size_t>((length + ofPage - 1) / ofPage);
  std::lock_guard lock(shared->mutex);
  for (size_t p = kept; p < pages.size(); ++p)
    shared->pool.release(pages[p]);
  pages.resize(kept);
  positions = length;
  return Status::ok();
}

std::unique_ptr<Sequence> Sequence::fork() const {
  std::unique_ptr<Sequence> made(new Sequence(shared, ofPage));
  made->pages = pages; // first: what throws has shared nothing yet
  std::lock_guard lock(shared->mutex);
  for (int64_t page : pages)
    shared->pool.share(page);
  made->positions = positions;
  return made;
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

Status SequencePool::create(Session &session, int64_t positions,
                            std::unique_ptr<SequencePool> &pool) {
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
    std::unique_ptr<SequencePool> made(new SequencePool(session, ofPage));
    std::vector<size_t> caches;
    for (const CacheInfo &cache : session.caches())
      caches.push_back(cache.input);
    SHARDC_RETURN_IF_ERROR(
        StepInputs::make(session.inputs(), caches, ofPage, made->form));
    const int64_t pages = (positions - 1) / ofPage + 1;
    SHARDC_RETURN_IF_ERROR(session.createState(pages, made->state));
    made->shared = std::make_shared<SharedPages>(pages);
    made->reservation = std::make_unique<Reservation>(made->shared, ofPage);
    pool = std::move(made);
    return Status::ok();
  });
}

std::unique_ptr<Sequence> SequencePool::add() {
  return std::unique_ptr<Sequence>(new Sequence(shared, ofPage));
}

int64_t SequencePool::numPages() const { return shared->pool.size(); }

int64_t SequencePool::numFreePages() const {
  std::lock_guard lock(shared->mutex);
  return shared->pool.numFree();
}

Status SequencePool::checkDistinct(std::span<const RowStep> steps) {
  sequences.clear();
  for (const RowStep &step : steps)
    for (const Row &row : step.rows)
      sequences.push_back({row.sequence, sequences.size()});
  std::sort(sequences.begin(), sequences.end());
  const auto same = std::adjacent_find(
      sequences.begin(), sequences.end(),
      [](const auto &a, const auto &b) { return a.first == b.first; });
  return same == sequences.end()
             ? Status::ok()
             : argumentError("rows ", same->second, " and ",
                             std::next(same)->second, " are of one sequence");
}

/// What a step's rows have, and pages for what they get.
Status SequencePool::reserve(const RowStep &step, std::vector<StepRow> &own) {
  own.clear();
  if (step.rows.empty())
    return argumentError("a step without rows");
  for (size_t r = 0; r < step.rows.size(); ++r) {
    const Row &row = step.rows[r];
    if (!row.sequence || row.sequence->shared != shared)
      return argumentError("row ", r, " is of no sequence of this pool");
    const Sequence &sequence = *row.sequence;
    StepRow made{row.inputs, {}, sequence.positions};
    SHARDC_RETURN_IF_ERROR(form.countOf(row.inputs, made.count));
    made.wanted = row.wanted == Wanted::All    ? made.count
                  : row.wanted == Wanted::Last ? 1
                                               : 0;
    if (!reservation->add(sequence.pages, sequence.positions, made.count))
      return argumentError("row ", r, " needs pages for ", made.count,
                           " positions more, and there are too few in a "
                           "pool of ",
                           numPages(), "; drop sequences that are done");
    own.push_back(made);
  }
  return Status::ok();
}

/// Pages that are copied are so before anything is written.
Status SequencePool::fill(std::span<const RowStep> steps) {
  std::span<const std::array<int64_t, 2>> copies = reservation->copies();
  size_t number = 0;
  requests.clear();
  for (size_t s = 0; s < steps.size(); ++s) {
    for (StepRow &row : stepRows[s])
      row.pages = reservation->pages(number++);
    SHARDC_RETURN_IF_ERROR(inputs[s].fill(stepRows[s], copies));
    copies = {};
    requests.push_back({inputs[s].tensors(), steps[s].outputs});
  }
  return Status::ok();
}

void SequencePool::advance(std::span<const RowStep> steps) {
  size_t number = 0;
  for (size_t s = 0; s < steps.size(); ++s)
    for (size_t r = 0; r < stepRows[s].size(); ++r) {
      Sequence &sequence = *steps[s].rows[r].sequence;
      reservation->keep(number++, sequence.pages);
      sequence.positions += stepRows[s][r].count;
    }
}

Status SequencePool::run(std::span<const RowStep> steps) {
  return withoutExceptions([&] {
    std::lock_guard lock(mutex);
    SHARDC_RETURN_IF_ERROR(checkDistinct(steps));
    inputs.resize(std::max(inputs.size(), steps.size()), form);
    stepRows.resize(std::max(stepRows.size(), steps.size()));
    const Reservation::Turn turn(*reservation);
    for (size_t s = 0; s < steps.size(); ++s)
      SHARDC_RETURN_IF_ERROR(reserve(steps[s], stepRows[s]));
    SHARDC_RETURN_IF_ERROR(fill(steps));
    SHARDC_RETURN_IF_ERROR(session.run(*state, requests));
    advance(steps);
    return Status::ok();
  });
}

} // namespace shardc::runtime
