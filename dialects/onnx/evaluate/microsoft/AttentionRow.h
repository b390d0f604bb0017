//===- AttentionRow.h - One query of an attention, and what it sees -------===//
//
//   AttentionRow row;
//   row.scores.push_back(2.0), row.hide();
//   row.weigh();                            1, 0
//   row.sum([&](int64_t j) { return at(v, {j, e}); })
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONROW_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONROW_H

#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

namespace shardc::onnx::evaluate {

struct AttentionRow {
  std::vector<double> scores;
  std::optional<double> sink; ///< a score that has no value

  void hide() { scores.push_back(-INFINITY); }
  /// Scores become shares of 1; of a row that sees nothing, 0.
  void weigh();
  template <typename F> double sum(F valueOf) const {
    double total = 0;
    for (size_t j = 0; j < scores.size(); ++j)
      total += scores[j] * valueOf(int64_t(j));
    return total;
  }
};

/// A score that something is added to is of that type from there on; what is
/// added -inf hides.
double biased(const Definition &d, mlir::Type element, double score,
              double bias);

/// Turns pair `p` of the elements at `row` by an angle: elements p and
/// p + pairs, or 2 p and 2 p + 1.
void turn(const Tensor &from, Tensor &to, Index row, int64_t p, int64_t pairs,
          bool areNeighbours, double cos, double sin);
inline void turn(const Tensor &from, Tensor &to,
                 std::initializer_list<int64_t> row, int64_t p, int64_t pairs,
                 bool areNeighbours, double cos, double sin) {
  turn(from, to, Index(row.begin(), row.size()), p, pairs, areNeighbours, cos,
       sin);
}

/// Which keys a mask of padding hides.
struct KeyPadding {
  const Tensor *mask; ///< null: none
  int64_t batch, queries, keys;

  /// Whether the mask has a form that means something.
  bool isValid() const;
  bool hides(int64_t row, int64_t query, int64_t key) const;
};

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_ATTENTIONROW_H
