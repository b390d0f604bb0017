#include "runtime/transport/Socket.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How long one address is tried, and the pause before the next round.
constexpr std::chrono::milliseconds kTry{2000}, kPause{20};

int millisecondsUntil(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1 << 30));
}

Socket makeSocket(int family) {
  return Socket(
      ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Small messages go at once.
void sendAtOnce(const Socket &socket) {
  const int yes = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/// A numeric address as the system wants it.
bool parseAddress(const std::string &text, uint16_t port,
                  sockaddr_storage &address, socklen_t &size) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found) !=
      0)
    return false;
  size = found->ai_addrlen;
  std::memcpy(&address, found->ai_addr, size);
  freeaddrinfo(found);
  return true;
}

/// Starts at that address of this machine, where it can reach such targets.
void bindTo(const Socket &socket, const std::string &from, int family) {
  sockaddr_storage address = {};
  socklen_t size = 0;
  if (!from.empty() && parseAddress(from, 0, address, size) &&
      address.ss_family == family)
    (void)!bind(socket.descriptor(), reinterpret_cast<sockaddr *>(&address),
                size); // the connection says what is wrong
}

/// One try at one address.
bool tryConnect(const addrinfo &address, Deadline deadline,
                const std::string &from, Socket &socket, int &error) {
  socket = makeSocket(address.ai_family);
  if (!socket.isOpen()) {
    error = errno;
    return false;
  }
  bindTo(socket, from, address.ai_family);
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
    if (error != EINPROGRESS)
      return false;
    error = ETIMEDOUT;
    if (!socket.wait(POLLOUT, std::min(deadline, Clock::now() + kTry)))
      return false;
    socklen_t size = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0)
      return false;
  }
  // A port of this machine that nobody listens on may be given to the caller
  // itself, which then talks to itself.
  sockaddr_storage mine = {}, theirs = {};
  socklen_t mineSize = sizeof mine, theirsSize = sizeof theirs;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr *>(&mine),
              &mineSize);
  getpeername(socket.descriptor(), reinterpret_cast<sockaddr *>(&theirs),
              &theirsSize);
  error = ECONNREFUSED;
  return mineSize != theirsSize || std::memcmp(&mine, &theirs, mineSize) != 0;
}

} // namespace

void Socket::close() {
  if (fd >= 0)
    ::close(std::exchange(fd, -1));
}

bool Socket::hasDelivered() const {
  int unacknowledged = 0;
  return ioctl(fd, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
}

bool Socket::hasHungUp() const {
  char next;
  const ssize_t found = recv(fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return found == 0 || (found < 0 && errno != EAGAIN && errno != EWOULDBLOCK &&
                        errno != EINTR);
}

bool Socket::wait(short events, Deadline deadline) const {
  while (true) {
    pollfd waited{fd, events, 0};
    const int found = poll(&waited, 1, millisecondsUntil(deadline));
    if (found > 0)
      return true;
    if (found == 0 || errno != EINTR)
      return false;
  }
}

bool Socket::sendAll(const void *data, size_t bytes, Deadline deadline) const {
  auto *at = static_cast<const char *>(data);
  while (bytes > 0) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent;
      bytes -= static_cast<size_t>(sent);
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EAGAIN || !wait(POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool Socket::receiveAll(void *data, size_t bytes, Deadline deadline) const {
  auto *at = static_cast<char *>(data);
  while (bytes > 0) {
    const ssize_t got = recv(fd, at, bytes, 0);
    if (got > 0) {
      at += got;
      bytes -= static_cast<size_t>(got);
    } else if (got == 0) {
      return false;
    } else if (errno == EINTR) {
      continue;
    } else if (errno != EAGAIN || !wait(POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

/// False leaves the problem in errno.
static bool listenAt(const sockaddr_storage &address, socklen_t size,
                     Socket &listener) {
  listener = makeSocket(address.ss_family);
  if (!listener.isOpen())
    return false;
  const int yes = 1, no = 0;
  setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.ss_family == AF_INET6)
    setsockopt(listener.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no,
               sizeof no);
  return bind(listener.descriptor(),
              reinterpret_cast<const sockaddr *>(&address), size) == 0 &&
         listen(listener.descriptor(), SOMAXCONN) == 0;
}

Status listenOn(uint16_t &port, Socket &listener, const std::string &wanted) {
  // IPv6 takes callers of IPv4 too; some machines have only the latter.
  const std::string all[] = {"::", "0.0.0.0"};
  const auto addresses = wanted.empty() ? std::span<const std::string>(all)
                                        : std::span(&wanted, 1);
  for (const std::string &text : addresses) {
    sockaddr_storage address = {};
    socklen_t size = 0;
    errno = EADDRNOTAVAIL;
    if (!parseAddress(text, port, address, size))
      continue;
    if (!listenAt(address, size, listener)) {
      if (errno == EADDRINUSE)
        break;
      continue;
    }
    if (getsockname(listener.descriptor(),
                    reinterpret_cast<sockaddr *>(&address), &size) != 0)
      break;
    const bool isSix = address.ss_family == AF_INET6;
    port = ntohs(isSix ? reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port
                       : reinterpret_cast<sockaddr_in *>(&address)->sin_port);
    return Status::ok();
  }
  return artifactError("cannot listen on port ", port,
                       wanted.empty() ? "" : " of " + wanted, ": ",
                       std::strerror(errno));
}

Socket acceptOne(const Socket &listener, Deadline deadline) {
  while (listener.wait(POLLIN, deadline)) {
    Socket caller(accept4(listener.descriptor(), nullptr, nullptr,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!caller.isOpen())
      continue; // it hung up
    sendAtOnce(caller);
    return caller;
  }
  return Socket();
}

Status connectTo(const std::string &hosts, uint16_t port, Deadline deadline,
                 Socket &socket, const std::string &from) {
  std::string problem;
  do {
    for (size_t begin = 0; begin <= hosts.size();) {
      const size_t end = std::min(hosts.find(',', begin), hosts.size());
      const std::string host = hosts.substr(begin, end - begin);
      begin = end + 1;
      addrinfo hints = {}, *found = nullptr;
      hints.ai_socktype = SOCK_STREAM;
      const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                     &hints, &found);
      if (failed != 0) {
        problem = message(host, ": ", gai_strerror(failed));
        continue;
      }
      int error = 0;
      bool isDone = false;
      for (addrinfo *at = found; at && !isDone; at = at->ai_next)
        isDone = tryConnect(*at, deadline, from, socket, error);
      freeaddrinfo(found);
      if (isDone) {
        sendAtOnce(socket);
        return Status::ok();
      }
      problem = message(host, ": ", std::strerror(error));
    }
    std::this_thread::sleep_for(kPause);
  } while (Clock::now() < deadline);
  socket.close();
  return artifactError("cannot connect to port ", port, " of ", problem);
}

static std::string addressText(const sockaddr_storage &address,
                               socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo(reinterpret_cast<const sockaddr *>(&address), size, text,
                  sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  const std::string mapped = "::ffff:"; // IPv4 on a socket for both
  std::string found = text;
  return found.starts_with(mapped) && found.find('.') != std::string::npos
             ? found.substr(mapped.size())
             : found;
}

std::string peerAddress(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return getpeername(socket.descriptor(),
                     reinterpret_cast<sockaddr *>(&address), &size) == 0
             ? addressText(address, size)
             : "";
}

std::string ownAddress(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return getsockname(socket.descriptor(),
                     reinterpret_cast<sockaddr *>(&address), &size) == 0
             ? addressText(address, size)
             : "";
}

bool isLoopback(const std::string &address) {
  return address.starts_with("127.") || address == "::1" ||
         address == "localhost";
}

} // namespace shardc::runtime
