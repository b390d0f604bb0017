//===- RowEmitter.cpp - Loops over rows and columns -----------------------===//

#include "compiler/codegen/rows/RowEmitter.h"

#include "compiler/codegen/rows/RowLanes.h"
#include "compiler/codegen/rows/RowPhases.h"
#include "runtime/artifact/Generated.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

using Values = SmallVector<Value, 8>;

/// How an element is loaded and stored: bf16 as its bits, a bool as a byte.
Type storageType(Type element) {
  OpBuilder b(element.getContext());
  if (element.isBF16())
    return b.getI16Type();
  return element.isSignlessInteger(1) ? b.getI8Type() : element;
}

class RowEmitter {
public:
  RowEmitter(rt::KernelOp kernel, const RowTarget &target, ModuleOp module)
      : kernel(kernel), target(target), module(module), phases(kernel),
        b(module.getContext()), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())),
        lanes(b, loc, target) {}

  void run() {
    emitForm();
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()),
        {pointer, pointer, b.getI64Type(), b.getI64Type(), pointer});
    auto function = LLVM::LLVMFuncOp::create(b, loc, kernel.getSymName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    scratch = entry->getArgument(4);
    readArguments(entry->getArgument(0), entry->getArgument(1));
    scf::ForOp::create(b, loc, entry->getArgument(2), entry->getArgument(3),
                       number(1), ValueRange(),
                       [&](OpBuilder &, Location, Value row, ValueRange) {
                         emitRow(row);
                         scf::YieldOp::create(b, loc);
                       });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
  struct Operand {
    Type element;
    bool isPerRow;
    Value base, stride; ///< stride: bytes from row to row
    Value row;          ///< of the row at hand
  };

  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Value number(int64_t value) {
    return make<arith::ConstantOp>(TypedAttr(b.getI64IntegerAttr(value)));
  }
  Value load(Type type, Value at, unsigned alignment) {
    return make<LLVM::LoadOp>(type, at, alignment);
  }
  Value advance(Value base, Value bytes) {
    return make<LLVM::GEPOp>(pointer, b.getI8Type(), base, ValueRange(bytes));
  }
  static int64_t bytesOf(Type element) {
    return (storageType(element).getIntOrFloatBitWidth()) / 8;
  }
  VectorType vectorOf(Type element) {
    return VectorType::get({target.width}, element);
  }

  /// What the runtime checks calls against.
  void emitForm() {
    artifact::GeneratedForm form;
    bool hasColumns = phases.numPhases() > 1;
    kernel.walk([&](rt::ColumnsOp) { hasColumns = true; });
    forEachOperand([&](Type element, bool isPerRow, bool isOutput) {
      (isOutput ? form.numOutputs : form.numInputs) += 1;
      form.operands.push_back(
          artifact::generatedOperand(artifactElement(element), isPerRow));
    });
    form.slots = int32_t(phases.numSlots());
    form.mixesColumns = hasColumns;
    std::vector<int32_t> words = artifact::wordsOf(form);
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI32Type(), words.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::External,
                           (kernel.getSymName() + artifact::kFormSuffix).str(),
                           b.getI32TensorAttr(words));
  }

  static artifact::ElementType artifactElement(Type element) {
    return element.isF32()    ? artifact::ElementType_Float32
           : element.isF16()  ? artifact::ElementType_Float16
           : element.isBF16() ? artifact::ElementType_BFloat16
                              : artifact::ElementType_Bool;
  }

  template <typename Visit> void forEachOperand(Visit visit) {
    Block &body = kernel.getBody().front();
    for (auto [argument, kind] :
         llvm::zip_equal(body.getArguments(),
                         kernel.getInputKinds().getAsValueRange<StringAttr>()))
      visit(argument.getType(), kind == rt::kRow, false);
    for (auto [value, kind] :
         llvm::zip_equal(body.getTerminator()->getOperands(),
                         kernel.getOutputKinds().getAsValueRange<StringAttr>()))
      visit(value.getType(), kind == rt::kRow, true);
  }

  void readArguments(Value pointers, Value sizes) {
    auto word = [&](Type type, Value array, int64_t index) {
      return load(type, advance(array, number(8 * index)), 8);
    };
    columns = word(b.getI64Type(), sizes, 0);
    forEachOperand([&](Type element, bool isPerRow, bool) {
      const auto index = int64_t(operands.size());
      Value stride = word(b.getI64Type(), sizes, index + 1);
      operands.push_back({element, isPerRow, word(pointer, pointers, index),
                          make<arith::MulIOp>(stride, number(bytesOf(element))),
                          Value()});
    });
    auto floorTo = [&](int64_t unit) {
      return Value(make<arith::SubIOp>(
          columns, make<arith::RemUIOp>(columns, number(unit))));
    };
    fullEnd = floorTo(target.lanes);
    unrolledEnd = floorTo(target.lanes * target.unroll);
    Value left = make<arith::TruncIOp>(b.getI32Type(),
                                       make<arith::SubIOp>(columns, fullEnd));
    VectorType type = vectorOf(b.getI32Type());
    for (int64_t p = 0; p < lanes.parts(); ++p) {
      SmallVector<int32_t, 16> steps;
      for (int64_t i = 0; i < target.width; ++i)
        steps.push_back(int32_t(p * target.width + i));
      Value numbers =
          make<arith::ConstantOp>(TypedAttr(b.getI32VectorAttr(steps)));
      Value ends = make<vector::BroadcastOp>(type, left);
      tailMasks.push_back(
          make<arith::CmpIOp>(arith::CmpIPredicate::slt, numbers, ends));
    }
  }

  void emitRow(Value row) {
    uniforms.clear();
    for (Operand &operand : operands)
      operand.row =
          advance(operand.base, make<arith::MulIOp>(row, operand.stride));
    for (unsigned phase = 0; phase < phases.numPhases(); ++phase) {
      emitUniforms(phase);
      emitRowOutputs(phase);
      emitColumns(phase);
    }
  }

  //===--- One value a row ------------------------------------------------===//

  void emitUniforms(unsigned phase) {
    Block &body = kernel.getBody().front();
    if (phase == 0)
      for (BlockArgument argument : body.getArguments())
        if (phases.isUniform(argument))
          uniforms.map(argument, loadScalar(argument.getArgNumber()));
    for (Operation &op : body.without_terminator()) {
      Value value = op.getResult(0);
      if (!phases.isUniform(value) || phases.phaseOf(value) != phase ||
          uniforms.contains(value))
        continue;
      if (isa<rt::ColumnsOp>(op))
        uniforms.map(value,
                     Value(make<arith::SIToFPOp>(b.getF32Type(), columns)));
      else if (!isa<rt::ReduceOp>(op)) // those come with their columns
        b.clone(op, uniforms);
    }
  }

  Value loadScalar(unsigned index) {
    const Operand &operand = operands[index];
    return fromStorage(load(storageType(operand.element), operand.row,
                            bytesOf(operand.element)),
                       operand.element);
  }

  /// Values as stored, to what the body computes with; and back.
  Value fromStorage(Value stored, Type element) {
    Type type = like(stored.getType(), element);
    if (element.isBF16())
      return make<arith::BitcastOp>(type, stored);
    if (element.isSignlessInteger(1))
      return make<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                                 zeroOf(stored.getType()));
    return stored;
  }
  Value toStorage(Value value, Type element) {
    Type type = like(value.getType(), storageType(element));
    if (element.isBF16())
      return make<arith::BitcastOp>(type, value);
    if (element.isSignlessInteger(1))
      return make<arith::ExtUIOp>(type, value);
    return value;
  }
  static Type like(Type shape, Type element) {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Value zeroOf(Type type) {
    return make<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(type)));
  }

  void emitRowOutputs(unsigned phase) {
    Operation *yield = kernel.getBody().front().getTerminator();
    for (unsigned output : phases.outputsIn(phase)) {
      const Operand &operand = outputOperand(output);
      if (!operand.isPerRow)
        continue;
      Value value = uniforms.lookup(yield->getOperand(output));
      LLVM::StoreOp::create(b, loc, toStorage(value, operand.element),
                            operand.row, bytesOf(operand.element));
    }
  }

  Operand &outputOperand(unsigned output) {
    return operands[kernel.getBody().getNumArguments() + output];
  }

  //===--- One value a column ---------------------------------------------===//

  /// What a phase sums up, and the vectors [(r * unroll + u) * parts + p] that
  /// hold the sums.
  struct Sums {
    SmallVector<rt::ReduceOp, 2> reductions;
    Values vectors;
    int64_t unroll = 1;
  };

  void emitColumns(unsigned phase) {
    Sums sums;
    sums.reductions = phases.reductionsIn(phase);
    bool keeps = false, writes = false;
    for (unsigned output : phases.outputsIn(phase))
      writes |= !outputOperand(output).isPerRow;
    for (Operation &op : kernel.getBody().front().without_terminator())
      keeps |= phases.slotOf(op.getResult(0)) >= 0 &&
               phases.phaseOf(op.getResult(0)) == phase;
    if (sums.reductions.empty() && !writes && !keeps)
      return;
    // What is expensive keeps the processor busy without.
    if (!sums.reductions.empty() && !keeps)
      sums.unroll = target.unroll;
    for (rt::ReduceOp reduce : sums.reductions)
      sums.vectors.append(sums.unroll * lanes.parts(), lanes.identity(reduce));
    Value start = number(0);
    if (sums.unroll > 1) {
      emitLoop(phase, start, unrolledEnd, sums);
      start = unrolledEnd;
      addUp(sums);
    }
    emitLoop(phase, start, fullEnd, sums);
    emitTail(phase, sums);
    for (auto [r, reduce] : llvm::enumerate(sums.reductions))
      uniforms.map(rt::ReduceOp(reduce).getResult(),
                   lanes.across(reduce, ownVectors(sums, r)));
  }

  Values ownVectors(const Sums &sums, size_t reduction) const {
    const int64_t own = sums.unroll * lanes.parts();
    return Values(ArrayRef<Value>(sums.vectors).slice(reduction * own, own));
  }

  void addUp(Sums &sums) {
    Values results;
    for (auto [r, reduce] : llvm::enumerate(sums.reductions))
      results.append(lanes.addUp(reduce, ownVectors(sums, r)));
    sums.vectors = results;
    sums.unroll = 1;
  }

  void emitLoop(unsigned phase, Value from, Value to, Sums &sums) {
    auto loop = scf::ForOp::create(
        b, loc, from, to, number(target.lanes * sums.unroll), sums.vectors,
        [&](OpBuilder &inside, Location, Value column, ValueRange vectors) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inside.getInsertionBlock(),
                              inside.getInsertionPoint());
          sums.vectors = vectors;
          for (int64_t i = 0; i < sums.unroll * lanes.parts(); ++i)
            emitBlock(phase, plus(column, i * target.width), Value(), sums, i);
          scf::YieldOp::create(b, loc, sums.vectors);
        });
    b.setInsertionPointAfter(loop);
    sums.vectors = loop.getResults();
  }

  void emitTail(unsigned phase, Sums &sums) {
    Value isLeft =
        make<arith::CmpIOp>(arith::CmpIPredicate::slt, fullEnd, columns);
    const Values before = sums.vectors;
    SmallVector<Type, 2> types(ValueRange(before).getTypes());
    auto branch = scf::IfOp::create(b, loc, types, isLeft, true);
    b.setInsertionPointToStart(branch.thenBlock());
    for (int64_t p = 0; p < lanes.parts(); ++p)
      emitBlock(phase, plus(fullEnd, p * target.width), tailMasks[p], sums, p);
    if (!types.empty()) { // else there are yields
      scf::YieldOp::create(b, loc, sums.vectors);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, before);
    }
    b.setInsertionPointAfter(branch);
    sums.vectors = branch.getResults();
  }

  Value plus(Value column, int64_t more) {
    return more == 0 ? column
                     : Value(make<arith::AddIOp>(column, number(more)));
  }

  /// `width` columns from `column` on; `block` counts them within the loop's
  /// step.
  void emitBlock(unsigned phase, Value column, Value mask, Sums &sums,
                 int64_t block) {
    IRMapping vectors;
    Place place{phase, column, mask, vectors};
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      Value value = op.getResult(0);
      const int slot = phases.slotOf(value);
      if (slot >= 0 && phases.phaseOf(value) == phase)
        store(vectorFor(value, place), slotAt(slot, column), 4, mask);
    }
    for (auto [r, reduce] : llvm::enumerate(sums.reductions)) {
      Value value = vectorFor(rt::ReduceOp(reduce).getValue(), place);
      if (mask)
        value = make<arith::SelectOp>(mask, value, lanes.identity(reduce));
      Value &sum = sums.vectors[r * sums.unroll * lanes.parts() + block];
      sum = lanes.combine(reduce, sum, value);
    }
    Operation *yield = kernel.getBody().front().getTerminator();
    for (unsigned output : phases.outputsIn(phase)) {
      const Operand &operand = outputOperand(output);
      if (!operand.isPerRow)
        store(toStorage(vectorFor(yield->getOperand(output), place),
                        operand.element),
              elementAt(operand, column), bytesOf(operand.element), mask);
    }
  }

  struct Place {
    unsigned phase;
    Value column, mask;
    IRMapping &vectors;
  };

  Value vectorFor(Value value, Place &place) {
    if (Value known = place.vectors.lookupOrNull(value))
      return known;
    Value result = makeVector(value, place);
    place.vectors.map(value, result);
    return result;
  }

  Value makeVector(Value value, Place &place) {
    if (phases.isUniform(value))
      return make<vector::BroadcastOp>(vectorOf(value.getType()),
                                       uniforms.lookup(value));
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      const Operand &operand = operands[argument.getArgNumber()];
      Type stored = vectorOf(storageType(operand.element));
      return fromStorage(loadVector(stored, elementAt(operand, place.column),
                                    bytesOf(operand.element), place.mask),
                         operand.element);
    }
    const int slot = phases.slotOf(value);
    if (slot >= 0 && phases.phaseOf(value) < place.phase)
      return loadVector(vectorOf(value.getType()), slotAt(slot, place.column),
                        4, place.mask);
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      (void)vectorFor(operand, place);
    Operation *copy = b.clone(*op, place.vectors);
    copy->getResult(0).setType(vectorOf(value.getType()));
    return copy->getResult(0);
  }

  Value elementAt(const Operand &operand, Value column) {
    return advance(operand.row, make<arith::MulIOp>(
                                    column, number(bytesOf(operand.element))));
  }
  /// Slots are rows of `columns` rounded up to whole vectors.
  Value slotAt(int slot, Value column) {
    Value padded = make<arith::AddIOp>(fullEnd, number(target.lanes));
    Value index =
        make<arith::AddIOp>(column, make<arith::MulIOp>(padded, number(slot)));
    return advance(scratch, make<arith::MulIOp>(index, number(4)));
  }
  Value loadVector(Type type, Value at, unsigned alignment, Value mask) {
    if (!mask)
      return load(type, at, alignment);
    return make<LLVM::MaskedLoadOp>(type, at, mask, zeroOf(type),
                                    b.getI32IntegerAttr(alignment));
  }
  void store(Value value, Value at, unsigned alignment, Value mask) {
    if (mask)
      LLVM::MaskedStoreOp::create(b, loc, value, at, mask,
                                  b.getI32IntegerAttr(alignment));
    else
      LLVM::StoreOp::create(b, loc, value, at, alignment);
  }

  rt::KernelOp kernel;
  const RowTarget &target;
  ModuleOp module;
  RowPhases phases;
  OpBuilder b;
  Location loc;
  Type pointer;
  RowLanes lanes;
  Value columns, fullEnd, unrolledEnd, scratch;
  Values tailMasks;                 ///< by part
  SmallVector<Operand, 8> operands; ///< inputs, then outputs
  IRMapping uniforms;               ///< scalars of the row at hand
};

} // namespace

void registerRowDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, vector::VectorDialect, rt::RtDialect>();
}

void emitRows(rt::KernelOp kernel, const RowTarget &target, ModuleOp module) {
  RowEmitter(kernel, target, module).run();
}

} // namespace shardc::codegen
