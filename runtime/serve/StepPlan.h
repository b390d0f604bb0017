//===- StepPlan.h - Which rows the next step has --------------------------===//
//
// Rows that decode go first, one token each: nobody who reads along waits for
// another's prompt. What is left of the step's tokens goes to prompts, in
// parts, in the order in which they came (chunked prefill, Agrawal et al. 2023,
// arXiv:2308.16369), and as long as they do not hold up those that decode
// (StepPace.h). Where pages run out, the sequence that came last gives up
// its own, and is computed again later.
//
//   budget 8, one decodes, a prompt of 20 and one of 4 wait
//   step 0   1 + 7 of the first      step 2   1 + 6, then 1 of the second
//   step 1   1 + 7                   step 3   1 + 1 + 3
//
// Of a model whose steps have one row, texts take turns, and so does the first of
// those that wait, whose prompt comes whole.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_STEPPLAN_H
#define SHARDC_RUNTIME_SERVE_STEPPLAN_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// What a sequence has, and what it waits for.
struct SequenceLoad {
  int64_t length = 0;  ///< positions that it has
  int64_t pending = 0; ///< tokens that it has yet to take; 1: it decodes
  int64_t pages = 0;   ///< that are its own
  bool rests = false;  ///< it gets no row
  bool isBusy = false; ///< nor gives up its pages: a step has it
  int64_t beside = 0;  ///< pages that it needs for its encoder's keys
};

struct StepLimits {
  int64_t tokens = 0; ///< of a step
  int64_t rows = 0;
  int64_t freePages = 0;
  int64_t ofPage = 1;          ///< positions
  int64_t prompts = INT64_MAX; ///< of the tokens, for those that do not decode
  int64_t ofRow = INT64_MAX;   ///< tokens of a row
  /// A step has one row, with all that a sequence waits for; those that run, from
  /// that one on, and who waits have their turns.
  bool isOfOneRow = false;
  size_t first = 0;
};

struct StepPlan {
  struct Row {
    size_t sequence; ///< of those that run, then of those that wait
    int64_t count;   ///< tokens
  };
  std::vector<Row> rows;
  size_t admitted = 0; ///< of those that wait, from the first on
  /// Of those that run, in the order in which they go: their pages are free
  /// before the step.
  std::vector<size_t> evicted;
};

/// `running` in the order in which they were admitted, `waiting` in the order in
/// which they came. No rows: nothing is left to do, or no page.
StepPlan planStep(std::span<const SequenceLoad> running,
                  std::span<const SequenceLoad> waiting,
                  const StepLimits &limits);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_STEPPLAN_H
