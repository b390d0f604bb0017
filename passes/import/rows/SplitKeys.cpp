//===- SplitKeys.cpp - Parts of the keys for ranks with the same heads ----===//

#include "dialects/onnx/ops/Source.h"
#include "passes/import/Passes.h"
#include "passes/import/rows/KeyParts.h"

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
      : op(op), query(dist::getDims(op.getQuery().getType())) {}

  void split(int64_t parts) {
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
  const SmallVector<DimExpr, 4> query;
};

} // namespace

/// How many ranks of these would hold the same keys. One where they would rather
/// have no query head at all.
static int64_t copiesOfHeads(PagedAttentionOp op, int64_t ways) {
  const auto heads = dist::getDims(op.getKeys().getType())[1].asConstant(),
             all = dist::getDims(op.getQuery().getType())[1].asConstant();
  if (!heads || !all)
    return 1;
  const int64_t copies = ways / std::gcd(ways, *heads);
  return *heads < ways && *all / *heads >= copies ? copies : 1;
}

SmallVector<PagedAttentionOp> pagedAttentions(ModuleOp module) {
  SmallVector<PagedAttentionOp> all;
  module.walk([&](PagedAttentionOp op) { all.push_back(op); });
  return all;
}

SmallVector<int64_t> copiesOfKeys(ArrayRef<PagedAttentionOp> attentions,
                                  int64_t headWays, int64_t contextWays) {
  SmallVector<int64_t> copies;
  for (PagedAttentionOp op : attentions)
    copies.push_back(contextWays * copiesOfHeads(op, headWays));
  return copies;
}

int64_t mostKeyParts(PagedAttentionOp attention, int64_t copies) {
  const DimExpr places = dist::getDims(attention.getKeys().getType())[2];
  int64_t parts = copies;
  while (copies % parts != 0 || !places.exactDiv(parts))
    --parts;
  return parts;
}

void splitKeys(ArrayRef<PagedAttentionOp> attentions, ArrayRef<int64_t> parts) {
  for (auto [op, count] : llvm::zip(attentions, parts))
    if (count > 1)
      KeySplitter(op).split(count);
}

void warnAboutCopies(ArrayRef<PagedAttentionOp> attentions,
                     ArrayRef<int64_t> copies) {
  size_t first = attentions.size(), others = 0;
  for (size_t i = attentions.size(); i-- > 0;)
    if (mostKeyParts(attentions[i], copies[i]) < copies[i]) {
      others += first < attentions.size();
      first = i;
    }
  if (first == attentions.size())
    return;
  PagedAttentionOp op = attentions[first];
  const int64_t count = copies[first], parts = mostKeyParts(op, count);
  InFlightDiagnostic warning = op.emitWarning("has pages of ");
  warning << dist::getDims(op.getKeys().getType())[2].str()
          << " positions, which do not divide into " << count
          << " parts: " << count / parts
          << " ranks hold the same keys and values";
  if (others > 0)
    warning << ", here and in " << others << " more";
  warning << "; choose --serve=N with a multiple of " << count;
}

namespace {

struct SplitKeys : impl::SplitKeysBase<SplitKeys> {
  using SplitKeysBase::SplitKeysBase;
  SplitKeys(SplitKeysOptions options, FitKeyParts fit)
      : SplitKeysBase(std::move(options)), fit(std::move(fit)) {}

  void runOnOperation() override {
    const SmallVector<PagedAttentionOp> all = pagedAttentions(getOperation());
    const SmallVector<int64_t> copies =
        copiesOfKeys(all, headWays, contextWays);
    SmallVector<int64_t> parts;
    for (auto [op, count] : llvm::zip(all, copies))
      parts.push_back(mostKeyParts(op, count));
    warnAboutCopies(all, copies);
    if (fit && llvm::any_of(parts, [](int64_t count) { return count > 1; }))
      parts = fit(getOperation(), parts);
    splitKeys(all, parts);
  }

  FitKeyParts fit;
};

} // namespace

std::unique_ptr<Pass> createSplitKeys(SplitKeysOptions options,
                                      FitKeyParts fit) {
  return std::make_unique<SplitKeys>(std::move(options), std::move(fit));
}

} // namespace shardc::import
