//===- MatrixQuantizer.h - One weight in fewer bits -----------------------===//
//
// Data are [n, k] whether the source is [n, k] or [k, n]: what a rank has of a
// product that is split by its results is then one piece of the file. A source
// [k, n] is read by rows of some groups, of which 64 columns at a time are
// rounded while they are in the cache, and turned as they are written.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_QUANTIZE_MATRIXQUANTIZER_H
#define SHARDC_COMPILER_QUANTIZE_MATRIXQUANTIZER_H

#include "dialects/onnx/QuantizedMatrix.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <vector>

namespace shardc::quantize {

class MatrixQuantizer {
public:
  /// Reads bytes of the source from an offset on; "" or why not.
  using Reader =
      std::function<std::string(uint64_t, llvm::MutableArrayRef<char>)>;

  MatrixQuantizer(const onnx::QuantizedMatrix &matrix, Reader read);

  /// "" or what went wrong.
  std::string writeData(llvm::raw_ostream &out);
  /// Those of the data that were written.
  void writeScales(llvm::raw_ostream &out) const;

private:
  std::string roundAll(llvm::raw_ostream &out);
  /// Matrix `batch` of several, as data from element `first` of `data` on.
  std::string quantize(int64_t batch, uint64_t first);
  std::string quantizeByColumns(int64_t batch, uint64_t first);
  std::string findColumnScales(int64_t batch);
  std::string quantizeByRows(int64_t batch, uint64_t first);
  /// Rows of the source, as floats in `numbers`.
  std::string readRows(int64_t batch, int64_t row, int64_t count);

  void quantizeTile(int64_t batch, uint64_t first, int64_t row, int64_t count,
                    int64_t column);
  void quantizeRow(int64_t batch, uint64_t first, int64_t row,
                   const float *numbers);
  float scaleOf(float furthest) const;
  /// `count` of them, as elements of `data` from `at` on.
  void encode(const float *numbers, const float *divisors, int64_t step,
              uint8_t *codes, int64_t count) const;
  void put(uint64_t at, const uint8_t *codes, int64_t stride, int64_t count);
  void putTile(uint64_t at, int64_t step, uint8_t *codes, int64_t width,
               int64_t depth);
  template <typename Body> void forEach(int64_t count, Body body) const;

  const onnx::QuantizedMatrix &matrix;
  Reader read;
  const int bits;
  const bool isFloat8;
  const int64_t group; ///< all of k where there are none
  int64_t sourceRows, sourceColumns;
  std::vector<char> bytes;
  std::vector<float> numbers;
  std::vector<uint8_t> data;
  std::vector<float>
      scales; ///< [batch, n, groups], as the model's type has them
};

} // namespace shardc::quantize

#endif // SHARDC_COMPILER_QUANTIZE_MATRIXQUANTIZER_H
