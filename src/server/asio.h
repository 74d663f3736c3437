// SPDX-License-Identifier: Apache-2.0
// The parts of Boost.Asio that connections use, and Task, a coroutine on the I/O thread. Included
// by the few files that touch sockets: it is slow to compile.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace ingot {

namespace asio = boost::asio;

template <class T>
using Task = asio::awaitable<T>;

// Errors come back as values.
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

}  // namespace ingot
