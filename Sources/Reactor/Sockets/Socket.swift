import Glibc

/// A non-blocking TCP socket. Owned by one loop's objects; closes its descriptor when closed or let go.
///
/// A registration of the descriptor must be cancelled before.
package final class Socket {
    /// What one read or write came to.
    package enum Transfer: Sendable, Hashable {
        /// So many bytes went over, at least one.
        case moved(Int)
        /// Nothing for now: wait for readiness.
        case wouldBlock
        /// The peer will send nothing more. Reads only.
        case endOfStream
    }

    /// The descriptor, -1 once closed.
    package private(set) var fd: Int32

    init(owning fd: Int32) {
        self.fd = fd
    }

    deinit {
        close()
    }

    /// Makes a socket of an address family, non-blocking and not inherited by child processes.
    static func make(family: Int32) throws(ReactorError) -> Socket {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let fd = Glibc.socket(family, type, 0)
        guard fd >= 0 else { throw ReactorError(operation: "socket", errno: errno) }
        return Socket(owning: fd)
    }

    /// Reads what is there, up to the buffer's size.
    ///
    /// - Throws: ``ReactorError/Code/system``; `ECONNRESET` when the peer is gone.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReactorError) -> Transfer {
        while true {
            let count = unsafe recv(fd, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .endOfStream }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let number: throw ReactorError(operation: "recv", errno: number)
            }
        }
    }

    /// Writes as much as the kernel takes, never raising SIGPIPE. Empty buffers are a mistake.
    ///
    /// - Throws: ``ReactorError/Code/system``; `EPIPE` or `ECONNRESET` when the peer is gone.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(ReactorError) -> Transfer {
        while true {
            let count = unsafe send(fd, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let number: throw ReactorError(operation: "send", errno: number)
            }
        }
    }

    /// Sends small segments at once instead of waiting for more: our writes are whole batches already.
    package func setNoDelay() {
        // A kernel that refuses only makes it slower.
        _ = setOption(tcpLevel, TCP_NODELAY, 1)
    }

    /// Asks the peer's kernel for a sign of life while nothing is said, and ends the connection if none comes for half
    /// a minute.
    ///
    /// Translators of addresses forget a silent connection within minutes, some within four; every minute keeps it
    /// known, or shows that it is lost before something is sent on it.
    func setKeepAlive() {
        // A kernel that refuses any of them only finds out later.
        _ = setOption(tcpLevel, TCP_KEEPIDLE, 60)
        _ = setOption(tcpLevel, TCP_KEEPINTVL, 10)
        _ = setOption(tcpLevel, TCP_KEEPCNT, 3)
        _ = setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
    }

    /// The error of a finished connect, 0 when it succeeded.
    func pendingError() -> Int32 {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return errno }
        return number
    }

    func setOption(_ level: Int32, _ name: Int32, _ value: Int32) -> Bool {
        var value = value
        return unsafe setsockopt(fd, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    /// The address at this end, after bind or connect.
    package func localAddress() throws(ReactorError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let fd = fd
        let address: SocketAddress? = unsafe withUnsafeMutableBytes(of: &storage) { raw in
            // The storage is never empty.
            let pointer = unsafe raw.assumingMemoryBound(to: sockaddr.self).baseAddress.unsafelyUnwrapped
            guard unsafe getsockname(fd, pointer, &length) == 0 else { return nil }
            return unsafe SocketAddress(copying: UnsafeRawBufferPointer(rebasing: raw.prefix(Int(length))))
        }
        guard let address else { throw ReactorError(operation: "getsockname", errno: errno) }
        return address
    }

    /// Tells the peer that nothing more will be written; reading goes on.
    package func shutDownWriting() {
        // Fails only when the connection is gone already.
        _ = shutdown(fd, Int32(SHUT_WR))
    }

    /// Gives the descriptor back; what the kernel still holds is delivered. A second call does nothing.
    package func close() {
        guard fd >= 0 else { return }
        Glibc.close(fd)
        fd = -1
    }

    /// Closes with a TCP reset: what was not delivered is lost and the peer sees an error.
    package func abort() {
        guard fd >= 0 else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}

private let tcpLevel = Int32(IPPROTO_TCP)
