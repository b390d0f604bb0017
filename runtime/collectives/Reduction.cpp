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

template <typename T, ReduceKind kind>
void reduceTyped(std::span<const TensorView> inputs, const TensorView &output,
                 int64_t begin, int64_t end) {
  using A = typename Accumulator<T>::Type;
  A sums[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t stop = std::min(at + kBlock, end);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const T *data = inputs[i].as<T>();
      forEachRow(inputs[i], at, stop,
                 [&](int64_t offset, int64_t count, int64_t stride, int64_t p) {
                   A *into = sums + p;
                   const T *from = data + offset;
                   if (i == 0)
                     for (int64_t e = 0; e < count; ++e)
                       into[e] = widen(from[e * stride]);
                   else if (stride == 1)
                     for (int64_t e = 0; e < count; ++e)
                       into[e] = combine<kind, A>(into[e], widen(from[e]));
                   else
                     for (int64_t e = 0; e < count; ++e)
                       into[e] =
                           combine<kind, A>(into[e], widen(from[e * stride]));
                 });
    }
    T *data = output.as<T>();
    forEachRow(output, at, stop,
               [&](int64_t offset, int64_t count, int64_t stride, int64_t p) {
                 for (int64_t e = 0; e < count; ++e)
                   data[offset + e * stride] = narrow<T>(sums[p + e]);
               });
  }
}

template <typename T>
Status reduceKinds(ReduceKind kind, std::span<const TensorView> inputs,
                   const TensorView &output, int64_t begin, int64_t end) {
  if (kind == ReduceKind::Sum)
    reduceTyped<T, ReduceKind::Sum>(inputs, output, begin, end);
  else if (kind == ReduceKind::Max)
    reduceTyped<T, ReduceKind::Max>(inputs, output, begin, end);
  else
    reduceTyped<T, ReduceKind::Min>(inputs, output, begin, end);
  return Status::ok();
}

} // namespace

Status reduceRange(ReduceKind kind, std::span<const TensorView> inputs,
                   const TensorView &output, int64_t begin, int64_t end) {
  using namespace artifact;
  switch (output.element) {
  case ElementType_Bool:
  case ElementType_UInt8:
    return reduceKinds<uint8_t>(kind, inputs, output, begin, end);
  case ElementType_Int8:
    return reduceKinds<int8_t>(kind, inputs, output, begin, end);
  case ElementType_Int32:
    return reduceKinds<int32_t>(kind, inputs, output, begin, end);
  case ElementType_Int64:
    return reduceKinds<int64_t>(kind, inputs, output, begin, end);
  case ElementType_Float16:
    return reduceKinds<Half>(kind, inputs, output, begin, end);
  case ElementType_BFloat16:
    return reduceKinds<BFloat>(kind, inputs, output, begin, end);
  case ElementType_Float32:
    return reduceKinds<float>(kind, inputs, output, begin, end);
  case ElementType_Float64:
    return reduceKinds<double>(kind, inputs, output, begin, end);
  default:
    return artifactError("cannot reduce elements of type ",
                         elementName(output.element));
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
