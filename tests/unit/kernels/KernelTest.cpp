#include "tests/unit/kernels/KernelTest.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/weights/PackedOperands.h"

#include <algorithm>

namespace shardc::runtime::host {

Tensor::Tensor(artifact::ElementType element, const Dims &dims) {
  view.element = element;
  view.rank = static_cast<int>(dims.size());
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.dims[d] = dims[d];
    view.strides[d] = stride;
    stride *= dims[d];
  }
  memory = std::make_shared<std::vector<uint64_t>>(stride + 1);
  view.data = reinterpret_cast<std::byte *>(memory->data());
}

Tensor Tensor::copy() const {
  Tensor result = *this;
  result.memory = std::make_shared<std::vector<uint64_t>>(*memory);
  result.view.data =
      reinterpret_cast<std::byte *>(result.memory->data()) +
      (view.data - reinterpret_cast<std::byte *>(memory->data()));
  return result;
}

Tensor Tensor::permuted(const std::vector<int> &order) const {
  Tensor result = *this;
  for (int d = 0; d < view.rank; ++d) {
    result.view.dims[d] = view.dims[order[d]];
    result.view.strides[d] = view.strides[order[d]];
  }
  return result;
}

Tensor Tensor::broadcast(const Dims &dims) const {
  Tensor result = *this;
  result.view.rank = static_cast<int>(dims.size());
  const int missing = result.view.rank - view.rank;
  for (int d = 0; d < result.view.rank; ++d) {
    const bool isOwn = d >= missing && view.dims[d - missing] == dims[d];
    result.view.dims[d] = dims[d];
    result.view.strides[d] = isOwn ? view.strides[d - missing] : 0;
  }
  return result;
}

Tensor Tensor::slice(int dim, int64_t begin, int64_t size, int64_t step) const {
  Tensor result = *this;
  result.view.data +=
      begin * view.strides[dim] * artifact::elementBytes(view.element);
  result.view.dims[dim] = size;
  result.view.strides[dim] *= step;
  return result;
}

Tensor Tensor::scattered() const {
  std::vector<int> order(view.rank);
  Dims larger(view.rank);
  for (int d = 0; d < view.rank; ++d) {
    order[d] = view.rank - 1 - d;
    larger[d] = 2 * view.dims[order[d]] + 1;
  }
  Tensor result = Tensor(view.element, larger).permuted(order);
  for (int d = 0; d < view.rank; ++d)
    result = view.dims[d] == 0
                 ? result.slice(d, 0, 0)
                 : result.slice(d, 2 * view.dims[d] - 1, view.dims[d], -2);
  const int64_t bytes = artifact::elementBytes(view.element);
  forEach(dims(), [&](const Dims &index) {
    std::copy_n(view.data + offset(index) * bytes, bytes,
                result.view.data + result.offset(index) * bytes);
  });
  return result;
}

void forEach(const Dims &dims, const std::function<void(const Dims &)> &body) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return;
  Dims index(dims.size(), 0);
  for (;;) {
    body(index);
    int d = static_cast<int>(dims.size()) - 1;
    for (; d >= 0 && ++index[d] == dims[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

Attributes &&Attributes::ints(std::string_view name,
                              std::vector<int64_t> values) && {
  entries.push_back({name, {}, std::move(values), {}});
  return std::move(*this);
}
Attributes &&Attributes::number(std::string_view name, double value) && {
  entries.push_back({name, {}, {}, {value}});
  return std::move(*this);
}
Attributes &&Attributes::text(std::string_view name,
                              std::string_view value) && {
  entries.push_back({name, value, {}, {}});
  return std::move(*this);
}
std::vector<KernelAttribute> Attributes::list() const {
  std::vector<KernelAttribute> result;
  for (const Entry &entry : entries)
    result.push_back({entry.name, entry.ints.data(),
                      static_cast<int>(entry.ints.size()), entry.floats.data(),
                      static_cast<int>(entry.floats.size()), entry.text});
  return result;
}

static std::vector<TensorView> viewsOf(const std::vector<Tensor> &tensors,
                                       bool withData) {
  std::vector<TensorView> views;
  for (const Tensor &tensor : tensors) {
    views.push_back(tensor.view);
    if (!withData)
      views.back().data = nullptr;
  }
  return views;
}

/// Where nobody can read: of what was packed nothing else is there.
static std::byte *const kNowhere = reinterpret_cast<std::byte *>(1 << 20);

static Status run(std::string_view name, const std::vector<Tensor> &inputs,
                  const std::vector<Tensor> &outputs,
                  const Attributes &attributes, bool packs) {
  const Kernel *kernel = findHostKernel(name);
  if (!kernel)
    return Status::error(StatusCode::Artifact,
                         "no kernel " + std::string(name));
  const std::vector<KernelAttribute> list = attributes.list();
  auto shapesIn = viewsOf(inputs, false), in = viewsOf(inputs, true);
  const auto shapesOut = viewsOf(outputs, false), out = viewsOf(outputs, true);
  KernelCall call;
  call.inputs = shapesIn.data();
  call.numInputs = static_cast<int>(in.size());
  call.outputs = shapesOut.data();
  call.numOutputs = static_cast<int>(out.size());
  call.attributes = list.data();
  call.numAttributes = static_cast<int>(list.size());
  PackedOperands packed;
  std::vector<PackedOperands::Unpacked> unpacked;
  for (size_t i = 0; packs && i < kernel->packings.size(); ++i) {
    const OperandPacking &packing = kernel->packings[i];
    SHARDC_RETURN_IF_ERROR(packed.find(packing, in[size_t(packing.input)],
                                       /*transient=*/nullptr, call.packed[i],
                                       unpacked));
  }
  for (const PackedOperands::Unpacked &each : unpacked)
    SHARDC_RETURN_IF_ERROR(each.pack());
  for (size_t i = 0; packs && i < kernel->packings.size(); ++i)
    if (const auto replaces = kernel->packings[i].replaces;
        call.packed[i] && replaces && replaces(call))
      in[size_t(kernel->packings[i].input)].data = kNowhere;
  const int64_t bytes = kernel->scratchBytes ? kernel->scratchBytes(call) : 0;

  constexpr std::byte guard{0x7f};
  AlignedBuffer scratch;
  EXPECT_TRUE(scratch.allocate(bytes + 64));
  std::fill_n(scratch.data(), scratch.size(), guard);
  call.inputs = in.data();
  call.outputs = out.data();
  call.scratch = scratch.data();
  const Status status = kernel->run(call);
  for (int64_t i = bytes; i < scratch.size(); ++i)
    EXPECT_EQ(scratch.data()[i], guard) << name << " wrote beyond its scratch";
  return status;
}

Status runKernel(std::string_view name, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &outputs,
                 const Attributes &attributes) {
  return run(name, inputs, outputs, attributes, /*packs=*/false);
}

Status runPacked(std::string_view name, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &outputs,
                 const Attributes &attributes) {
  return run(name, inputs, outputs, attributes, /*packs=*/true);
}

} // namespace shardc::runtime::host
