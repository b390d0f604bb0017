//===- MatMulBFloat16.cpp - A product that may round its operands ---------===//
//
// alpha A B + beta C, as MatMul and Gemm have them, of float or float16: A and B
// become bfloat16, sums are made in float. B is one matrix, which was packed
// once in 16 bits where it is constant.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/host/product/BatchedProduct.h"
#include "runtime/kernels/host/simd/RoundedProduct.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MatMulBFloat16";

using WiderTypes = TypeList<float, Float16>;

struct Operands {
  TensorView a, b, out;
  bool hasAddend = false;

  Status read(const KernelCall &call) {
    SHARDC_RETURN_IF_ERROR(expectMatMul(call, kName));
    a = call.inputs[0];
    b = call.inputs[1];
    out = call.outputs[0];
    for (int d = 0; d < b.rank - 2; ++d)
      if (b.dims[d] != 1 && b.strides[d] != 0)
        return failure(kName, "B has several matrices: " + dimsToString(b));
    hasAddend = hasInput(call, 2);
    return hasAddend ? expectLike(kName, out, call.inputs[2]) : Status::ok();
  }

  TensorView matrix() const { return dimsOf(b, b.rank - 2, b.rank); }
  int64_t depth() const { return b.dims[b.rank - 2]; }
  int64_t packedBytes() const {
    return alignBuffer(roundedLoops().matrixBytes(matrix()));
  }

  /// B is another's.
  template <typename T> BatchedProduct<T> product() const {
    static constexpr std::byte elsewhere{};
    return BatchedProduct<T>(a, b, out, &elsewhere);
  }
};

template <typename T>
void multiply(const KernelCall &call, const Operands &operands) {
  const BatchedProduct<T> product = operands.product<T>();
  std::byte *scratch = call.scratch;
  const std::byte *packed = call.packed[0];
  if (!packed) {
    roundedLoops().pack(operands.matrix(), scratch, SourcePages::Stay);
    packed = scratch;
    scratch += operands.packedBytes();
  }
  product.multiplyRows(
      operands.a.as<T>(), operands.out.as<T>(),
      scratch + roundedLoops().rowsBytes(product.rows(), operands.depth()),
      [&](const PackedProduct &each) {
        roundedLoops().multiply(each, packed, scratch);
      },
      float(call.floatOr("alpha", 1.0)),
      operands.hasAddend ? float(call.floatOr("beta", 1.0)) : 0.0f);
}

Status run(const KernelCall &call) {
  Operands operands;
  SHARDC_RETURN_IF_ERROR(operands.read(call));
  if (operands.out.numElements() == 0)
    return Status::ok();
  if (operands.hasAddend)
    StridedCopy(operands.out, call.inputs[2])(operands.out.data,
                                              call.inputs[2].data);
  return dispatch(WiderTypes(), operands.a.element, kName, [&](auto tag) {
    multiply<typename decltype(tag)::Type>(call, operands);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  Operands operands;
  if (!operands.read(call).isOk()) // run reports it
    return 0;
  int64_t bytes = call.packed[0] ? 0 : operands.packedBytes();
  const Status known =
      dispatch(WiderTypes(), operands.a.element, kName, [&](auto tag) {
        const auto product = operands.product<typename decltype(tag)::Type>();
        bytes += roundedLoops().rowsBytes(product.rows(), operands.depth()) +
                 product.scratchBytes();
      });
  return known.isOk() ? bytes : 0;
}

int64_t packedBytes(const TensorView &matrix) {
  return roundedLoops().matrixBytes(matrix);
}
void pack(const TensorView &matrix, std::byte *to) {
  roundedLoops().pack(matrix, to, SourcePages::Leave);
}

constexpr OperandPacking kPackings[] = {
    {1, packedBytes, pack, /*rank=*/2, alwaysReplaces}};
const HostKernelRegistration registration(kName,
                                          {run, scratchBytes, kPackings});

} // namespace
} // namespace shardc::runtime::host
