//===- RowEmitter.cpp - Loops over rows and columns -----------------------===//

#include "compiler/codegen/rows/RowEmitter.h"

#include "compiler/codegen/rows/RowBody.h"
#include "dialects/rt/InOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

class RowEmitter {
public:
  RowEmitter(rt::KernelOp kernel, const RowTarget &target, ModuleOp module)
      : kernel(kernel), target(target), module(module), phases(kernel),
        b(module.getContext()), loc(kernel.getLoc()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())),
        body(kernel, phases, target, /*alignment=*/0, b), lanes(body.lanes) {}

  void run() {
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()),
        {pointer, pointer, b.getI64Type(), b.getI64Type(), pointer});
    auto function = LLVM::LLVMFuncOp::create(b, loc, kernel.getSymName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    readArguments(entry->getArgument(0), entry->getArgument(1));
    body.slots = {entry->getArgument(4),
                  body.make<arith::AddIOp>(fullEnd, body.number(target.lanes))};
    scf::ForOp::create(b, loc, entry->getArgument(2), entry->getArgument(3),
                       body.number(1), ValueRange(),
                       [&](OpBuilder &, Location, Value row, ValueRange) {
                         emitRow(row);
                         scf::YieldOp::create(b, loc);
                       });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
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
    fullEnd = floorTo(target.lanes);
    unrolledEnd = floorTo(target.lanes * target.unroll);
    Value left = body.make<arith::TruncIOp>(
        Type(b.getI32Type()), body.make<arith::SubIOp>(body.columns, fullEnd));
    Value ends =
        body.make<vector::BroadcastOp>(body.vectorOf(b.getI32Type()), left);
    for (int64_t p = 0; p < lanes.parts(); ++p) {
      SmallVector<int32_t, 16> steps;
      for (int64_t i = 0; i < target.width; ++i)
        steps.push_back(int32_t(p * target.width + i));
      Value numbers =
          body.make<arith::ConstantOp>(TypedAttr(b.getI32VectorAttr(steps)));
      tailMasks.push_back(
          body.make<arith::CmpIOp>(arith::CmpIPredicate::slt, numbers, ends));
    }
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
    // What is expensive keeps the processor busy without. The order of a sum then
    // depends on what else is fused with it, and on zeros behind its summands.
    if (!sums.reductions.empty() && !body.fillsSlots(phase) &&
        !kernel->hasAttr(rt::kInOrderAttr))
      sums.unroll = target.unroll;
    for (rt::ReduceOp reduce : sums.reductions)
      sums.vectors.append(sums.unroll * lanes.parts(), lanes.identity(reduce));
    Value start = body.number(0);
    if (sums.unroll > 1) {
      emitLoop(phase, start, unrolledEnd, sums);
      start = unrolledEnd;
      addUp(sums);
    }
    emitLoop(phase, start, fullEnd, sums);
    emitTail(phase, sums);
    for (auto [r, reduce] : llvm::enumerate(sums.reductions))
      body.setReduced(reduce, lanes.across(reduce, ownVectors(sums, r)));
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
        b, loc, from, to, body.number(target.lanes * sums.unroll), sums.vectors,
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
    Value isLeft = body.make<arith::CmpIOp>(arith::CmpIPredicate::slt, fullEnd,
                                            body.columns);
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
                     : body.make<arith::AddIOp>(column, body.number(more));
  }

  /// `block` counts vectors within the loop's step.
  void emitBlock(unsigned phase, Value column, Value mask, Sums &sums,
                 int64_t block) {
    auto vectorOf = [&](size_t r) -> Value & {
      return sums.vectors[r * sums.unroll * lanes.parts() + block];
    };
    Values own;
    for (size_t r = 0; r < sums.reductions.size(); ++r)
      own.push_back(vectorOf(r));
    body.emitBlock(phase, column, mask, sums.reductions, own);
    for (size_t r = 0; r < sums.reductions.size(); ++r)
      vectorOf(r) = own[r];
  }

  rt::KernelOp kernel;
  const RowTarget &target;
  ModuleOp module;
  RowPhases phases;
  OpBuilder b;
  Location loc;
  Type pointer;
  RowBody body;
  RowLanes &lanes;
  SmallVector<Value, 8> bases, strides; ///< of operands; strides in bytes
  Value fullEnd, unrolledEnd;
  SmallVector<Value, 2> tailMasks; ///< by part of the lanes
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
