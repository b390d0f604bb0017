//===- Provenance.h - What programs and calls stand for -------------------===//
//
// A program is that of a function of phase partitioned, which stays beside it
// until the program is packaged: verify-phase compares the two.
//
// A call that does the work of several keeps them, so that it can be compared
// with what was partitioned. Values are numbered: the call's inputs, then the
// members' outputs in order; -1 is absent.
//
//   rt.call "rows_Add_Relu"(%a, %b) into(%y) {} {
//     rt.members = [{kernel = "Add", inputs = [0, 1], rows = [0]},
//                   {kernel = "Relu", inputs = [2], rows = [0]}],
//     rt.results = [3]}                          %y is what Relu makes
//
// `rows` says of each output whether it is one element for a whole row.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_RT_PROVENANCE_H
#define SHARDC_DIALECTS_RT_PROVENANCE_H

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace shardc::rt {

class CallOp;
class ProgramOp;

/// The name of the function; null where the program came without.
mlir::FlatSymbolRefAttr partitionedOf(ProgramOp program);
void setPartitioned(ProgramOp program, mlir::StringAttr function);

struct Member {
  mlir::StringAttr kernel;
  mlir::DictionaryAttr config;
  llvm::SmallVector<int64_t, 4> inputs;
  llvm::SmallVector<int64_t, 2> rows;
};

struct Members {
  llvm::SmallVector<Member, 4> members;
  llvm::SmallVector<int64_t, 2> results; ///< numbers of the call's outputs
};

/// Nothing for a call that stands for itself, or whose attributes make no
/// sense.
std::optional<Members> membersOf(CallOp call);
void setMembers(CallOp call, const Members &members);
/// `to` stands for what `from` does, of other rows or columns.
void copyMembers(CallOp from, CallOp to);

} // namespace shardc::rt

#endif // SHARDC_DIALECTS_RT_PROVENANCE_H
