#include "runtime/device/RankDevices.h"

#include "runtime/artifact/Instructions.h"
#include "runtime/base/Message.h"
#include "runtime/device/Plugin.h"

#include <charconv>
#include <cstdlib>
#include <set>

namespace shardc::runtime {

Status parseDevice(std::string_view text, DeviceChoice &choice) {
  const size_t colon = std::min(text.find(':'), text.size());
  DeviceChoice parsed{std::string(text.substr(0, colon)), -1};
  const std::string_view number =
      colon < text.size() ? text.substr(colon + 1) : std::string_view();
  const auto [end, error] = std::from_chars(
      number.data(), number.data() + number.size(), parsed.number);
  const bool hasNumber = colon < text.size();
  if (parsed.backend.empty() ||
      (hasNumber &&
       (error != std::errc() || end != number.data() + number.size() ||
        parsed.number < 0)))
    return argumentError("--device ", text,
                         ": expected host, cuda or a device such as cuda:0");
  choice = std::move(parsed);
  return Status::ok();
}

static std::string listOf(std::span<const DeviceInfo> devices,
                          const std::string &backend) {
  std::string text;
  for (const DeviceInfo &device : devices)
    text += message(text.empty() ? "" : ", ", backend, ":", device.number, " ",
                    device.name,
                    device.refusal.empty() ? "" : " (refused: ", device.refusal,
                    device.refusal.empty() ? "" : ")");
  return text.empty() ? "none" : text;
}

Status assignDevices(const DeviceChoice &choice,
                     std::span<const DeviceInfo> devices,
                     std::span<const int> places, std::vector<int> &numbers) {
  std::vector<int> usable;
  for (const DeviceInfo &device : devices)
    if (device.refusal.empty() &&
        (choice.number < 0 || device.number == choice.number))
      usable.push_back(device.number);
  if (choice.number >= 0 && usable.empty())
    return argumentError("--device ", choice.backend, ":", choice.number,
                         " cannot be used; this machine has ",
                         listOf(devices, choice.backend));
  numbers.clear();
  for (int place : places) {
    if (choice.number >= 0 || (choice.backend == "host" && !usable.empty())) {
      numbers.push_back(usable[0]);
      continue;
    }
    if (place >= static_cast<int>(usable.size()))
      return argumentError(
          "too few devices: rank ", place, " of this machine would be on ",
          choice.backend, ":", place, ", but the usable ones are ",
          usable.size(), " (", listOf(devices, choice.backend),
          "); use fewer ranks or more machines, or put several ranks on one "
          "device with --device ",
          choice.backend, ":0");
    numbers.push_back(usable[static_cast<size_t>(place)]);
  }
  return Status::ok();
}

/// The first of the variables that is a number of at least `least`.
static int firstNumber(const Environment &environment,
                       std::initializer_list<const char *> names, int least,
                       int otherwise) {
  for (const char *name : names)
    if (const char *text = environment(name)) {
      const std::string_view all = text;
      int number = 0;
      const auto [end, error] =
          std::from_chars(all.data(), all.data() + all.size(), number);
      if (error == std::errc() && end == all.data() + all.size() &&
          number >= least)
        return number;
    }
  return otherwise;
}

int placeOnMachine(const Environment &environment) {
  // A pod that is a rank has its devices for itself.
  const bool isPod =
      !environment("SHARDC_RANK") &&
      (environment("LWS_WORKER_INDEX") || environment("JOB_COMPLETION_INDEX"));
  return firstNumber(
      environment,
      {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0,
      isPod ? 0 : -1);
}

Status RankDevices::choose(const std::string &asked,
                           const std::string &target) {
  SHARDC_RETURN_IF_ERROR(parseDevice(asked.empty() ? target : asked, choice));
  return findBackend(choice.backend, backend);
}

Status RankDevices::open(int worldSize, int only) {
  std::vector<DeviceInfo> found;
  SHARDC_RETURN_IF_ERROR(backend->findDevices(found));
  std::vector<int> ranks, places, numbers;
  for (int rank = 0; rank < worldSize; ++rank)
    if (only < 0 || rank == only) {
      const int place = only < 0 ? rank : placeOnMachine(std::getenv);
      ranks.push_back(rank);
      places.push_back(place < 0 ? rank : place);
    }
  SHARDC_RETURN_IF_ERROR(assignDevices(choice, found, places, numbers));
  numDevices = static_cast<int>(found.size());
  devices.resize(static_cast<size_t>(worldSize));
  for (size_t i = 0; i < ranks.size(); ++i)
    SHARDC_RETURN_IF_ERROR(
        backend->open(numbers[i], devices[static_cast<size_t>(ranks[i])]));
  return Status::ok();
}

MemoryDevices RankDevices::memoryDevices() const {
  MemoryDevices all{choice.backend, {}, 0};
  auto has = [&](int number) {
    return std::find(all.numbers.begin(), all.numbers.end(), number) !=
           all.numbers.end();
  };
  for (const auto &device : devices)
    if (device && !has(device->info().number))
      all.numbers.push_back(device->info().number);
  all.ofRanks = all.numbers.size();
  for (int number = 0; number < numDevices; ++number)
    if (!has(number) &&
        std::all_of(devices.begin(), devices.end(), [&](const auto &device) {
          return !device || device->canReach(number);
        }))
      all.numbers.push_back(number);
  return all;
}

std::vector<std::string> RankDevices::findUnreachable() const {
  std::vector<std::string> lines;
  for (size_t a = 0; a < devices.size(); ++a)
    for (size_t b = a + 1; b < devices.size(); ++b)
      if (devices[a] && devices[b] &&
          !devices[a]->canReach(devices[b]->info().number))
        lines.push_back(message(
            "ranks ", a, " and ", b, ": ", backend->name(), ":",
            devices[a]->info().number, " and ", backend->name(), ":",
            devices[b]->info().number,
            " do not reach each other's memory: what these ranks exchange goes "
            "through the host's"));
  return lines;
}

std::vector<std::string>
RankDevices::findHostKernels(const Artifact &artifact) const {
  const Device *device = nullptr; // all are of one backend
  for (const auto &open : devices)
    device = open ? open.get() : device;
  std::set<std::string> missing;
  for (size_t number = 0; device && number < artifact.numPrograms(); ++number) {
    const artifact::Program &program = artifact.program(number);
    for (const auto *list : {program.load(), program.run()})
      for (const artifact::Instruction *instruction : *list) {
        const std::string_view name = instruction->kernel()->string_view();
        if (callsKernel(name) && !artifact::isGeneratedKernel(name) &&
            !device->findKernel(name))
          missing.emplace(name);
      }
  }
  return {missing.begin(), missing.end()};
}

} // namespace shardc::runtime
