//===- ValueWriter.h - Inputs, weights, buffers and views of a program ----===//
#ifndef SHARDC_COMPILER_PACKAGE_VALUEWRITER_H
#define SHARDC_COMPILER_PACKAGE_VALUEWRITER_H

#include "compiler/package/FileTable.h"
#include "compiler/package/InstructionNumbers.h"
#include "compiler/package/TableWriter.h"
#include "compiler/package/WeightNames.h"

namespace shardc::package {

/// Ops come in the program's order. Errors are at the op that cannot be
/// written.
class ValueWriter {
public:
  /// All live longer.
  ValueWriter(TableWriter &tables, const InstructionNumbers &numbers,
              const WeightNames &names, FileTable &files)
      : tables(tables), builder(tables.builder), numbers(numbers), names(names),
        files(files) {}

  llvm::LogicalResult addInput(rt::InputOp op);
  llvm::LogicalResult addWeight(rt::WeightOp op);
  void addJoin(rt::JoinOp op);
  llvm::LogicalResult addConstant(rt::ConstantOp op);
  void addAlloc(rt::AllocOp op);
  void addCache(rt::CacheOp op);
  llvm::LogicalResult addView(rt::ViewOp op);
  llvm::LogicalResult addOutput(rt::OutputOp op);
  /// Once everything was added.
  void finish();

  /// Numbers of views, -1 for an operand that is absent.
  std::vector<int32_t> viewList(mlir::ValueRange values) const;

  Offsets<artifact::Weight> weights;
  Offsets<artifact::Input> inputs;
  Offsets<artifact::Output> outputs;
  Offsets<artifact::Buffer> buffers; ///< after finish
  Offsets<artifact::View> views;
  Offsets<artifact::CachePair> caches;
  Offsets<artifact::Join> joins;
  /// Symbols that are the dim of an input: its number, and the dim.
  llvm::StringMap<std::pair<uint32_t, uint32_t>> symbolSources;

private:
  struct BufferEntry {
    artifact::BufferKind kind;
    uint32_t bytes, source = 0, firstUse = 0, lastUse = 0;
  };
  void addBuffer(mlir::Value value, BufferEntry entry);
  llvm::LogicalResult addStored(mlir::Value buffer, uint32_t file,
                                uint64_t offset, uint64_t length,
                                mlir::Type element, dist::ValueAttr value);
  uint32_t makeView(artifact::ElementType type, uint32_t buffer,
                    llvm::ArrayRef<dist::DimExpr> dims,
                    llvm::ArrayRef<dist::DimExpr> strides, dist::DimExpr offset,
                    bool replicated);

  TableWriter &tables;
  flatbuffers::FlatBufferBuilder &builder;
  const InstructionNumbers &numbers;
  const WeightNames &names;
  FileTable &files;
  std::vector<BufferEntry> entries;
  llvm::DenseMap<mlir::Value, uint32_t> bufferNumbers, viewNumbers;
};

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_VALUEWRITER_H
