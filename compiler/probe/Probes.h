//===- Probes.h - Values between a model's inputs and outputs -------------===//
//
// A module of phase partitioned says what each of its values means: the term
// (Terms.h), which a plan has in common with one rank. So values of the two can
// be compared, once they are outputs:
//
//   one rank                           tp 2
//   %0 = onnx.MatMul %x, %w  term A    %0 = onnx.MatMul %x, %w     A, partial
//                                      %1 = dist.all_reduce %0     A
//   %1 = onnx.Relu %0        term B    %2 = onnx.Relu %1           B
//
// Three probes of the plan: %0 (summed up for the purpose) and %1 against one
// rank's %0, %2 against its %1.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PROBE_PROBES_H
#define SHARDC_COMPILER_PROBE_PROBES_H

#include "passes/verify/Terms.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace shardc::probe {

struct Probe {
  verify::Term term;
  std::string node, op; ///< what computes it
  std::string type;     ///< element and global sizes
  std::string sharding; ///< empty: whole
  int64_t stage = 0;
  std::vector<size_t> from; ///< probes that it is computed from, transitively
                            ///< through values that are no probes
};

/// Leaves the programs of one profile, by its number. False if there is none.
bool keepProfile(mlir::ModuleOp partitioned, unsigned profile);

/// The values of a module of one profile that can be outputs, each behind what
/// it is computed from.
std::vector<Probe> listProbes(mlir::ModuleOp partitioned);

/// Returns these probes too, by their numbers, behind all other outputs: the
/// first is output `numOutputs`. The sharded functions are left as they are.
void exposeProbes(mlir::ModuleOp partitioned, llvm::ArrayRef<size_t> numbers);

} // namespace shardc::probe

#endif // SHARDC_COMPILER_PROBE_PROBES_H
