//===- ExpertRouting.h - Which ranks take a token -------------------------===//
//
// The experts of a mixture lie on the ranks of a group, in order: of e experts,
// member i of k has [i e / k, (i + 1) e / k). A token goes to those that have
// an expert which it chose. All ranks know all choices, so that each knows what
// it sends and what it gets.
//
//   8 experts on 4 ranks, token 5 chose experts 1 and 6: ranks 0 and 3 take it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BACKEND_EXPERTROUTING_H
#define SHARDC_RUNTIME_BACKEND_EXPERTROUTING_H

#include "runtime/exec/Kernel.h"
#include "runtime/exec/Ownership.h"

namespace shardc::runtime {

struct ExpertRouting {
  TensorView choices; ///< [tokens, k] of int32 or int64, alike on all ranks
  int64_t experts = 0;
  int64_t members = 1;

  /// Whether that member of the group has an expert that the token chose. A
  /// choice below 0 counts from the last expert; one out of range is nobody's.
  bool takes(int64_t member, int64_t token) const {
    const int64_t begin = wayBegin(experts, members, member);
    const int64_t end = wayBegin(experts, members, member + 1);
    for (int64_t i = 0; i < choices.dims[1]; ++i) {
      int64_t expert =
          choiceAt(token * choices.strides[0] + i * choices.strides[1]);
      expert += expert < 0 ? experts : 0;
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

#endif // SHARDC_RUNTIME_BACKEND_EXPERTROUTING_H
