//===- RowPositions.h - Which positions of its caches a request has -------===//
//
// A step has all positions of a row in pages; of a request its caches say how
// many there are, or its inputs:
//
//   past [2, h, 5, d], present [2, h, 8, d]        5, and 3 new ones
//   both [2, h, 64, d], places [5, 6, 7]           the same, with room for 64
//   both [2, h, 16, d], attention_mask [2, 8]      the same, the last 16 kept
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_ROWPOSITIONS_H
#define SHARDC_TOOLS_SHARDC_VERIFY_ROWPOSITIONS_H

#include "tools/shardc/verify/Requests.h"

namespace shardc::verifier {

struct RowPositions {
  int64_t batch = 0;
  int64_t length = 0, count = 0; ///< of each row: before, and new ones
  int64_t room = 0;              ///< of static caches; 0: there are none
  std::vector<size_t> axes;      ///< of each cache: along which positions lie
};

/// Of a request that reads past; `expected` are its outputs that a step has.
runtime::Status findPositions(const runtime::Session &session,
                              const Request &request,
                              std::span<const runtime::Tensor> expected,
                              RowPositions &found);

/// Whether a step has that input of a request: not what chooses the branch of a
/// merged decoder, or says where positions are.
bool isOfStep(const runtime::Session &session, const std::string &name);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_ROWPOSITIONS_H
