//===- MatMulDequantized.cpp - Product with quantised weights -------------===//
//
// A few rows, as in decoding, are multiplied by the weights as they lie
// (FewRows.h). For more rows a panel of columns of B at a time becomes numbers
// in scratch, which cuBLASLt multiplies: the whole never exists.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/product/FewRows.h"
#include "runtime/device/cuda/kernels/product/Product.h"
#include "runtime/device/cuda/kernels/quant/Dequantize.h"
#include "runtime/kernels/quant/DequantizedOperands.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MatMulDequantized";
constexpr int64_t kPanelBytes = int64_t{64} << 20; ///< more for one tile of n
constexpr int64_t kTile = 128;

using Operands = host::DequantizedOperands;

Status check(const KernelCall &call, Operands &operands) {
  SHARDC_RETURN_IF_ERROR(operands.read(call, kName));
  operands.b.result = operands.b.data;
  operands.b.result.element = operands.a.element;
  return checkDequantize(kName, operands.b);
}

int64_t columnsOfPanel(const Operands &part) {
  const int64_t bytes = std::max<int64_t>(part.b.data.dims[part.row()], 1) *
                        artifact::elementBytes(part.a.element);
  const int64_t tiles = std::max<int64_t>(kPanelBytes / bytes / kTile, 1);
  return std::min(tiles * kTile, part.c.dims[part.column()]);
}

/// Numbers of these columns of B: a view on `memory`, or none yet. They lie as
/// the integers do.
TensorView panelFor(const Operands &part, std::byte *memory) {
  const int row = part.row(), column = part.column();
  TensorView panel = part.b.data;
  panel.data = memory;
  panel.element = part.a.element;
  panel.skipped = 0;
  for (int d = 0; d < row; ++d) {
    panel.dims[d] = part.c.dims[d];
    panel.strides[d] = 0;
  }
  const bool isByColumns = part.b.data.strides[row] == 1;
  panel.strides[row] = isByColumns ? 1 : panel.dims[column];
  panel.strides[column] = isByColumns ? panel.dims[row] : 1;
  return panel;
}

int64_t panelBytes(const Operands &panel) {
  return alignBuffer(panel.b.data.dims[panel.row()] *
                     panel.c.dims[panel.column()] *
                     artifact::elementBytes(panel.a.element));
}

bool areFew(const Operands &part) {
  const int64_t columns = part.c.dims[part.column()];
  return part.c.numElements() <= kMostFewRows * columns;
}

Status multiplyPanel(const KernelCall &call, Operands part) {
  CudaStream &stream = CudaStream::of(call);
  const TensorView panel = panelFor(part, call.scratch);
  const int64_t bytes = panelBytes(part);
  part.b.result = panel;
  for (TensorView *view :
       {&part.b.result, &part.b.data, &part.b.scale, &part.b.zeroPoint})
    for (int d = 0; d < part.row(); ++d)
      view->dims[d] = 1;
  SHARDC_RETURN_IF_ERROR(dequantize(call, kName, part.b, stream.stream()));
  return runProduct(part.a, panel, part.c, 1, 0, {}, call.scratch + bytes,
                    stream);
}

Status multiplyMatrix(const KernelCall &call, const Operands &part) {
  const cudaStream_t stream = CudaStream::of(call).stream();
  if (areFew(part)) {
    QuantizedBlocks blocks;
    SHARDC_RETURN_IF_ERROR(blocks.read(call, kName, part.b));
    FewProduct few;
    return readFewRows(part.a, part.b, blocks, part.c, few)
               ? multiplyFewRows(few, part.a.element, call.scratch, stream)
               : multiplyPlainRows(part.a, part.b, blocks, part.c, stream);
  }
  const int64_t columns = part.c.dims[part.column()];
  const int64_t width = columnsOfPanel(part);
  for (int64_t j = 0; j < columns; j += width)
    SHARDC_RETURN_IF_ERROR(
        multiplyPanel(call, part.columns(j, std::min(width, columns - j))));
  return Status::ok();
}

/// Matrices of B from batch dim `dim` on, one after the other.
Status multiply(const KernelCall &call, const Operands &operands, int dim) {
  if (dim == operands.row())
    return multiplyMatrix(call, operands);
  if (!operands.hasOwnB(dim))
    return multiply(call, operands, dim + 1);
  for (int64_t i = 0; i < operands.c.dims[dim]; ++i)
    SHARDC_RETURN_IF_ERROR(multiply(call, operands.at(dim, i), dim + 1));
  return Status::ok();
}

Status run(const KernelCall &call) {
  Operands operands;
  SHARDC_RETURN_IF_ERROR(check(call, operands));
  return operands.c.numElements() == 0 ? Status::ok()
                                       : multiply(call, operands, 0);
}

int64_t scratchBytes(const KernelCall &call) {
  Operands part;
  if (!check(call, part).isOk() || part.c.numElements() == 0)
    return 0; // run reports what check finds
  for (int d = 0; d < part.row(); ++d)
    if (part.hasOwnB(d))
      part = part.at(d, 0);
  if (areFew(part)) {
    QuantizedBlocks blocks;
    FewProduct few;
    return blocks.read(call, kName, part.b).isOk() &&
                   readFewRows(part.a, part.b, blocks, part.c, few)
               ? few.scratchBytes()
               : 0;
  }
  const int64_t columns = part.c.dims[part.column()];
  const int64_t width = columnsOfPanel(part);
  const auto bytesOf = [&](int64_t size) {
    const Operands panel = part.columns(0, size);
    return panelBytes(panel) +
           productScratchBytes(panel.a, panelFor(panel, nullptr), panel.c);
  };
  const int64_t rest = columns % width;
  return std::max(bytesOf(width), rest > 0 ? bytesOf(rest) : 0);
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
