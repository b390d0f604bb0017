#include "runtime/serve/StepPlan.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

class StepPlanner {
public:
  StepPlanner(std::span<const SequenceLoad> running,
              std::span<const SequenceLoad> waiting, const StepLimits &limits)
      : running(running), waiting(waiting), left(limits),
        isEvicted(running.size()), hasRow(running.size()) {
    if (left.isOfOneRow)
      left.rows = 1;
  }

  StepPlan plan() {
    if (left.isOfOneRow)
      return planTurn();
    for (size_t i = 0; i < running.size(); ++i)
      if (running[i].pending == 1 && mayRun(i))
        addDecoding(i);
    for (size_t i = 0; i < running.size(); ++i)
      if (running[i].pending > 1 && mayRun(i))
        addPart(i, running[i]);
    admit();
    return std::move(made);
  }

private:
  StepPlan planTurn() {
    const size_t turns = running.size() + 1;
    for (size_t k = 0; k < turns && made.rows.empty(); ++k) {
      const size_t i = (left.first + k) % turns;
      if (i == running.size())
        admit();
      else if (mayRun(i) && running[i].pending == 1)
        addDecoding(i);
      else if (mayRun(i) && running[i].pending > 1)
        addPart(i, running[i]);
    }
    return std::move(made);
  }

  int64_t pagesFor(int64_t positions) const {
    return (positions + left.ofPage - 1) / left.ofPage;
  }
  /// Pages that it does not have yet.
  int64_t morePages(const SequenceLoad &load, int64_t count) const {
    return std::max<int64_t>(0, pagesFor(load.length + count) + load.beside -
                                    load.pages);
  }
  /// Tokens that it may take now; 0 also where the pages are too few.
  int64_t partOf(const SequenceLoad &load) const {
    const int64_t room =
        (left.freePages + load.pages - load.beside) * left.ofPage - load.length;
    const int64_t most =
        std::min({load.pending, left.tokens, left.prompts, left.ofRow, room});
    return left.isOfOneRow && most < load.pending ? 0
                                                  : std::max<int64_t>(0, most);
  }
  bool mayRun(size_t i) const {
    return !isEvicted[i] && !running[i].rests && !running[i].isBusy;
  }
  bool isFull() const { return left.tokens <= 0 || left.rows <= 0; }

  void add(size_t sequence, const SequenceLoad &load, int64_t count) {
    made.rows.push_back({sequence, count});
    left.freePages -= morePages(load, count);
    left.tokens -= count;
    --left.rows;
  }

  /// The one that came last and has no row in this step; nobody before `than`.
  bool evictBehind(size_t than) {
    for (size_t i = running.size(); i-- > than + 1;)
      if (!isEvicted[i] && !hasRow[i] && !running[i].isBusy) {
        isEvicted[i] = 1;
        made.evicted.push_back(i);
        left.freePages += running[i].pages;
        return true;
      }
    return false;
  }

  void addDecoding(size_t i) {
    if (isFull())
      return;
    const SequenceLoad &load = running[i];
    while (left.freePages < morePages(load, 1))
      if (!evictBehind(i))
        return; // those before it go on, and end some time
    hasRow[i] = 1;
    add(i, load, 1);
  }

  void addPart(size_t i, const SequenceLoad &load) {
    if (isFull() || left.prompts <= 0)
      return;
    const int64_t least = left.isOfOneRow ? load.pending : 1;
    while (left.freePages < morePages(load, least))
      if (!evictBehind(i))
        return;
    const int64_t count = partOf(load);
    if (count <= 0)
      return;
    hasRow[i] = 1;
    left.prompts -= count;
    add(i, load, count);
  }

  /// None overtakes another. One that is admitted has pages for its prompt,
  /// unless nothing else runs that could end and leave it some.
  void admit() {
    int64_t promised = 0; // to prompts that have come in part
    for (size_t i = 0; i < running.size(); ++i)
      if (!isEvicted[i])
        promised += morePages(running[i], running[i].pending);
    for (const StepPlan::Row &row : made.rows)
      promised -= morePages(running[row.sequence], row.count);
    // Who was evicted comes back first.
    for (size_t i = 0; i < waiting.size() && made.evicted.empty(); ++i) {
      const SequenceLoad &load = waiting[i];
      const int64_t needed = morePages(load, load.pending);
      const bool isAlone = running.empty() && i == 0;
      if (isFull() || (left.freePages - promised < needed && !isAlone))
        return;
      const int64_t count = partOf(load);
      if (count <= 0)
        return;
      left.prompts -= count;
      add(running.size() + i, load, count);
      promised +=
          pagesFor(load.length + load.pending) - pagesFor(load.length + count);
      ++made.admitted;
    }
  }

  std::span<const SequenceLoad> running, waiting;
  StepLimits left;
  std::vector<char> isEvicted, hasRow;
  StepPlan made;
};

} // namespace

StepPlan planStep(std::span<const SequenceLoad> running,
                  std::span<const SequenceLoad> waiting,
                  const StepLimits &limits) {
  return StepPlanner(running, waiting, limits).plan();
}

} // namespace shardc::runtime
