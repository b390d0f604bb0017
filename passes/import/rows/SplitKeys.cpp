//===- SplitKeys.cpp - Parts of the keys for ranks with the same heads ----===//

#include "dialects/onnx/ops/Pages.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Passes.h"

#include <numeric>

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_SPLITKEYS
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

class KeySplitter {
public:
  explicit KeySplitter(PagedAttentionOp op)
      : op(op), query(dist::getDims(op.getQuery().getType())),
        keys(dist::getDims(op.getKeys().getType())) {}

  /// How many ranks of these would hold the same keys. One where they would
  /// rather have no query head at all.
  int64_t numCopies(int64_t ways) {
    const auto heads = keys[1].asConstant(), all = query[1].asConstant();
    if (!heads || !all)
      return 1;
    const int64_t copies = ways / std::gcd(ways, *heads);
    return *heads < ways && *all / *heads >= copies ? copies : 1;
  }

  void split(int64_t parts) {
    if (!keys[2].exactDiv(parts)) {
      op.emitWarning("has pages of ")
          << keys[2].str() << " positions, which do not divide into " << parts
          << " parts: " << parts << " ranks hold the same keys and values; "
          << "choose --serve=N with a multiple of " << parts;
      return;
    }
    OpBuilder builder(op);
    SmallVector<Value, 10> operands(op->getOperands());
    Value sinks;
    if (ShapeInference::isPresent(op, PagedOperand::Sinks))
      sinks = operands[PagedOperand::Sinks];
    if (operands.size() == PagedOperand::Sinks + 1)
      operands.pop_back();
    else if (sinks)
      operands[PagedOperand::Sinks] =
          NoneOp::create(builder, op.getLoc(), builder.getNoneType());
    while (isa<NoneType>(operands.back().getType()))
      operands.pop_back();
    Value seen = make(builder, PagedAttentionPartsOp::getOperationName(),
                      seenType(parts), operands, attributes(builder, parts));
    operands.assign({seen});
    if (sinks)
      operands.push_back(sinks);
    op.getResult().replaceAllUsesWith(make(
        builder, MergeAttentionOp::getOperationName(), op.getResult().getType(),
        operands, builder.getNamedAttr("zero_rows", op.getZeroRowsAttr())));
    op.erase();
  }

private:
  Type seenType(int64_t parts) {
    const Type element = getElementTypeOrSelf(op.getQuery().getType());
    const DimExpr columns = dist::getDims(op.getValues().getType())[3];
    return dist::makeType(seenElement(element), {parts, query[1], query[2],
                                                 columns + kSeenStatistics});
  }

  SmallVector<NamedAttribute> attributes(OpBuilder &builder, int64_t parts) {
    SmallVector<NamedAttribute> made{
        builder.getNamedAttr("parts", builder.getI64IntegerAttr(parts))};
    for (NamedAttribute own : op->getAttrs())
      if (own.getName() != op.getZeroRowsAttrName())
        made.push_back(own);
    return made;
  }

  Value make(OpBuilder &builder, StringRef name, Type type,
             ArrayRef<Value> operands, ArrayRef<NamedAttribute> attributes) {
    OperationState state(op.getLoc(), name);
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttributes(attributes);
    return builder.create(state)->getResult(0);
  }

  PagedAttentionOp op;
  const SmallVector<DimExpr, 4> query, keys;
};

struct SplitKeys : impl::SplitKeysBase<SplitKeys> {
  using SplitKeysBase::SplitKeysBase;

  void runOnOperation() override {
    SmallVector<PagedAttentionOp> all;
    getOperation().walk([&](PagedAttentionOp op) { all.push_back(op); });
    for (PagedAttentionOp op : all) {
      KeySplitter splitter(op);
      const int64_t parts = contextWays * splitter.numCopies(headWays);
      if (parts > 1)
        splitter.split(parts);
    }
  }
};

} // namespace
} // namespace shardc::import
