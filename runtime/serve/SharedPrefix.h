//===- SharedPrefix.h - What a text begins with alike ---------------------===//
//
// Of texts whose positions are there, the one with the most pages that another
// begins with alike: of pages of 4, [3 1 4 1 5 9 2 6 5] and [3 1 4 1 5 9 7] have
// one in common.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_SHAREDPREFIX_H
#define SHARDC_RUNTIME_SERVE_SHAREDPREFIX_H

#include "runtime/serve/Sequences.h"

namespace shardc::runtime {

struct SharedPrefix {
  const Sequence *sequence = nullptr; ///< null: none
  int64_t pages = 0;
  /// Of a text that has ended: its pages are free as soon as they are needed.
  bool isRetained = false;

  /// Takes the other text if it has more of them. The last token of `text` is
  /// always computed.
  void consider(std::span<const int64_t> text, std::span<const int64_t> other,
                const Sequence &sequence, bool isRetained, int64_t ofPage);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_SHAREDPREFIX_H
