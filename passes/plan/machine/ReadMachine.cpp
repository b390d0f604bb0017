//===- ReadMachine.cpp - Machine files, and those that come with shardc ---===//

#include "passes/plan/machine/ReadMachine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

#include <map>

namespace shardc::plan {

using Json = nlohmann::json;

namespace {

struct Preset {
  const char *name, *json;
};
constexpr Preset kPresets[] = {
#include "passes/plan/machine/Presets.inc"
};

} // namespace

std::string presetNames() {
  return llvm::join(llvm::map_range(kPresets,
                                    [](const Preset &preset) {
                                      return std::string(preset.name);
                                    }),
                    ", ");
}

namespace {

constexpr int64_t kMostDevices = 1 << 20;
constexpr size_t kMostPoints = 4096;
constexpr double kMost = 1e15; ///< of any number
constexpr char kExample[] =
    "; expected {\"nodes\": 2, \"devices_per_node\": 8, \"inside_node\": "
    "{\"gigabytes_per_second\": 300, \"microseconds\": 4}, \"between_nodes\": "
    "{...}}, or {\"nodes\": 2, \"preset\": \"h100\"}";
/// What a device reaches of its peak where a file does not say.
constexpr double kReached = 0.75, kSpeedBeside = 0.85;

const Preset *findPreset(llvm::StringRef name) {
  for (const Preset &preset : kPresets)
    if (name == preset.name)
      return &preset;
  return nullptr;
}

/// Reads one object; remembers the first thing that is wrong.
class Reader {
public:
  explicit Reader(std::string &problem) : problem(problem) {}

  void fail(const std::string &what) {
    if (problem.empty())
      problem = what;
  }

  /// Refuses an object with other entries than these.
  void allow(const Json &object, const std::string &where,
             std::initializer_list<llvm::StringRef> keys) {
    for (const auto &[key, value] : object.items())
      if (!llvm::is_contained(keys, llvm::StringRef(key)))
        fail((where.empty() ? "has" : "\"" + where + "\" has") +
             std::string(" an unknown entry \"") + key + "\"" + kExample);
  }

  const Json *find(const Json &object, const std::string &key) const {
    auto entry = object.find(key);
    return entry == object.end() ? nullptr : &*entry;
  }

  /// A number from `least` to kMost.
  void number(const Json &object, const std::string &where,
              const std::string &key, double least, double &value) {
    const Json *entry = find(object, key);
    if (!entry || !entry->is_number())
      return fail("\"" + where + "\" has no number \"" + key + "\"" + kExample);
    value = entry->get<double>();
    if (!(value >= least && value <= kMost))
      fail("\"" + key + "\" of \"" + where +
           "\" is out of range: expected more than 0, at most 1e15");
  }

  /// Null where there is none.
  const Json *object(const Json &json, const std::string &key) {
    const Json *entry = find(json, key);
    if (entry && !entry->is_object())
      fail("\"" + key + "\" is no object" + kExample);
    return entry && entry->is_object() ? entry : nullptr;
  }

  double optional(const Json &object, const std::string &where,
                  const std::string &key, double otherwise,
                  double least = 1e-9) {
    double value = otherwise;
    if (object.contains(key))
      number(object, where, key, least, value);
    return value;
  }

  void count(const Json &object, const char *key, int64_t &value) {
    const Json *entry = find(object, key);
    if (!entry || !entry->is_number_integer())
      return fail(std::string("has no number \"") + key + "\"" + kExample);
    if (entry->is_number_unsigned() &&
        entry->get<uint64_t>() > uint64_t(kMostDevices))
      return fail(std::string("\"") + key + "\" is more than " +
                  std::to_string(kMostDevices));
    value = entry->get<int64_t>();
    if (value < 1)
      fail(std::string("\"") + key + "\" is " + std::to_string(value) +
           ", expected at least 1");
  }

  /// [[bytes, microseconds], ...]
  Curve curve(const Json &points, const std::string &where) {
    std::vector<Curve::Point> found;
    bool fits =
        points.is_array() && !points.empty() && points.size() <= kMostPoints;
    for (size_t i = 0; fits && i < points.size(); ++i) {
      const Json &point = points[i];
      fits = point.is_array() && point.size() == 2 && point[0].is_number() &&
             point[1].is_number();
      if (!fits)
        break;
      found.push_back({point[0].get<double>(), point[1].get<double>() / 1e6});
      const Curve::Point &last = found.back();
      fits = last.bytes > 0 && last.bytes <= kMost && last.seconds > 0 &&
             last.seconds <= kMost &&
             (i == 0 || last.bytes > found[i - 1].bytes);
    }
    if (fits)
      return Curve(std::move(found));
    fail("\"" + where +
         "\" is no curve, expected [[bytes, microseconds], ...] with ascending "
         "bytes");
    return {};
  }

  void links(const Json &object, const char *key, Links &links);
  void memory(const Json &json, Device &device);
  void products(const Json &json, Device &device);
  void tiles(const Json &json, Device &device);
  void device(const Json &json, Device &device);
  struct Kinds {
    std::map<Json, size_t> numbers;
    std::map<std::string, size_t> byName;
  };
  void nameKind(const Json &json, Device &device, Kinds &kinds);
  void devices(const Json &json, Machine &machine);
  void machine(const Json &json, Machine &machine);

private:
  std::string &problem;
};

/// What a link may have beside its sends.
constexpr std::pair<const char *, CollectiveKind> kKinds[] = {
    {"all_reduce", CollectiveKind::AllReduce},
    {"all_gather", CollectiveKind::AllGather},
    {"reduce_scatter", CollectiveKind::ReduceScatter},
    {"all_to_all", CollectiveKind::AllToAll}};

void Reader::links(const Json &json, const char *key, Links &links) {
  const Json *entry = object(json, key);
  if (!entry)
    return fail(std::string("has no link \"") + key + "\"" + kExample);
  links = {}; // half of one network and half of another would be none
  if (entry->contains("gigabytes_per_second") || entry->empty()) {
    double gigabytes = 0, microseconds = 0;
    allow(*entry, key, {"gigabytes_per_second", "microseconds"});
    number(*entry, key, "gigabytes_per_second", 1e-9, gigabytes);
    number(*entry, key, "microseconds", 0, microseconds);
    links = {Curve::ofRate(gigabytes * 1e9, microseconds / 1e6), {}};
    return;
  }
  allow(*entry, key,
        {"send", "all_reduce", "all_gather", "reduce_scatter", "all_to_all"});
  if (const Json *send = find(*entry, "send"))
    links.send = curve(*send, std::string(key) + "/send");
  for (auto [name, kind] : kKinds) {
    const Json *byRanks = find(*entry, name);
    if (!byRanks)
      continue;
    const std::string where = std::string(key) + "/" + name;
    if (!byRanks->is_object() || byRanks->empty())
      return fail("\"" + where + "\" has no curves by number of ranks");
    auto &known = links.measured[kind];
    for (const auto &[ranks, points] : byRanks->items()) {
      int64_t number = 0;
      if (llvm::StringRef(ranks).getAsInteger(10, number) || number < 2 ||
          number > kMostDevices)
        return fail("\"" + where + "\" has \"" + ranks +
                    "\", expected a number of ranks from 2 on");
      known[number] = curve(points, where + "/" + ranks);
    }
  }
  if (!links.send.isKnown())
    fail(std::string("\"") + key +
         "\" has no \"send\", of which transfers and the collectives are made "
         "that it has no curves for");
}

void Reader::memory(const Json &json, Device &device) {
  allow(json, "memory",
        {"gigabytes", "gigabytes_per_second", "reached", "reserved_gigabytes"});
  double gigabytes = 0, rate = 0;
  number(json, "memory", "gigabytes", 1e-9, gigabytes);
  number(json, "memory", "gigabytes_per_second", 1e-9, rate);
  device.memoryBytes = gigabytes * 1e9;
  device.reservedBytes =
      optional(json, "memory", "reserved_gigabytes", 0) * 1e9;
  device.bytesPerSecond =
      rate * 1e9 * optional(json, "memory", "reached", kReached);
  device.attentionBytesPerSecond = rate * 1e9;
}

void Reader::products(const Json &json, Device &device) {
  allow(json, "products",
        {"teraflops", "reached", "multiprocessors", "microseconds", "tiles",
         "tile_start"});
  const Json *peaks = object(json, "teraflops"),
             *reached = object(json, "reached");
  if (!peaks || peaks->empty())
    return fail("\"products\" has no \"teraflops\" by bits of an element, "
                "expected {\"16\": 989, \"32\": 67}");
  std::map<int64_t, double> rates;
  for (const auto &[bits, peak] : peaks->items()) {
    int64_t width = 0;
    if (llvm::StringRef(bits).getAsInteger(10, width) || width < 1 ||
        width > 64)
      return fail("\"teraflops\" has \"" + bits +
                  "\", expected bits of an element, at most 64");
    double teraflops = 0;
    number(*peaks, "teraflops", bits, 1e-9, teraflops);
    rates[width] = teraflops * 1e12 / 2;
    device.multiplyAdds[width] =
        rates[width] *
        (reached ? optional(*reached, "reached", bits, kReached) : kReached);
  }
  if (reached)
    for (const auto &[bits, share] : reached->items())
      if (!peaks->contains(bits))
        fail("\"reached\" has \"" + bits + "\", which \"teraflops\" has not");
  auto half = rates.lower_bound(16);
  device.attentionMultiplyAdds =
      half != rates.end() ? half->second : rates.rbegin()->second;
  if (json.contains("multiprocessors"))
    count(json, "multiprocessors", device.multiprocessors);
  device.startSeconds = optional(json, "products", "microseconds", 1) / 1e6;
  if (const Json *tiles = find(json, "tiles"))
    this->tiles(*tiles, device);
  device.tileStart = optional(json, "products", "tile_start", 0);
}

/// [[rows, columns, speed], ...]
void Reader::tiles(const Json &json, Device &device) {
  device.tiles.clear();
  bool fits = json.is_array() && !json.empty() && json.size() <= kMostPoints;
  for (size_t i = 0; fits && i < json.size(); ++i) {
    const Json &tile = json[i];
    fits = tile.is_array() && tile.size() == 3 &&
           tile[0].is_number_unsigned() && tile[1].is_number_unsigned() &&
           tile[2].is_number();
    if (!fits)
      break;
    const auto rows = tile[0].get<uint64_t>(),
               columns = tile[1].get<uint64_t>();
    const auto speed = tile[2].get<double>();
    fits = rows >= 1 && rows <= uint64_t(kMostDevices) && columns >= 1 &&
           columns <= uint64_t(kMostDevices) && speed > 0 && speed <= 1;
    device.tiles.push_back({int64_t(rows), int64_t(columns), speed});
  }
  if (!fits) {
    device.tiles = gpuTiles();
    fail("\"tiles\" are none, expected [[rows, columns, speed], ...] with "
         "speeds "
         "of at most 1, the largest tile's");
  }
}

void Reader::device(const Json &json, Device &device) {
  const Json *memory = object(json, "memory"),
             *products = object(json, "products");
  if (!memory || !products)
    return fail("has a device without \"memory\" or \"products\"");
  allow(json, "device",
        {"name", "memory", "products", "attention", "beside_collectives"});
  if (const Json *name = find(json, "name")) {
    if (!name->is_string())
      return fail("has a device whose \"name\" is no text");
    device.name = name->get<std::string>();
  }
  this->memory(*memory, device);
  this->products(*products, device);
  // Peaks until here.
  const Json *given = object(json, "attention");
  const Json attention = given ? *given : Json::object();
  allow(attention, "attention", {"reached", "read", "microseconds"});
  device.attentionMultiplyAdds *=
      optional(attention, "attention", "reached", kReached);
  device.attentionBytesPerSecond *=
      optional(attention, "attention", "read", kReached);
  device.attentionStartSeconds =
      optional(attention, "attention", "microseconds",
               device.startSeconds * 1e6) /
      1e6;
  device.speedBeside =
      optional(json, "device", "beside_collectives", kSpeedBeside, 0);
}

/// Devices are told apart by name: each kind gets its own.
void Reader::nameKind(const Json &json, Device &device, Kinds &kinds) {
  const size_t kind =
      kinds.numbers.try_emplace(json, kinds.numbers.size()).first->second;
  if (device.name.empty())
    device.name = "device " + std::to_string(kind + 1);
  if (kinds.byName.try_emplace(device.name, kind).first->second != kind)
    fail("has two unequal devices that are called \"" + device.name +
         "\", expected another \"name\" for each kind");
}

/// "device": one of all nodes; "devices": of each. Objects or names of presets.
void Reader::devices(const Json &json, Machine &machine) {
  Kinds kinds;
  auto add = [&](const Json &entry) {
    const Preset *preset =
        entry.is_string() ? findPreset(entry.get<std::string>()) : nullptr;
    if (entry.is_string() && !preset)
      return fail("has the device \"" + entry.get<std::string>() +
                  "\", expected an object or one of " + presetNames());
    const Json found = preset ? Json::parse(preset->json)["device"] : entry;
    device(found, machine.devices.emplace_back());
    nameKind(found, machine.devices.back(), kinds);
  };
  const Json *one = find(json, "device"), *each = find(json, "devices");
  if (one && each)
    return fail("has both \"device\" and \"devices\"");
  if (one || each)
    machine.devices.clear();
  if (one)
    add(*one);
  if (!each)
    return;
  if (!each->is_array() || each->size() != static_cast<size_t>(machine.nodes))
    return fail("has \"devices\" that are not one for each of the " +
                std::to_string(machine.nodes) + " nodes");
  for (const Json &entry : *each)
    add(entry);
}

void Reader::machine(const Json &json, Machine &machine) {
  allow(json, "",
        {"nodes", "devices_per_node", "preset", "device", "devices",
         "inside_node", "between_nodes", "sources"});
  const Json *preset = find(json, "preset");
  if (preset) {
    const Preset *known =
        preset->is_string() ? findPreset(preset->get<std::string>()) : nullptr;
    if (!known)
      return fail("has an unknown \"preset\", expected one of " +
                  presetNames());
    Json base = Json::parse(known->json);
    base["nodes"] = 1;
    this->machine(base, machine);
  }
  count(json, "nodes", machine.nodes);
  if (!preset || json.contains("devices_per_node"))
    count(json, "devices_per_node", machine.devicesPerNode);
  devices(json, machine);
  if (!preset || json.contains("inside_node"))
    links(json, "inside_node", machine.inside);
  // One node has no links to others.
  const bool isLinked = json.contains("between_nodes");
  if (!preset && !isLinked)
    machine.between = machine.inside;
  if (isLinked || (!preset && machine.nodes > 1))
    links(json, "between_nodes", machine.between);
}

} // namespace

/// "16x8" for a preset's JSON.
static std::string setSize(llvm::StringRef size, llvm::StringRef name,
                           Json &json) {
  auto [nodes, devices] = size.split('x');
  int64_t numNodes = 0, numDevices = 0;
  if (nodes.getAsInteger(10, numNodes) || devices.getAsInteger(10, numDevices))
    return "has no size, expected " + name.str() + ":NODESxDEVICES, as in " +
           name.str() + ":16x8";
  json["nodes"] = numNodes;
  json["devices_per_node"] = numDevices;
  return "";
}

bool isPreset(llvm::StringRef text) {
  return findPreset(text.split(':').first) != nullptr;
}

std::string parseMachine(llvm::StringRef text, Machine &machine) {
  std::string problem;
  Json json;
  if (isPreset(text)) {
    const auto [name, size] = text.split(':');
    json = Json::parse(findPreset(name)->json);
    problem = setSize(size, name, json);
  } else {
    json = Json::parse(text.begin(), text.end(), nullptr,
                       /*allow_exceptions=*/false);
    if (!json.is_object())
      problem = std::string("is no JSON object") + kExample;
  }
  machine = {};
  if (problem.empty())
    Reader(problem).machine(json, machine);
  return problem;
}

std::string loadMachine(const std::string &named, std::string &text,
                        Machine &machine) {
  text = named;
  if (!isPreset(named)) {
    auto file = llvm::MemoryBuffer::getFile(named);
    if (!file)
      return "is no preset (" + presetNames() +
             ") and cannot be read: " + file.getError().message();
    text = (*file)->getBuffer().str();
  }
  return parseMachine(text, machine);
}

std::string parseMachineOrTypical(llvm::StringRef text, int64_t ranks,
                                  Machine &machine) {
  const std::string typical = "h100:1x" + std::to_string(ranks);
  std::string problem =
      parseMachine(text.empty() ? llvm::StringRef(typical) : text, machine);
  if (machine.devices.empty())
    machine.devices.push_back(presetDevice("h100"));
  return problem;
}

Device presetDevice(llvm::StringRef name) {
  const Preset *preset = findPreset(name);
  assert(preset && "a preset of another name");
  Device device;
  std::string problem;
  Reader(problem).device(Json::parse(preset->json)["device"], device);
  assert(problem.empty() && "presets are checked by a test");
  return device;
}

} // namespace shardc::plan
