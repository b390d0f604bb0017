//===- ModelInputs.h - What a model's inputs may hold ---------------------===//
//
// Read off a module of phase imported, so that inputs can be made up: which
// values are valid, and which sizes. By data flow, never by names:
//
//   ids -> Gather of a table of 1024 rows        Index, below 1024
//   positions -> Cast -> MatMul -> Cos           Position: 0, 1, 2, ...
//   mask -> Equal                                Flag: ones
//   pixels, of floats                            Number
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PROBE_MODELINPUTS_H
#define SHARDC_COMPILER_PROBE_MODELINPUTS_H

#include "dialects/dist/algebra/DimExpr.h"

#include <map>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace shardc::probe {

/// Place: where something is written, each element once.
enum class InputKind { Number, Index, Position, Place, Flag };

struct ModelInput {
  std::string name;
  InputKind kind = InputKind::Number;
  llvm::SmallVector<dist::DimExpr, 4> dims;
  dist::DimExpr bound; ///< an Index or Place is below it
};

/// What must hold of the sizes: lhs (equal | at_least | at_most) rhs.
struct SizeRule {
  dist::DimExpr lhs, rhs;
  std::string kind;
};

/// The inputs that one profile of a model takes.
struct ModelInputs {
  std::vector<ModelInput> inputs;
  std::vector<SizeRule> rules;
  std::map<std::string, bool> when; ///< inputs that choose the profile
};

/// One for each profile; a model without branches has one.
std::vector<ModelInputs> describeInputs(mlir::ModuleOp imported);

using Sizes = std::map<std::string, int64_t>;

/// Sizes for all symbols of the inputs that keep the rules; `given` ones stay.
/// Small and uneven ones, others for another `round`. Nothing where none are
/// found.
std::optional<Sizes> chooseSizes(const ModelInputs &model, const Sizes &given,
                                 unsigned round);

/// Nothing if a symbol has no size.
std::optional<int64_t> evaluate(dist::DimExpr size, const Sizes &sizes);

} // namespace shardc::probe

#endif // SHARDC_COMPILER_PROBE_MODELINPUTS_H
