//===- InstructionWriter.h - What a program does --------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_INSTRUCTIONWRITER_H
#define SHARDC_COMPILER_PACKAGE_INSTRUCTIONWRITER_H

#include "compiler/package/ValueWriter.h"

namespace shardc::package {

class InstructionWriter {
public:
  /// All live longer.
  InstructionWriter(TableWriter &tables, const InstructionNumbers &numbers,
                    const ValueWriter &values)
      : tables(tables), builder(tables.builder), numbers(numbers),
        values(values) {}

  /// An op that is an instruction, in the program's order; its operands were
  /// added to `values`.
  llvm::LogicalResult add(mlir::Operation &op);
  /// What comes now runs with each request.
  void endLoading() { isLoading = false; }

  Offsets<artifact::Instruction> load, run;
  Offsets<artifact::Group> groups;
  /// The instructions that bind a symbol.
  llvm::StringMap<std::vector<uint32_t>> symbolBinders;

private:
  void addInstruction(mlir::Operation *op, llvm::StringRef kernel,
                      mlir::ValueRange ins, mlir::ValueRange outs,
                      Offsets<artifact::Attribute> attributes, int32_t group);
  llvm::LogicalResult addCall(rt::CallOp op);
  void addCollective(rt::CollectiveOp op);
  void addWait(rt::WaitOp op);
  void addTransfer(mlir::Operation &op, llvm::StringRef kernel,
                   mlir::ValueRange ins, mlir::ValueRange outs, int64_t stage,
                   int64_t transfer);
  void addReadSizes(rt::ReadSizesOp op);
  void addSetSizes(rt::SetSizesOp op);
  int32_t group(dist::AxesAttr axes);
  std::vector<int64_t> expertsOf(rt::CollectiveOp op) const;
  void addNumber(Offsets<artifact::Attribute> &attributes, const char *name,
                 int64_t value);

  TableWriter &tables;
  flatbuffers::FlatBufferBuilder &builder;
  const InstructionNumbers &numbers;
  const ValueWriter &values;
  bool isLoading = true;
  llvm::DenseMap<mlir::Attribute, int32_t> groupNumbers;
};

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_INSTRUCTIONWRITER_H
