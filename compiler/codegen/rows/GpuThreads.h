//===- GpuThreads.h - Loops of a thread, and what a block has together ----===//
#ifndef SHARDC_COMPILER_CODEGEN_ROWS_GPUTHREADS_H
#define SHARDC_COMPILER_CODEGEN_ROWS_GPUTHREADS_H

#include "compiler/codegen/cuda/DeviceFunctions.h"
#include "compiler/codegen/rows/RowBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace shardc::codegen {

/// Builds with a builder that loops and branches move.
class GpuEmitter {
public:
  GpuEmitter(mlir::OpBuilder &b, mlir::Location loc, mlir::ModuleOp module)
      : b(b), loc(loc), module(module),
        pointer(mlir::LLVM::LLVMPointerType::get(b.getContext())) {}

  template <typename Op, typename... Args> mlir::Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  mlir::Value number(int64_t value) {
    return make<mlir::arith::ConstantOp>(
        mlir::TypedAttr(b.getI64IntegerAttr(value)));
  }
  mlir::Value number32(int32_t value) {
    return make<mlir::arith::ConstantOp>(
        mlir::TypedAttr(b.getI32IntegerAttr(value)));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) {
    return make<mlir::arith::MulIOp>(x, y);
  }

  /// Calls a device function; the value is null where it gives none.
  mlir::Value call(llvm::StringRef name, mlir::Type result,
                   mlir::ValueRange arguments = {}) {
    auto type = mlir::LLVM::LLVMFunctionType::get(
        result, llvm::to_vector(arguments.getTypes()));
    if (!module.lookupSymbol(name)) {
      mlir::OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto function = mlir::LLVM::LLVMFuncOp::create(b, loc, name, type);
      // Threads come to it together.
      function.setConvergent(true);
    }
    auto made = mlir::LLVM::CallOp::create(b, loc, type, name, arguments);
    return made.getNumResults() ? made.getResult() : mlir::Value();
  }
  mlir::Value word(llvm::StringRef name) {
    return make<mlir::arith::ExtSIOp>(mlir::Type(b.getI64Type()),
                                      call(name, b.getI32Type()));
  }

  /// for (i = from; i < to; i += step) body(i)
  void loop(mlir::Value from, mlir::Value to, mlir::Value step,
            llvm::function_ref<void(mlir::Value)> body) {
    (void)loop(
        from, to, step, {},
        [&](mlir::Value i, llvm::MutableArrayRef<mlir::Value>) { body(i); });
  }
  Values
  loop(mlir::Value from, mlir::Value to, mlir::Value step,
       const Values &initial,
       llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)>
           body) {
    auto loop = mlir::scf::ForOp::create(
        b, loc, from, to, step, initial,
        [&](mlir::OpBuilder &inside, mlir::Location, mlir::Value i,
            mlir::ValueRange carried) {
          mlir::OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inside.getInsertionBlock(),
                              inside.getInsertionPoint());
          Values values(carried);
          body(i, values);
          mlir::scf::YieldOp::create(b, loc, values);
        });
    b.setInsertionPointAfter(loop);
    return Values(loop.getResults());
  }
  void when(mlir::Value condition, llvm::function_ref<void()> then) {
    auto branch = mlir::scf::IfOp::create(b, loc, condition, false);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    then();
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::ModuleOp module;
  mlir::Type pointer;
};

/// Combines one value of each thread of a block; all get the result.
class BlockReduction {
public:
  BlockReduction(GpuEmitter &e, RowBody &body) : e(e), body(body) {}

  mlir::Value run(rt::ReduceOp reduce, mlir::Value mine) {
    mlir::Type f32 = e.b.getF32Type();
    mlir::Value thread = e.call(device::kThread, e.b.getI32Type());
    mlir::Value lane =
        e.make<mlir::arith::RemUIOp>(thread, e.number32(device::kWarp));
    mlir::Value warp =
        e.make<mlir::arith::DivUIOp>(thread, e.number32(device::kWarp));
    mlir::Value warps = e.make<mlir::arith::DivUIOp>(
        e.call(device::kThreads, e.b.getI32Type()), e.number32(device::kWarp));
    mlir::Value shared = e.call(device::kShared, e.pointer);
    mlir::Value ofWarp = acrossWarp(reduce, mine);
    // Nobody may still read what the reduction before left.
    e.call(device::kBarrier, mlir::LLVM::LLVMVoidType::get(e.b.getContext()));
    e.when(equal(lane, e.number32(0)), [&] {
      mlir::LLVM::StoreOp::create(e.b, e.loc, ofWarp, at(shared, warp), 4);
    });
    e.call(device::kBarrier, mlir::LLVM::LLVMVoidType::get(e.b.getContext()));
    mlir::Value isThere = e.make<mlir::arith::CmpIOp>(
        mlir::arith::CmpIPredicate::ult, lane, warps);
    mlir::Value index =
        e.make<mlir::arith::SelectOp>(isThere, lane, e.number32(0));
    mlir::Value theirs = e.make<mlir::LLVM::LoadOp>(f32, at(shared, index), 4u);
    mlir::Value identity =
        body.lanes.across(reduce, {body.lanes.identity(reduce)});
    return acrossWarp(reduce,
                      e.make<mlir::arith::SelectOp>(isThere, theirs, identity));
  }

private:
  mlir::Value acrossWarp(rt::ReduceOp reduce, mlir::Value value) {
    for (int mask = device::kWarp / 2; mask > 0; mask /= 2) {
      mlir::Value other =
          e.call(device::kShuffle, e.b.getF32Type(), {value, e.number32(mask)});
      value = body.lanes.combine(reduce, value, other);
    }
    return value;
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return e.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, x, y);
  }
  mlir::Value at(mlir::Value shared, mlir::Value index) {
    mlir::Value wide =
        e.make<mlir::arith::ExtUIOp>(mlir::Type(e.b.getI64Type()), index);
    return body.advance(shared, e.multiply(wide, e.number(4)));
  }

  GpuEmitter &e;
  RowBody &body;
};

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_ROWS_GPUTHREADS_H
