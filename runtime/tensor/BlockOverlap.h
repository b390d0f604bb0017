//===- BlockOverlap.h - What ranks exchange in an all_to_all --------------===//
#ifndef SHARDC_RUNTIME_TENSOR_BLOCKOVERLAP_H
#define SHARDC_RUNTIME_TENSOR_BLOCKOVERLAP_H

#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

/// Visits what `source`, which has the part `theirs` of dim `from`, and
/// `target`, which has the part `mine` of dim `to`, have in common: views of
/// both, box by box. Example, rows to columns of a [3, 4]: source has row 2,
/// target columns 2 and 3; they share row 2's last two elements.
template <typename Visit>
void forEachCommon(const TensorView &source, const TensorView &target, int from,
                   const OwnedRuns &theirs, int to, const OwnedRuns &mine,
                   Visit visit) {
  int64_t atSource = 0;
  for (const OwnedRun &has : theirs.runs) {
    int64_t atTarget = 0;
    for (const OwnedRun &gets : mine.runs) {
      const int64_t begin = std::max(has.start, gets.start);
      const int64_t end =
          std::min(has.start + has.length, gets.start + gets.length);
      if (from != to)
        visit(narrowed(narrowed(source, from, atSource, has.length), to,
                       gets.start, gets.length),
              narrowed(narrowed(target, from, has.start, has.length), to,
                       atTarget, gets.length));
      else if (begin < end)
        visit(narrowed(source, from, atSource + begin - has.start, end - begin),
              narrowed(target, to, atTarget + begin - gets.start, end - begin));
      atTarget += gets.length;
    }
    atSource += has.length;
  }
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_BLOCKOVERLAP_H
