//===- ReduceKernels.h - ReduceSum and its relatives on a GPU -------------===//
//
// Where the innermost dim is reduced, a block has a result, and its threads
// neighbouring elements; else a thread has one, and its neighbours the results
// beside it: either way a warp reads memory in order. The order of what is
// added up follows from the shape alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_REDUCE_REDUCEKERNELS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_REDUCE_REDUCEKERNELS_H

#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/CallStream.h"
#include "runtime/device/cuda/kernels/Warp.h"
#include "runtime/device/cuda/kernels/layout/Nest.h"
#include "runtime/kernels/reduce/ReduceFunctions.h"

namespace shardc::runtime::cuda {

/// Strides of `kept`: out, x. Of `reduced`: x.
template <typename Op, typename T>
__global__ void reduceKernel(T *out, const T *x, Nest<2> kept, Nest<1> reduced,
                             int64_t divisor, bool isBlocks) {
  using State = typename Op::template State<T>;
  using C = host::Compute<T>;
  const int64_t begin = isBlocks ? blockIdx.x : firstElement();
  const int64_t step = isBlocks ? gridDim.x : allThreads();
  const int64_t part = isBlocks ? threadIdx.x : 0;
  const int64_t parts = isBlocks ? blockDim.x : 1;
  for (int64_t r = begin; r < kept.count; r += step) {
    int64_t at[2];
    kept.offsets(r, at);
    State state;
    for (int64_t i = part; i < reduced.count; i += parts) {
      int64_t offset[1];
      reduced.offsets(i, offset);
      state.add(C(x[at[1] + offset[0]]));
    }
    if (isBlocks)
      state = reduceBlock(state, [](State a, const State &b) {
        a.merge(b);
        return a;
      });
    if (part == 0)
      out[at[0]] = T(Op::template finish<C>(state, divisor));
  }
}

template <typename Op> Status runReduce(const KernelCall &call) {
  host::ReducedDims dims;
  SHARDC_RETURN_IF_ERROR(host::readReducedDims(call, Op::kName, dims));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  Nest<2> kept;
  Nest<1> reduced;
  for (int d = 0; d < x.rank; ++d)
    if (dims.isReduced[d])
      reduced.append(x.dims[d], {x.strides[d]});
    else
      kept.append(x.dims[d], {out.strides[d], x.strides[d]});
  const bool isInner = reduced.rank > 0 &&
                       (kept.rank == 0 || reduced.strides[0][reduced.rank - 1] <
                                              kept.strides[1][kept.rank - 1]);
  const int64_t divisor = call.intOr("count", dims.count);
  return host::dispatch(
      typename Op::Types(), x.element, Op::kName, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        if (kept.count == 0)
          return Status::ok();
        const Grid grid = isInner ? blockPerRow<typename Op::template State<T>>(
                                        kept.count, reduced.count)
                                  : kept.grid();
        return launch(reduceKernel<Op, T>, grid, streamOf(call), out.as<T>(),
                      x.as<T>(), kept, reduced, divisor, isInner);
      });
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_REDUCE_REDUCEKERNELS_H
