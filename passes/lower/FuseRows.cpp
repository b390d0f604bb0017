//===- FuseRows.cpp - Calls between library calls become kernels ----------===//

#include "passes/lower/Passes.h"

#include "dialects/onnx/WholeSums.h"
#include "dialects/rt/InOrder.h"
#include "passes/lower/rows/Epilogue.h"
#include "passes/lower/rows/Grouping.h"
#include "passes/lower/rows/RowKernel.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_FUSEROWS
#include "passes/lower/Passes.h.inc"

namespace {

/// Numbers things by their value.
template <typename Key> class Numbers {
public:
  unsigned operator()(const Key &key) {
    return numbers.try_emplace(key, numbers.size()).first->second;
  }

private:
  std::map<Key, unsigned> numbers;
};

/// A program's instructions, seen as Grouping wants them.
class ProgramItems {
public:
  ProgramItems(rt::ProgramOp program, const RowMap &map) {
    bool isLoading = true;
    for (Operation &op : program.getBody().front()) {
      isLoading &= !isa<rt::ReadyOp>(op);
      if (isLoading || isa<rt::ViewOp, rt::AllocOp, rt::FreeOp, rt::ConstantOp,
                           rt::WeightOp, rt::AbsentOp>(op))
        continue;
      add(op, map);
    }
  }

  std::vector<GroupItem> items;
  std::vector<std::optional<RowCall>> calls; ///< parallel to items

private:
  void add(Operation &op, const RowMap &map) {
    GroupItem item;
    item.isBarrier =
        !isa<rt::CallOp, rt::CollectiveOp, rt::SendOp, rt::ReceiveOp>(op);
    // What an op does with a view is known of calls and collectives alone.
    const bool writesAll = isa<rt::ReceiveOp>(op);
    auto access = [&](ValueRange views, bool isWrite) {
      for (Value value : views)
        if (auto view = value.getDefiningOp<rt::ViewOp>())
          (isWrite ? item.writes : item.reads)
              .push_back(bufferNumber(view.getBuffer()));
    };
    std::optional<RowCall> row;
    if (auto call = dyn_cast<rt::CallOp>(op)) {
      access(call.getInputs(), false);
      access(call.getOutputs(), true);
      row = rowCallOf(call, map);
    } else if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
      access(collective.getInput(), false);
      if (collective.getChoices())
        access(collective.getChoices(), false);
      access(collective.getOutput(), true);
    } else {
      access(op.getOperands(), writesAll);
    }
    if (row && llvm::any_of(item.reads, [&](unsigned buffer) {
          return llvm::is_contained(item.writes, buffer);
        }))
      row.reset();
    if (row)
      describe(*row, item);
    items.push_back(std::move(item));
    calls.push_back(std::move(row));
  }

  void describe(const RowCall &row, GroupItem &item) {
    ArrayRef<dist::DimExpr> dims = row.dims;
    item.rows = rowNumber(textOf(dims.drop_back()));
    if (!dims.back().isConstant(1))
      item.columns = columnNumber(dims.back().str());
    for (const RowOperand &operand : row.inputs)
      if (!operand.isAbsent())
        item.inputs.push_back(numbered(operand));
    for (const RowOperand &operand : row.outputs)
      item.outputs.push_back(numbered(operand));
  }

  static std::string textOf(ArrayRef<dist::DimExpr> exprs) {
    std::string text;
    for (dist::DimExpr expr : exprs)
      text += expr.str() + ",";
    return text;
  }

  GroupItem::Operand numbered(const RowOperand &operand) {
    const unsigned buffer = bufferNumber(operand.buffer);
    return {
        operandNumber({buffer, textOf(operand.strides) + operand.offset.str()}),
        buffer};
  }

  unsigned bufferNumber(Value buffer) {
    return bufferNumbers.try_emplace(buffer, bufferNumbers.size())
        .first->second;
  }

  llvm::DenseMap<Value, unsigned> bufferNumbers;
  Numbers<std::string> rowNumber, columnNumber;
  Numbers<std::pair<unsigned, std::string>> operandNumber;
};

struct FuseRowsPass : impl::FuseRowsBase<FuseRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    const RowMap map = allRowOps();
    KernelTable kernels(getOperation());
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<rt::ProgramOp>())) {
      ProgramItems listed(program, map);
      Places places(program.getBody().front());
      for (const auto &group : groupRows(listed.items)) {
        SmallVector<RowCall *, 4> members;
        for (unsigned member : group)
          members.push_back(&*listed.calls[member]);
        if (target == "cuda" && foldIntoProduct(members)) {
          numFolded += members.size();
          continue;
        }
        numFused += members.size() - 1;
        replaceByKernel(members, kernels, places);
      }
    }
    numKernels += kernels.size();
    if (onnx::isSummedInOrder(getOperation()))
      for (auto kernel : getOperation().getOps<rt::KernelOp>())
        kernel->setAttr(rt::kInOrderAttr, UnitAttr::get(&getContext()));
  }
};

} // namespace
} // namespace shardc::lower
