//===- Grouping.h - Which calls become one --------------------------------===//
//
// Calls of one iteration space that hand values on to each other become a
// group, done where its last member stands. Earlier members sink to that place,
// so nothing on their way may touch what they write, or write what they read:
//
//   0  Swish   reads gate, writes a
//   1  MatMul  reads x, w, writes up
//   2  Mul     reads a, up, writes y        0 and 2 are a group, done at 2
//
//   1  MatMul  reads a, ...                 would keep 0 where it is
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWS_GROUPING_H
#define SHARDC_PASSES_LOWER_ROWS_GROUPING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace shardc::lower {

/// An instruction as grouping sees it. Buffers, spaces and operands are numbers
/// that are equal where the things are. An operand is a window on a buffer:
/// what is written through it can be handed on only to who reads the very same.
struct GroupItem {
  llvm::SmallVector<unsigned, 4> reads, writes; ///< buffers
  bool isBarrier = false;                       ///< nothing moves across it

  static constexpr int kNone = -1, kAnyColumns = -1;
  int rows = kNone;          ///< space without its columns; kNone: no row call
  int columns = kAnyColumns; ///< any: one element a row
  struct Operand {
    unsigned id, buffer;
  };
  llvm::SmallVector<Operand, 4> inputs, outputs;
};

/// Members in program order. Every row call is in exactly one group; groups are
/// in the order of their last members.
std::vector<llvm::SmallVector<unsigned, 4>>
groupRows(llvm::ArrayRef<GroupItem> items);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWS_GROUPING_H
