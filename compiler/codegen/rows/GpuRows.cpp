//===- GpuRows.cpp - A kernel's rows on the threads of a GPU --------------===//

#include "compiler/codegen/rows/GpuRows.h"

#include "compiler/codegen/cuda/DeviceFunctions.h"
#include "compiler/codegen/rows/RowBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxWidth = 8;
constexpr int kRowDims = 3;

/// Builds with a builder that loops and branches move.
class Emitter {
public:
  Emitter(OpBuilder &b, Location loc, ModuleOp module)
      : b(b), loc(loc), module(module),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Value number(int64_t value) {
    return make<arith::ConstantOp>(TypedAttr(b.getI64IntegerAttr(value)));
  }
  Value number32(int32_t value) {
    return make<arith::ConstantOp>(TypedAttr(b.getI32IntegerAttr(value)));
  }
  Value add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value multiply(Value x, Value y) { return make<arith::MulIOp>(x, y); }

  /// Calls a device function; the value is null where it gives none.
  Value call(StringRef name, Type result, ValueRange arguments = {}) {
    auto type = LLVM::LLVMFunctionType::get(
        result, llvm::to_vector(arguments.getTypes()));
    if (!module.lookupSymbol(name)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto function = LLVM::LLVMFuncOp::create(b, loc, name, type);
      // Threads come to it together.
      function.setConvergent(true);
    }
    auto made = LLVM::CallOp::create(b, loc, type, name, arguments);
    return made.getNumResults() ? made.getResult() : Value();
  }
  Value word(StringRef name) {
    return make<arith::ExtSIOp>(Type(b.getI64Type()),
                                call(name, b.getI32Type()));
  }

  /// for (i = from; i < to; i += step) body(i)
  void loop(Value from, Value to, Value step,
            llvm::function_ref<void(Value)> body) {
    (void)loop(from, to, step, {},
               [&](Value i, MutableArrayRef<Value>) { body(i); });
  }
  Values loop(Value from, Value to, Value step, const Values &initial,
              llvm::function_ref<void(Value, MutableArrayRef<Value>)> body) {
    auto loop = scf::ForOp::create(
        b, loc, from, to, step, initial,
        [&](OpBuilder &inside, Location, Value i, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(inside.getInsertionBlock(),
                              inside.getInsertionPoint());
          Values values(carried);
          body(i, values);
          scf::YieldOp::create(b, loc, values);
        });
    b.setInsertionPointAfter(loop);
    return Values(loop.getResults());
  }
  void when(Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr) {
    auto branch = scf::IfOp::create(b, loc, condition, bool(otherwise));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    then();
    if (!otherwise)
      return;
    b.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }

  OpBuilder &b;
  Location loc;
  ModuleOp module;
  Type pointer;
};

/// Combines one value of each thread of a block; all get the result.
class BlockReduction {
public:
  BlockReduction(Emitter &e, RowBody &body) : e(e), body(body) {}

  Value run(rt::ReduceOp reduce, Value mine) {
    Type f32 = e.b.getF32Type();
    Value thread = e.call(device::kThread, e.b.getI32Type());
    Value lane = e.make<arith::RemUIOp>(thread, e.number32(device::kWarp));
    Value warp = e.make<arith::DivUIOp>(thread, e.number32(device::kWarp));
    Value warps = e.make<arith::DivUIOp>(
        e.call(device::kThreads, e.b.getI32Type()), e.number32(device::kWarp));
    Value shared = e.call(device::kShared, e.pointer);
    Value ofWarp = acrossWarp(reduce, mine);
    // Nobody may still read what the reduction before left.
    e.call(device::kBarrier, LLVM::LLVMVoidType::get(e.b.getContext()));
    e.when(equal(lane, e.number32(0)), [&] {
      LLVM::StoreOp::create(e.b, e.loc, ofWarp, at(shared, warp), 4);
    });
    e.call(device::kBarrier, LLVM::LLVMVoidType::get(e.b.getContext()));
    Value isThere =
        e.make<arith::CmpIOp>(arith::CmpIPredicate::ult, lane, warps);
    Value index = e.make<arith::SelectOp>(isThere, lane, e.number32(0));
    Value theirs = e.make<LLVM::LoadOp>(f32, at(shared, index), 4u);
    Value identity = body.lanes.across(reduce, {body.lanes.identity(reduce)});
    return acrossWarp(reduce,
                      e.make<arith::SelectOp>(isThere, theirs, identity));
  }

private:
  Value acrossWarp(rt::ReduceOp reduce, Value value) {
    for (int mask = device::kWarp / 2; mask > 0; mask /= 2) {
      Value other =
          e.call(device::kShuffle, e.b.getF32Type(), {value, e.number32(mask)});
      value = body.lanes.combine(reduce, value, other);
    }
    return value;
  }
  Value equal(Value x, Value y) {
    return e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, y);
  }
  Value at(Value shared, Value index) {
    Value wide = e.make<arith::ExtUIOp>(Type(e.b.getI64Type()), index);
    return body.advance(shared, e.multiply(wide, e.number(4)));
  }

  Emitter &e;
  RowBody &body;
};

class GpuRows {
public:
  GpuRows(rt::KernelOp kernel, ModuleOp module)
      : kernel(kernel), phases(kernel), builder(module.getContext()),
        e(builder, kernel.getLoc(), module),
        isMixed(mixesColumns(kernel, phases)) {}

  void run() {
    Block *entry = declare();
    builder.setInsertionPointToStart(entry);
    readArguments(*entry);
    const int64_t width = widest();
    if (width == 1)
      emitGrid(1);
    else
      e.when(
          hasWholeVectors(width), [&] { emitGrid(width); },
          [&] { emitGrid(1); });
    LLVM::ReturnOp::create(builder, e.loc, ValueRange());
  }

private:
  struct Operand : RowOperand {
    Value base, strides[kRowDims]; ///< of elements
  };

  Block *declare() {
    for (const RowOperand &operand : operandsOf(kernel))
      operands.push_back({operand, {}, {}});
    Type word = builder.getI64Type();
    SmallVector<Type> types(operands.size(), e.pointer);
    types.append(1 + kRowDims + kRowDims * operands.size(), word);
    types.append({e.pointer, word});
    builder.setInsertionPointToEnd(e.module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(builder.getContext()), types);
    return LLVM::LLVMFuncOp::create(builder, e.loc, kernel.getSymName(), type)
        .addEntryBlock(builder);
  }

  void readArguments(Block &entry) {
    auto *next = entry.args_begin();
    for (Operand &operand : operands)
      operand.base = *next++;
    columns = *next++;
    for (Value &extent : rows)
      extent = *next++;
    for (Operand &operand : operands)
      for (Value &stride : operand.strides)
        stride = *next++;
    Value given = *next++;
    slotFloats = *next++;
    if (phases.numSlots() > 0)
      scratch = scratchOfBlock(given);
  }

  /// This block's part of what was given, or else of what it shares.
  Value scratchOfBlock(Value given) {
    Value block = e.word(device::kBlock[0]);
    for (int d = 1; d < kRowDims; ++d)
      block = e.add(e.multiply(block, e.word(device::kBlocks[d])),
                    e.word(device::kBlock[d]));
    Value bytes = e.multiply(slotFloats, e.number(4 * phases.numSlots()));
    Value theirs = gep(given, e.multiply(block, bytes));
    Value shared = gep(e.call(device::kShared, e.pointer),
                       e.number(4 * device::kMaxWarps));
    Value isShared = e.make<LLVM::ICmpOp>(LLVM::ICmpPredicate::eq, given,
                                          e.make<LLVM::ZeroOp>(e.pointer));
    return e.make<arith::SelectOp>(isShared, shared, theirs);
  }

  Value gep(Value base, Value bytes) {
    return e.make<LLVM::GEPOp>(e.pointer, builder.getI8Type(), base,
                               ValueRange(bytes));
  }

  /// Elements of a vector: 16 bytes of the narrowest operand.
  int64_t widest() const {
    int64_t bytes = kVectorBytes;
    for (const Operand &operand : operands)
      if (!operand.isPerRow)
        bytes = std::min(bytes, storageBytes(operand.element));
    return std::min(kMaxWidth, kVectorBytes / bytes);
  }

  Value hasWholeVectors(int64_t width) {
    // Addresses in bytes, columns and strides in elements.
    Value all = e.make<arith::RemUIOp>(columns, e.number(width));
    for (const Operand &operand : operands) {
      if (operand.isPerRow)
        continue;
      Value address =
          e.make<LLVM::PtrToIntOp>(Type(builder.getI64Type()), operand.base);
      all = e.make<arith::OrIOp>(
          all, Value(e.make<arith::RemUIOp>(address, e.number(kVectorBytes))));
      for (Value stride : operand.strides)
        all = e.make<arith::OrIOp>(
            all, Value(e.make<arith::RemUIOp>(stride, e.number(width))));
    }
    return e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, all, e.number(0));
  }

  /// Every row of this block, with vectors of that width.
  void emitGrid(int64_t width) {
    const RowTarget target{width, /*lanes=*/width, /*unroll=*/1};
    RowBody body(kernel, phases, target, width > 1 ? kVectorBytes : 0, builder);
    for (const Operand &operand : operands)
      body.operands.push_back(operand);
    body.columns = columns;
    body.slots = {scratch, slotFloats};
    Value thread = e.word(device::kThread), threads = e.word(device::kThreads);
    if (!isMixed) { // x is along the columns
      thread = e.add(thread, e.multiply(e.word(device::kBlock[0]), threads));
      threads = e.multiply(threads, e.word(device::kBlocks[0]));
    }
    first = e.multiply(thread, e.number(width));
    step = e.multiply(threads, e.number(width));
    const int axis = isMixed ? 0 : 1;
    Value count = e.multiply(e.multiply(rows[0], rows[1]), rows[2]);
    e.loop(e.word(device::kBlock[axis]), count, e.word(device::kBlocks[axis]),
           [&](Value row) { emitRow(body, row); });
  }

  /// Which row of each dim: few rows, so their numbers have 32 bits.
  std::array<Value, kRowDims> placeOf(Value row) {
    auto narrow = [&](Value value) {
      return e.make<arith::TruncIOp>(Type(builder.getI32Type()), value);
    };
    auto wide = [&](Value value) {
      return e.make<arith::ExtUIOp>(Type(builder.getI64Type()), value);
    };
    Value left = narrow(row), fast = narrow(rows[0]), middle = narrow(rows[1]);
    Value outer = e.make<arith::DivUIOp>(left, fast);
    return {wide(e.make<arith::RemUIOp>(left, fast)),
            wide(e.make<arith::RemUIOp>(outer, middle)),
            wide(e.make<arith::DivUIOp>(outer, middle))};
  }

  void emitRow(RowBody &body, Value row) {
    const std::array<Value, kRowDims> place = placeOf(row);
    for (auto [operand, here] : llvm::zip_equal(operands, body.operands)) {
      Value elements = e.multiply(place[0], operand.strides[0]);
      for (int d = 1; d < kRowDims; ++d)
        elements = e.add(elements, e.multiply(place[d], operand.strides[d]));
      here.row =
          gep(operand.base,
              e.multiply(elements, e.number(storageBytes(operand.element))));
    }
    body.beginRow();
    for (unsigned phase = 0; phase < phases.numPhases(); ++phase) {
      body.emitUniforms(phase);
      Value isFirst =
          e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, first, e.number(0));
      e.when(isFirst, [&] { body.emitRowOutputs(phase); });
      if (body.hasColumns(phase))
        emitColumns(body, phase);
    }
  }

  void emitColumns(RowBody &body, unsigned phase) {
    SmallVector<rt::ReduceOp, 2> reductions = phases.reductionsIn(phase);
    Values lanes;
    for (rt::ReduceOp reduce : reductions)
      lanes.push_back(body.lanes.identity(reduce));
    lanes =
        e.loop(first, columns, step, lanes,
               [&](Value column, MutableArrayRef<Value> carried) {
                 body.emitBlock(phase, column, Value(), reductions, carried);
               });
    for (auto [reduce, lane] : llvm::zip_equal(reductions, lanes))
      body.setReduced(reduce, BlockReduction(e, body).run(
                                  reduce, body.lanes.across(reduce, {lane})));
  }

  rt::KernelOp kernel;
  RowPhases phases;
  OpBuilder builder;
  Emitter e;
  const bool isMixed;
  SmallVector<Operand, 8> operands; ///< inputs, then outputs
  Value columns, rows[kRowDims], scratch, slotFloats;
  Value first, step; ///< of the columns that this thread takes
};

} // namespace

void emitGpuRows(rt::KernelOp kernel, ModuleOp module) {
  GpuRows(kernel, module).run();
}

} // namespace shardc::codegen
