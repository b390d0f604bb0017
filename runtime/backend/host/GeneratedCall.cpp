//===- GeneratedCall.cpp - A call as rows ---------------------------------===//
//
//   dims [2, 8, 100, 64], operand strides {51200, 6400, 64, 1}    1600 rows of
//   64
//                         and {51200, 64, 512, 1}: 2 x 8 times 100 rows
//
// Where columns do not mix and nothing is between rows, all is one row.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/GeneratedKernels.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace shardc::runtime {
namespace {

constexpr int kMaxOperands = artifact::kMaxGeneratedOperands;
/// Less than this many elements for each thread is not worth waking it.
constexpr int64_t kElementsPerThread = 32768;

struct Operand {
  std::byte *data;
  int64_t bytes; ///< of an element
  bool isPerRow;
  int64_t strides[kMaxRank]; ///< parallel to Space::dims
};

/// What is iterated over, outermost first: rows are the last of dims.
struct Space {
  int64_t columns = 1;
  int rank = 0;
  int64_t dims[kMaxRank];
  int numOperands = 0;
  Operand operands[kMaxOperands];

  int64_t rows() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d)
      n *= dims[d];
    return n;
  }
};

Status misfit(const GeneratedKernel &kernel, const char *what) {
  return Status::error(StatusCode::Artifact, kernel.name + ": " + what);
}

/// Checks the views, and takes them apart.
Status bindSpace(const GeneratedKernel &kernel, const KernelCall &call,
                 Space &space) {
  const TensorView *first = nullptr;
  space.numOperands = call.numInputs + call.numOutputs;
  if (space.numOperands != static_cast<int>(kernel.form.operands.size()))
    return misfit(kernel, "has another number of operands");
  auto viewOf = [&](int i) -> const TensorView & {
    return i < call.numInputs ? call.inputs[i]
                              : call.outputs[i - call.numInputs];
  };
  for (int i = 0; i < space.numOperands; ++i) {
    const TensorView &view = viewOf(i);
    const bool isPerRow = kernel.form.operands[static_cast<size_t>(i)] % 2 != 0;
    if (!first)
      first = &view;
    if (view.rank < 1 || view.rank != first->rank ||
        !std::equal(view.dims, view.dims + view.rank - 1, first->dims))
      return misfit(kernel, "has operands of different rows");
    const int64_t columns = view.dims[view.rank - 1];
    if (isPerRow && columns != 1)
      return misfit(kernel, "has an operand of one column that has more");
    if (!isPerRow) {
      if (columns > 1 && view.strides[view.rank - 1] != 1)
        return misfit(kernel, "has columns that are not next to each other");
      if (space.columns != 1 && space.columns != columns)
        return misfit(kernel, "has operands of different columns");
      space.columns = columns;
    }
  }
  // An operand of one column among others of many would be read beyond.
  for (int i = 0; i < space.numOperands; ++i)
    if (kernel.form.operands[static_cast<size_t>(i)] % 2 == 0 &&
        viewOf(i).dims[viewOf(i).rank - 1] != space.columns)
      return misfit(kernel, "has operands of different columns");
  for (int d = 0; d + 1 < first->rank; ++d) {
    if (first->dims[d] == 1)
      continue;
    space.dims[space.rank] = first->dims[d];
    for (int i = 0; i < space.numOperands; ++i)
      space.operands[i].strides[space.rank] = viewOf(i).strides[d];
    ++space.rank;
  }
  for (int i = 0; i < space.numOperands; ++i) {
    Operand &operand = space.operands[i];
    operand.data = viewOf(i).data;
    operand.bytes = artifact::elementBytes(viewOf(i).element);
    operand.isPerRow = kernel.form.operands[static_cast<size_t>(i)] % 2 != 0;
  }
  return Status::ok();
}

/// Whether dims d and d + 1 are one, for all operands.
bool canFold(const Space &space, int d) {
  for (int i = 0; i < space.numOperands; ++i) {
    const int64_t *strides = space.operands[i].strides;
    if (strides[d] != strides[d + 1] * space.dims[d + 1])
      return false;
  }
  return true;
}

void foldRows(Space &space) {
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
void foldColumns(Space &space) {
  while (space.rank > 0) {
    const int last = space.rank - 1;
    for (int i = 0; i < space.numOperands; ++i) {
      const Operand &operand = space.operands[i];
      if (operand.strides[last] != (operand.isPerRow ? 0 : space.columns))
        return;
    }
    space.columns *= space.dims[last];
    --space.rank;
  }
}

/// Rows [first, end) of all, counted over all dims.
void runRows(const GeneratedKernel &kernel, const Space &space, int64_t first,
             int64_t end, float *scratch) {
  const int last = space.rank - 1;
  const int64_t inner = space.rank > 0 ? space.dims[last] : 1;
  int64_t sizes[kMaxOperands + 1];
  sizes[0] = space.columns;
  for (int i = 0; i < space.numOperands; ++i)
    sizes[i + 1] = space.rank > 0 ? space.operands[i].strides[last] : 0;
  while (first < end) {
    void *data[kMaxOperands];
    const int64_t row = first % inner;
    for (int i = 0; i < space.numOperands; ++i) {
      int64_t rest = first / inner, offset = 0;
      for (int d = last - 1; d >= 0; --d) {
        offset += rest % space.dims[d] * space.operands[i].strides[d];
        rest /= space.dims[d];
      }
      data[i] = space.operands[i].data + offset * space.operands[i].bytes;
    }
    const int64_t count = std::min(inner - row, end - first);
    kernel.function(data, sizes, row, row + count, scratch);
    first += count;
  }
}

/// A part of the only row.
void runColumns(const GeneratedKernel &kernel, Space space, int64_t first,
                int64_t end, float *scratch) {
  space.columns = end - first;
  for (int i = 0; i < space.numOperands; ++i)
    if (!space.operands[i].isPerRow)
      space.operands[i].data += first * space.operands[i].bytes;
  runRows(kernel, space, 0, 1, scratch);
}

int hostThreads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

} // namespace

int64_t generatedScratchBytes(const KernelCall &call) {
  const auto &kernel = *static_cast<const GeneratedKernel *>(call.code);
  Space space;
  if (kernel.form.slots == 0 || !bindSpace(kernel, call, space).isOk())
    return 0; // run says what is wrong
  return hostThreads() * 4 *
         artifact::scratchFloats(kernel.form.slots, space.columns);
}

Status runGenerated(const KernelCall &call) {
  const auto &kernel = *static_cast<const GeneratedKernel *>(call.code);
  Space space;
  SHARDC_RETURN_IF_ERROR(bindSpace(kernel, call, space));
  const int64_t rows = space.rows();
  if (rows == 0 || (space.columns == 0 && !kernel.form.mixesColumns))
    return Status::ok();
  if (!kernel.form.mixesColumns && kernel.form.slots == 0)
    foldColumns(space);
  foldRows(space);
  const bool isOneRow = space.rank == 0 && !kernel.form.mixesColumns;
  const int64_t units =
      isOneRow ? space.columns / artifact::kGeneratedWidth + 1 : space.rows();
  const int64_t wanted = rows * space.columns / kElementsPerThread;
  const int64_t threads =
      std::clamp<int64_t>(std::min(wanted, units), 1, hostThreads());
  auto *scratch = reinterpret_cast<float *>(call.scratch);
  const int64_t own = artifact::scratchFloats(kernel.form.slots, space.columns);
  const auto part = [&](int64_t thread) {
    const int64_t first = units * thread / threads;
    const int64_t end = units * (thread + 1) / threads;
    if (isOneRow)
      runColumns(kernel, space, first * artifact::kGeneratedWidth,
                 std::min(end * artifact::kGeneratedWidth, space.columns),
                 scratch + own * thread);
    else
      runRows(kernel, space, first, end, scratch + own * thread);
  };
  if (threads == 1) {
    part(0);
    return Status::ok();
  }
#pragma omp parallel for num_threads(static_cast<int>(threads))
  for (int64_t thread = 0; thread < threads; ++thread)
    part(thread);
  return Status::ok();
}

} // namespace shardc::runtime
