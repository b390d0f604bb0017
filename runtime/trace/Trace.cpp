#include "runtime/trace/Trace.h"

#include "runtime/api/shardrt.hpp"
#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "runtime/io/AtomicFile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardc::runtime {
namespace {

using Json = nlohmann::json;

Json operandTexts(const TensorView *views, int count) {
  Json texts = Json::array();
  for (int i = 0; i < count; ++i)
    texts.push_back(views[i].rank < 0
                        ? std::string("-")
                        : artifact::elementName(views[i].element) +
                              dimsText(views[i]));
  return texts;
}

Json sliceOf(const BoundInstruction &instruction,
             const InstructionTiming &timing, size_t rank, int64_t origin) {
  const KernelCall &call = instruction.call;
  Json args = {{"node", std::string(instruction.node)},
               {"inputs", operandTexts(call.inputs, call.numInputs)},
               {"outputs", operandTexts(call.outputs, call.numOutputs)}};
  return {{"name", std::string(instruction.name)},
          {"cat", instruction.collective >= 0 ? "collective" : "kernel"},
          {"ph", "X"},
          {"pid", 0},
          {"tid", rank},
          {"ts", static_cast<double>(timing.begin - origin) / 1000},
          {"dur", static_cast<double>(timing.end - timing.begin) / 1000},
          {"args", std::move(args)}};
}

Json trackName(const artifact::Program &program, size_t rank) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", rank},
          {"args", {{"name", rankText(program, static_cast<int>(rank))}}}};
}

int64_t firstBegin(const ShapePlan &plan) {
  int64_t origin = INT64_MAX;
  for (const auto &timings : plan.timings)
    for (const InstructionTiming &timing : timings)
      origin = std::min(origin, timing.begin);
  return origin;
}

} // namespace

Status writeTrace(const std::string &path, const artifact::Program &program,
                  const ShapePlan &plan) {
  Json events = Json::array();
  const int64_t origin = firstBegin(plan);
  for (size_t rank = 0; rank < plan.timings.size(); ++rank) {
    events.push_back(trackName(program, rank));
    std::span<const BoundInstruction> list = plan.ranks[rank].instructions();
    for (size_t i = 0; i < list.size(); ++i)
      events.push_back(sliceOf(list[i], plan.timings[rank][i], rank, origin));
  }
  Json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  return writeFileAtomically(
      path, trace.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<InstructionProfile> profileInstructions(const ShapePlan &plan) {
  std::vector<InstructionProfile> profile;
  if (plan.timings.empty())
    return profile;
  std::span<const BoundInstruction> list = plan.ranks[0].instructions();
  for (size_t i = 0; i < list.size(); ++i) {
    double total = 0;
    for (const auto &timings : plan.timings)
      total += static_cast<double>(timings[i].total);
    profile.push_back({std::string(list[i].name), std::string(list[i].node),
                       list[i].collective >= 0,
                       total / 1e6 / static_cast<double>(plan.timings.size())});
  }
  return profile;
}

} // namespace shardc::runtime
