//===- ErrorText.h - An error on its way to another process ---------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_ERRORTEXT_H
#define SHARDC_RUNTIME_TRANSPORT_ERRORTEXT_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace shardc::runtime {

/// Its message and where it arose, in some 9 KiB at most; the code goes beside
/// it, in the tag of the frame.
std::string textOf(const Status &status);

/// What a peer has sent, whatever that is: one of no such text is all message.
Status errorOf(uint64_t tag, const std::string &text);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_ERRORTEXT_H
