//===- ViewResolver.h - A program's views with numbers --------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_VIEWRESOLVER_H
#define SHARDC_RUNTIME_PROGRAM_VIEWRESOLVER_H

#include "runtime/base/Status.h"
#include "runtime/tensor/BlockLayout.h"
#include "runtime/tensor/TensorView.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// A view whose buffer has no address yet.
struct ResolvedView {
  TensorView view;        ///< data is null
  uint32_t buffer = 0;    ///< index into the program's buffers
  int64_t byteOffset = 0; ///< of element (0, ..., 0) in the buffer
};

/// Evaluates dims, strides and offset with the scalars of one rank. Every
/// element lies inside the buffer's `bytes`, or it is an error.
Status resolveView(const artifact::Program &program, uint32_t index,
                   std::span<const int64_t> scalars, ResolvedView &resolved);

/// Makes a view of a rank's part of a weight one of the whole, where the part lies
/// in it so.
Status seeBlock(const BlockLayout &block, ResolvedView &resolved);

/// Bytes from the buffer's begin to behind the view's last element; -1 where
/// its place is not known yet, or is none.
int64_t viewEnd(const artifact::Program &program, uint32_t index,
                std::span<const int64_t> scalars);

/// By view: whether an instruction of a run has it, or an output.
std::vector<char> usedViews(const artifact::Program &program);
/// By buffer, likewise.
std::vector<char> usedBuffers(const artifact::Program &program);
/// Calls `use(buffer)` for each buffer that a run uses, once for each view.
void forEachUsed(const artifact::Program &program,
                 const std::function<void(const artifact::Buffer &)> &use);

/// Bytes of a buffer on this rank; negative or absurd ones are an error.
Status bufferBytes(const artifact::Program &program, uint32_t buffer,
                   std::span<const int64_t> scalars, int64_t &bytes);

inline std::string dimsText(const TensorView &view) {
  std::string text = "[";
  for (int d = 0; d < view.rank; ++d)
    text += (d ? ", " : "") + std::to_string(view.dims[d]);
  return text + "]";
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_VIEWRESOLVER_H
