#include "runtime/program/ScalarEvaluator.h"

#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Rounds towards minus infinity; `divisor` > 0.
int64_t floorDivide(int64_t value, int64_t divisor) {
  int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

enum class Outcome { Fine, Overflow, BadDivisor };

Outcome evaluateBinary(artifact::ScalarOp op, int64_t lhs, int64_t rhs,
                       int64_t &result) {
  bool overflow = false;
  switch (op) {
  case artifact::ScalarOp_Add:
    overflow = __builtin_add_overflow(lhs, rhs, &result);
    break;
  case artifact::ScalarOp_Subtract:
    overflow = __builtin_sub_overflow(lhs, rhs, &result);
    break;
  case artifact::ScalarOp_Multiply:
    overflow = __builtin_mul_overflow(lhs, rhs, &result);
    break;
  case artifact::ScalarOp_FloorDivide:
  case artifact::ScalarOp_Modulo:
    if (rhs <= 0)
      return Outcome::BadDivisor;
    result = floorDivide(lhs, rhs);
    if (op == artifact::ScalarOp_Modulo)
      result = lhs - rhs * result;
    break;
  case artifact::ScalarOp_Minimum:
    result = std::min(lhs, rhs);
    break;
  default:
    result = std::max(lhs, rhs);
  }
  return overflow ? Outcome::Overflow : Outcome::Fine;
}

bool holds(artifact::GuardKind kind, int64_t lhs, int64_t rhs) {
  switch (kind) {
  case artifact::GuardKind_Equal:
    return lhs == rhs;
  case artifact::GuardKind_AtLeast:
    return lhs >= rhs;
  case artifact::GuardKind_AtMost:
    return lhs <= rhs;
  }
  return false;
}

/// Guards whose scalars are all among the first `known` ones.
Status checkGuardsAmong(const artifact::Program &program,
                        std::span<const int64_t> values, size_t known) {
  static const char *const words[] = {" equal to ", " at least ", " at most "};
  for (const artifact::Guard *guard : *program.guards()) {
    if (guard->lhs() >= known || guard->rhs() >= known)
      continue;
    int64_t lhs = values[guard->lhs()], rhs = values[guard->rhs()];
    if (lhs == kUnbound || rhs == kUnbound)
      continue;
    if (holds(guard->kind(), lhs, rhs))
      continue;
    const std::string node = guard->node() ? guard->node()->str() : "";
    const std::string where = node.empty() ? "" : " (node '" + node + "')";
    return argumentError(
               "guard violated: ", guard->message()->c_str(), where,
               ": expected ", describeScalar(program, guard->lhs()),
               words[guard->kind()], describeScalar(program, guard->rhs()),
               ", found ", lhs, " and ", rhs,
               "; change the inputs' shapes, or compile the model for them")
        .at({.kernel = "guard", .node = node});
  }
  return Status::ok();
}

Status evaluateOne(const artifact::Program &program, uint32_t i,
                   std::span<const int64_t> symbols,
                   std::span<const int64_t> coordinates,
                   std::vector<int64_t> &values) {
  const artifact::Scalar *scalar = program.scalars()->Get(i);
  const auto at = static_cast<size_t>(scalar->value());
  switch (scalar->op()) {
  case artifact::ScalarOp_Constant:
    values[i] = scalar->value();
    return Status::ok();
  case artifact::ScalarOp_Symbol:
    values[i] = symbols[at];
    return Status::ok();
  case artifact::ScalarOp_Coordinate:
    values[i] = coordinates[at];
    return Status::ok();
  default:
    break;
  }
  int64_t lhs = values[static_cast<size_t>(scalar->lhs())];
  int64_t rhs = values[static_cast<size_t>(scalar->rhs())];
  if (lhs == kUnbound || rhs == kUnbound) {
    values[i] = kUnbound;
    return Status::ok();
  }
  Outcome outcome = evaluateBinary(scalar->op(), lhs, rhs, values[i]);
  if (outcome == Outcome::Fine)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(checkGuardsAmong(program, values, i));
  return argumentError(
             "the size ", describeScalar(program, i),
             outcome == Outcome::Overflow ? " is too large for 64 bits"
                                          : " divides by a number below 1",
             " (operands ", lhs, " and ", rhs, "); change the inputs' shapes")
      .at({.kernel = "guard"});
}

} // namespace

Status evaluateScalars(const artifact::Program &program,
                       std::span<const int64_t> symbols,
                       std::span<const int64_t> coordinates,
                       std::vector<int64_t> &values) {
  values.assign(program.scalars()->size(), 0);
  for (uint32_t i = 0; i < values.size(); ++i)
    SHARDC_RETURN_IF_ERROR(
        evaluateOne(program, i, symbols, coordinates, values));
  return Status::ok();
}

Status evaluateLoadScalars(const artifact::Program &program,
                           std::span<const uint8_t> dependence,
                           std::span<const int64_t> coordinates,
                           std::vector<int64_t> &values) {
  values.assign(program.scalars()->size(), 0);
  for (uint32_t i = 0; i < values.size(); ++i)
    if (!(dependence[i] & kOnSymbols))
      SHARDC_RETURN_IF_ERROR(evaluateOne(program, i, {}, coordinates, values));
  return Status::ok();
}

Status checkGuards(const artifact::Program &program,
                   std::span<const int64_t> values) {
  return checkGuardsAmong(program, values, values.size());
}

int64_t leastAllowed(const artifact::Program &program, uint32_t symbol) {
  int64_t least = 0;
  for (const artifact::Guard *guard : *program.guards()) {
    const artifact::Scalar *lhs = program.scalars()->Get(guard->lhs());
    const artifact::Scalar *rhs = program.scalars()->Get(guard->rhs());
    if (guard->kind() == artifact::GuardKind_AtLeast &&
        lhs->op() == artifact::ScalarOp_Symbol && lhs->value() == symbol &&
        rhs->op() == artifact::ScalarOp_Constant)
      least = std::max(least, rhs->value());
  }
  return least;
}

namespace {

std::string describeUpTo(const artifact::Program &program, uint32_t index,
                         int depth) {
  const artifact::Scalar *scalar = program.scalars()->Get(index);
  const auto at = static_cast<uint32_t>(scalar->value());
  switch (scalar->op()) {
  case artifact::ScalarOp_Constant:
    return std::to_string(scalar->value());
  case artifact::ScalarOp_Symbol:
    return program.symbols()->Get(at)->name()->str();
  case artifact::ScalarOp_Coordinate:
    return "coordinate(" + program.axes()->Get(at)->name()->str() + ")";
  default:
    break;
  }
  if (depth == 0)
    return "...";
  auto operand = [&](int32_t k) {
    std::string text =
        describeUpTo(program, static_cast<uint32_t>(k), depth - 1);
    bool atom = text.find(' ') == std::string::npos;
    return atom ? text : "(" + text + ")";
  };
  std::string lhs = operand(scalar->lhs()), rhs = operand(scalar->rhs());
  if (scalar->op() == artifact::ScalarOp_Minimum)
    return "min(" + lhs + ", " + rhs + ")";
  if (scalar->op() == artifact::ScalarOp_Maximum)
    return "max(" + lhs + ", " + rhs + ")";
  static const char *const signs[] = {" + ", " - ", " * ", " / ", " mod "};
  return lhs + signs[scalar->op() - artifact::ScalarOp_Add] + rhs;
}

} // namespace

std::string describeScalar(const artifact::Program &program, uint32_t scalar) {
  return describeUpTo(program, scalar, /*depth=*/4);
}

} // namespace shardc::runtime
