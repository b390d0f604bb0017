//===- Interpolation.h - What an element of a resized image reads ---------===//
#ifndef SHARDC_DIALECTS_ONNX_OPS_INTERPOLATION_H
#define SHARDC_DIALECTS_ONNX_OPS_INTERPOLATION_H

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Resampling.h"

#include <vector>

namespace shardc::onnx {

/// Sizes of which one is symbolic; `scale` is what the user gave, if that is not
/// out / in. Where the aspect ratio is kept, it is the smallest (or largest) of
/// `ratios`, each of a size after and before.
struct SymbolicDim {
  dist::DimExpr in, out;
  std::optional<double> scale;
  llvm::SmallVector<std::pair<dist::DimExpr, dist::DimExpr>, 2> ratios = {};
  bool isSmallest = true;
};

/// One dim: `scale` is what the user gave, or out / in. A symbolic dim that is
/// kept counts as one of size 1.
struct ResizedDim {
  int64_t in = 0, out = 0;
  double scale = 1, roiStart = 0, roiEnd = 1;
  std::optional<SymbolicDim> symbolic = std::nullopt; ///< and not kept

  bool isKept(bool usesRoi) const {
    return !symbolic && in == out && scale == 1 &&
           (!usesRoi || (roiStart == 0 && roiEnd == 1));
  }
};

/// What a result element reads: weights of the elements from `first` on.
struct Taps {
  int64_t first;
  llvm::SmallVector<double, 4> weights;
};

/// Of input and scales alone: it had no attributes but its mode.
inline bool isOfOpset10(ResizeOp op) { return op.getNumOperands() == 2; }

class Interpolation {
public:
  explicit Interpolation(ResizeOp op)
      : mode(op.getMode()), nearest(op.getNearestMode()),
        transform(isOfOpset10(op) ? "asymmetric"
                                  : op.getCoordinateTransformationMode()),
        isSimple(isOfOpset10(op)), a(op.getCubicCoeffA().convertToFloat()),
        antialias(op.getAntialias() != 0),
        excludesOutside(op.getExcludeOutside() != 0) {}

  bool usesRoi() const { return transform == "tf_crop_and_resize"; }
  bool isNearest() const { return mode == "nearest"; }
  bool isKnown() const {
    return llvm::is_contained({"nearest", "linear", "cubic"}, mode) &&
           llvm::is_contained({"half_pixel", "half_pixel_symmetric",
                               "pytorch_half_pixel", "align_corners",
                               "asymmetric", "tf_crop_and_resize"},
                              transform) &&
           llvm::is_contained(
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
               nearest);
  }
  double positionOf(const ResizedDim &dim, int64_t index) const;
  bool isOutside(const ResizedDim &dim, double position) const {
    return usesRoi() &&
           (position < 0 || position > static_cast<double>(dim.in - 1));
  }
  int64_t nearestTo(const ResizedDim &dim, double position) const;
  std::vector<double> matrix(const ResizedDim &dim) const;
  /// The image with another size of `axis`, whose positions are computed on each
  /// run; null after an error.
  mlir::Value resampleAtRun(Decomposition &build, const ResizedDim &dim,
                            mlir::Value image, int64_t axis) const;
  /// `value` where a position of its lies outside of the image.
  mlir::Value extrapolateAtRun(Decomposition &build, const ResizedDim &dim,
                               mlir::Value image, int64_t axis,
                               double value) const;

private:
  Taps tapsAt(const ResizedDim &dim, double position) const;
  double weightAt(double distance) const;
  mlir::Value positionsAtRun(Decomposition &build, const ResizedDim &dim) const;
  mlir::Value nearestAtRun(Decomposition &build, mlir::Value position,
                           bool shrinks) const;
  mlir::Value tapsAtRun(Decomposition &build, const SymbolicDim &dim,
                        mlir::Value position, mlir::Value image,
                        int64_t axis) const;
  mlir::Value matrixAtRun(Decomposition &build, const SymbolicDim &dim,
                          mlir::Value position, mlir::Value image,
                          int64_t axis) const;

  llvm::StringRef mode, nearest, transform;
  bool isSimple; ///< as opset 10 finds the nearest element
  double a;
  bool antialias, excludesOutside;
};

} // namespace shardc::onnx

#endif // SHARDC_DIALECTS_ONNX_OPS_INTERPOLATION_H
