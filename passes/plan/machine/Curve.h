//===- Curve.h - How long so many bytes take ------------------------------===//
//
// Measured points, since one latency and one rate miss what lies between them by
// up to 40 %: protocols and algorithms change with the size of a message.
// Between two points the seconds lie on a line over the logarithms of both;
// before the first one they stay, behind the last one its rate goes on.
//
//   8 ranks of an H100 node, all_reduce:  1 KiB 16 us, 1 MiB 28 us, 512 MiB 2.1 ms
//   2 GiB: 8.4 ms
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_CURVE_H
#define SHARDC_PASSES_PLAN_MACHINE_CURVE_H

#include <vector>

namespace shardc::plan {

class Curve {
public:
  struct Point {
    double bytes = 0, seconds = 0;
  };

  Curve() = default;
  /// Through points of ascending, positive bytes and seconds; at least one.
  explicit Curve(std::vector<Point> points) : points(std::move(points)) {}
  /// A link that is known by two numbers.
  static Curve ofRate(double bytesPerSecond, double latency);

  bool isKnown() const { return !points.empty() || rate > 0; }
  double seconds(double bytes) const;

private:
  std::vector<Point> points;
  double rate = 0, latency = 0; ///< where there are no points
};

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_CURVE_H
