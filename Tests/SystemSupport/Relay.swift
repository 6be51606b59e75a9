import Foundation
import Glibc
import Synchronization
import TestSupport

/// A TCP port that passes everything on to a server and back, until it is told to do so slowly, not at all or no more.
///
/// Two blocking threads per connection: they do little else than wait, and there are some dozens of connections at
/// most.
package final class Relay: Sendable {
    /// Where connections are passed on to.
    package enum Target: Sendable {
        case unix(path: String)
        /// A port of an address of this machine.
        case port(UInt16, of: String = "127.0.0.1")
    }

    private struct State {
        /// Both ends of every connection.
        var connections: [Int: (Int32, Int32)] = [:]
        var last = 0
        var isHeld = false
        var delay = Duration.zero
        /// From the client to the server.
        var bytesPerSecond: Int?
        var isClosed = false
    }

    private let target: Target
    private let listener: Int32
    private let state = Mutex(State())
    package let port: UInt16

    package init(to target: Target) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw Failure("a relay cannot listen: errno \(errno)") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    /// How many connections it has taken.
    package var accepted: Int { state.withLock { $0.last } }

    /// Nothing comes through in either direction, and nobody is told, until it is released: a cable was pulled.
    package func hold() { state.withLock { $0.isHeld = true } }

    /// What was held back goes on.
    package func release() { state.withLock { $0.isHeld = false } }

    /// Every read takes so much longer; and so many bytes a second go to the server at most.
    package func slow(by delay: Duration = .zero, bytesPerSecond: Int? = nil) {
        state.withLock { state in
            state.delay = delay
            state.bytesPerSecond = bytesPerSecond
        }
    }

    /// Ends all connections; new ones are taken.
    package func cut() {
        for (client, server) in state.withLock({ Array($0.connections.values) }) {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
    }

    /// Ends everything.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.isHeld = false
        }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    // MARK: Threads

    private func accept() {
        while case let client = Glibc.accept(listener, nil, nil), client >= 0 {
            guard let server = connected() else {
                Glibc.close(client)
                continue
            }
            var yes: Int32 = 1
            setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            let number = state.withLock { state in
                state.last += 1
                state.connections[state.last] = (client, server)
                return state.last
            }
            let pumps = DispatchGroup()
            for (from, to, isUp) in [(client, server, true), (server, client, false)] {
                pumps.enter()
                Thread.detachNewThread { [self] in
                    pump(from, to, isUp: isUp)
                    pumps.leave()
                }
            }
            pumps.notify(queue: .global()) { [self] in
                state.withLock { _ = $0.connections.removeValue(forKey: number) }
                Glibc.close(client)
                Glibc.close(server)
            }
        }
        Glibc.close(listener)
    }

    private func pump(_ from: Int32, _ to: Int32, isUp: Bool) {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let limit = state.withLock { $0.bytesPerSecond }.map { max(1, min(buffer.count, $0 / 10)) }
            let count = recv(from, &buffer, isUp ? limit ?? buffer.count : buffer.count, 0)
            guard count > 0 else { break }
            let (delay, rate) = state.withLock { ($0.delay, $0.bytesPerSecond) }
            if delay > .zero { usleep(UInt32(delay / .microseconds(1))) }
            if isUp, let rate { usleep(UInt32(count * 1_000_000 / rate)) }
            while state.withLock({ $0.isHeld }) { usleep(20_000) }
            var sent = 0
            while sent < count {
                let part = send(to, Array(buffer[sent..<count]), count - sent, Int32(MSG_NOSIGNAL))
                guard part > 0 else { return end(from, to) }
                sent += part
            }
        }
        end(from, to)
    }

    private func end(_ one: Int32, _ other: Int32) {
        shutdown(one, Int32(SHUT_RDWR))
        shutdown(other, Int32(SHUT_RDWR))
    }

    // MARK: Sockets

    private func connected() -> Int32? {
        let descriptor: Int32
        let result: Int32
        switch target {
        case .port(let port, let host):
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = Self.loopback(port)
            address.sin_addr.s_addr = inet_addr(host)
            result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .unix(let path):
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        if result == 0 { return descriptor }
        Glibc.close(descriptor)
        return nil
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
