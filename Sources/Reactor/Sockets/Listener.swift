import CLinux
import Glibc

/// A listening TCP socket that hands out what connects to it. Belongs to a loop.
package final class Listener {
    private let loop: EventLoop
    private let socket: Socket
    private var registration: Registration?

    /// Where it listens, with the real port.
    package let address: SocketAddress

    /// Starts to listen; `accepted` is called on the loop with each connection, non-blocking and with TCP_NODELAY.
    ///
    /// Only on the loop.
    ///
    /// - `address`: port 0 lets the kernel choose a free one.
    /// - Throws: ``ReactorError/Code/system``, with `EADDRINUSE` when the port is taken.
    package init(
        loop: EventLoop,
        address: SocketAddress,
        accepted: @escaping (Socket) -> Void
    ) throws(ReactorError) {
        loop.preconditionOnLoop()
        let socket = try Socket.make(family: address.family ?? AF_INET)
        // Otherwise a restart within minutes finds the port busy with closed connections.
        _ = socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        guard unsafe address.withSockaddr({ unsafe bind(socket.fd, $0, $1) }) == 0 else {
            throw ReactorError(operation: "bind", errno: errno, detail: address.description)
        }
        guard listen(socket.fd, SOMAXCONN) == 0 else {
            throw ReactorError(operation: "listen", errno: errno, detail: address.description)
        }
        self.loop = loop
        self.socket = socket
        self.address = try socket.localAddress()
        registration = try loop.register(fd: socket.fd, interest: .read) { [weak self] _ in
            self?.acceptAll(accepted)
        }
    }

    /// Stops listening; connections that were accepted stay. A second call does nothing. Only on the loop.
    package func close() {
        if let registration { loop.cancel(registration) }
        registration = nil
        socket.close()
    }

    private func acceptAll(_ accepted: (Socket) -> Void) {
        while registration != nil {
            let fd = CLinux_accept(socket.fd)
            guard fd >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause()
                default: return
                }
            }
            let socket = Socket(owning: fd)
            socket.setNoDelay()
            accepted(socket)
        }
    }

    /// Out of descriptors or memory: the waiting connection would wake a level-triggered loop for ever.
    private func pause() {
        guard let registration, (try? loop.update(registration, interest: [])) != nil else { return }
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, let registration = self.registration else { return }
            // The socket is open as long as it is registered, so epoll can only be out of memory: try again later.
            if (try? loop.update(registration, interest: .read)) == nil { pause() }
        }
    }
}
