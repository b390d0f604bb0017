//===- InputTables.h - Tables whose rows inputs look up -------------------===//
//
// An input of token ids says by itself nothing of which ids there are: the table
// does that its program looks them up in. So callers can refuse an id that the
// model has no row for before anything runs.
//
//   Gather(E [32064, 512], input_ids)       32064, whatever the logits have
//
// On a rank that holds a part of the table alone, its rows are those of all ranks.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_INPUTTABLES_H
#define SHARDC_RUNTIME_PLAN_INPUTTABLES_H

#include "runtime/artifact/Format.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shardc::runtime {

/// Of each input; of several tables the least, unless they are for parts of it: then
/// the most, as an id may be in either. 0 where no kernel looks rows up by
/// the input itself, whatever the request, or the table's size follows from it.
std::vector<int64_t> rowsOfTables(const artifact::Program &program);

/// Of two such tables, one of which may be unknown.
inline int64_t leastRows(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_INPUTTABLES_H
