//===- Quantization.cpp - Integers that stand for numbers -----------------===//
//
// In the dialect scales have the dims of the data, or 1; ONNX wants one scale, a
// vector along an axis, or blocks. What is none of these is spelled out:
//
//   y = (x - zero point) * scale
//
// where the rank's elements of a dim in blocks find their scales by number.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Quantization.h"

#include "compiler/package/WeightCopy.h"
#include "compiler/ranks/RankProgram.h"
#include "dialects/onnx/ElementTypes.h"

using namespace mlir;

namespace shardc::ranks {

using dist::DimExpr;

namespace {

class ScaleWriter {
public:
  ScaleWriter(Operation *op, RankProgram &program)
      : op(op), program(program), writer(program.writer),
        blockSize(op->getAttrOfType<IntegerAttr>("block_size").getInt()),
        axis(op->getAttrOfType<IntegerAttr>("axis").getInt()),
        x(program.tensor(op->getOperand(0))), result(op->getResult(0)) {
    scale = program.tensor(op->getOperand(1));
    if (op->getNumOperands() > 2)
      zeroPoint = program.tensor(op->getOperand(2));
  }

  void write() {
    if (blockSize == 0 && asVector())
      return;
    if (isa<onnx::QuantizeLinearOp>(op))
      return writer.fail("quantises by scales of several dims, which ONNX "
                         "cannot say");
    if (blockSize != 0)
      repeatBlocks();
    const Type wide = scale.element;
    Tensor number = writer.cast(x, wide);
    if (!zeroPoint.isAbsent())
      number = writer.binary("Sub", number, writer.cast(zeroPoint, wide));
    program.bind(result, writer.cast(writer.binary("Mul", number, scale),
                                     program.elementOf(result)));
  }

private:
  /// One scale, or one for each element of one dim.
  bool asVector() {
    int64_t wide = -1;
    for (auto [d, size] : llvm::enumerate(scale.dims)) {
      if (size.isConstant(1))
        continue;
      if (wide >= 0)
        return false;
      wide = d + x.dims.size() - scale.dims.size();
    }
    // A zero point may lie along another dim, or along several.
    for (auto [d, size] : llvm::enumerate(zeroPoint.dims))
      if (!size.isConstant(1) &&
          int64_t(d + x.dims.size() - zeroPoint.dims.size()) != wide)
        return false;
    const Dims dims =
        wide < 0 ? Dims()
                 : Dims{scale.dims[wide - (x.dims.size() - scale.dims.size())]};
    auto flat = [&](const Tensor &parameter) {
      if (parameter.isAbsent())
        return parameter;
      // One of several dims may have fewer of them.
      return parameter.dims.size() == dims.size() && parameter.dims == dims
                 ? parameter
             : dist::product(parameter.dims) == dist::product(dims)
                 ? writer.reshape(parameter, dims)
                 : writer.expand(writer.reshape(parameter, {1}), dims);
    };
    SmallVector<Attribute> more;
    if (wide >= 0)
      more.push_back({"axis", wide});
    if (zeroPoint.isAbsent() && isa<onnx::QuantizeLinearOp>(op))
      more.push_back(
          {"output_dtype", onnx::elementNumberOf(program.elementOf(result))});
    if (scale.element != program.elementOf(result) &&
        isa<onnx::DequantizeLinearOp>(op))
      return false;
    program.makeNode(op, {x, flat(scale), flat(zeroPoint)}, {}, more);
    return true;
  }

  /// Scales and zero points of each element along the axis.
  void repeatBlocks() {
    const Tensor indices = writer.integers(blocksOfElements());
    for (Tensor *parameter : {&scale, &zeroPoint}) {
      if (parameter->isAbsent() || parameter->dims[axis].isConstant(1))
        continue;
      Dims dims = parameter->dims;
      dims[axis] = x.dims[axis];
      *parameter = writer.make("Gather", {*parameter, indices}, dims,
                               parameter->element, {{"axis", axis}});
    }
  }

  /// Which of the rank's blocks each of its elements is in.
  std::vector<int64_t> blocksOfElements() {
    auto ownedOf = [&](Value value) {
      dist::Sharding line;
      line.dims.push_back(dist::getSharding(value.getType()).dims[axis]);
      std::vector<int64_t> owned;
      for (const package::ElementRange &range :
           package::ownedRanges(line, program.rank.mesh, program.rank.rank))
        for (uint64_t i = 0; i < range.count; ++i)
          owned.push_back(range.start + i);
      return owned;
    };
    llvm::DenseMap<int64_t, int64_t> local;
    for (auto [i, block] : llvm::enumerate(ownedOf(op->getOperand(1))))
      local[block] = i;
    std::vector<int64_t> blocks;
    for (int64_t element : ownedOf(op->getOperand(0)))
      blocks.push_back(local.lookup(element / blockSize));
    return blocks;
  }

  Operation *op;
  RankProgram &program;
  GraphWriter &writer;
  const int64_t blockSize, axis;
  const Tensor x;
  Value result;
  Tensor scale, zeroPoint;
};

} // namespace

bool writeQuantizationOp(Operation *op, RankProgram &program) {
  if (isa<onnx::DequantizeLinearOp, onnx::QuantizeLinearOp>(op)) {
    ScaleWriter(op, program).write();
    return true;
  }
  auto product = dyn_cast<onnx::MatMulIntegerOp>(op);
  if (!product)
    return false;
  // Zero points may be of several dims here.
  GraphWriter &writer = program.writer;
  const Type i32 = IntegerType::get(op->getContext(), 32);
  SmallVector<Tensor, 4> inputs = program.operands(op);
  for (unsigned i : {0, 1}) {
    inputs[i] = writer.cast(inputs[i], i32);
    if (inputs.size() > i + 2 && !inputs[i + 2].isAbsent())
      inputs[i] =
          writer.binary("Sub", inputs[i], writer.cast(inputs[i + 2], i32));
  }
  program.bind(op->getResult(0),
               writer.make("MatMul", {inputs[0], inputs[1]},
                           program.localDims(op->getResult(0)), i32));
  return true;
}

} // namespace shardc::ranks
