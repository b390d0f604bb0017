//===- ExpertRouting.h - Which ranks take a token -------------------------===//
//
// The experts of a mixture lie on the ranks of a group, in order: member i has
// those from bounds[i] to bounds[i + 1]. A token goes to those that have an
// expert which it chose. All ranks know all choices, so that each knows what it
// sends and what it gets.
//
//   bounds 0 2 4 6 8, token 5 chose experts 1 and 6: ranks 0 and 3 take it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_EXPERTROUTING_H
#define SHARDC_RUNTIME_COLLECTIVES_EXPERTROUTING_H

#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/TensorView.h"

#include <span>

namespace shardc::runtime {

struct ExpertRouting {
  TensorView choices; ///< [tokens, k] of int32 or int64, alike on all ranks
  /// The first expert of each member, and how many there are in all.
  std::span<const int64_t> bounds;

  /// Whether that member of the group has an expert that the token chose. A
  /// choice below 0 counts from the last expert; one out of range is nobody's.
  bool takes(int64_t member, int64_t token) const {
    const auto place = static_cast<size_t>(member);
    const int64_t begin = bounds[place], end = bounds[place + 1];
    for (int64_t i = 0; i < choices.dims[1]; ++i) {
      int64_t expert =
          choiceAt(token * choices.strides[0] + i * choices.strides[1]);
      expert += expert < 0 ? bounds.back() : 0;
      if (expert >= begin && expert < end)
        return true;
    }
    return false;
  }

private:
  int64_t choiceAt(int64_t at) const {
    return choices.element == artifact::ElementType_Int32
               ? choices.as<int32_t>()[at]
               : choices.as<int64_t>()[at];
  }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_EXPERTROUTING_H
