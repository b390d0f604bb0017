//===- Contraction.cpp - Shape functions and sharding rules ---------------===//

#include "dialects/onnx/ops/Contraction.h"

#include "dialects/onnx/BroadcastTo.h"
#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Windows.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Contraction.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerContractionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Contraction.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// MatMul
//===----------------------------------------------------------------------===//

/// Vectors become matrices with a dim of 1, which the result loses again.
static LogicalResult inferVectorProduct(MatMulOp op,
                                        ShapeInference &inference) {
  SmallVector<DimExpr, 4> lhsDims = inference.dims(op.getLhs());
  SmallVector<DimExpr, 4> rhsDims = inference.dims(op.getRhs());
  bool isRow = lhsDims.size() == 1, isColumn = rhsDims.size() == 1;
  if (isRow)
    lhsDims.insert(lhsDims.begin(), 1);
  if (isColumn)
    rhsDims.push_back(1);
  Value lhs = inference.reshape(op, op.getLhs(), lhsDims);
  Value rhs = inference.reshape(op, op.getRhs(), rhsDims);
  auto product = inference.create<MatMulOp>(op, {lhs, rhs});
  if (!product)
    return failure();
  SmallVector<DimExpr, 4> dims = inference.dims(product);
  if (isColumn)
    dims.pop_back();
  if (isRow)
    dims.erase(dims.end() - (isColumn ? 1 : 2));
  inference.replace(op, inference.reshape(op, product, dims));
  return success();
}

static LogicalResult checkContracted(Operation *op, ShapeInference &inference,
                                     DimExpr lhs, DimExpr rhs) {
  return inference.assume(op, GuardKind::Equal, lhs, rhs,
                          op->getName().stripDialect() + ": sizes " +
                              lhs.str() + " and " + rhs.str() +
                              " of the contracted dim differ");
}

LogicalResult MatMulOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> lhs = inference.dims(getLhs());
  SmallVector<DimExpr, 4> rhs = inference.dims(getRhs());
  if (lhs.empty() || rhs.empty())
    return emitOpError("has a scalar operand, expected at least 1 dim");
  if (lhs.size() == 1 || rhs.size() == 1)
    return inferVectorProduct(*this, inference);
  if (failed(
          checkContracted(*this, inference, lhs.back(), rhs[rhs.size() - 2])))
    return failure();
  auto dims = inference.broadcast(*this, ArrayRef(lhs).drop_back(2),
                                  ArrayRef(rhs).drop_back(2));
  if (failed(dims))
    return failure();
  dims->push_back(lhs[lhs.size() - 2]);
  dims->push_back(rhs.back());
  inference.setType(getResult(), inference.element(getLhs()), *dims);
  return success();
}

ShardingRule MatMulOp::shardingRule() {
  return einsumRule(*this, "... m k, ... k n -> ... m n");
}

PartialRule MatMulOp::partialRule() { return PartialRule::Multilinear; }

DimExpr MatMulOp::multiplyAdds() {
  return product(dist::getDims(getResult().getType())) *
         dist::getDims(getLhs().getType()).back();
}

//===----------------------------------------------------------------------===//
// Gemm
//===----------------------------------------------------------------------===//

/// As MatMul, whose kernels take quantised weights as they are.
static LogicalResult inferQuantizedGemm(GemmOp op, ShapeInference &inference) {
  Decomposition d(op, inference);
  auto scaled = [&](Value value, const APFloat &factor) {
    return factor.isExactlyValue(1)
               ? value
               : d.mul(value,
                       d.number(d.element(value), factor.convertToFloat()));
  };
  Value lhs = op.getTransA() ? d.transposeLast(op.getLhs()) : op.getLhs();
  Value rhs = op.getTransB() ? d.transposeLast(op.getRhs()) : op.getRhs();
  Value result = scaled(d.matmul(lhs, rhs), op.getAlpha());
  if (Value addend = d.operand(2))
    result = d.add(result, scaled(addend, op.getBeta()));
  return d.replaceBy({result});
}

LogicalResult GemmOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  SmallVector<DimExpr, 4> lhs = inference.dims(getLhs());
  SmallVector<DimExpr, 4> rhs = inference.dims(getRhs());
  if (getRhs().getDefiningOp<DequantizeLinearOp>())
    return inferQuantizedGemm(*this, inference);
  if (getTransA())
    std::swap(lhs[0], lhs[1]);
  if (getTransB())
    std::swap(rhs[0], rhs[1]);
  if (failed(checkContracted(*this, inference, lhs[1], rhs[0])))
    return failure();
  SmallVector<DimExpr, 4> dims = {lhs[0], rhs[1]};
  for (Value addend : getAddend()) {
    if (failed(broadcastTo(inference, *this, dims, inference.dims(addend),
                           "an addend")))
      return failure();
  }
  inference.setType(getResult(), inference.element(getLhs()), dims);
  return success();
}

ShardingRule GemmOp::shardingRule() {
  std::string text = getTransA() ? "k m, " : "m k, ";
  text += getTransB() ? "n k, " : "k n, ";
  size_t rank = 0;
  for (Value addend : getAddend())
    rank = dist::getDims(addend.getType()).size();
  text += rank == 0 ? "()" : rank == 1 ? "n" : "m n";
  return einsumRule(*this, text + " -> m n");
}

PartialRule GemmOp::partialRule() { return PartialRule::Affine; }

DimExpr GemmOp::multiplyAdds() {
  SmallVector<DimExpr, 4> lhs = dist::getDims(getLhs().getType());
  return product(dist::getDims(getResult().getType())) *
         lhs[getTransA() ? 0 : 1];
}

//===----------------------------------------------------------------------===//
// Conv
//===----------------------------------------------------------------------===//

/// Fills in attributes that have a default, checks the lengths of all.
static LogicalResult completeConv(ConvOp op, ArrayRef<DimExpr> filter) {
  size_t spatial = filter.size() - 2;
  auto kernel = asConstants(filter.drop_front(2));
  if (!kernel)
    return op.emitOpError("has a filter of symbolic sizes");
  if (failed(checkNumbers(op, "a kernel size", *kernel)))
    return failure();
  if (!op.getKernelShape())
    op.setKernelShape(ArrayRef<int64_t>(*kernel));
  if (*op.getKernelShape() != ArrayRef<int64_t>(*kernel))
    return op.emitOpError("has a kernel_shape that is not its filter's");
  SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
  if (!op.getStrides())
    op.setStrides(ArrayRef<int64_t>(ones));
  if (!op.getDilations())
    op.setDilations(ArrayRef<int64_t>(ones));
  if (!op.getPads())
    op.setPads(ArrayRef<int64_t>(zeros));
  if (op.getStrides()->size() != spatial ||
      op.getDilations()->size() != spatial ||
      op.getPads()->size() != 2 * spatial)
    return op.emitOpError("has strides, dilations or pads of another number of "
                          "dims, expected ")
           << spatial << " spatial dims";
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(*op.getStrides(), isPositive) ||
      !llvm::all_of(*op.getDilations(), isPositive))
    return op.emitOpError("has strides or dilations below 1");
  return success();
}

/// auto_pad becomes pads: as many as give ceil(size / stride) results. Where they
/// depend on a symbol they are an op of their own, and `counts` are the results.
static LogicalResult resolveAutoPad(ConvOp op, ShapeInference &inference,
                                    ArrayRef<DimExpr> input,
                                    SmallVectorImpl<DimExpr> &counts) {
  StringRef mode = op.getAutoPad();
  if (mode == "NOTSET" || mode == "VALID") {
    op.setAutoPad("NOTSET");
    return success();
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER")
    return op.emitOpError("has auto_pad ")
           << mode << ", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  size_t spatial = input.size() - 2;
  SmallVector<int64_t> pads(2 * spatial);
  SmallVector<SamePads> borders;
  bool depends = false;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t stride = (*op.getStrides())[d];
    int64_t window =
        (*op.getDilations())[d] * ((*op.getKernelShape())[d] - 1) + 1;
    std::optional<int64_t> beyond = coveredBeyond(input[2 + d], stride);
    borders.push_back(
        samePads(input[2 + d], stride, window, mode == "SAME_UPPER"));
    depends |= !beyond;
    int64_t total = std::max<int64_t>(0, window - stride + beyond.value_or(0));
    int64_t minor = total / 2, major = total - minor;
    pads[d] = mode == "SAME_UPPER" ? minor : major;
    pads[spatial + d] = mode == "SAME_UPPER" ? major : minor;
  }
  if (depends) {
    pads.assign(2 * spatial, 0);
    for (auto [d, border] : llvm::enumerate(borders)) {
      counts.push_back(border.count);
      if (failed(inference.assume(op, GuardKind::AtLeast, input[2 + d], 1,
                                  "Conv: the image is empty")))
        return failure();
    }
    if (!padImage(op, inference, borders, 0))
      return failure();
  }
  op.setPads(ArrayRef<int64_t>(pads));
  op.setAutoPad("NOTSET");
  return success();
}

LogicalResult ConvOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  SmallVector<DimExpr, 4> input = inference.dims(getInput());
  SmallVector<DimExpr, 4> filter = inference.dims(getFilter());
  if (input.size() != filter.size())
    return emitOpError("has operands of ")
           << input.size() << " and " << filter.size()
           << " dims, expected the same number";
  SmallVector<DimExpr> counts;
  if (failed(completeConv(*this, filter)) ||
      failed(resolveAutoPad(*this, inference, input, counts)) ||
      failed(checkContracted(*this, inference, input[1],
                             filter[1] * static_cast<int64_t>(getGroup()))))
    return failure();
  SmallVector<DimExpr, 4> dims = {input[0], filter[0]};
  llvm::append_range(dims, counts);
  size_t spatial = input.size() - 2;
  for (size_t d = 0; d < spatial && counts.empty(); ++d) {
    int64_t window = (*getDilations())[d] * ((*getKernelShape())[d] - 1) + 1;
    DimExpr span =
        input[2 + d] + (*getPads())[d] + (*getPads())[spatial + d] - window;
    if (failed(inference.assume(*this, GuardKind::AtLeast, span, 0,
                                "Conv: the kernel is larger than the image")))
      return failure();
    dims.push_back(DimExpr::floorDiv(span, (*getStrides())[d]) + 1);
  }
  inference.setType(getResult(), inference.element(getInput()), dims);
  return success();
}

ShardingRule ConvOp::shardingRule() {
  size_t spatial = dist::getDims(getInput().getType()).size() - 2;
  bool isGrouped = getGroup() != 1;
  auto named = [&](StringRef batch, StringRef channel, StringRef prefix) {
    std::string text = (batch + " " + channel).str();
    for (size_t d = 0; d < spatial; ++d)
      text += (" !" + prefix + std::to_string(d)).str();
    return text;
  };
  StringRef out = isGrouped ? "!o" : "o";
  std::string bias = getBias().empty() ? "()" : out.str();
  return einsumRule(*this, named("b", isGrouped ? "!g" : "c", "i") + ", " +
                               named(out, isGrouped ? "!c" : "c", "k") + ", " +
                               bias + " -> " + named("b", out, "r"));
}

PartialRule ConvOp::partialRule() { return PartialRule::Affine; }

DimExpr ConvOp::multiplyAdds() {
  SmallVector<DimExpr, 4> filter = dist::getDims(getFilter().getType());
  return product(dist::getDims(getResult().getType())) *
         product(ArrayRef(filter).drop_front());
}

} // namespace shardc::onnx
