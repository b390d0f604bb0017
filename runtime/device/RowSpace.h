//===- RowSpace.h - A generated kernel's call as rows ---------------------===//
//
// Views of the same dims become rows of columns, as few dims as all strides
// allow:
//
//   dims [2, 8, 100, 64], operand strides {51200, 6400, 64, 1}    1600 rows
//   and {51200, 64, 512, 1}                              2 x 8 times 100 rows
//
// Where columns do not mix and nothing is between rows, all is one row.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_ROWSPACE_H
#define SHARDC_RUNTIME_DEVICE_ROWSPACE_H

#include "runtime/artifact/Generated.h"
#include "runtime/kernels/Kernel.h"

namespace shardc::runtime {

struct RowOperand {
  std::byte *data;
  int64_t bytes; ///< of an element
  bool isPerRow;
  int64_t strides[kMaxRank]; ///< parallel to RowSpace::dims
};

/// What is iterated over, outermost first: rows are the last of dims.
struct RowSpace {
  int64_t columns = 1;
  int rank = 0;
  int64_t dims[kMaxRank];
  int numOperands = 0;
  RowOperand operands[artifact::kMaxGeneratedOperands];

  int64_t rows() const;
  /// Rows of fewer dims, and where columns may be, rows that are columns.
  void fold(const artifact::GeneratedForm &form);
};

/// Checks the call's views against the form, and takes them apart. Errors begin
/// with the kernel's name.
Status bindRows(std::string_view kernel, const artifact::GeneratedForm &form,
                const KernelCall &call, RowSpace &space);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_ROWSPACE_H
