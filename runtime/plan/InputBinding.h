//===- InputBinding.h - A request's inputs against the program's ----------===//
//
// Finds each input by name, checks type and shape, and binds the symbols: the
// first place where a symbol occurs gives its value, all later ones must agree.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PLAN_INPUTBINDING_H
#define SHARDC_RUNTIME_PLAN_INPUTBINDING_H

#include "runtime/tensor/Tensor.h"

#include <span>
#include <vector>

namespace shardc::runtime {

/// What the program says about its inputs or outputs, for messages and users.
std::vector<TensorInfo> describeInputs(const artifact::Program &program);
std::vector<TensorInfo> describeOutputs(const artifact::Program &program);

/// Whether both have the same names, elements and numbers of dims; what their
/// sizes are called may differ.
bool sameTypes(std::span<const TensorInfo> a, std::span<const TensorInfo> b);

/// Points ordered[i] at the tensor of the i-th input, whose type fits and whose
/// indices are rows of its table, as far as the host can read them; `ordered` has
/// the right size already. Errors have code InvalidArgument.
Status matchInputs(std::span<const TensorInfo> infos,
                   std::span<const InputTensor> given,
                   std::span<const InputTensor *> ordered);

/// Binds the symbols that inputs' dims say, and checks that inputs agree.
Status bindSymbols(const artifact::Program &program,
                   std::span<const TensorInfo> infos,
                   std::span<const InputTensor *const> ordered,
                   std::span<int64_t> symbols);

/// The dims that no symbol stands for alone: constants and expressions, with
/// the scalars of any rank.
Status checkInputDims(const artifact::Program &program,
                      std::span<const TensorInfo> infos,
                      std::span<const InputTensor *const> ordered,
                      std::span<const int64_t> scalars);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PLAN_INPUTBINDING_H
