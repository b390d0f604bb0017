#include "runtime/transport/Interfaces.h"

#include "runtime/base/Message.h"
#include "runtime/transport/Socket.h"

#include <algorithm>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace shardc::runtime {
namespace {

/// Of all that are up, loopback included.
std::vector<InterfaceAddress> allAddresses() {
  std::vector<InterfaceAddress> all;
  ifaddrs *first = nullptr;
  if (getifaddrs(&first) != 0)
    return all;
  for (ifaddrs *at = first; at; at = at->ifa_next) {
    const bool isUp = at->ifa_addr && (at->ifa_flags & IFF_UP);
    const int family = isUp ? at->ifa_addr->sa_family : AF_UNSPEC;
    if (family != AF_INET && family != AF_INET6)
      continue;
    char text[NI_MAXHOST];
    const socklen_t size =
        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    // Addresses of one link ("fe80::1%eth0") name an interface of this machine.
    if (getnameinfo(at->ifa_addr, size, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) == 0 &&
        !std::strchr(text, '%'))
      all.push_back({at->ifa_name, text});
  }
  freeifaddrs(first);
  std::stable_partition(all.begin(), all.end(), [](const auto &each) {
    return each.address.find(':') == std::string::npos;
  });
  return all;
}

} // namespace

std::vector<InterfaceAddress> ownAddresses() {
  std::vector<InterfaceAddress> all = allAddresses();
  std::erase_if(all, [](const auto &each) { return isLoopback(each.address); });
  return all;
}

Status findInterface(const std::string &wanted, std::string &address) {
  std::string known;
  for (const InterfaceAddress &each : allAddresses()) {
    if (each.name == wanted || each.address == wanted) {
      address = each.address;
      return Status::ok();
    }
    known +=
        (known.empty() ? "" : ", ") + each.name + " (" + each.address + ")";
  }
  return argumentError("SHARDC_INTERFACE is '", wanted,
                       "', expected the name or an address of one of this "
                       "machine's interfaces: ",
                       known);
}

} // namespace shardc::runtime
