//===- RowEmitter.cpp - Loops over rows and columns -----------------------===//

#include "compiler/codegen/rows/RowEmitter.h"

#include "compiler/codegen/rows/RowBody.h"
#include "runtime/artifact/Generated.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

artifact::ElementType artifactElement(Type element) {
  return element.isF32()    ? artifact::ElementType_Float32
         : element.isF16()  ? artifact::ElementType_Float16
         : element.isBF16() ? artifact::ElementType_BFloat16
                            : artifact::ElementType_Bool;
}

class RowEmitter {
public:
  RowEmitter(rt::KernelOp kernel, const RowTarget &target, ModuleOp module)
      : kernel(kernel), target(target), module(module), phases(kernel),
        b(module.getContext()), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())),
        body(kernel, phases, target.width, /*alignment=*/0, b) {}

  void run() {
    emitForm();
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()),
        {pointer, pointer, b.getI64Type(), b.getI64Type(), pointer});
    auto function = LLVM::LLVMFuncOp::create(b, loc, kernel.getSymName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    readArguments(entry->getArgument(0), entry->getArgument(1));
    body.slots = {entry->getArgument(4),
                  body.make<arith::AddIOp>(fullEnd, body.number(target.width))};
    scf::ForOp::create(b, loc, entry->getArgument(2), entry->getArgument(3),
                       body.number(1), ValueRange(),
                       [&](OpBuilder &, Location, Value row, ValueRange) {
                         emitRow(row);
                         scf::YieldOp::create(b, loc);
                       });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
  /// What the runtime checks calls against.
  void emitForm() {
    artifact::GeneratedForm form;
    form.numInputs = int32_t(kernel.getInputKinds().size());
    form.numOutputs = int32_t(kernel.getOutputKinds().size());
    for (const RowOperand &operand : operandsOf(kernel))
      form.operands.push_back(artifact::generatedOperand(
          artifactElement(operand.element), operand.isPerRow));
    form.slots = int32_t(phases.numSlots());
    form.mixesColumns = mixesColumns(kernel, phases);
    std::vector<int32_t> words = artifact::wordsOf(form);
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI32Type(), words.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::External,
                           (kernel.getSymName() + artifact::kFormSuffix).str(),
                           b.getI32TensorAttr(words));
  }

  void readArguments(Value pointers, Value sizes) {
    auto word = [&](Type type, Value array, int64_t index) {
      return body.make<LLVM::LoadOp>(
          type, body.advance(array, body.number(8 * index)), 8u);
    };
    body.columns = word(b.getI64Type(), sizes, 0);
    for (RowOperand operand : operandsOf(kernel)) {
      const auto index = int64_t(body.operands.size());
      Value stride = word(b.getI64Type(), sizes, index + 1);
      bases.push_back(word(pointer, pointers, index));
      strides.push_back(body.make<arith::MulIOp>(
          stride, body.number(storageBytes(operand.element))));
      body.operands.push_back(operand);
    }
    auto floorTo = [&](int64_t unit) {
      return body.make<arith::SubIOp>(
          body.columns,
          body.make<arith::RemUIOp>(body.columns, body.number(unit)));
    };
    fullEnd = floorTo(target.width);
    unrolledEnd = floorTo(target.width * target.unroll);
    Value left = body.make<arith::TruncIOp>(
        Type(b.getI32Type()), body.make<arith::SubIOp>(body.columns, fullEnd));
    SmallVector<int32_t, 16> steps;
    for (int64_t i = 0; i < target.width; ++i)
      steps.push_back(int32_t(i));
    tailMask = body.make<arith::CmpIOp>(
        arith::CmpIPredicate::slt,
        body.make<arith::ConstantOp>(TypedAttr(b.getI32VectorAttr(steps))),
        body.make<vector::BroadcastOp>(body.vectorOf(b.getI32Type()), left));
  }

  void emitRow(Value row) {
    body.beginRow();
    for (auto [operand, base, stride] :
         llvm::zip_equal(body.operands, bases, strides))
      operand.row = body.advance(base, body.make<arith::MulIOp>(row, stride));
    for (unsigned phase = 0; phase < phases.numPhases(); ++phase) {
      body.emitUniforms(phase);
      body.emitRowOutputs(phase);
      if (body.hasColumns(phase))
        emitColumns(phase);
    }
  }

  void emitColumns(unsigned phase) {
    const SmallVector<rt::ReduceOp, 2> reductions = phases.reductionsIn(phase);
    // Sums of what is cheap wait for each other; exp and its like do not.
    const int64_t unroll =
        reductions.empty() || body.fillsSlots(phase) ? 1 : target.unroll;
    Values lanes;
    for (rt::ReduceOp reduce : reductions)
      lanes.append(unroll, body.identityOf(reduce));
    Value start = body.number(0);
    if (unroll > 1) {
      lanes = emitLoop(phase, start, unrolledEnd, unroll, reductions, lanes);
      start = unrolledEnd;
      lanes = addUp(reductions, lanes, unroll);
    }
    lanes = emitLoop(phase, start, fullEnd, 1, reductions, lanes);
    lanes = emitTail(phase, reductions, lanes);
    for (auto [reduce, lane] : llvm::zip_equal(reductions, lanes))
      body.setReduced(reduce, body.acrossLanes(reduce, lane));
  }

  /// Lanes [r * unroll + u] belong to reduction r.
  Values emitLoop(unsigned phase, Value from, Value to, int64_t unroll,
                  ArrayRef<rt::ReduceOp> reductions, const Values &initial) {
    auto loop = scf::ForOp::create(
        b, loc, from, to, body.number(target.width * unroll), initial,
        [&](OpBuilder &inside, Location, Value column, ValueRange lanes) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inside.getInsertionBlock(),
                              inside.getInsertionPoint());
          Values results(lanes);
          for (int64_t u = 0; u < unroll; ++u) {
            Value at = u == 0 ? column
                              : body.make<arith::AddIOp>(
                                    column, body.number(u * target.width));
            Values own;
            for (size_t r = 0; r < reductions.size(); ++r)
              own.push_back(results[r * unroll + u]);
            body.emitBlock(phase, at, Value(), reductions, own);
            for (size_t r = 0; r < reductions.size(); ++r)
              results[r * unroll + u] = own[r];
          }
          scf::YieldOp::create(b, loc, results);
        });
    b.setInsertionPointAfter(loop);
    return Values(loop.getResults());
  }

  Values emitTail(unsigned phase, ArrayRef<rt::ReduceOp> reductions,
                  const Values &initial) {
    Value isLeft = body.make<arith::CmpIOp>(arith::CmpIPredicate::slt, fullEnd,
                                            body.columns);
    SmallVector<Type, 2> types;
    for (Value value : initial)
      types.push_back(value.getType());
    auto branch = scf::IfOp::create(b, loc, types, isLeft, true);
    b.setInsertionPointToStart(branch.thenBlock());
    Values results = initial;
    body.emitBlock(phase, fullEnd, tailMask, reductions, results);
    if (!types.empty()) { // else there are yields
      scf::YieldOp::create(b, loc, results);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, initial);
    }
    b.setInsertionPointAfter(branch);
    return Values(branch.getResults());
  }

  /// The unrolled lanes of each reduction, in pairs.
  Values addUp(ArrayRef<rt::ReduceOp> reductions, const Values &lanes,
               int64_t unroll) {
    Values results;
    for (auto [r, reduce] : llvm::enumerate(reductions)) {
      Values own(ArrayRef<Value>(lanes).slice(r * unroll, unroll));
      for (size_t half = own.size() / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i)
          own[i] = body.combine(reduce, own[i], own[i + half]);
      results.push_back(own.front());
    }
    return results;
  }

  rt::KernelOp kernel;
  const RowTarget &target;
  ModuleOp module;
  RowPhases phases;
  OpBuilder b;
  Location loc;
  Type pointer;
  RowBody body;
  SmallVector<Value, 8> bases, strides; ///< of operands; strides in bytes
  Value fullEnd, unrolledEnd, tailMask;
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
