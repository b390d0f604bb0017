#include "tests/conformance/cuda/SimulatedMeeting.h"

#include "tests/conformance/cuda/SimulatedDevice.h"

#include <algorithm>

namespace shardc::testing {

size_t SimulatedPart::inputBytes(int ranks) const {
  if (!input)
    return 0;
  const size_t pieces =
      kind == MeetingKind::ReduceScatter ? static_cast<size_t>(ranks) : 1;
  return pieces * count * simulatedBytes(type);
}

size_t SimulatedPart::outputBytes(int ranks) const {
  if (!output)
    return 0;
  const size_t pieces =
      kind == MeetingKind::AllGather ? static_cast<size_t>(ranks) : 1;
  return pieces * count * simulatedBytes(type);
}

//===----------------------------------------------------------------------===//
// SimulatedParts
//===----------------------------------------------------------------------===//

bool SimulatedParts::attempt() {
  if (isAborted)
    return true;
  isThere = true;
  auto isOver = [&] {
    return std::all_of(
        meetings.begin(), meetings.end(),
        [](const auto &meeting) { return meeting->isDone.load(); });
  };
  for (const auto &meeting : meetings)
    group.tryToPerform(*meeting);
  // What stands before theirs has to be done first.
  for (size_t i = 0; i < meetings.size() && !isOver(); ++i)
    for (const auto &other : group.missing(*meetings[i]))
      if (other->number > 0)
        other->stream->runUntil(other->number);
  return isOver();
}

//===----------------------------------------------------------------------===//
// SimulatedGroup
//===----------------------------------------------------------------------===//

void SimulatedGroup::join(int rank, int device) {
  {
    std::lock_guard lock(mutex);
    for (const auto &[other, used] : devices)
      if (other == rank)
        problem = "two ranks with one number";
      else if (used == device)
        problem = "Duplicate GPU detected";
    devices[rank] = device;
  }
  simulationChanged();
}

bool SimulatedGroup::isComplete() {
  std::lock_guard lock(mutex);
  return devices.size() == static_cast<size_t>(size);
}

void SimulatedGroup::fail(const std::string &text) {
  std::lock_guard lock(mutex);
  problem = text;
}

ncclResult_t SimulatedGroup::failure(std::string &text) {
  std::lock_guard lock(mutex);
  text = problem;
  return problem.empty() ? ncclSuccess : ncclInvalidUsage;
}

void SimulatedGroup::meet(const std::shared_ptr<SimulatedParts> &parts,
                          size_t index, int rank) {
  std::lock_guard lock(mutex);
  const SimulatedPart &part = parts->parts[index];
  int from = -1, to = -1, place = rank;
  if (part.kind == MeetingKind::Send) {
    from = part.input ? rank : part.peer;
    to = part.input ? part.peer : rank;
    place = part.input ? 0 : 1;
  }
  // Both sides of a send to itself count.
  const uint64_t number = counts[{place + (from < 0 ? 0 : size), from, to}]++;
  auto &meeting = open[{from, to, number}];
  if (!meeting) {
    meeting = std::make_shared<SimulatedMeeting>();
    meeting->expected = from < 0 ? static_cast<size_t>(size) : 2;
  }
  for (const auto &[other, there] : meeting->places)
    if (!part.fits(there.parts->parts[there.index]))
      problem = "ranks came to different operations, or with different sizes";
  meeting->places[place] = {parts, index};
  parts->meetings.push_back(meeting);
  if (meeting->places.size() == meeting->expected)
    open.erase({from, to, number});
}

std::vector<std::shared_ptr<SimulatedParts>>
SimulatedGroup::missing(const SimulatedMeeting &meeting) {
  std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<SimulatedParts>> others;
  for (const auto &[place, there] : meeting.places)
    if (!there.parts->isThere)
      others.push_back(there.parts);
  return others;
}

void SimulatedGroup::tryToPerform(SimulatedMeeting &meeting) {
  std::vector<SimulatedPart> parts;
  {
    std::lock_guard lock(mutex);
    if (meeting.isDone || !problem.empty() ||
        meeting.places.size() != meeting.expected)
      return;
    for (const auto &[place, there] : meeting.places) {
      if (!there.parts->isThere || there.parts->isAborted)
        return;
      SimulatedPart part = there.parts->parts[there.index];
      const int device = there.parts->stream->device;
      if (part.input)
        part.input = storedOnGpu(device, part.input, part.inputBytes(size));
      if (part.output)
        part.output = storedOnGpu(device, part.output, part.outputBytes(size));
      if (simulatedFailure(device) != cudaSuccess)
        return;
      parts.push_back(part);
    }
  }
  performMeeting(parts);
  {
    std::lock_guard lock(mutex);
    meeting.isDone = true;
    meeting.places.clear(); // parts and meetings have each other
  }
  simulationChanged();
}

} // namespace shardc::testing
