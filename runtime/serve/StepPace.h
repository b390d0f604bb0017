//===- StepPace.h - How long steps take, and may take ---------------------===//
//
// A step takes about a + b * tokens: to read weights, and to compute with them.
// Both are found from steps that ran, the last ones most of all (least squares).
// Who reads along waits for a step; so parts of prompts beside rows that decode
// take no more time than `slowdown` allows:
//
//   a 10 ms, b 1 ms; 20 rows decode: 30 ms alone; twice that has room for 30
//   tokens of prompts
//
// Where weights take most of the time, as on GPUs, that is many tokens.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_STEPPACE_H
#define SHARDC_RUNTIME_SERVE_STEPPACE_H

#include <cstdint>

namespace shardc::runtime {

class StepPace {
public:
  void took(int64_t tokens, double seconds);
  /// Of prompts, beside so many rows that decode. `slowdown`: of a step with
  /// them to one without; 0: as long as it takes.
  int64_t prompts(int64_t decoding, double slowdown) const;

private:
  double weight = 0, tokens = 0, seconds = 0, squares = 0,
         products = 0; ///< sums
  double extra = 0;    ///< a / b: what reading weights is worth in tokens
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_STEPPACE_H
