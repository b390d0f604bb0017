#include "runtime/runner/SpentByRank.h"

#include <map>

namespace shardc::runtime {

/// Of the mesh, in its order: "ep,tp".
static std::string axesOf(const artifact::Program &program,
                          const artifact::Group &group) {
  std::vector<bool> isOne(program.axes()->size());
  for (const artifact::AxisPart *part : *group.parts())
    isOne[part->axis()] = true;
  std::string text;
  for (uint32_t axis = 0; axis < isOne.size(); ++axis)
    if (isOne[axis])
      text.append(text.empty() ? "" : ",")
          .append(program.axes()->Get(axis)->name()->string_view());
  return text;
}

void SpentByRank::open(const std::shared_ptr<SpentTimes> &times, int stage,
                       std::span<const artifact::Program *const> programs) {
  if (!times)
    return;
  isOpen = true;
  std::map<std::string, size_t> known;
  for (const artifact::Program *program : programs) {
    std::vector<size_t> &groups = ofGroups.emplace_back();
    for (const artifact::Group *group : *program->groups()) {
      const std::string axes = axesOf(*program, *group);
      const auto [at, isNew] = known.try_emplace(axes, shares.size());
      if (isNew)
        shares.push_back(SpentTimes::join(times, "collective", axes));
      groups.push_back(at->second);
    }
  }
  busy = SpentTimes::join(times, "busy", std::to_string(stage));
  receive = SpentTimes::join(times, "receive", std::to_string(stage));
}

const SpentTimes::Share *
SpentByRank::shareOf(const BoundInstruction &instruction) {
  if (instruction.channel)
    return instruction.call.numInputs > 0 ? nullptr : &receive;
  const auto flight = static_cast<size_t>(instruction.flight);
  if (instruction.awaits)
    return instruction.flight >= 0 && flight < kFlights ? ofFlights[flight]
                                                        : nullptr;
  const int group =
      instruction.collective >= 0 ? instruction.source->group() : -1;
  if (group < 0 || profile >= ofGroups.size() ||
      static_cast<size_t>(group) >= ofGroups[profile].size())
    return nullptr;
  const SpentTimes::Share *share =
      &shares[ofGroups[profile][static_cast<size_t>(group)]];
  if (instruction.flight >= 0 && flight < kFlights)
    ofFlights[flight] = share;
  return share;
}

} // namespace shardc::runtime
