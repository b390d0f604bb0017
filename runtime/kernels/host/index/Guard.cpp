//===- Guard.cpp - What must hold where a branch or loop needs it ---------===//
//
// Guards of the program as a whole are checked when its sizes are bound. One
// that only a branch needs is an instruction of it, of no operands.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Check.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Guard";

Status run(const KernelCall &call) {
  const KernelAttribute *lhs = call.find("lhs"), *rhs = call.find("rhs");
  const KernelAttribute *kind = call.find("kind");
  const KernelAttribute *message = call.find("message");
  if (!lhs || !rhs || !kind || !message || lhs->numInts != 1 ||
      rhs->numInts != 1)
    return failure(kName, "expected lhs, rhs, kind and message");
  const int64_t found = lhs->ints[0], expected = rhs->ints[0];
  const bool holds = kind->text == "equal"      ? found == expected
                     : kind->text == "at_least" ? found >= expected
                     : kind->text == "at_most"  ? found <= expected
                                                : false;
  if (holds)
    return Status::ok();
  return Status::error(
      StatusCode::InvalidArgument,
      "guard violated: " + std::string(message->text) + ": expected " +
          std::to_string(found) + " to be " + std::string(kind->text) + " " +
          std::to_string(expected) +
          "; change the inputs, or compile the model for them");
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
