#include "runtime/plan/MicroBatches.h"

#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/Ownership.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {
namespace {

int64_t rowBytes(artifact::ElementType element, std::span<const int64_t> dims) {
  int64_t elements = 1;
  for (int64_t dim : dims.subspan(1))
    elements *= dim;
  return artifact::storageBytes(element, elements);
}

/// Rows of the batch, or 0 where the inputs do not agree.
int64_t batchOf(std::span<const InputTensor> inputs,
                std::span<const char> isBatch) {
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!isBatch[i])
      continue;
    const int64_t here = inputs[i].dims.empty() ? 0 : inputs[i].dims[0];
    if (here < 1 || (rows > 0 && here != rows))
      return 0;
    // Where there are no elements there need not be data.
    if (!inputs[i].data && rowBytes(inputs[i].element, inputs[i].dims) > 0)
      return 0;
    rows = here;
  }
  return rows;
}

} // namespace

void MicroBatches::cut(std::span<const InputTensor> inputs,
                       std::span<const char> isBatch, size_t parts,
                       size_t numOutputs) {
  const int64_t rows = batchOf(inputs, isBatch);
  numParts = std::max<size_t>(
      1, std::min(parts, static_cast<size_t>(std::max<int64_t>(rows, 1))));
  if (all.size() < numParts)
    all.resize(numParts);
  for (size_t p = 0; p < numParts; ++p) {
    Part &part = all[p];
    part.inputs.assign(inputs.begin(), inputs.end());
    part.outputs.resize(numOutputs);
    part.dims.resize(inputs.size());
    part.views.resize(inputs.size());
    const auto ways = static_cast<int64_t>(numParts);
    const int64_t begin = wayBegin(rows, ways, static_cast<int64_t>(p));
    const int64_t end = wayBegin(rows, ways, static_cast<int64_t>(p) + 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (numParts == 1 || !isBatch[i])
        continue;
      part.dims[i].assign(inputs[i].dims.begin(), inputs[i].dims.end());
      part.dims[i][0] = end - begin;
      part.inputs[i].dims = part.dims[i];
      if (const DeviceView *there = inputs[i].onDevice) {
        part.views[i] = {narrowed(there->view, 0, begin, end - begin),
                         there->device};
        part.inputs[i].onDevice = &part.views[i];
        part.inputs[i].data = part.views[i].view.data;
        continue;
      }
      part.inputs[i].data = static_cast<const std::byte *>(inputs[i].data) +
                            begin * rowBytes(inputs[i].element, inputs[i].dims);
    }
  }
}

/// An artifact may claim a batch that its outputs do not have.
static bool isJoinable(const Tensor &first, const Tensor &part) {
  return !first.dims().empty() && first.element() == part.element() &&
         std::ranges::equal(first.dims().subspan(1), part.dims().subspan(1));
}

Status MicroBatches::join(std::span<Tensor> outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) {
    int64_t dims[kMaxRank] = {};
    const Tensor &first = all[0].outputs[o];
    for (size_t p = 0; p < numParts; ++p)
      if (first.dims().size() != all[p].outputs[o].dims().size() ||
          !isJoinable(first, all[p].outputs[o]))
        return artifactError("output ", o, " of the parts of a request cannot ",
                             "be put together; compile the model without "
                             "--micro-batches");
    std::copy(first.dims().begin(), first.dims().end(), dims);
    dims[0] = 0;
    for (size_t p = 0; p < numParts; ++p)
      dims[0] += all[p].outputs[o].dims()[0];
    SHARDC_RETURN_IF_ERROR(
        outputs[o].reshape(first.element(), {dims, first.dims().size()}));
    std::byte *to = outputs[o].data();
    for (size_t p = 0; p < numParts; ++p) {
      const Tensor &part = all[p].outputs[o];
      if (part.bytes() > 0)
        std::memcpy(to, part.data(), static_cast<size_t>(part.bytes()));
      to += part.bytes();
    }
  }
  return Status::ok();
}

} // namespace shardc::runtime
