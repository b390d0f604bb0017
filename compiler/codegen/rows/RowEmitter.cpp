//===- RowEmitter.cpp - Loops over rows and columns -----------------------===//

#include "compiler/codegen/rows/RowEmitter.h"

#include "compiler/codegen/rows/RowPhases.h"
#include "runtime/artifact/Generated.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

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
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

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
    fullEnd = floorTo(target.width);
    unrolledEnd = floorTo(target.width * target.unroll);
    Value left = make<arith::TruncIOp>(b.getI32Type(),
                                       make<arith::SubIOp>(columns, fullEnd));
    SmallVector<int32_t, 16> steps;
    for (int64_t i = 0; i < target.width; ++i)
      steps.push_back(int32_t(i));
    tailMask = make<arith::CmpIOp>(
        arith::CmpIPredicate::slt,
        Value(make<arith::ConstantOp>(TypedAttr(b.getI32VectorAttr(steps)))),
        Value(make<vector::BroadcastOp>(vectorOf(b.getI32Type()), left)));
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

  void emitColumns(unsigned phase) {
    SmallVector<rt::ReduceOp, 2> reductions;
    bool isCheap = true;
    for (rt::ReduceOp reduce : phases.reductionsIn(phase))
      reductions.push_back(reduce);
    bool writes = false;
    for (unsigned output : phases.outputsIn(phase))
      writes |= !outputOperand(output).isPerRow;
    kernel.walk([&](Operation *op) {
      if (op->getNumResults() == 1 && phases.slotOf(op->getResult(0)) >= 0 &&
          phases.phaseOf(op->getResult(0)) == phase) {
        writes = true;
        isCheap = false;
      }
    });
    if (reductions.empty() && !writes)
      return;
    const int64_t unroll = reductions.empty() || !isCheap ? 1 : target.unroll;
    Values lanes;
    for (rt::ReduceOp reduce : reductions)
      lanes.append(unroll, identityOf(reduce));
    Value start = number(0);
    if (unroll > 1) {
      lanes = emitLoop(phase, start, unrolledEnd, unroll, reductions, lanes);
      start = unrolledEnd;
      lanes = addUp(reductions, lanes, unroll);
    }
    lanes = emitLoop(phase, start, fullEnd, 1, reductions, lanes);
    lanes = emitTail(phase, reductions, lanes);
    for (auto [reduce, lane] : llvm::zip_equal(reductions, lanes))
      uniforms.map(reduce.getResult(), acrossLanes(reduce, lane));
  }

  Values emitLoop(unsigned phase, Value from, Value to, int64_t unroll,
                  ArrayRef<rt::ReduceOp> reductions, const Values &initial) {
    auto loop = scf::ForOp::create(
        b, loc, from, to, number(target.width * unroll), initial,
        [&](OpBuilder &inside, Location, Value column, ValueRange lanes) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inside.getInsertionBlock(),
                              inside.getInsertionPoint());
          Values results(lanes);
          for (int64_t u = 0; u < unroll; ++u) {
            Value at = u == 0 ? column
                              : Value(make<arith::AddIOp>(
                                    column, number(u * target.width)));
            emitBlock(phase, at, Value(), reductions, results, u, unroll);
          }
          scf::YieldOp::create(b, loc, results);
        });
    b.setInsertionPointAfter(loop);
    return Values(loop.getResults());
  }

  Values emitTail(unsigned phase, ArrayRef<rt::ReduceOp> reductions,
                  const Values &initial) {
    Value isLeft =
        make<arith::CmpIOp>(arith::CmpIPredicate::slt, fullEnd, columns);
    SmallVector<Type, 2> types;
    for (Value value : initial)
      types.push_back(value.getType());
    auto branch = scf::IfOp::create(b, loc, types, isLeft, true);
    b.setInsertionPointToStart(branch.thenBlock());
    Values results = initial;
    emitBlock(phase, fullEnd, tailMask, reductions, results, 0, 1);
    if (!types.empty()) { // else there are yields
      scf::YieldOp::create(b, loc, results);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, initial);
    }
    b.setInsertionPointAfter(branch);
    return Values(branch.getResults());
  }

  /// The columns from `column` on; lanes [r * unroll + u] belong to reduction
  /// r.
  void emitBlock(unsigned phase, Value column, Value mask,
                 ArrayRef<rt::ReduceOp> reductions, Values &lanes, int64_t u,
                 int64_t unroll) {
    IRMapping vectors;
    Place place{phase, column, mask, vectors};
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      Value value = op.getResult(0);
      const int slot = phases.slotOf(value);
      if (slot >= 0 && phases.phaseOf(value) == phase)
        store(vectorFor(value, place), slotAt(slot, column), 4, mask);
    }
    for (auto [r, reduce] : llvm::enumerate(reductions)) {
      Value value = vectorFor(rt::ReduceOp(reduce).getValue(), place);
      if (mask)
        value = make<arith::SelectOp>(mask, value, identityOf(reduce));
      Value &lane = lanes[r * unroll + u];
      lane = combine(reduce, lane, value);
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
    Value padded = make<arith::AddIOp>(fullEnd, number(target.width));
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

  //===--- Reductions -----------------------------------------------------===//

  Value identityOf(rt::ReduceOp reduce) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float value = reduce.getKind() == "sum"   ? 0.f
                        : reduce.getKind() == "max" ? -infinity
                                                    : infinity;
    VectorType type = vectorOf(b.getF32Type());
    return make<arith::ConstantOp>(
        TypedAttr(DenseElementsAttr::get(type, value)));
  }
  /// The larger or smaller one; a NaN in either is the result. Which zero it is
  /// follows from the order, not from the processor.
  Value combine(rt::ReduceOp reduce, Value x, Value y) {
    if (reduce.getKind() == "sum")
      return make<arith::AddFOp>(x, y);
    const auto better = reduce.getKind() == "max" ? arith::CmpFPredicate::OGT
                                                  : arith::CmpFPredicate::OLT;
    Value isBetter = make<arith::CmpFOp>(better, y, x);
    Value isNan = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, y, y);
    Value takes = make<arith::OrIOp>(isBetter, isNan);
    return make<arith::SelectOp>(takes, y, x);
  }
  /// The unrolled lanes of each reduction, in pairs.
  Values addUp(ArrayRef<rt::ReduceOp> reductions, Values lanes,
               int64_t unroll) {
    Values results;
    for (auto [r, reduce] : llvm::enumerate(reductions)) {
      Values own(ArrayRef<Value>(lanes).slice(r * unroll, unroll));
      for (size_t half = own.size() / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i)
          own[i] = combine(reduce, own[i], own[i + half]);
      results.push_back(own.front());
    }
    return results;
  }
  Value acrossLanes(rt::ReduceOp reduce, Value lanes) {
    for (int64_t half = target.width / 2; half > 0; half /= 2) {
      SmallVector<int64_t, 8> low, high;
      for (int64_t i = 0; i < half; ++i) {
        low.push_back(i);
        high.push_back(half + i);
      }
      lanes = combine(reduce, make<vector::ShuffleOp>(lanes, lanes, low),
                      make<vector::ShuffleOp>(lanes, lanes, high));
    }
    return make<vector::ExtractOp>(lanes, ArrayRef<int64_t>{0});
  }

  rt::KernelOp kernel;
  const RowTarget &target;
  ModuleOp module;
  RowPhases phases;
  OpBuilder b;
  Location loc;
  Type pointer;
  Value columns, fullEnd, unrolledEnd, tailMask, scratch;
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
