//===- Layout.cpp - com.microsoft: what ONNX has of other opsets ----------===//

#include "dialects/onnx/ops/microsoft/Layout.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Pooling.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Layout.cpp.inc"

namespace shardc::onnx {

LogicalResult MicrosoftTriluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<Value, 2> operands = {getData()};
  if (Value diagonal = d.operand(1))
    operands.push_back(diagonal);
  return d.replaceBy(
      {d.make<TriluOp>(operands, d.attribute("upper", getUpper()))});
}

LogicalResult MicrosoftPadOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value pads = getPads();
  if (d.rank(pads) == 2)
    pads = d.reshape(pads, {dist::product(d.dims(pads))});
  SmallVector<Value, 3> operands = {getData(), pads};
  if (Value value = d.operand(2))
    operands.push_back(value);
  return d.replaceBy({d.make<PadOp>(operands, d.attribute("mode", getMode()))});
}

LogicalResult MicrosoftNhwcMaxPoolOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  int64_t rank = d.rank(getInput());
  if (rank < 3)
    return emitOpError("has an operand of ")
           << rank << " dims, expected an image";
  SmallVector<int64_t> toFront = {0, rank - 1}, toBack = {0};
  for (int64_t dim = 1; dim < rank - 1; ++dim) {
    toFront.push_back(dim);
    toBack.push_back(dim + 1);
  }
  toBack.push_back(1);
  Value image = d.make<MaxPoolOp>({d.transpose(getInput(), toFront)},
                                  (*this)->getAttrs());
  return d.replaceBy({d.transpose(image, toBack)});
}

} // namespace shardc::onnx
