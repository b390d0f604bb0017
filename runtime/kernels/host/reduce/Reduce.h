//===- Reduce.h - The loops of ReduceSum and its relatives ----------------===//
//
// The output has the input's rank with size 1 in the reduced dims. Rows (the
// innermost input dim is reduced) go through a few independent accumulators;
// columns (it is kept) are reduced a strip at a time, so that both walk memory
// in order. The order is fixed by the shape: equal inputs give equal bits.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_REDUCE_REDUCE_H
#define SHARDC_RUNTIME_KERNELS_HOST_REDUCE_REDUCE_H

#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/reduce/ReduceFunctions.h"

#include <algorithm>

namespace shardc::runtime::host {

/// Not inlined, for compile time: ops that differ in finish alone share it.
template <typename State, typename T>
[[gnu::noinline]] State reduceRow(const LoopNest<1> &reduced, const T *x) {
  constexpr int kLanes = 8;
  State lanes[kLanes];
  const int64_t stride = reduced.innerStride(0);
  forEachRow(reduced, [&](const int64_t (&at)[1], int64_t count) {
    const T *row = x + at[0];
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane)
        lanes[lane].add(Compute<T>(row[(i + lane) * stride]));
    for (; i < count; ++i)
      lanes[0].add(Compute<T>(row[i * stride]));
  });
  for (int lane = 1; lane < kLanes; ++lane)
    lanes[0].merge(lanes[lane]);
  return lanes[0];
}

/// One after the other, however the dims lie in memory.
template <typename State, typename T>
[[gnu::noinline]] State reduceInOrder(const LoopNest<1> &reduced, const T *x) {
  State state;
  forEachIndex(reduced, [&](const int64_t (&at)[1]) {
    state.add(Compute<T>(x[at[0]]));
  });
  return state;
}

/// `width` neighbouring outputs at once, whose inputs are neighbours too.
template <typename State, typename T>
[[gnu::noinline]] void reduceStrip(const LoopNest<1> &reduced, const T *x,
                                   State *states, int64_t width) {
  forEachIndex(reduced, [&](const int64_t (&at)[1]) {
    const T *row = x + at[0];
    for (int64_t i = 0; i < width; ++i)
      states[i].add(Compute<T>(row[i]));
  });
}

/// Splits x's dims by whether the output has shrunk there to 1.
struct ReduceSplit {
  LoopNest<2> kept; ///< output, input
  LoopNest<1> reduced;
  int64_t count = 1;
};

inline Status splitDims(const KernelCall &call, const char *name,
                        ReduceSplit &split) {
  ReducedDims dims;
  SHARDC_RETURN_IF_ERROR(readReducedDims(call, name, dims));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  for (int d = 0; d < x.rank; ++d)
    if (dims.isReduced[d])
      appendDim(split.reduced, x.dims[d], {x.strides[d]});
    else
      appendDim(split.kept, x.dims[d], {out.strides[d], x.strides[d]});
  split.count = dims.count;
  finishNest(split.kept);
  finishNest(split.reduced);
  return Status::ok();
}

/// `isInOrder`: whether elements lie in rows or in columns, which follows from the
/// split, changes nothing.
template <typename Op, typename T>
void reduce(const ReduceSplit &parts, const TensorView &out,
            const TensorView &x, int64_t divisor, bool isInOrder) {
  using C = Compute<T>;
  using State = typename Op::template State<T>;
  constexpr int64_t kStrip = 64;
  const int64_t so = parts.kept.innerStride(0);
  const int64_t sx = parts.kept.innerStride(1);
  // As in a part of the columns, so in all.
  const bool areRows = sx != 1 || parts.kept.innerSize() == 1;
  const auto some = [&](const int64_t (&at)[2], int64_t count) {
    T *to = out.as<T>() + at[0];
    const T *from = x.as<T>() + at[1];
    if (areRows) {
      for (int64_t i = 0; i < count; ++i)
        to[i * so] = T(Op::template finish<C>(
            isInOrder ? reduceInOrder<State>(parts.reduced, from + i * sx)
                      : reduceRow<State>(parts.reduced, from + i * sx),
            divisor));
      return;
    }
    for (int64_t begin = 0; begin < count; begin += kStrip) {
      const int64_t width = std::min(kStrip, count - begin);
      State states[kStrip];
      reduceStrip(parts.reduced, from + begin, states, width);
      for (int64_t i = 0; i < width; ++i)
        to[(begin + i) * so] = T(Op::template finish<C>(states[i], divisor));
    }
  };
  forEachRowOnThreads(parts.kept, some, parts.count);
}

template <typename Op> Status runReduce(const KernelCall &call) {
  ReduceSplit parts;
  SHARDC_RETURN_IF_ERROR(splitDims(call, Op::kName, parts));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  const int64_t divisor = call.intOr("count", parts.count);
  return dispatch(typename Op::Types(), x.element, Op::kName, [&](auto tag) {
    reduce<Op, typename decltype(tag)::Type>(parts, out, x, divisor,
                                             call.intOr("in_order", 0) != 0);
  });
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_REDUCE_REDUCE_H
