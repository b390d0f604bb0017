//===- InOrder.h - Kernels that add up in one order -----------------------===//
#ifndef SHARDC_DIALECTS_RT_INORDER_H
#define SHARDC_DIALECTS_RT_INORDER_H

#include "llvm/ADT/StringRef.h"

namespace shardc::rt {

/// A unit attribute of an rt.kernel: its sums have the order of one that does
/// nothing else, so that a row has the same bits wherever kernels begin and end.
inline constexpr llvm::StringLiteral kInOrderAttr = "rt.in_order";

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_INORDER_H
