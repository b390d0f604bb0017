//===- Ranks.h - At which ranks a program is compared ---------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_RANKS_H
#define SHARDC_PASSES_VERIFY_LOWERED_RANKS_H

#include "dialects/dist/Dist.h"
#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::verify {

/// The first and the last; and where sizes or places depend on coordinates,
/// the second, one in the middle, and those that are last along one axis.
llvm::SmallVector<int64_t> ranksToCompare(rt::ProgramOp program,
                                          mlir::func::FuncOp function,
                                          const dist::Mesh &mesh);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_RANKS_H
