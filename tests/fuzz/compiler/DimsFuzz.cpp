//===- DimsFuzz.cpp - Any text as expressions of dims ---------------------===//
//
// Two lines are two expressions. What is printed of one is read back as the
// same, and what the algebra makes of both has the value that integers have,
// wherever nothing overflows.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/algebra/DimExpr.h"

#include <cstdio>
#include <cstdlib>

using namespace shardc::dist;

namespace {

/// Small, and not the same for all symbols: it follows from the name.
std::optional<int64_t> valueOf(llvm::StringRef name, bool isCoordinate) {
  return static_cast<int64_t>((name.size() * 7 + name.bytes_begin()[0]) % 11) +
         (isCoordinate ? 0 : 1);
}

void expect(bool holds, const char *what, DimExpr a, DimExpr b) {
  if (holds)
    return;
  std::fprintf(stderr, "%s\n  %s\n  %s\n", what, a.str().c_str(),
               b.str().c_str());
  std::abort();
}

/// That `expr` is `op` of the values of a and b.
template <typename Op>
void expectValue(const char *what, DimExpr expr, DimExpr a, DimExpr b, Op op) {
  const auto x = a.evaluate(valueOf), y = b.evaluate(valueOf),
             z = expr.evaluate(valueOf);
  int64_t expected = 0;
  if (x && y && z && op(*x, *y, expected))
    expect(expected == *z, what, a, b);
}

int64_t floorDivide(int64_t x, int64_t y) {
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

void checkOne(DimExpr expr) {
  const std::string text = expr.str();
  if (std::optional<DimExpr> again = parseDimExpr(text))
    expect(*again == expr, "printed and parsed it differs", expr, *again);
  const auto value = expr.evaluate(valueOf);
  if (value && expr.isKnownNonNegative())
    expect(*value >= 0, "known not to be negative", expr, expr);
}

void checkBoth(DimExpr a, DimExpr b) {
  expectValue("sum", a + b, a, b, [](int64_t x, int64_t y, int64_t &z) {
    return !__builtin_add_overflow(x, y, &z);
  });
  expectValue("difference", a - b, a, b, [](int64_t x, int64_t y, int64_t &z) {
    return !__builtin_sub_overflow(x, y, &z);
  });
  expectValue("product", a * b, a, b, [](int64_t x, int64_t y, int64_t &z) {
    return !__builtin_mul_overflow(x, y, &z);
  });
  expectValue("min", DimExpr::min(a, b), a, b,
              [](int64_t x, int64_t y, int64_t &z) {
                z = std::min(x, y);
                return true;
              });
  expectValue("max", DimExpr::max(a, b), a, b,
              [](int64_t x, int64_t y, int64_t &z) {
                z = std::max(x, y);
                return true;
              });
  if (b.isConstant(0))
    return;
  const auto divides = [](int64_t x, int64_t y) {
    return y != 0 && !(x == INT64_MIN && y == -1);
  };
  expectValue("floordiv", DimExpr::floorDiv(a, b), a, b,
              [&](int64_t x, int64_t y, int64_t &z) {
                z = divides(x, y) ? floorDivide(x, y) : 0;
                return divides(x, y);
              });
  expectValue("mod", DimExpr::mod(a, b), a, b,
              [&](int64_t x, int64_t y, int64_t &z) {
                z = divides(x, y) ? x - y * floorDivide(x, y) : 0;
                return divides(x, y);
              });
  if (std::optional<DimExpr> exact = a.exactDiv(b))
    expect(*exact * b == a, "exactDiv", a, b);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  const auto [first, second] = text.split('\n');
  const std::optional<DimExpr> a = parseDimExpr(first),
                               b = parseDimExpr(second);
  for (const auto &expr : {a, b})
    if (expr)
      checkOne(*expr);
  if (a && b)
    checkBoth(*a, *b);
  return 0;
}
