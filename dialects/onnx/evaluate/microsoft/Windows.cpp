//===- Windows.cpp - Windows over an image --------------------------------===//

#include "dialects/onnx/evaluate/microsoft/Windows.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// An attribute of the op, or `count` times `value`.
static Shape listOf(const Definition &d, StringRef name, size_t count,
                    int64_t value) {
  auto given = d.call.op->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!given)
    return Shape(count, value);
  return Shape(given.asArrayRef().begin(), given.asArrayRef().end());
}

std::optional<Windows> Windows::of(const Definition &d, Index kernel,
                                   int64_t first) {
  const size_t n = kernel.size();
  const Tensor &x = *d.operand(0);
  Windows w{Shape(kernel.begin(), kernel.end()),
            listOf(d, "strides", n, 1),
            listOf(d, "dilations", n, 1),
            {},
            {},
            {}};
  const Shape pads = listOf(d, "pads", 2 * n, 0);
  auto autoPad = d.call.op->getAttrOfType<StringAttr>("auto_pad");
  const StringRef mode = autoPad ? autoPad.getValue() : "NOTSET";
  auto ceil = d.call.op->getAttrOfType<IntegerAttr>("ceil_mode");
  if (x.shape.size() != n + 2 || w.strides.size() != n ||
      w.dilations.size() != n || pads.size() != 2 * n)
    return std::nullopt;
  for (size_t s = 0; s < n; ++s) {
    const int64_t dim = first + int64_t(s), size = x.shape[dim];
    const int64_t span = w.dilations[s] * (w.kernel[s] - 1) + 1;
    const int64_t stride = w.strides[s];
    if (stride <= 0 || span <= 0)
      return std::nullopt;
    int64_t begin = mode == "NOTSET" ? pads[s] : 0;
    int64_t end = mode == "NOTSET" ? pads[n + s] : 0;
    if (mode.starts_with(
            "SAME")) { // as many windows as strides, of the model's
      const int64_t own = d.modelSize(0, x.rank() - dim).value_or(size);
      const int64_t all = std::max<int64_t>(
          ((own + stride - 1) / stride - 1) * stride + span - own, 0);
      begin = mode == "SAME_LOWER" ? all - all / 2 : all / 2;
      end = all - begin;
    }
    const int64_t room = size + begin + end - span;
    if (room < 0)
      return std::nullopt;
    int64_t count = room / stride + 1;
    // One more for the rest, if it begins within the image or its first pads.
    if (ceil && ceil.getInt() != 0 && room % stride != 0 &&
        count * stride < size + begin)
      ++count;
    w.begins.push_back(begin);
    w.image.push_back(size);
    w.counts.push_back(count);
  }
  return w;
}

} // namespace shardc::onnx::evaluate
