import CLinux
import Glibc

/// A listening TCP socket. It passes each new connection to a closure. It belongs to a loop.
package final class Listener {
    private let loop: EventLoop
    private let socket: Socket
    private var registration: Registration?

    /// The address of the listener, with the real port.
    package let address: SocketAddress

    /// Starts to listen. `accepted` is called on the loop with each connection, which is non-blocking and has
    /// TCP_NODELAY.
    ///
    /// Call it only on the loop.
    ///
    /// - `address`: with port 0 the kernel chooses a free one.
    /// - Throws: ``ReactorError/Code/system``, with `EADDRINUSE` if the port is in use.
    package init(
        loop: EventLoop,
        address: SocketAddress,
        accepted: @escaping (Socket) -> Void
    ) throws(ReactorError) {
        loop.preconditionOnLoop()
        let socket = try Socket.make(family: address.family ?? AF_INET)
        // Without it, a restart within minutes fails because closed connections still occupy the port.
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

    /// Stops listening; accepted connections stay open. Another call does nothing. Only on the loop.
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

    /// Pauses when descriptors or memory run out. The waiting connection would otherwise wake a level-triggered loop
    /// forever.
    private func pause() {
        guard let registration, (try? loop.update(registration, interest: [])) != nil else { return }
        loop.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, let registration = self.registration else { return }
            // The socket is open while it is registered, so only a lack of memory can fail here: retry later.
            if (try? loop.update(registration, interest: .read)) == nil { pause() }
        }
    }
}
