//===- ProgramChecksTest.cpp - Malformed programs do not run --------------===//
#include "runtime/artifact/check/ProgramChecks.h"

#include "runtime/kernels/Kernel.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cstring>
#include <functional>

namespace shardc::runtime {
namespace {

using namespace test;

bool known(std::string_view name) { return findHostKernel(name) != nullptr; }

Status verify(const ProgramBuilder &p) {
  std::string bytes = p.finish();
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return verifyProgram("stage0.program", aligned.data(), bytes.size(), known);
}

/// One change to a good program, and a part of the message it must give.
struct Mistake {
  const char *message;
  std::function<void(ProgramBuilder &, uint32_t n, uint32_t x)> change;
};

/// Of two ways with these parts.
void gatherByBounds(ProgramBuilder &p, uint32_t n, uint32_t x,
                    const std::vector<int64_t> &bounds) {
  auto y = p.value(Float32, {n});
  const Layout layout{{Factor{n, 2, p.constant(0), bounds}}};
  p.run("all_gather", {int32_t(x)}, {int32_t(y)},
        {p.ints("dim", {0}), p.layout("layout", layout)}, p.group({{0, 1, 2}}));
}

TEST(ProgramChecks, eachMistakeIsNamed) {
  const Mistake mistakes[] = {
      {"", [](auto &, auto, auto) {}},
      {"no kernel Nonesuch",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("Nonesuch", {int32_t(x)}, {int32_t(y)});
       }},
      {"refers to view 1000",
       [](auto &p, auto, auto) { p.run("TestCopy", {1000}, {}); }},
      {"before it is written",
       [](auto &p, auto n, auto) {
         auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
         p.run("TestCopy", {int32_t(y)}, {int32_t(z)});
       }},
      {"read-only",
       [](auto &p, auto, auto x) {
         p.run("TestCopy", {int32_t(x)}, {int32_t(x)});
       }},
      {"has no group",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_reduce", {int32_t(x)}, {int32_t(y)},
               {p.text("kind", "sum")});
       }},
      {"expected sum, max or min",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_reduce", {int32_t(x)}, {int32_t(y)},
               {p.text("kind", "median")}, p.group({{0, 1, 2}}));
       }},
      {"no layout",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_gather", {int32_t(x)}, {int32_t(y)}, {p.ints("dim", {0})},
               p.group({{0, 1, 2}}));
       }},
      {"no valid dim",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_gather", {int32_t(x)}, {int32_t(y)},
               {p.ints("dim", {1}), p.layout("layout", p.whole(n))},
               p.group({{0, 1, 2}}));
       }},
      {"no valid dim",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_to_all", {int32_t(x)}, {int32_t(y)},
               {p.ints("dim", {0}), p.layout("layout", p.whole(n))},
               p.group({{0, 1, 2}}));
       }},
      {"no layout",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("all_to_all", {int32_t(x)}, {int32_t(y)},
               {p.ints("dim", {0, 0}), p.layout("layout", p.whole(n))},
               p.group({{0, 1, 2}}));
       }},
      {"bounds do not ascend from 0",
       [](auto &p, auto n, auto x) { gatherByBounds(p, n, x, {0, 3}); }},
      {"bounds do not ascend from 0",
       [](auto &p, auto n, auto x) { gatherByBounds(p, n, x, {1, 3, 4}); }},
      {"bounds do not ascend from 0",
       [](auto &p, auto n, auto x) { gatherByBounds(p, n, x, {0, 4, 4}); }},
      {"bounds do not ascend from 0",
       [](auto &p, auto n, auto x) { gatherByBounds(p, n, x, {0, -3, 4}); }},
      {"bounds do not ascend from 0",
       [](auto &p, auto n, auto x) { gatherByBounds(p, n, x, {0, 3, 4, 5}); }},
      {"no valid distance",
       [](auto &p, auto n, auto x) {
         auto y = p.value(Float32, {n});
         p.run("shift", {int32_t(x)}, {int32_t(y)}, {p.ints("distance", {-1})},
               p.group({{0, 1, 2}}));
       }},
      {"does not divide", [](auto &p, auto, auto) { p.group({{0, 1, 3}}); }},
      {"parts of one axis overlap",
       [](auto &p, auto, auto) { p.group({{1, 1, 4}, {1, 2, 2}}); }},
      {"names mesh axis 7", [](auto &p, auto, auto) { p.group({{7, 1, 1}}); }},
      {"is malformed",
       [](auto &p, auto, auto) {
         p.binary(artifact::ScalarOp_Add, 100000, 0);
       }},
      {"depends on an input's shape",
       [](auto &p, auto n, auto) {
         auto y = p.value(Float32, {n});
         p.load("TestFill", {}, {int32_t(y)});
       }},
      {"reads an input while loading",
       [](auto &p, auto, auto x) {
         auto y = p.value(Float32, {p.constant(1)});
         p.load("TestCopy", {int32_t(x)}, {int32_t(y)});
       }},
      {"twice",
       [](auto &p, auto n, auto) {
         auto y = p.value(Float32, {n});
         p.run("TestFill", {}, {int32_t(y)},
               {p.ints("value", {1}), p.ints("value", {2})});
       }},
      {"never written",
       [](auto &p, auto n, auto) {
         p.output("late", p.value(Float32, {n}), {p.whole(n)});
       }},
      {"both load and run",
       [](auto &p, auto, auto) {
         auto one = p.constant(1), y = p.value(Float32, {one});
         p.load("TestFill", {}, {int32_t(p.value(Float32, {one}))});
         p.load("TestFill", {}, {int32_t(y)});
         p.run("TestFill", {}, {int32_t(y)}); // instruction 1 of both
       }},
      {"needs a size that nothing is certain to have read",
       [](auto &p, auto, auto) {
         auto late = p.readSymbol("late", /*ahead=*/1);
         auto z = p.value(Float32, {late});
         p.run("TestFill", {}, {int32_t(z)});
         auto y = p.value(Int64, {p.constant(1)});
         p.run("read_sizes", {int32_t(y)}, {}, {p.scalars("sizes", {late})});
       }},
      {"one input and no output",
       [](auto &p, auto, auto) {
         auto late = p.readSymbol("late");
         p.run("read_sizes", {}, {}, {p.scalars("sizes", {late})});
       }},
      {"depends on an input's shape",
       [](auto &p, auto n, auto) {
         auto y = p.value(Int64, {n});
         p.run("TestFill", {}, {int32_t(y)});
         auto late = p.readSymbol("late");
         p.run("read_sizes", {int32_t(y)}, {}, {p.scalars("sizes", {late})});
       }},
      {"is bound by no read_sizes or set_sizes",
       [](auto &p, auto n, auto) {
         p.readSymbol("late");
         auto y = p.value(Float32, {n});
         p.run("TestFill", {}, {int32_t(y)});
       }},
      {"bytes in its file",
       [](auto &p, auto, auto) {
         p.weight("w", Float32, {3}, {p.whole(p.constant(3))}, "short");
       }},
  };
  for (const Mistake &mistake : mistakes) {
    ProgramBuilder p({{"dp", 2}, {"tp", 8}});
    auto n = p.symbol("n", 0, 0);
    auto x = p.input("x", Float32, {p.whole(n)});
    auto y = p.value(Float32, {n});
    p.run("TestCopy", {int32_t(x)}, {int32_t(y)});
    p.output("y", y, {p.whole(n)});
    mistake.change(p, n, x);
    Status status = verify(p);
    EXPECT_EQ(status.isOk(), *mistake.message == '\0') << status.message();
    EXPECT_NE(status.message().find(mistake.message), std::string::npos)
        << status.message();
  }
}

/// Without the hashes around it: no change of a byte may crash the checks.
TEST(ProgramChecks, noDamageCrashes) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.symbol("n", 0, 0), c = p.coordinate(0), four = p.constant(4);
  auto x = p.input("x", Float32, {p.whole(n), p.split(four, 2, c)});
  auto local = p.localSize(four, 2, c);
  auto y = p.value(Float32, {n, four});
  p.run("all_gather", {int32_t(x)}, {int32_t(y)},
        {p.ints("dim", {1}), p.layout("layout", p.split(four, 2, c))},
        p.group({{0, 1, 2}}));
  p.guard(artifact::GuardKind_AtLeast, n, local, "m", "node");
  p.weight("w", Float32, {4}, {p.split(four, 2, c)}, std::string(16, '\0'));
  p.output("y", y, {p.whole(n), p.whole(four)});
  p.keepCache(0, 0);
  ASSERT_TRUE(verify(p).isOk());
  std::string bytes = p.finish();
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  auto check = [&](const std::string &damaged) {
    std::memcpy(aligned.data(), damaged.data(), damaged.size());
    (void)verifyProgram("p", aligned.data(), damaged.size(), known);
  };
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int value : {0, 1, 0x7f, 0x80, 0xff, bytes[i] ^ 0x10}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(value);
      check(damaged);
    }
  for (size_t length = 0; length < bytes.size(); ++length)
    check(bytes.substr(0, length));
}

} // namespace
} // namespace shardc::runtime
