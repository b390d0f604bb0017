#include "runtime/device/RowSpace.h"

#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

Status misfit(std::string_view kernel, const char *what) {
  return artifactError(kernel, ": ", what);
}

const TensorView &viewOf(const KernelCall &call, int operand) {
  return operand < call.numInputs ? call.inputs[operand]
                                  : call.outputs[operand - call.numInputs];
}

/// All have the rows of the first; one column, or as many as the others.
Status checkViews(std::string_view kernel, const artifact::GeneratedForm &form,
                  const KernelCall &call, int64_t &columns) {
  const int numOperands = call.numInputs + call.numOutputs;
  if (numOperands != static_cast<int>(form.operands.size()) || numOperands == 0)
    return misfit(kernel, "has another number of operands");
  const TensorView &first = viewOf(call, 0);
  bool isKnown = false;
  columns = 1;
  for (int i = 0; i < numOperands; ++i) {
    const TensorView &view = viewOf(call, i);
    if (view.rank < 1 || view.rank != first.rank ||
        !std::equal(view.dims, view.dims + view.rank - 1, first.dims))
      return misfit(kernel, "has operands of different rows");
    const int64_t own = view.dims[view.rank - 1];
    if (form.operands[static_cast<size_t>(i)].isPerRow) {
      if (own != 1)
        return misfit(kernel, "has an operand of one column that has more");
      continue;
    }
    if (own > 1 && view.strides[view.rank - 1] != 1)
      return misfit(kernel, "has columns that are not next to each other");
    if (isKnown && own != columns)
      return misfit(kernel, "has operands of different columns");
    columns = own;
    isKnown = true;
  }
  return Status::ok();
}

/// Whether dims d and d + 1 are one, for all operands.
bool canFold(const RowSpace &space, int d) {
  for (int i = 0; i < space.numOperands; ++i) {
    const int64_t *strides = space.operands[i].strides;
    if (strides[d] != strides[d + 1] * space.dims[d + 1])
      return false;
  }
  return true;
}

void foldRows(RowSpace &space) {
  for (int d = space.rank - 2; d >= 0; --d) {
    if (!canFold(space, d))
      continue;
    space.dims[d] *= space.dims[d + 1];
    for (int i = 0; i < space.numOperands; ++i)
      space.operands[i].strides[d] = space.operands[i].strides[d + 1];
    --space.rank;
    for (int later = d + 1; later < space.rank; ++later) {
      space.dims[later] = space.dims[later + 1];
      for (int i = 0; i < space.numOperands; ++i)
        space.operands[i].strides[later] = space.operands[i].strides[later + 1];
    }
  }
}

/// Rows that stand behind each other become columns.
void foldColumns(RowSpace &space) {
  while (space.rank > 0) {
    const int last = space.rank - 1;
    for (int i = 0; i < space.numOperands; ++i) {
      const RowOperand &operand = space.operands[i];
      if (operand.strides[last] != (operand.isPerRow ? 0 : space.columns))
        return;
    }
    space.columns *= space.dims[last];
    --space.rank;
  }
}

} // namespace

int64_t RowSpace::rows() const {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d)
    n *= dims[d];
  return n;
}

void RowSpace::fold(const artifact::GeneratedForm &form) {
  if (!form.mixesColumns && form.slots == 0)
    foldColumns(*this);
  foldRows(*this);
}

Status bindRows(std::string_view kernel, const artifact::GeneratedForm &form,
                const KernelCall &call, RowSpace &space) {
  SHARDC_RETURN_IF_ERROR(checkViews(kernel, form, call, space.columns));
  space.numOperands = call.numInputs + call.numOutputs;
  const TensorView &first = viewOf(call, 0);
  for (int d = 0; d + 1 < first.rank; ++d) {
    if (first.dims[d] == 1)
      continue;
    space.dims[space.rank] = first.dims[d];
    for (int i = 0; i < space.numOperands; ++i)
      space.operands[i].strides[space.rank] = viewOf(call, i).strides[d];
    ++space.rank;
  }
  for (int i = 0; i < space.numOperands; ++i) {
    const TensorView &view = viewOf(call, i);
    space.operands[i].data = view.data;
    space.operands[i].bytes = artifact::elementBytes(view.element);
    space.operands[i].isPerRow = form.operands[static_cast<size_t>(i)].isPerRow;
  }
  return Status::ok();
}

} // namespace shardc::runtime
