#include "runtime/collectives/Reduction.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Float16.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace shardc::runtime {
namespace {

/// Elements that are reduced together: their accumulators stay in the L1 cache.
constexpr int64_t kBlock = 1024;
/// Of kReduceFan each: 4096 inputs.
constexpr int kLevels = 4;

/// Calls visit(offset, count, stride, position) for the rows that make up the
/// elements [begin, end); offset and stride count elements of the view's
/// memory.
template <typename Visit>
void forEachRow(const TensorView &view, int64_t begin, int64_t end,
                Visit visit) {
  if (view.isContiguous())
    return visit(begin, end - begin, int64_t{1}, int64_t{0});
  const int last = view.rank - 1;
  const int64_t inner = view.dims[last];
  for (int64_t at = begin; at < end;) {
    int64_t column = at % inner, row = at / inner;
    int64_t count = std::min(inner - column, end - at);
    int64_t offset = column * view.strides[last];
    for (int d = last - 1; d >= 0; --d) {
      offset += row % view.dims[d] * view.strides[d];
      row /= view.dims[d];
    }
    visit(offset, count, view.strides[last], at - begin);
    at += count;
  }
}

template <typename T> struct Accumulator {
  using Type = T;
};
template <> struct Accumulator<Half> {
  using Type = float;
};
template <> struct Accumulator<BFloat> {
  using Type = float;
};

template <typename T> typename Accumulator<T>::Type widen(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return toFloat(x);
  else
    return x;
}

template <typename T> T narrow(typename Accumulator<T>::Type x) {
  if constexpr (std::is_same_v<T, Half>)
    return toHalf(x);
  else if constexpr (std::is_same_v<T, BFloat>)
    return toBFloat(x);
  else
    return x;
}

template <ReduceKind kind, typename A> A combine(A a, A b) {
  if constexpr (kind == ReduceKind::Sum) {
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(
          static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else {
    if constexpr (std::is_floating_point_v<A>) {
      if (a != a)
        return a;
      if (b != b)
        return b;
    }
    return kind == ReduceKind::Max ? (a < b ? b : a) : (b < a ? b : a);
  }
}

/// Adds one input's elements [begin, end) to `into`, or begins with them.
template <typename In, ReduceKind kind, typename A>
void add(const TensorView &input, bool isFirst, int64_t begin, int64_t end,
         A *sums) {
  const In *data = input.as<In>();
  forEachRow(input, begin, end,
             [&](int64_t offset, int64_t count, int64_t stride, int64_t p) {
               A *into = sums + p;
               const In *from = data + offset;
               if (isFirst)
                 for (int64_t e = 0; e < count; ++e)
                   into[e] = widen(from[e * stride]);
               else if (stride == 1)
                 for (int64_t e = 0; e < count; ++e)
                   into[e] = combine<kind, A>(into[e], widen(from[e]));
               else
                 for (int64_t e = 0; e < count; ++e)
                   into[e] = combine<kind, A>(into[e], widen(from[e * stride]));
             });
}

/// `fan` of them at a time are reduced together: the largest power of kReduceFan
/// below their number. `sums` has kBlock elements for each level of that.
template <typename In, ReduceKind kind, typename A>
void reduceBlock(std::span<const TensorView> inputs, int64_t begin, int64_t end,
                 A *sums) {
  if (inputs.size() <= kReduceFan) {
    for (size_t i = 0; i < inputs.size(); ++i)
      add<In, kind>(inputs[i], i == 0, begin, end, sums);
    return;
  }
  size_t fan = kReduceFan;
  while (fan * kReduceFan < inputs.size())
    fan *= kReduceFan;
  A *part = sums + kBlock;
  for (size_t i = 0; i < inputs.size(); i += fan) {
    const size_t count = std::min(fan, inputs.size() - i);
    reduceBlock<In, kind>(inputs.subspan(i, count), begin, end,
                          i == 0 ? sums : part);
    for (int64_t e = 0; i > 0 && e < end - begin; ++e)
      sums[e] = combine<kind, A>(sums[e], part[e]);
  }
}

/// From In to Out, one of which is T and the other T or its accumulator.
template <typename T, typename In, typename Out, ReduceKind kind>
void reduceTyped(std::span<const TensorView> inputs, const TensorView &output,
                 int64_t begin, int64_t end) {
  using A = typename Accumulator<T>::Type;
  A sums[kBlock * kLevels];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t stop = std::min(at + kBlock, end);
    reduceBlock<In, kind>(inputs, at, stop, sums);
    Out *data = output.as<Out>();
    forEachRow(output, at, stop,
               [&](int64_t offset, int64_t count, int64_t stride, int64_t p) {
                 for (int64_t e = 0; e < count; ++e)
                   data[offset + e * stride] = narrow<Out>(sums[p + e]);
               });
  }
}

template <typename T, typename In, typename Out>
void reduceKinds(ReduceKind kind, std::span<const TensorView> inputs,
                 const TensorView &output, int64_t begin, int64_t end) {
  if (kind == ReduceKind::Sum)
    reduceTyped<T, In, Out, ReduceKind::Sum>(inputs, output, begin, end);
  else if (kind == ReduceKind::Max)
    reduceTyped<T, In, Out, ReduceKind::Max>(inputs, output, begin, end);
  else
    reduceTyped<T, In, Out, ReduceKind::Min>(inputs, output, begin, end);
}

template <typename T>
Status reduceAll(ReduceKind kind, std::span<const TensorView> inputs,
                 const TensorView &output, int64_t begin, int64_t end) {
  using A = typename Accumulator<T>::Type;
  if (inputs.empty() || inputs[0].element == output.element)
    reduceKinds<T, T, T>(kind, inputs, output, begin, end);
  else if (output.element == artifact::ElementType_Float32)
    reduceKinds<T, T, A>(kind, inputs, output, begin, end);
  else
    reduceKinds<T, A, T>(kind, inputs, output, begin, end);
  return Status::ok();
}

} // namespace

artifact::ElementType accumulatorOf(artifact::ElementType element) {
  return element == artifact::ElementType_Float16 ||
                 element == artifact::ElementType_BFloat16
             ? artifact::ElementType_Float32
             : element;
}

Status reduceRange(ReduceKind kind, std::span<const TensorView> inputs,
                   const TensorView &output, int64_t begin, int64_t end) {
  using namespace artifact;
  size_t most = 1;
  for (int level = 0; level < kLevels; ++level)
    most *= kReduceFan;
  if (inputs.size() > most)
    return artifactError("cannot reduce what more than ", most, " ranks have");
  // The one that is no accumulator of the other.
  const ElementType element =
      inputs.empty() || accumulatorOf(output.element) != output.element
          ? output.element
          : inputs[0].element;
  switch (element) {
  case ElementType_Bool:
  case ElementType_UInt8:
    return reduceAll<uint8_t>(kind, inputs, output, begin, end);
  case ElementType_Int8:
    return reduceAll<int8_t>(kind, inputs, output, begin, end);
  case ElementType_Int32:
    return reduceAll<int32_t>(kind, inputs, output, begin, end);
  case ElementType_Int64:
    return reduceAll<int64_t>(kind, inputs, output, begin, end);
  case ElementType_Float16:
    return reduceAll<Half>(kind, inputs, output, begin, end);
  case ElementType_BFloat16:
    return reduceAll<BFloat>(kind, inputs, output, begin, end);
  case ElementType_Float32:
    return reduceAll<float>(kind, inputs, output, begin, end);
  case ElementType_Float64:
    return reduceAll<double>(kind, inputs, output, begin, end);
  default:
    return artifactError("cannot reduce elements of type ",
                         elementName(element));
  }
}

void copyRange(const TensorView &output, const TensorView &input, int64_t begin,
               int64_t end) {
  const int64_t bytes = artifact::elementBytes(output.element);
  if (output.isContiguous() && input.isContiguous()) {
    std::memcpy(output.data + begin * bytes, input.data + begin * bytes,
                static_cast<size_t>((end - begin) * bytes));
    return;
  }
  forEachRow(output, begin, end,
             [&](int64_t to, int64_t count, int64_t stride, int64_t p) {
               int64_t done = 0;
               forEachRow(
                   input, begin + p, begin + p + count,
                   [&](int64_t from, int64_t n, int64_t fromStride, int64_t) {
                     for (int64_t e = 0; e < n; ++e, ++done)
                       std::memcpy(output.data + (to + done * stride) * bytes,
                                   input.data + (from + e * fromStride) * bytes,
                                   static_cast<size_t>(bytes));
                   });
             });
}

} // namespace shardc::runtime
