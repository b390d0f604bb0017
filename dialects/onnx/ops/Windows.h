//===- Windows.h - Kernels that slide over an image -----------------------===//
//
// Convolution and pooling share these attributes: kernel_shape, strides,
// dilations, pads (begins, then ends), auto_pad, ceil_mode.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_WINDOWS_H
#define SHARDC_DIALECTS_ONNX_OPS_WINDOWS_H

#include "dialects/onnx/Onnx.h"

namespace shardc::onnx {

/// Writes out the attributes that have a default, turns auto_pad into pads,
/// and gives the spatial sizes of the result. An image of 5 under a kernel of 3
/// with stride 2 has floor((5 - 3) / 2) + 1 = 2 windows.
llvm::FailureOr<llvm::SmallVector<dist::DimExpr, 4>>
inferWindows(mlir::Operation *op, ShapeInference &inference,
             llvm::ArrayRef<dist::DimExpr> image);

/// The op's pads, with more of them behind the image, so that as many windows as
/// ceil_mode has are whole: of 6 under a kernel of 3 with stride 2 windows begin
/// at 0, 2 and 4, of which the last one has a pad of 1. For auto_pad NOTSET and
/// VALID.
llvm::FailureOr<llvm::SmallVector<int64_t>>
padsOfWholeWindows(mlir::Operation *op, llvm::ArrayRef<dist::DimExpr> image);

/// How far ceil(size / stride) strides reach beyond the size; nothing if that
/// depends on a symbol. Of 7 by 2: 1.
std::optional<int64_t> coveredBeyond(dist::DimExpr size, int64_t stride);

/// What SAME_UPPER or SAME_LOWER adds to one dim so that there are
/// ceil(size / stride) windows.
struct SamePads {
  dist::DimExpr begin, end;
  dist::DimExpr count; ///< of windows
};
SamePads samePads(dist::DimExpr size, int64_t stride, int64_t span,
                  bool isUpper);

/// Puts an onnx.Pad before operand 0 of `op`, an image [batch, channels, ...],
/// whose spatial dims get borders of `value`. False after an error.
bool padImage(mlir::Operation *op, ShapeInference &inference,
              llvm::ArrayRef<SamePads> pads, double value);

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_WINDOWS_H
