//===- Caches.h - What a rank can keep between runs -----------------------===//
//
// A rank keeps its part of a cache where every function holds it alike, and no
// rank but all of it along the dim that grows. mesh <"tp"=2>, 4 heads:
//
//   prompt  sets present [b, 4:"tp", s, 16]
//   step    reads past [b, 4:"tp", past, 16], appends      kept: 2 heads a rank
//
//   prompt  sets present [b, 4, s, 16]                     held otherwise:
//   step    reads past [b, 4:"tp", past, 16]               past is an input
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_CACHES_H
#define SHARDC_PASSES_LOWER_CACHES_H

#include "dialects/onnx/FunctionInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::lower {

/// See rt.cache.
struct Cache : onnx::CacheInfo {
  /// It lies outside of all others: what is taken is the front of the memory.
  bool isDimFirst = false;

  /// As large before and after, of which present has other entries: past is read
  /// while present is written, each in memory of its own.
  bool isReplaced() const { return kind == "write" && !dim; }
};

/// The caches that all functions can keep, as each of them uses them; in the
/// order of their inputs. Warns of those that they hold differently.
/// `hasPages`: of devices whose memory comes page by page.
llvm::SmallVector<llvm::SmallVector<Cache>>
findCaches(llvm::ArrayRef<mlir::func::FuncOp> functions, bool hasPages);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_CACHES_H
