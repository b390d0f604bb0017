//===- Unsupported.h - Everything that shardc cannot import, at once ------===//
//
//   error: model.onnx: 2 unsupported operators
//     com.microsoft.Attention (12 nodes, first "/layer0/attn"): re-export
//     without ONNX Runtime's optimizer ...
//     If (1 node, first "If -> logits"): ...
//
// One error with a note for each, so that a user fixes an export once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_UNSUPPORTED_H
#define SHARDC_COMPILER_IMPORT_UNSUPPORTED_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/LogicalResult.h"

#include <string>
#include <vector>

namespace shardc::importer {

class Unsupported {
public:
  /// Of the default domain ("") or another one.
  void addOperator(llvm::StringRef domain, llvm::StringRef opType,
                   mlir::NameLoc node);
  /// Something about an operator that is known: `what` reads "attribute x".
  void
  addDetail(llvm::StringRef opType, const llvm::Twine &what, mlir::NameLoc node,
            llvm::StringRef remedy = "export with another opset or exporter");
  void addType(llvm::StringRef element, mlir::NameLoc tensor);

  struct Entry {
    llvm::StringRef kind; ///< "operator", "use" or "element type"
    std::string what;
    llvm::StringRef remedy;
    std::vector<mlir::NameLoc> nodes; ///< or tensors
  };
  /// Operators, then uses, then types.
  std::vector<Entry> entries() const;

  /// Success if there is nothing to report.
  llvm::LogicalResult report(mlir::Location model) const;

private:
  struct Entries {
    llvm::StringMap<unsigned> index;
    std::vector<Entry> list; ///< in the order of their first nodes
  };
  static void add(Entries &entries, llvm::StringRef kind,
                  const std::string &what, mlir::NameLoc place,
                  llvm::StringRef remedy);

  Entries operators, details, types;
};

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_UNSUPPORTED_H
