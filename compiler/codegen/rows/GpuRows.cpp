//===- GpuRows.cpp - A kernel's rows on the threads of a GPU --------------===//

#include "compiler/codegen/rows/GpuRows.h"

#include "compiler/codegen/rows/GpuThreads.h"

using namespace mlir;

namespace shardc::codegen {

namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int64_t kMaxWidth = 8;
constexpr int kRowDims = 3;
constexpr RowTarget kElementTarget = {/*width=*/1, /*lanes=*/1, /*unroll=*/1};

class GpuRows {
public:
  GpuRows(rt::KernelOp kernel, ModuleOp module)
      : kernel(kernel), phases(kernel), builder(module.getContext()),
        e(builder, kernel.getLoc(), module),
        isMixed(mixesColumns(kernel, phases)), width(widest(kernel)),
        vectorTarget{width, /*lanes=*/width, /*unroll=*/1},
        vectors(kernel, phases, vectorTarget, width > 1 ? kVectorBytes : 0,
                builder),
        elements(kernel, phases, kElementTarget, /*alignment=*/0, builder) {}

  void run() {
    Block *entry = declare();
    builder.setInsertionPointToStart(entry);
    readArguments(*entry);
    emitGrid();
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
  static int64_t widest(rt::KernelOp kernel) {
    int64_t bytes = kVectorBytes;
    for (const RowOperand &operand : operandsOf(kernel))
      if (!operand.isPerRow)
        bytes = std::min(bytes, storageBytes(operand.element));
    return std::min(kMaxWidth, kVectorBytes / bytes);
  }

  /// Every row of this block.
  void emitGrid() {
    for (RowBody *body : {&vectors, &elements}) {
      for (const Operand &operand : operands)
        body->operands.push_back(operand);
      body->columns = columns;
    }
    thread = e.word(device::kThread);
    threads = e.word(device::kThreads);
    Value row = e.word(device::kBlock[0]), step = e.word(device::kBlocks[0]);
    if (!isMixed) { // x is along the columns
      const auto [group, groups] = shareRows();
      thread = e.add(thread, e.multiply(row, threads));
      threads = e.multiply(threads, step);
      row = e.add(e.multiply(e.word(device::kBlock[1]), groups), group);
      step = e.multiply(e.word(device::kBlocks[1]), groups);
    }
    Value count = e.multiply(e.multiply(rows[0], rows[1]), rows[2]);
    e.loop(row, count, step, [&](Value at) { emitRow(at); });
  }

  /// Of short rows a block takes several at once: as long as half of the
  /// threads have a vector for each column, they are two groups. Leaves the
  /// thread's place in its group; which that is, and how many there are.
  std::pair<Value, Value> shareRows() {
    Type i32 = builder.getI32Type();
    Value all = e.make<arith::TruncIOp>(i32, threads);
    Value own = e.make<arith::TruncIOp>(i32, thread);
    Value lanes = all;
    for (int i = device::kWarp; i > 1; i /= 2) { // blocks are of whole warps
      Value half = e.make<arith::ShRUIOp>(lanes, e.number32(1));
      Value reach = e.multiply(wide(half), e.number(width));
      Value isEnough =
          e.make<arith::CmpIOp>(arith::CmpIPredicate::sge, reach, columns);
      lanes = e.make<arith::SelectOp>(isEnough, half, lanes);
    }
    thread = wide(e.make<arith::RemUIOp>(own, lanes));
    threads = wide(lanes);
    return {wide(e.make<arith::DivUIOp>(own, lanes)),
            wide(e.make<arith::DivUIOp>(all, lanes))};
  }

  Value wide(Value value) {
    return e.make<arith::ExtUIOp>(Type(builder.getI64Type()), value);
  }

  /// Which row of each dim: few rows, so their numbers have 32 bits.
  std::array<Value, kRowDims> placeOf(Value row) {
    auto narrow = [&](Value value) {
      return e.make<arith::TruncIOp>(Type(builder.getI32Type()), value);
    };
    Value left = narrow(row), fast = narrow(rows[0]), middle = narrow(rows[1]);
    Value outer = e.make<arith::DivUIOp>(left, fast);
    return {wide(e.make<arith::RemUIOp>(left, fast)),
            wide(e.make<arith::RemUIOp>(outer, middle)),
            wide(e.make<arith::DivUIOp>(outer, middle))};
  }

  void emitRow(Value row) {
    const std::array<Value, kRowDims> place = placeOf(row);
    for (auto [operand, here] : llvm::zip_equal(operands, vectors.operands)) {
      Value elementsBefore = e.multiply(place[0], operand.strides[0]);
      for (int d = 1; d < kRowDims; ++d)
        elementsBefore =
            e.add(elementsBefore, e.multiply(place[d], operand.strides[d]));
      here.row = gep(
          operand.base,
          e.multiply(elementsBefore, e.number(storageBytes(operand.element))));
    }
    // Which thread has which slot depends on how a row is aligned: those of the
    // row before are read before others fill them. Later phases come behind a
    // reduction, which waits.
    if (vectors.fillsSlots(0))
      e.call(device::kBarrier, LLVM::LLVMVoidType::get(builder.getContext()));
    findVectors();
    vectors.beginRow();
    for (unsigned phase = 0; phase < phases.numPhases(); ++phase) {
      vectors.emitUniforms(phase);
      Value isFirst =
          e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, thread, e.number(0));
      e.when(isFirst, [&] { vectors.emitRowOutputs(phase); });
      if (vectors.hasColumns(phase))
        emitColumns(phase);
    }
  }

  /// Where the vectors of the row at hand begin and end: at multiples of 16
  /// bytes of every operand, or nowhere.
  void findVectors() {
    begin = end = e.number(0);
    if (width > 1) {
      begin = columnsBefore();
      Value left = e.make<arith::SubIOp>(columns, begin);
      Value rest = e.make<arith::RemUIOp>(left, e.number(width));
      end = e.make<arith::SubIOp>(columns, rest);
    }
    if (phases.numSlots() == 0)
      return;
    // Slots of vectors are aligned, too.
    Value shift = e.make<arith::AndIOp>(
        Value(e.make<arith::SubIOp>(e.number(0), begin)), e.number(width - 1));
    vectors.slots = {gep(scratch, e.multiply(shift, e.number(4))), slotFloats};
  }

  /// The columns that come before whole vectors, or all.
  Value columnsBefore() {
    Value before, misfits = e.number(0);
    SmallVector<const RowOperand *, 8> along;
    for (const RowOperand &operand : vectors.operands)
      if (!operand.isPerRow)
        along.push_back(&operand);
    llvm::stable_sort(along, [](const RowOperand *x, const RowOperand *y) {
      return storageBytes(x->element) < storageBytes(y->element);
    });
    for (const RowOperand *operand : along) {
      Value bytes = e.number(storageBytes(operand->element));
      Value address =
          e.make<LLVM::PtrToIntOp>(Type(builder.getI64Type()), operand->row);
      if (!before) { // the narrowest one
        Value element = e.make<arith::DivUIOp>(address, bytes);
        Value rest = e.make<arith::SubIOp>(e.number(0), element);
        before = e.make<arith::MinSIOp>(
            columns, Value(e.make<arith::AndIOp>(rest, e.number(width - 1))));
      }
      Value first = e.add(address, e.multiply(before, bytes));
      misfits = e.make<arith::OrIOp>(misfits, first);
    }
    Value misfit = e.make<arith::AndIOp>(misfits, e.number(kVectorBytes - 1));
    Value fits =
        e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, misfit, e.number(0));
    return e.make<arith::SelectOp>(fits, before, columns);
  }

  void emitColumns(unsigned phase) {
    SmallVector<rt::ReduceOp, 2> reductions = phases.reductionsIn(phase);
    Values sums = emitElements(phase, reductions);
    if (width > 1)
      for (auto [reduce, sum, ofVectors] :
           llvm::zip_equal(reductions, sums, emitVectors(phase, reductions)))
        sum = vectors.lanes.combine(reduce, sum, ofVectors);
    for (auto [reduce, sum] : llvm::zip_equal(reductions, sums))
      vectors.setReduced(reduce, BlockReduction(e, vectors).run(reduce, sum));
  }

  /// Of whole vectors: what this thread's columns add up to.
  Values emitVectors(unsigned phase, ArrayRef<rt::ReduceOp> reductions) {
    Value first = e.add(begin, e.multiply(thread, e.number(width)));
    return sumUp(vectors, reductions, first, end,
                 e.multiply(threads, e.number(width)), phase,
                 [&](Value column) { return column; });
  }

  /// Of the columns before and behind them.
  Values emitElements(unsigned phase, ArrayRef<rt::ReduceOp> reductions) {
    elements.takeRow(vectors);
    Value left = e.make<arith::SubIOp>(columns, end);
    return sumUp(elements, reductions, thread, e.add(begin, left), threads,
                 phase, [&](Value i) {
                   Value behind = e.add(i, e.make<arith::SubIOp>(end, begin));
                   Value isBefore = e.make<arith::CmpIOp>(
                       arith::CmpIPredicate::slt, i, begin);
                   return Value(e.make<arith::SelectOp>(isBefore, i, behind));
                 });
  }

  Values sumUp(RowBody &body, ArrayRef<rt::ReduceOp> reductions, Value from,
               Value to, Value step, unsigned phase,
               llvm::function_ref<Value(Value)> columnOf) {
    Values sums;
    for (rt::ReduceOp reduce : reductions)
      sums.push_back(body.lanes.identity(reduce));
    sums = e.loop(
        from, to, step, sums, [&](Value i, MutableArrayRef<Value> carried) {
          body.emitBlock(phase, columnOf(i), Value(), reductions, carried);
        });
    for (auto [reduce, sum] : llvm::zip_equal(reductions, sums))
      sum = body.lanes.across(reduce, {sum});
    return sums;
  }

  rt::KernelOp kernel;
  RowPhases phases;
  OpBuilder builder;
  GpuEmitter e;
  const bool isMixed;
  const int64_t width; ///< of a vector
  const RowTarget vectorTarget;
  RowBody vectors, elements;
  SmallVector<Operand, 8> operands; ///< inputs, then outputs
  Value columns, rows[kRowDims], scratch, slotFloats;
  Value thread, threads; ///< of those that share the columns of a row
  Value begin, end;      ///< columns of vectors, of the row at hand
};

} // namespace

void emitGpuRows(rt::KernelOp kernel, ModuleOp module) {
  GpuRows(kernel, module).run();
}

} // namespace shardc::codegen
