#include "runtime/plan/InputBinding.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/artifact/Instructions.h"
#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"

#include <algorithm>

namespace shardc::runtime {

std::string typeText(const TensorInfo &info) {
  std::string text = artifact::elementName(info.element);
  text += " [";
  for (size_t d = 0; d < info.dims.size(); ++d)
    text += (d ? ", " : "") + info.dims[d];
  return text + "]";
}

template <typename Ports>
static std::vector<TensorInfo> describePorts(const artifact::Program &program,
                                             const Ports &ports) {
  std::vector<TensorInfo> infos;
  for (const auto *port : ports) {
    TensorInfo info{port->name()->str(), port->element(), {}, 0};
    for (uint32_t dim : *port->dims())
      info.dims.push_back(describeScalar(program, dim));
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<TensorInfo> describeInputs(const artifact::Program &program) {
  return describePorts(program, *program.inputs());
}

std::vector<TensorInfo> describeOutputs(const artifact::Program &program) {
  return describePorts(program, *program.outputs());
}

bool sameTypes(std::span<const TensorInfo> a, std::span<const TensorInfo> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorInfo &x, const TensorInfo &y) {
                      return x.name == y.name && x.element == y.element &&
                             x.dims.size() == y.dims.size();
                    });
}

namespace {

std::string listOf(std::span<const TensorInfo> infos) {
  std::string text;
  for (const TensorInfo &info : infos)
    text +=
        (text.empty() ? "'" : ", '") + info.name + "' (" + typeText(info) + ")";
  return text.empty() ? "none" : text;
}

std::string typeText(const InputTensor &tensor) {
  return message(artifact::elementName(tensor.element), " ",
                 shapeText(tensor.dims));
}

Status matchNames(std::span<const TensorInfo> infos,
                  std::span<const InputTensor> given,
                  std::span<const InputTensor *> ordered) {
  std::fill(ordered.begin(), ordered.end(), nullptr);
  for (const InputTensor &tensor : given) {
    auto it = std::find_if(infos.begin(), infos.end(), [&](const auto &info) {
      return info.name == tensor.name;
    });
    if (it == infos.end())
      return argumentError("unknown input '", tensor.name,
                           "'; the model's inputs are ", listOf(infos));
    auto &place = ordered[static_cast<size_t>(it - infos.begin())];
    if (place)
      return argumentError("input '", tensor.name, "' is given twice");
    place = &tensor;
  }
  for (size_t i = 0; i < infos.size(); ++i)
    if (!ordered[i])
      return argumentError("missing input '", infos[i].name, "': expected ",
                           typeText(infos[i]));
  return Status::ok();
}

template <typename T>
Status checkRows(const TensorInfo &info, std::span<const T> indices) {
  const auto other =
      std::find_if(indices.begin(), indices.end(), [&](int64_t index) {
        return index < -info.numRows || index >= info.numRows;
      });
  return other == indices.end()
             ? Status::ok()
             : argumentError("input '", info.name, "': there is no row ",
                             *other, " in a table of ", info.numRows,
                             ": expected 0 to ", info.numRows - 1,
                             ", or from the end ", -info.numRows, " to -1");
}

/// Of what looks up a table's rows, where the host can read it.
Status checkIndices(const TensorInfo &info, const InputTensor &tensor,
                    int64_t elements) {
  const auto count = static_cast<size_t>(elements);
  if (info.numRows == 0 || tensor.onDevice)
    return Status::ok();
  if (info.element == ElementType_Int64)
    return checkRows<int64_t>(
        info, {static_cast<const int64_t *>(tensor.data), count});
  if (info.element == ElementType_Int32)
    return checkRows<int32_t>(
        info, {static_cast<const int32_t *>(tensor.data), count});
  return Status::ok();
}

Status checkTensor(const TensorInfo &info, const InputTensor &tensor) {
  bool fits =
      tensor.element == info.element && tensor.dims.size() == info.dims.size();
  int64_t elements = 1;
  for (int64_t dim : tensor.dims)
    fits =
        fits && dim >= 0 && !__builtin_mul_overflow(elements, dim, &elements);
  if (!fits)
    return argumentError("input '", info.name, "': expected ", typeText(info),
                         ", found ", typeText(tensor));
  if (elements == 0)
    return Status::ok();
  const auto size =
      static_cast<uintptr_t>(artifact::elementBytes(info.element));
  if (!tensor.data)
    return argumentError("input '", info.name, "' has no data");
  if (reinterpret_cast<uintptr_t>(tensor.data) % size != 0)
    return argumentError("input '", info.name,
                         "': its data must be aligned to ", size, " bytes");
  return checkIndices(info, tensor, elements);
}

/// The symbol that a dim stands for alone, -1 if it is anything else.
int64_t symbolOf(const artifact::Program &program, uint32_t scalar) {
  const artifact::Scalar *dim = program.scalars()->Get(scalar);
  return dim->op() == artifact::ScalarOp_Symbol ? dim->value() : -1;
}

} // namespace

Status matchInputs(std::span<const TensorInfo> infos,
                   std::span<const InputTensor> given,
                   std::span<const InputTensor *> ordered) {
  SHARDC_RETURN_IF_ERROR(matchNames(infos, given, ordered));
  for (size_t i = 0; i < infos.size(); ++i)
    SHARDC_RETURN_IF_ERROR(checkTensor(infos[i], *ordered[i]));
  return Status::ok();
}

Status bindSymbols(const artifact::Program &program,
                   std::span<const TensorInfo> infos,
                   std::span<const InputTensor *const> ordered,
                   std::span<int64_t> symbols) {
  for (uint32_t s = 0; s < symbols.size(); ++s) {
    const artifact::Symbol *symbol = program.symbols()->Get(s);
    if (isBoundByRun(*symbol) || symbol->capacity())
      continue; // the run finds it, or the state has it
    symbols[s] = ordered[symbol->input()]->dims[symbol->dim()];
  }
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const auto *dims = program.inputs()->Get(i)->dims();
    for (uint32_t d = 0; d < dims->size(); ++d) {
      int64_t at = symbolOf(program, dims->Get(d));
      if (at < 0 || symbols[static_cast<size_t>(at)] == ordered[i]->dims[d])
        continue;
      const artifact::Symbol *symbol =
          program.symbols()->Get(static_cast<uint32_t>(at));
      return argumentError(
          "input '", infos[i].name, "': dim ", d, " is ", ordered[i]->dims[d],
          ", expected ", symbol->name()->c_str(), " = ",
          symbols[static_cast<size_t>(at)], " as in dim ", symbol->dim(),
          " of input '", infos[symbol->input()].name, "'");
    }
  }
  return Status::ok();
}

Status checkInputDims(const artifact::Program &program,
                      std::span<const TensorInfo> infos,
                      std::span<const InputTensor *const> ordered,
                      std::span<const int64_t> scalars) {
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const auto *dims = program.inputs()->Get(i)->dims();
    for (uint32_t d = 0; d < dims->size(); ++d)
      if (scalars[dims->Get(d)] != ordered[i]->dims[d])
        return argumentError("input '", infos[i].name, "': dim ", d, " is ",
                             ordered[i]->dims[d], ", expected ",
                             infos[i].dims[d], " = ", scalars[dims->Get(d)],
                             " (", typeText(infos[i]), ")");
  }
  return Status::ok();
}

} // namespace shardc::runtime
