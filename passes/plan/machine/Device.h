//===- Device.h - How long a device takes for what it does ----------------===//
//
// Peaks, what share of them kernels reach, and how they are built: no constant
// here stands for a model. A product is cut into tiles, which multiprocessors do
// in waves; it takes as long as its waves or its reading, whichever is longer.
//
//   H100, [64, 8192] x [8192, 8192] in bf16: 128 MiB of weights at 2.8 TB/s,
//   48 us, and its start; its 4.3 G multiply-adds alone would take 11 us.
//   [4096, 8192] x [8192, 8192]: 0.70 ms, at most 82 % of 989 TFLOP/s.
//
// Against GEMMs that were measured on A100, H100, H200 and B200 (2,002 sizes
// each) the mean error is 4 to 13 % up to 64 rows, 9 to 19 % up to 512 and 4 to 11
// % beyond, on A100 and H100 5 %.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_DEVICE_H
#define SHARDC_PASSES_PLAN_MACHINE_DEVICE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc::plan {

/// Of a product's result: libraries choose among several. Smaller ones reach less of
/// the largest one's speed, since they read each operand more often.
struct Tile {
  int64_t rows, columns;
  double speed;
};
std::vector<Tile> gpuTiles();

struct Device {
  std::string name;
  double memoryBytes = 0;
  /// Of it, what drivers, libraries and communicators take for themselves.
  double reservedBytes = 0;
  /// What kernels reach of the rate of its memory.
  double bytesPerSecond = 0;
  /// Multiply-adds a second that large products reach, by bits of an element.
  std::map<int64_t, double> multiplyAdds;
  int64_t multiprocessors = 1;
  int64_t tileRows = 128; ///< of a product: fewer are not done sooner
  std::vector<Tile> tiles = gpuTiles();
  /// A tile starts and ends like so much more of its depth.
  double tileStart = 0;
  double startSeconds = 0; ///< of a kernel
  /// Of attention: multiply-adds a second at 16 bits, and bytes a second of keys
  /// and values that steps reach.
  double attentionMultiplyAdds = 0, attentionBytesPerSecond = 0;
  double attentionStartSeconds = 0;
  /// Of a product's speed, while a collective runs beside it; 0: a rank's own cores
  /// do both.
  double speedBeside = 1;

  /// Of elements of so many bits, or the next wider ones.
  double rateOf(int64_t elementBits) const;
};

/// [rows, depth] x [depth, columns], or so many of them at once.
struct ProductSize {
  int64_t rows = 0, depth = 0, columns = 0;
  int64_t elementBits = 32;
  /// Weights become numbers anew in each product, before they are read.
  bool isDequantized = false;
  int64_t products = 1;
};
/// Its start, and the longer one of computing and of reading and writing.
struct ProductSeconds {
  double start = 0, compute = 0, memory = 0;
  bool readsLonger() const { return memory > compute; }
};
ProductSeconds partsOfProduct(const Device &device, const ProductSize &size);
double productSeconds(const Device &device, const ProductSize &size);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_DEVICE_H
