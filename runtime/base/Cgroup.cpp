#include "runtime/base/Cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace shardc::runtime {
namespace {

/// Version 1 has no word for "no limit": it writes the largest number of whole
/// pages, which depends on the size of a page.
constexpr int64_t kUnlimited = INT64_MAX / 2;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool lists(std::string_view commaSeparated, std::string_view word) {
  const std::vector<std::string> parts = split(commaSeparated, ',');
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

/// mountinfo writes blanks and the like as \040.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr ==
            &text[i + 4]) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// A mounted hierarchy of groups.
struct Hierarchy {
  std::string root;       ///< the group that is mounted
  std::string mountPoint; ///< where
  std::string controllers;
  bool isUnified = false; ///< version 2
};

/// "31 23 0:28 ROOT MOUNTPOINT rw,relatime [...] - cgroup cgroup rw,memory"
std::vector<Hierarchy> hierarchiesIn(std::string_view mountinfo) {
  std::vector<Hierarchy> found;
  for (const std::string &line : split(mountinfo, '\n')) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4)
      continue;
    if (dash[1] == "cgroup" || dash[1] == "cgroup2")
      found.push_back({unescape(fields[3]), unescape(fields[4]), dash[3],
                       dash[1] == "cgroup2"});
  }
  return found;
}

/// The process's group in that hierarchy, out of lines like "4:memory:/a/b";
/// the unified one's is "0::/a/b".
std::optional<std::string> groupIn(std::string_view cgroup,
                                   const Hierarchy &hierarchy,
                                   std::string_view controller) {
  for (const std::string &line : split(cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string_view names =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (hierarchy.isUnified ? names.empty() : lists(names, controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The folders of the group and of those above it, as far as they are mounted.
/// A container often sees only its own group mounted, with a name that its
/// process's does not begin with; then that is the one.
std::vector<std::string> foldersOf(const Hierarchy &hierarchy,
                                   std::string group) {
  const std::string root = hierarchy.root == "/" ? "" : hierarchy.root;
  if (group == root || group.starts_with(root + "/"))
    group = group.substr(root.size());
  else
    group.clear();
  if (group.find("/..") != std::string::npos)
    group.clear();
  while (group.ends_with('/'))
    group.pop_back();
  std::vector<std::string> folders = {hierarchy.mountPoint + group};
  while (!group.empty()) {
    group.resize(group.rfind('/'));
    folders.push_back(hierarchy.mountPoint + group);
  }
  return folders;
}

std::optional<int64_t> numberIn(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return std::nullopt; // "max"
  return value;
}

std::optional<int64_t> numberAt(const ReadText &read, const std::string &path) {
  const std::optional<std::string> text = read(path);
  return text ? numberIn(*text) : std::nullopt;
}

std::optional<int64_t> memoryIn(const ReadText &read, const std::string &folder,
                                bool isUnified) {
  const std::optional<int64_t> bytes = numberAt(
      read, folder + (isUnified ? "/memory.max" : "/memory.limit_in_bytes"));
  return bytes && *bytes >= 0 && *bytes < kUnlimited ? bytes : std::nullopt;
}

/// A line of memory.stat: "inactive_file 4096".
int64_t statistic(std::string_view text, const std::string &name) {
  for (const std::string &line : split(text, '\n'))
    if (line.starts_with(name + " "))
      return numberIn(line.substr(name.size() + 1)).value_or(0);
  return 0;
}

/// What the group's processes hold for good: all but the pages of files.
std::optional<int64_t> memoryHeld(const ReadText &read,
                                  const std::string &folder, bool isUnified) {
  const std::optional<int64_t> all =
      numberAt(read, folder + (isUnified ? "/memory.current"
                                         : "/memory.usage_in_bytes"));
  const std::optional<std::string> text = read(folder + "/memory.stat");
  if (!all || !text)
    return std::nullopt;
  const std::string prefix = isUnified ? "" : "total_";
  return *all - statistic(*text, prefix + "active_file") -
         statistic(*text, prefix + "inactive_file");
}

/// What the group may swap out; nothing where it has no limit of its own.
std::optional<int64_t> swapRoom(const ReadText &read, const std::string &folder,
                                bool isUnified) {
  if (!isUnified)
    return std::nullopt;
  const std::optional<int64_t> most =
      numberAt(read, folder + "/memory.swap.max");
  if (!most)
    return std::nullopt;
  return std::max<int64_t>(
      *most - numberAt(read, folder + "/memory.swap.current").value_or(0), 0);
}

std::optional<int64_t> memoryRoomIn(const ReadText &read,
                                    const std::string &folder, bool isUnified,
                                    int64_t freeSwap) {
  const std::optional<int64_t> limit = memoryIn(read, folder, isUnified);
  if (!limit)
    return std::nullopt;
  const int64_t held = memoryHeld(read, folder, isUnified).value_or(0);
  const int64_t swap =
      std::min(swapRoom(read, folder, isUnified).value_or(freeSwap), freeSwap);
  return std::max<int64_t>(*limit - held, 0) + swap;
}

/// Version 2: "QUOTA PERIOD", in microseconds.
std::optional<double> coresIn(const ReadText &read, const std::string &folder,
                              bool isUnified) {
  std::optional<int64_t> quota, period;
  if (isUnified) {
    const std::vector<std::string> both =
        split(read(folder + "/cpu.max").value_or(""), ' ');
    if (both.size() == 2) {
      quota = numberIn(both[0]);
      period = numberIn(both[1]);
    }
  } else {
    quota = numberAt(read, folder + "/cpu.cfs_quota_us");
    period = numberAt(read, folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0)
    return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

template <typename T>
void lower(std::optional<T> &limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit))
    limit = other;
}

} // namespace

std::optional<int64_t> readMemoryInfo(const ReadText &read,
                                      const std::string &name) {
  const std::string text = read("/proc/meminfo").value_or("");
  for (const std::string &line : split(text, '\n'))
    if (line.starts_with(name + ":")) {
      const size_t at = line.find_first_of("0123456789");
      const auto kibibytes =
          at == line.npos ? std::nullopt : numberIn(line.substr(at));
      if (kibibytes)
        return *kibibytes << 10;
    }
  return std::nullopt;
}

CgroupLimits readCgroupLimits(const ReadText &read) {
  CgroupLimits limits;
  const std::string cgroup = read("/proc/self/cgroup").value_or("");
  const std::string mounts = read("/proc/self/mountinfo").value_or("");
  const int64_t freeSwap = readMemoryInfo(read, "SwapFree").value_or(0);
  for (const Hierarchy &hierarchy : hierarchiesIn(mounts))
    for (const char *controller : {"memory", "cpu"}) {
      if (!hierarchy.isUnified && !lists(hierarchy.controllers, controller))
        continue;
      const std::optional<std::string> group =
          groupIn(cgroup, hierarchy, controller);
      if (!group)
        continue;
      for (const std::string &folder : foldersOf(hierarchy, *group))
        if (*controller == 'm') {
          lower(limits.memoryBytes,
                memoryIn(read, folder, hierarchy.isUnified));
          const std::optional<int64_t> room =
              memoryRoomIn(read, folder, hierarchy.isUnified, freeSwap);
          lower(limits.memoryRoom, room);
          if (room)
            limits.memoryGroups.push_back({folder, *room});
        } else
          lower(limits.cores, coresIn(read, folder, hierarchy.isUnified));
    }
  return limits;
}

std::optional<std::string> readSystemText(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return std::nullopt;
  return text.str();
}

CgroupLimits cgroupLimits() { return readCgroupLimits(readSystemText); }

} // namespace shardc::runtime
