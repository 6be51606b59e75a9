import Reactor
import Synchronization

/// The ports that are tried. They lie below those of outgoing connections (32768 and up as Linux comes), one of which
/// could take a port between the moment it is found unused and the moment its program listens.
private let candidates = UInt16(20_000)...32_000

/// Where the search goes on. It starts anywhere, because other test runs may be looking, too.
private let next = Mutex(UInt16.random(in: candidates))

/// A port of 127.0.0.1 on which nobody listens at this moment, for a program that has to be told one. Each is
/// given once until all of them were.
///
/// - Throws: `ReactorError` when none is to be had.
package func unusedPort() async throws -> UInt16 {
    let loop = try EventLoop(name: "test-port")
    let port = try await loop.perform { Result { try unusedPort(on: loop) } }
    await loop.shutDown()
    return try port.get()
}

private func unusedPort(on loop: EventLoop) throws -> UInt16 {
    var attempts = 0
    while true {
        let port = next.withLock { next in
            defer { next = next == candidates.upperBound ? candidates.lowerBound : next + 1 }
            return next
        }
        // A reason to trap: the text is an address for as long as IPv4 exists.
        guard let address = SocketAddress(numeric: "127.0.0.1", port: port) else { preconditionFailure("127.0.0.1") }
        do {
            try Listener(loop: loop, address: address) { _ in }.close()
            return port
        } catch {
            attempts += 1
            if attempts == 100 { throw error }
        }
    }
}
