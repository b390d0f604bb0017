//===- RowAttention.cpp - Caches become pools of pages --------------------===//
//
//   present = Concat past, k             pool' = PageWrite pool, k, slots
//   y = Attention q, present, ..         y = PagedAttention q, pool', .., pages
//
// Those of cross-attention are in pages of their own of the same pools
// (EncoderKeys.h).
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Cache.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Pages.h"
#include "passes/import/rows/RowTranslation.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;
using namespace onnx;

/// Where the file itself says how many entries a row holds, a token of a row that
/// holds others has no slot: the step ends with an error.
static Value slotsFor(Value slots, Value lengths, RowBuilder &rows,
                      const TokenSet &set, OpBuilder &builder) {
  const Type i64 = builder.getI64Type(), i1 = builder.getI1Type();
  const Dims ofRows{RowSymbols::rows()}, ofTokens{set.size};
  Value own = rows.cast(rows.reshape(lengths, ofRows), i64);
  Value isSame = rows.make<EqualOp>(i1, ofRows, {own, rows.inputs.past});
  return rows.make<WhereOp>(
      i64, ofTokens,
      {rows.ofTokens(isSame, set), slots, rows.integer(kSlotOfOtherPositions)});
}

/// With encoder keys that come with the step in front, if the pool has any.
LogicalResult RowTranslation::joinEncoderKeys(Operation *append, Value &added,
                                              Value &slots) {
  Value original = encoderKeys.inPool.lookup(append->getOperand(0));
  if (!original)
    return success();
  Value keys = ofEncoder->makeAll(original);
  if (!keys)
    return failure();
  Dims dims = dimsOf(added);
  dims[2] = RowSymbols::encoderKeys();
  if (dimsOf(keys) != dims)
    return refuse(append, "encoder keys of its layer are not one for each of "
                          "the encoder's output");
  joined[append] = keys;
  rows.setLocation(append->getLoc());
  dims[2] = dims[2] + all.set.size;
  added = rows.make<ConcatOp>(elementOf(added), dims, {keys, added},
                              {rows.attribute("axis", 2)});
  slots = rows.make<ConcatOp>(builder.getI64Type(), {dims[2]},
                              {rows.inputs.encoderSlots, slots},
                              {rows.attribute("axis", 0)});
  return success();
}

/// Tokens along that dim; where each is a row of a batch they are along the
/// first.
Value RowTranslation::sideBySide(Value value, int64_t axis) {
  Value made = ofTokens(value, all);
  const auto rank = int64_t(dimsOf(value).size());
  if (!made || !sizes.takesOne || rank <= axis)
    return made;
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(perm[0], perm[axis]);
  return transposed(builder, value.getLoc(), made, perm);
}

LogicalResult RowTranslation::translatePool(Operation *op) {
  Value pool = values.lookup(op->getOperand(0));
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    auto perm = transpose.getPerm();
    if (!perm || (*perm)[0] != 0 || !pool)
      return refuse(op, "it moves the rows of a cache");
    values[transpose.getResult()] =
        transposed(builder, op->getLoc(), pool, *perm);
    return success();
  }
  auto append = dyn_cast<CacheAppendOp>(op);
  int64_t axis = 2;
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    axis = concat.getAxis();
    if (op->getNumOperands() != 2)
      return refuse(op, "it joins a cache with several values");
  }
  if (kindOf(op->getOperand(1)) != RowKind::Tokens || !pool)
    return refuse(op, "what it appends to a cache is not one entry for each "
                      "new position");
  Value added = sideBySide(op->getOperand(1), axis);
  Dims expected = dimsOf(pool);
  expected[0] = 1;
  expected[axis] = all.set.size;
  if (dimsOf(added) != expected)
    return refuse(op, "what it appends to a cache is not one entry for each "
                      "new position");
  Value slots = this->slots;
  if (append) {
    if (kindOf(append.getLengths()) != RowKind::OfRows)
      return refuse(op, "the lengths of its rows are not theirs");
    slots = slotsFor(slots, values.lookup(append.getLengths()), rows, all.set,
                     builder);
  }
  if (failed(joinEncoderKeys(op, added, slots)))
    return failure();
  values[op->getResult(0)] = written[op->getOperand(0)] =
      rows.make<PageWriteOp>(elementOf(pool), dimsOf(pool),
                             {pool, added, slots, rows.inputs.copies},
                             {rows.attribute("axis", axis)});
  return success();
}

/// [1, h, t, k] for each query, or [r, h, 1, k]; null if it is neither.
Value RowTranslation::maskOf(AttentionOp op) {
  Value mask = op->getOperand(AttentionOperand::Mask);
  const Dims original = dimsOf(mask);
  if (original.empty() || original.size() > 4 ||
      kindOf(mask) == RowKind::Encoder)
    return {};
  const DimExpr keys = kindOf(op.getKey()) == RowKind::Encoder
                           ? sizes.encoderKeys()
                           : sizes.keys();
  Value value;
  Dims dims;
  if (kindOf(mask) == RowKind::Tokens) {
    value = sideBySide(mask, 2);
    dims = dimsOf(value);
    dims.insert(dims.begin(), 4 - dims.size(), DimExpr(1));
    if (dims[2] != all.set.size)
      return {};
  } else if (kindOf(mask) == RowKind::Shared) {
    value = values.lookup(mask);
    dims = dimsOf(value);
    dims.insert(dims.begin(), 4 - dims.size(), DimExpr(1));
  } else {
    // [r, 1 of the batch, h, 1, k]
    value = rows.padded(values.lookup(mask), 4);
    dims = dimsOf(value);
    if (!dims[1].isConstant(1))
      return {};
    dims.erase(dims.begin() + 1);
  }
  value = rows.reshape(value, dims);
  if (dims[3].isConstant(1)) {
    dims[3] = keys;
    value = rows.make<ExpandOp>(elementOf(value), dims, {value});
  }
  return dims[3] == keys ? value : Value();
}

/// Why attention's keys and values are in no pages; "" if they are.
std::string RowTranslation::whyNoKeys(AttentionOp op) const {
  const RowKind kind = kindOf(op.getKey());
  if ((kind != RowKind::Pool && kind != RowKind::Encoder) ||
      kindOf(op.getValue()) != kind)
    return "its keys and values are not those of a cache";
  const bool isCross = kind == RowKind::Encoder;
  for (Value all : {op.getKey(), op.getValue()})
    if (dimsOf(all).size() != 4 || dimsOf(all)[0] != sizes.ofRequest() ||
        dimsOf(all)[2] != (isCross ? sizes.encoder : sizes.all()))
      return "its keys and values are not a cache with the new positions "
             "behind it";
  dist::DimsAttr offset = op.getCausalOffsetAttr();
  if (isCross && (op.getIsCausal() || op.getWindow() != 0))
    return "it hides keys of an encoder by where they are";
  if (op.getIsCausal() && (!offset || offset.getValues()[0] != sizes.past))
    return "it counts its queries from another place than behind the cache";
  return "";
}

/// Keys, values, pages, how many keys are before the first query, and the first
/// query of each row: with as many as it has, these are all keys of a row.
SmallVector<Value, 8> RowTranslation::whereKeysAre(AttentionOp op) {
  const RowInputs &in = rows.inputs;
  Value keys = madeOf(op.getKey(), all), pool = madeOf(op.getValue(), all);
  if (kindOf(op.getKey()) == RowKind::Pool)
    return {keys, pool, in.pages, in.past, in.first};
  Value before = rows.binary<SubOp>(in.encoderLengths, rows.counts(),
                                    builder.getI64Type(), {RowSymbols::rows()});
  return {keys, pool, in.encoderPages, before, in.first};
}

LogicalResult RowTranslation::translateAttention(AttentionOp op) {
  if (std::string why = whyNoKeys(op); !why.empty())
    return refuse(op, why);
  if (!madeOf(op.getKey(), all) || !madeOf(op.getValue(), all))
    return refuse(op, "its keys and values are not those of a cache");
  const Dims query = dimsOf(op.getQuery());
  if (kindOf(op.getQuery()) != RowKind::Tokens || query.size() != 4 ||
      query[0] != sizes.ofRequest() || query[2] != sizes.added())
    return refuse(op, "its queries are not the new positions of each head");
  Value none = NoneOp::create(builder, op.getLoc(), builder.getNoneType());
  auto isPresent = [&](unsigned i) {
    return i < op->getNumOperands() &&
           isa<TensorType>(op->getOperand(i).getType());
  };
  Value mask = none, sinks = none;
  if (isPresent(AttentionOperand::Mask) && !(mask = maskOf(op)))
    return refuse(op, "its mask is not one of new positions and of keys");
  if (isPresent(AttentionOperand::Sinks) &&
      !(sinks =
            kindOf(op->getOperand(AttentionOperand::Sinks)) == RowKind::Shared
                ? values.lookup(op->getOperand(AttentionOperand::Sinks))
                : Value()))
    return refuse(op, "its sinks are not the same for all rows");
  SmallVector<Value, 8> operands{sideBySide(op.getQuery(), 2)};
  llvm::append_range(operands, whereKeysAre(op));
  llvm::append_range(operands, ArrayRef{mask, sinks});
  while (isa<NoneType>(operands.back().getType()))
    operands.pop_back();
  SmallVector<NamedAttribute> attributes;
  for (StringRef name :
       {"is_causal", "scale", "softcap", "window", "zero_rows"})
    if (Attribute value = op->getAttr(name))
      attributes.push_back(builder.getNamedAttr(name, value));
  auto dims = sizesOf(op->getResult(0).getType(), all.set.size,
                      /*isOfRows=*/false);
  if (!dims)
    return refuse(op, "its result is not one for each new position");
  if (sizes.takesOne)
    std::swap((*dims)[0], (*dims)[2]);
  Value made = rows.make<PagedAttentionOp>(elementOf(op->getResult(0)), *dims,
                                           operands, attributes);
  all.values[op->getResult(0)] =
      sizes.takesOne ? transposed(builder, op.getLoc(), made, {2, 1, 0, 3})
                     : made;
  return success();
}

} // namespace shardc::import
