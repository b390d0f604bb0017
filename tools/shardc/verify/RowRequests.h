//===- RowRequests.h - A request as a step of rows ------------------------===//
//
// A request of `batch` rows, each behind the same past, is a step of as many
// rows whose past lies in pages:
//
//   input_ids [2, 3]            input_ids [1, 6]
//   past [2, h, 5, d]           pool [pages, h, 4, d], rows.pages [[1, 3], [0, 2]]
//   logits [2, 3, v]            logits [1, 6, v]
//   present [2, h, 8, d]        the pool, afterwards
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H
#define SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H

#include "tools/shardc/verify/Requests.h"

namespace shardc::verifier {

/// Runs a request on a session of a step of rows; `outputs` are those of the
/// request. An error also where the request is none that a step can do.
runtime::Status runAsRows(runtime::Session &session, const Request &request,
                          std::vector<runtime::Tensor> &outputs);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_ROWREQUESTS_H
