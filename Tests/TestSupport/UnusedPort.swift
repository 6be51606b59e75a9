import Reactor

/// A port of 127.0.0.1 on which nobody listens at this moment, for a program that has to be told one.
///
/// - Throws: `ReactorError` when none is to be had.
package func unusedPort() async throws -> UInt16 {
    // A reason to trap: the text is an address for as long as IPv4 exists.
    guard let address = SocketAddress(numeric: "127.0.0.1", port: 0) else { preconditionFailure("127.0.0.1") }
    let loop = try EventLoop(name: "test-port")
    let port = try await loop.perform {
        Result {
            let listener = try Listener(loop: loop, address: address) { _ in }
            defer { listener.close() }
            return listener.address.port
        }
    }
    await loop.shutDown()
    return try port.get()
}
