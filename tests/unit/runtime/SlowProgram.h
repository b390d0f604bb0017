//===- SlowProgram.h - A program that may be ended while it runs ----------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_SLOWPROGRAM_H
#define SHARDC_TESTS_UNIT_RUNTIME_SLOWPROGRAM_H

#include "tests/unit/runtime/ProgramBuilder.h"

namespace shardc::test {

/// z = the sum over the ranks of x, which takes 20 ms for each of so many
/// copies; where n is 1 nobody sleeps.
inline ProgramBuilder slowProgram(int64_t ways, int copies) {
  constexpr auto type = artifact::ElementType_Float32;
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), one = p.constant(1);
  auto milliseconds =
      p.binary(artifact::ScalarOp_Minimum, p.constant(20),
               p.multiply(p.binary(artifact::ScalarOp_Subtract, n, one),
                          p.constant(20)));
  auto x = p.input("x", type, {p.whole(n)});
  auto group = p.group({{0, 1, ways}});
  for (int i = 0; i < copies; ++i) {
    auto y = p.value(type, {n});
    p.run("TestSleep", {int32_t(x)}, {int32_t(y)},
          {p.scalars("ms", {milliseconds})});
    x = y;
  }
  auto z = p.value(type, {n});
  p.run("all_reduce", {int32_t(x)}, {int32_t(z)}, {p.text("kind", "sum")},
        group);
  p.output("z", z, {p.whole(n)});
  return p;
}

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_SLOWPROGRAM_H
