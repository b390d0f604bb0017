//===- Shares.cpp - Unequal parts, as --shares says them ------------------===//
//
//   --tp 2 --shares 3,1                  of the one axis with two ways
//   --cp 2 --tp 2 --shares tp=3,1        of one of two
//   --tp 8 --topology m.json --shares auto
//
//===----------------------------------------------------------------------===//

#include "tools/shardc/PlanFlags.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

namespace shardc {

namespace {

/// Of one way, as in meshes.
constexpr int64_t kMaxShare = 1000;

using Shares = std::vector<int64_t>;

std::string waysText(const std::string &axis, int64_t ways) {
  return axis + " has " + std::to_string(ways) + (ways == 1 ? " way" : " ways");
}

/// Of one --shares.
class SharesReader {
public:
  SharesReader(Flags &flags, const std::string &text)
      : flags(flags), text(text) {
    for (const AxisFlags &axis : flags.axes)
      if (axis.ways > 1 && axis.name != "dp" && axis.name != "pp")
        splitting.emplace_back(axis.name, axis.ways);
  }

  /// "" or what is wrong. `seen`: axes that others named.
  std::string read(std::set<std::string> &seen) {
    const size_t equal = text.find('=');
    Shares shares;
    if (!readNumbers(equal == std::string::npos ? text : text.substr(equal + 1),
                     shares))
      return problem("expected numbers from 1 to " + std::to_string(kMaxShare) +
                     ", one for each way, for example 3,1");
    std::string axis = equal == std::string::npos ? "" : text.substr(0, equal);
    if (std::string why =
            axis.empty() ? findAxis(shares, axis) : checkAxis(shares, axis);
        !why.empty())
      return problem(why);
    if (!seen.insert(axis).second)
      return problem(axis + " has shares already; leave one of them out");
    reduce(shares);
    for (AxisFlags &each : flags.axes)
      if (each.name == axis)
        each.shares = shares;
    return "";
  }

private:
  std::string problem(const std::string &what) const {
    return "--shares " + text + ": " + what;
  }

  /// Without a common divisor; none where they are equal.
  static void reduce(Shares &shares) {
    int64_t divisor = 0;
    for (int64_t share : shares)
      divisor = std::gcd(divisor, share);
    for (int64_t &share : shares)
      share /= divisor;
    if (shares.front() == 1 &&
        std::equal(shares.begin() + 1, shares.end(), shares.begin()))
      shares.clear();
  }

  static bool readNumbers(const std::string &list, Shares &shares) {
    std::stringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');) {
      if (entry.empty() || entry.size() > 4 ||
          entry.find_first_not_of("0123456789") != std::string::npos)
        return false;
      shares.push_back(std::stoll(entry));
      if (shares.back() < 1 || shares.back() > kMaxShare)
        return false;
    }
    return !shares.empty() && list.back() != ',';
  }

  /// What could be named instead.
  std::string choices() const {
    if (splitting.empty())
      return "give an axis ways, for example --tp 2";
    std::string names;
    for (const auto &[name, ways] : splitting)
      names += (names.empty() ? "" : ", ") + waysText(name, ways);
    return names;
  }

  static std::string countText(int64_t ways) {
    return "name " + std::to_string(ways) +
           (ways == 1 ? " number" : " numbers");
  }

  std::string checkAxis(const Shares &shares, const std::string &axis) const {
    const auto degree = flags.degrees.find(axis);
    if (degree == flags.degrees.end())
      return "there is no axis \"" + axis + "\"; " + choices();
    if (axis == "dp" || axis == "pp")
      return axis + " splits no value; " + choices();
    if (degree->second == 1)
      return waysText(axis, 1) + "; use --" + axis + " " +
             std::to_string(std::max<size_t>(2, shares.size()));
    if (int64_t(shares.size()) != degree->second)
      return waysText(axis, degree->second) + "; " + countText(degree->second);
    return "";
  }

  /// The only one with as many ways.
  std::string findAxis(const Shares &shares, std::string &axis) const {
    std::string found;
    for (const auto &[name, ways] : splitting)
      if (ways == int64_t(shares.size())) {
        found += (found.empty() ? "" : " and ") + name;
        axis = name;
      }
    if (found.empty() && splitting.size() == 1)
      return waysText(splitting.front().first, splitting.front().second) +
             "; " + countText(splitting.front().second);
    if (found.empty())
      return (splitting.empty() ? "no axis splits values; "
                                : "no axis has as many ways; ") +
             choices();
    if (found != axis)
      return found + " have " + std::to_string(shares.size()) +
             " ways; name one of them, for example --shares " + axis + "=" +
             text;
    return "";
  }

  Flags &flags;
  const std::string &text;
  std::vector<std::pair<std::string, int64_t>> splitting;
};

} // namespace

std::string readShares(Flags &flags) {
  std::set<std::string> seen;
  for (const std::string &text : flags.shares) {
    if (text == "auto") {
      if (flags.shares.size() > 1)
        return "--shares auto: is for all axes; leave the others out";
      if (flags.topology.empty())
        return "--shares auto: needs --topology, for example a JSON file with "
               "the \"devices\" of each node";
      flags.hasDeviceShares = true;
      continue;
    }
    if (flags.isAutomatic && !flags.givesDegrees)
      return "--shares " + text +
             ": --auto chooses the axes; use --shares auto, or say how many "
             "ways they have with --tp and the like";
    if (std::string problem = SharesReader(flags, text).read(seen);
        !problem.empty())
      return problem;
  }
  return "";
}

} // namespace shardc
