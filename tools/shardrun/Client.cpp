#include "tools/shardrun/Client.h"

#include <utility>

using namespace shardc::runtime;

namespace shardrun {
namespace {

void describeValues(const std::vector<shardrt::ValueInfo> &values,
                    std::vector<TensorInfo> &infos,
                    std::vector<char> &isCache) {
  for (const shardrt::ValueInfo &value : values) {
    infos.push_back(
        {value.name, static_cast<ElementType>(value.type), value.dims});
    isCache.push_back(value.isCache);
  }
}

} // namespace

Status describe(const shardrt::Session &session, Model &model) {
  shardrt_session_info info;
  SHARDC_RETURN_IF_ERROR(statusOf(session.info(info)));
  model = {};
  model.page = info.page;
  model.worldSize = info.world_size;
  model.tolerance = info.tolerance;
  describeValues(session.inputs(), model.inputs, model.inputIsCache);
  describeValues(session.outputs(), model.outputs, model.outputIsCache);
  return Status::ok();
}

Status tensorOf(const shardrt::Output &output, Tensor &tensor) {
  int64_t bytes =
      shardc::artifact::elementBytes(static_cast<ElementType>(output.type));
  for (const int64_t dim : output.dims)
    bytes *= dim;
  // It is only read.
  tensor = Tensor::borrow(const_cast<void *>(output.data), bytes);
  return tensor.reshape(static_cast<ElementType>(output.type), output.dims);
}

std::vector<shardrt::Input> inputsOf(const std::vector<NamedTensor> &tensors) {
  std::vector<shardrt::Input> made;
  for (const NamedTensor &named : tensors) {
    const std::span<const int64_t> dims = named.tensor.dims();
    made.push_back({named.name,
                    static_cast<shardrt_type>(named.tensor.element()),
                    {dims.begin(), dims.end()},
                    named.tensor.data()});
  }
  return made;
}

} // namespace shardrun
