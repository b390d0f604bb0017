//===- Pages.cpp - Shape functions and sharding rules ---------------------===//

#include "dialects/onnx/ops/Pages.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Pages.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerPagesOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Pages.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// PageWrite
//===----------------------------------------------------------------------===//

LogicalResult PageWriteOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> pool = inference.dims(getPool());
  SmallVector<DimExpr, 4> added = inference.dims(getAdded());
  SmallVector<DimExpr, 4> slots = inference.dims(getSlots());
  SmallVector<DimExpr, 4> copies = inference.dims(getCopies());
  if (pool.size() != added.size() || slots.size() != 1 || copies.size() != 2 ||
      !copies[1].isConstant(2))
    return emitOpError("has a pool, new entries, slots and copies of ")
           << pool.size() << ", " << added.size() << ", " << slots.size()
           << " and " << copies.size()
           << " dims, expected as many of the first two, 1, and pairs";
  const int64_t axis = getAxis();
  if (axis <= 0 || axis >= int64_t(pool.size()))
    return emitOpError("has axis ")
           << axis << ", expected 1 to " << pool.size() - 1;
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(*this, GuardKind::Equal, lhs, rhs,
                            "PageWrite: " + what + " " + lhs.str() + " and " +
                                rhs.str() + " differ");
  };
  if (failed(same(added[0], 1, "sizes")) ||
      failed(same(slots[0], added[axis], "numbers of entries")))
    return failure();
  for (size_t d = 1; d < pool.size(); ++d)
    if (int64_t(d) != axis && failed(same(pool[d], added[d], "sizes")))
      return failure();
  inference.setType(getResult(), inference.element(getPool()), pool);
  return success();
}

/// Entries and places are whole; heads and what they have may be split.
ShardingRule PageWriteOp::shardingRule() {
  SmallVector<DimExpr, 4> pool = dist::getDims(getPool().getType());
  SmallVector<DimExpr, 4> added = dist::getDims(getAdded().getType());
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleTensor of, from;
  for (size_t d = 0; d < pool.size(); ++d) {
    const bool isWhole = d == 0 || int64_t(d) == getAxis();
    of.push_back(isWhole ? rule.addDim(pool[d], blocked)
                         : rule.addDim(pool[d]));
    from.push_back(isWhole ? rule.addDim(added[d], blocked) : of.back());
  }
  rule.operands = {of,
                   from,
                   {from[getAxis()]},
                   rule.addBlocked(dist::getDims(getCopies().getType()))};
  rule.results = {of};
  return rule;
}

//===----------------------------------------------------------------------===//
// PagedAttention
//===----------------------------------------------------------------------===//

namespace {
/// The sizes that the operands share.
struct PagedSizes {
  explicit PagedSizes(PagedAttentionOp op) {
    auto dims = [](Value value) { return dist::getDims(value.getType()); };
    query = dims(op.getQuery());
    keys = dims(op.getKeys());
    values = dims(op.getValues());
    pages = dims(op.getPages());
    past = dims(op.getPast());
    first = dims(op.getFirst());
  }
  DimExpr heads() const { return query[1]; }
  DimExpr queries() const { return query[2]; }
  DimExpr rows() const { return pages[0]; }
  /// Places for keys of a row.
  DimExpr places() const { return pages[1] * keys[2]; }

  SmallVector<DimExpr, 4> query, keys, values, pages, past, first;
};
} // namespace

static LogicalResult checkMask(PagedAttentionOp op, ShapeInference &inference,
                               const PagedSizes &sizes) {
  SmallVector<DimExpr, 4> mask =
      inference.dims(op->getOperand(PagedOperand::Mask));
  const bool isOfRows = mask.size() == 4 && mask[2].isConstant(1) &&
                        (mask[0].isConstant(1) || mask[0] == sizes.rows());
  const bool isOfQueries =
      mask.size() == 4 && mask[0].isConstant(1) && mask[2] == sizes.queries();
  if ((!isOfRows && !isOfQueries) ||
      (!mask[1].isConstant(1) && mask[1] != sizes.heads()) ||
      mask[3] != sizes.places())
    return op.emitOpError("has a mask that fits neither the queries nor the "
                          "rows, and the keys that their pages have room for");
  return success();
}

LogicalResult PagedAttentionOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  const PagedSizes sizes(*this);
  if (sizes.query.size() != 4 || sizes.keys.size() != 4 ||
      sizes.values.size() != 4 || sizes.pages.size() != 2 ||
      sizes.past.size() != 1 || sizes.first.size() != 1)
    return emitOpError("expected query, keys and values of 4 dims, pages of 2, "
                       "past and first of 1");
  auto same = [&](DimExpr lhs, DimExpr rhs, StringRef what) {
    return inference.assume(*this, GuardKind::Equal, lhs, rhs,
                            "PagedAttention: " + what + " " + lhs.str() +
                                " and " + rhs.str() + " differ");
  };
  if (failed(same(sizes.query[0], 1, "sizes")) ||
      failed(same(sizes.keys[0], sizes.values[0], "numbers of pages")) ||
      failed(same(sizes.keys[1], sizes.values[1], "heads")) ||
      failed(same(sizes.keys[2], sizes.values[2], "positions of a page")) ||
      failed(same(sizes.query[3], sizes.keys[3], "head sizes")) ||
      failed(same(sizes.past[0], sizes.rows(), "numbers of rows")) ||
      failed(same(sizes.first[0], sizes.rows() + 1, "numbers of rows")))
    return failure();
  if (!sizes.query[1].exactDiv(sizes.keys[1]))
    return emitOpError("has ") << sizes.query[1].str()
                               << " query heads, expected a multiple of the "
                               << sizes.keys[1].str() << " key and value heads";
  if (ShapeInference::isPresent(*this, PagedOperand::Mask) &&
      failed(checkMask(*this, inference, sizes)))
    return failure();
  if (ShapeInference::isPresent(*this, PagedOperand::Sinks) &&
      inference.dims((*this)->getOperand(PagedOperand::Sinks)) !=
          SmallVector<DimExpr, 4>{sizes.heads()})
    return emitOpError("has sinks that are not one for each of the ")
           << sizes.heads().str() << " query heads";
  inference.setType(
      getResult(), inference.element(getQuery()),
      {sizes.query[0], sizes.query[1], sizes.query[2], sizes.values[3]});
  return success();
}

/// Query heads are kv heads x groups; rows, queries and pages stay whole.
ShardingRule PagedAttentionOp::shardingRule() {
  const PagedSizes sizes(*this);
  const FactorClass blocked = FactorClass::NeedsReplication;
  ShardingRule rule;
  RuleDim kvHeads = rule.addDim(sizes.keys[1]);
  RuleDim groups = rule.addDim(*sizes.query[1].exactDiv(sizes.keys[1]));
  RuleDim heads = kvHeads;
  for (const auto &segment : groups.segments) {
    if (heads.segments.empty())
      heads.segments.emplace_back();
    llvm::append_range(heads.segments.front(), segment);
  }
  RuleDim queries = rule.addDim(sizes.queries(), blocked);
  RuleDim headSize = rule.addDim(sizes.query[3], blocked);
  RuleDim valueSize = rule.addDim(sizes.values[3]);
  RuleTensor pool = rule.addBlocked({sizes.keys[0], sizes.keys[2]});
  RuleTensor pages = rule.addBlocked(sizes.pages);
  rule.operands = {{RuleDim::none(), heads, queries, headSize},
                   {pool[0], kvHeads, pool[1], headSize},
                   {pool[0], kvHeads, pool[1], valueSize},
                   pages,
                   {pages[0]},
                   rule.addBlocked(sizes.first)};
  rule.operands.resize(getNumOperands());
  if (ShapeInference::isPresent(*this, PagedOperand::Mask)) {
    SmallVector<DimExpr, 4> mask =
        dist::getDims(getOperand(PagedOperand::Mask).getType());
    RuleTensor &of = rule.operands[PagedOperand::Mask];
    of = {mask[0].isConstant(1) ? RuleDim::none() : pages[0],
          mask[1].isConstant(1) ? RuleDim::none() : heads,
          mask[2].isConstant(1) ? RuleDim::none() : queries,
          rule.addDim(mask[3], blocked)};
  }
  if (ShapeInference::isPresent(*this, PagedOperand::Sinks))
    rule.operands[PagedOperand::Sinks] = {heads};
  rule.results = {{RuleDim::none(), heads, queries, valueSize}};
  return rule;
}

/// As if each query saw all keys of one row.
DimExpr PagedAttentionOp::multiplyAdds() {
  const PagedSizes sizes(*this);
  return sizes.heads() * sizes.queries() * sizes.places() *
         (sizes.query[3] + sizes.values[3]);
}

} // namespace shardc::onnx
