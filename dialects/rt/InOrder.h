//===- InOrder.h - Kernels that add up in one order -----------------------===//
#ifndef SHARDC_DIALECTS_RT_INORDER_H
#define SHARDC_DIALECTS_RT_INORDER_H

#include "llvm/ADT/StringRef.h"

namespace shardc::rt {

/// A unit attribute of an rt.kernel: column c of a row is added to lane c modulo
/// their number, whatever else the kernel does, so that a row has the same bits
/// wherever kernels begin and end, and with zeros behind it.
inline constexpr llvm::StringLiteral kInOrderAttr = "rt.in_order";

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_INORDER_H
