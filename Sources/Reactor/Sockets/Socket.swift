import Glibc

/// A non-blocking TCP socket. It belongs to the objects of one loop. It closes its descriptor when it is closed or
/// released.
///
/// Cancel a registration of the descriptor before that.
package final class Socket {
    /// The result of one read or write.
    package enum Transfer: Sendable, Hashable {
        /// The number of bytes moved, at least one.
        case moved(Int)
        /// Nothing possible now: wait for readiness.
        case wouldBlock
        /// The peer sends nothing more. Only reads return it.
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

    /// Creates a non-blocking socket of an address family. Child processes do not inherit it.
    static func make(family: Int32) throws(ReactorError) -> Socket {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let fd = Glibc.socket(family, type, 0)
        guard fd >= 0 else { throw ReactorError(operation: "socket", errno: errno) }
        return Socket(owning: fd)
    }

    /// Reads the available bytes, up to the size of the buffer.
    ///
    /// - Throws: ``ReactorError/Code/system``; `ECONNRESET` if the peer is gone.
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

    /// Writes as much as the kernel accepts, and never raises SIGPIPE. The buffer must not be empty.
    ///
    /// - Throws: ``ReactorError/Code/system``; `EPIPE` or `ECONNRESET` if the peer is gone.
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

    /// Sends small segments at once instead of waiting for more, because every write is already a whole batch.
    package func setNoDelay() {
        // If the kernel refuses, the connection is only slower.
        _ = setOption(tcpLevel, TCP_NODELAY, 1)
    }

    /// Probes the peer's kernel while the connection is idle, and ends the connection after half a minute without an
    /// answer.
    ///
    /// NAT routers forget an idle connection within minutes, some within four. A probe every minute keeps the
    /// connection alive, or detects its loss before the next send.
    func setKeepAlive() {
        // If the kernel refuses one, a lost connection is only noticed later.
        _ = setOption(tcpLevel, TCP_KEEPIDLE, 60)
        _ = setOption(tcpLevel, TCP_KEEPINTVL, 10)
        _ = setOption(tcpLevel, TCP_KEEPCNT, 3)
        _ = setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
    }

    /// The error of a finished connect; 0 if it succeeded.
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

    /// The local address, after bind or connect.
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

    /// Announces to the peer that nothing more will be written. Reading continues.
    package func shutDownWriting() {
        // It fails only if the connection has already ended.
        _ = shutdown(fd, Int32(SHUT_WR))
    }

    /// Closes the descriptor. The kernel still delivers written bytes. Another call does nothing.
    package func close() {
        guard fd >= 0 else { return }
        Glibc.close(fd)
        fd = -1
    }

    /// Closes with a TCP reset. Undelivered bytes are lost, and the peer sees an error.
    package func abort() {
        guard fd >= 0 else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}

private let tcpLevel = Int32(IPPROTO_TCP)
