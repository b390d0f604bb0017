#include "tools/shardrun/Steps.h"

#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

using namespace shardc::runtime;

namespace shardrun {

Status readSteps(const std::string &text, size_t requests, Steps &steps) {
  steps.clear();
  if (text.empty()) {
    steps.assign(requests, {0});
    return Status::ok();
  }
  size_t count = 0;
  steps.emplace_back();
  for (size_t at = 0; at < text.size(); ++at) {
    size_t sequence = 0;
    const char *end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data() + at, end, sequence);
    at = static_cast<size_t>(next - text.data());
    const bool isLast = next == end;
    if (error != std::errc() || (!isLast && *next != ',' && *next != ';') ||
        at + 1 == text.size())
      return argumentError("--sequences ", text,
                           ": expected numbers, with ',' between rows of a "
                           "step and ';' between steps, such as '0,1;0,1'");
    steps.back().push_back(sequence);
    ++count;
    if (!isLast && *next == ';')
      steps.emplace_back();
  }
  return count == requests ? Status::ok()
                           : argumentError("--sequences has ", count,
                                           " rows, --inputs ", requests);
}

namespace {

/// Of each output of a step: [begin, begin + count) along the dim that counts
/// what was wanted, or the row of one for each row.
Status takePart(const TensorInfo &info, const Tensor &whole, size_t row,
                int64_t begin, int64_t count, Tensor &part) {
  std::vector<int64_t> dims(whole.dims().begin(), whole.dims().end());
  size_t along = 0;
  while (along < dims.size() && info.dims[along] != "wanted tokens")
    ++along;
  const bool isOfRows = !dims.empty() && info.dims[0] == "rows of a step";
  if (along == dims.size() && !isOfRows) { // the same for all rows
    SHARDC_RETURN_IF_ERROR(part.reshape(whole.element(), dims));
    std::memcpy(part.data(), whole.data(), static_cast<size_t>(whole.bytes()));
    return Status::ok();
  }
  if (along == dims.size()) {
    along = 0;
    begin = static_cast<int64_t>(row);
    count = 1;
  }
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d < dims.size(); ++d)
    (d < along ? before : behind) *= d == along ? 1 : dims[d];
  const int64_t all = std::exchange(dims[along], count);
  SHARDC_RETURN_IF_ERROR(part.reshape(whole.element(), dims));
  const int64_t run = behind * shardc::artifact::elementBytes(whole.element());
  for (int64_t o = 0; o < before; ++o)
    std::memcpy(part.data() + o * count * run,
                whole.data() + (o * all + begin) * run,
                static_cast<size_t>(count * run));
  return Status::ok();
}

} // namespace

Status runSteps(const Model &model, shardrt::Pool &pool, const Steps &steps,
                std::vector<FileRequest> &requests) {
  std::map<size_t, shardrt::Sequence> sequences;
  shardrt::Result result;
  size_t next = 0;
  for (const std::vector<size_t> &step : steps) {
    std::vector<shardrt::Row> rows;
    std::vector<int64_t> before;
    for (size_t r = 0; r < step.size(); ++r) {
      const bool isNew = !sequences.contains(step[r]);
      shardrt::Sequence &sequence = sequences[step[r]];
      if (isNew)
        SHARDC_RETURN_IF_ERROR(statusOf(pool.add(sequence)));
      rows.push_back(
          {&sequence, inputsOf(requests[next + r].inputs), SHARDRT_ALL});
      before.push_back(sequence.length());
    }
    SHARDC_RETURN_IF_ERROR(statusOf(pool.step(rows, result)));
    int64_t begin = 0;
    for (size_t r = 0; r < step.size(); ++r) {
      const int64_t count = rows[r].sequence->length() - before[r];
      for (size_t o = 0; o < model.outputs.size(); ++o) {
        if (model.outputIsCache[o])
          continue;
        shardrt::Output output;
        Tensor whole;
        SHARDC_RETURN_IF_ERROR(statusOf(result.output(o, output)));
        SHARDC_RETURN_IF_ERROR(tensorOf(output, whole));
        SHARDC_RETURN_IF_ERROR(takePart(model.outputs[o], whole, r, begin,
                                        count, requests[next + r].results[o]));
      }
      begin += count;
    }
    next += step.size();
  }
  return Status::ok();
}

} // namespace shardrun
