//===- Findings.h - What a check found ------------------------------------===//
#ifndef SHARDC_COMPILER_CHECK_FINDINGS_H
#define SHARDC_COMPILER_CHECK_FINDINGS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardc::check {

/// Something that many nodes need and shardc does not have.
struct Missing {
  std::string kind, what, remedy;
  std::vector<std::string> nodes;
};

/// One thing that is wrong.
struct Problem {
  std::string node, message;
  std::vector<std::string> notes;
};

/// It compiles, but.
struct Note {
  std::string kind, message, remedy;
  std::vector<std::string> where; ///< inputs, weights or nodes
};

struct Findings {
  std::string model;
  std::optional<int64_t> opset; ///< nothing where the graph was not read
  std::vector<Missing> missing;
  std::vector<Problem> problems;
  std::vector<Note> notes;
  std::map<std::string, unsigned> operators;  ///< nodes by operator
  std::map<std::string, unsigned> recognised; ///< structures by name

  bool compiles() const { return missing.empty() && problems.empty(); }
};

/// Infers types beyond the first error: of every op whose operands have types.
/// Errors go to the context's handler. The module is not to be used afterwards.
void inferAll(mlir::ModuleOp module);

/// Notes on inputs; `imported` may be null.
void noteBatch(mlir::ModuleOp raw, mlir::ModuleOp imported, Findings &findings);
/// Notes on caches, and the structures in the graph.
void noteStructures(mlir::ModuleOp imported, Findings &findings);
/// A note on what keeps a decoder's rows from having different lengths.
void noteRows(mlir::ModuleOp imported, Findings &findings);
/// Notes on branches and loops that are left to the run.
void noteControlFlow(mlir::ModuleOp imported, Findings &findings);
/// Notes on weights that hold NaN or infinities; reads all of them.
void noteWeights(mlir::ModuleOp raw, Findings &findings);

void printText(const Findings &findings, llvm::raw_ostream &output);
void printJson(const Findings &findings, llvm::raw_ostream &output);

} // namespace shardc::check

#endif // SHARDC_COMPILER_CHECK_FINDINGS_H
