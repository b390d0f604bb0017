//===- WeightStore.h - Files of the ranks' weights ------------------------===//
//
// Each rank's parts of weights lie in a file of its own, rank-3.data; what all
// ranks of a stage hold whole lies in one for all, shared.data. What several
// programs of a rank read is there once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_WEIGHTSTORE_H
#define SHARDC_COMPILER_RANKS_WEIGHTSTORE_H

#include "compiler/ranks/GraphWriter.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/Support/MemoryBuffer.h"

namespace shardc::ranks {

/// What files have for elements of that type: runtimes that read them slice no
/// integers of two bits, which are bytes there.
mlir::Type typeInFile(mlir::Type element);

class WeightStore {
public:
  /// `quantizedFile`: where the weights are that were quantised.
  WeightStore(std::string modelFolder, std::string folder,
              std::string quantizedFile)
      : modelFolder(std::move(modelFolder)), folder(std::move(folder)),
        quantizedFile(std::move(quantizedFile)) {}

  /// Where the rank's part of a weight is; false, and `problem`, on an error.
  /// `fileRank` is its number among all ranks.
  bool add(onnx::WeightOp weight, const StageRank &rank, int64_t fileRank,
           ::onnx::TensorProto &tensor);
  /// The rank's part of a constant, by value.
  static void addConstant(onnx::ConstantOp constant, const StageRank &rank,
                          ::onnx::TensorProto &tensor);
  /// Closes all files. "" or what went wrong.
  std::string finish();

  std::string problem;
  std::vector<std::string> names; ///< of the files, once they are closed

private:
  struct File {
    std::unique_ptr<llvm::raw_fd_ostream> stream;
    uint64_t size = 0;
  };
  struct Place {
    std::string file;
    uint64_t offset = 0, length = 0;
  };
  File *open(const std::string &name);
  llvm::StringRef bytesOf(onnx::WeightOp weight);
  Place write(onnx::WeightOp weight, const StageRank &rank,
              const std::string &file);

  const std::string modelFolder, folder, quantizedFile;
  llvm::StringMap<File> files;
  llvm::StringMap<Place> places; ///< by file and weight
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> sources;
};

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_WEIGHTSTORE_H
