//===- GatherND.cpp - Slices of data picked by index tuples ---------------===//
//
// indices [batch..., n..., m]: the last dim holds an index into each of the m
// data dims after the batch_dims that both share.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/index/IndexChecks.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "GatherND";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(checkGatherND(call, kName));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  const int64_t batchDims = call.intOr("batch_dims", 0);

  const int batch = static_cast<int>(batchDims), lead = indices.rank - 1;
  const int tuple = static_cast<int>(indices.dims[lead]);
  const StridedCopy copy(dimsOf(out, lead, out.rank),
                         dimsOf(data, batch + tuple, data.rank));
  const auto batches = nestOf(dimsOf(out, 0, batch), dimsOf(indices, 0, batch),
                              dimsOf(data, 0, batch));
  const auto picks =
      nestOf(dimsOf(out, batch, lead), dimsOf(indices, batch, lead));
  const IndexReader index(indices);
  const int64_t bytes = artifact::elementBytes(data.element);
  Status status;
  forEachIndex(batches, [&](const int64_t (&at)[3]) {
    forEachIndex(picks, [&](const int64_t (&pick)[2]) {
      int64_t from = at[2];
      for (int i = 0; i < tuple; ++i) {
        const int64_t offset = at[1] + pick[1] + i * indices.strides[lead];
        const int64_t size = data.dims[batch + i];
        const int64_t wrapped = index.wrapped(offset, size);
        if (wrapped < 0 || wrapped >= size) {
          status = indexFailure(kName, index[offset], size);
          return;
        }
        from += wrapped * data.strides[batch + i];
      }
      copy(out.data + (at[0] + pick[0]) * bytes, data.data + from * bytes);
    });
  });
  return status;
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
