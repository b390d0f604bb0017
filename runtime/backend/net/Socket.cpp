#include "runtime/backend/net/Socket.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

/// One try at one address.
bool tryConnect(const addrinfo &address, Deadline deadline, Socket &socket,
                int &error) {
  socket = makeSocket(address.ai_family);
  if (!socket.isOpen()) {
    error = errno;
    return false;
  }
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

Status listenOn(uint16_t &port, Socket &listener) {
  // IPv6 takes callers of IPv4 too; some machines have only the latter.
  for (int family : {AF_INET6, AF_INET}) {
    listener = makeSocket(family);
    if (!listener.isOpen())
      continue;
    const int yes = 1, no = 0;
    setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes,
               sizeof yes);
    sockaddr_in6 six = {};
    sockaddr_in four = {};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(port);
    const bool isSix = family == AF_INET6;
    if (isSix)
      setsockopt(listener.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &no,
                 sizeof no);
    auto *address = isSix ? reinterpret_cast<sockaddr *>(&six)
                          : reinterpret_cast<sockaddr *>(&four);
    socklen_t size = isSix ? sizeof six : sizeof four;
    if (bind(listener.descriptor(), address, size) != 0 ||
        listen(listener.descriptor(), SOMAXCONN) != 0) {
      if (isSix && errno != EADDRINUSE)
        continue;
      break;
    }
    if (getsockname(listener.descriptor(), address, &size) != 0)
      break;
    port = ntohs(isSix ? six.sin6_port : four.sin_port);
    return Status::ok();
  }
  return artifactError("cannot listen on port ", port, ": ",
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
                 Socket &socket) {
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
        isDone = tryConnect(*at, deadline, socket, error);
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

std::string peerAddress(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST];
  auto *at = reinterpret_cast<sockaddr *>(&address);
  if (getpeername(socket.descriptor(), at, &size) != 0 ||
      getnameinfo(at, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  const std::string mapped = "::ffff:"; // IPv4 on a socket for both
  std::string found = text;
  return found.starts_with(mapped) && found.find('.') != std::string::npos
             ? found.substr(mapped.size())
             : found;
}

bool isLoopback(const std::string &address) {
  return address.starts_with("127.") || address == "::1";
}

} // namespace shardc::runtime
