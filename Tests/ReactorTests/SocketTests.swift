import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("Sockets", .timeLimit(.minutes(1)))
struct SocketTests {
    @Test("addresses in numbers are understood, others are not")
    func addresses() {
        #expect(SocketAddress(numeric: "127.0.0.1", port: 443)?.description == "127.0.0.1:443")
        #expect(SocketAddress(numeric: "::1", port: 8443)?.description == "[::1]:8443")
        #expect(SocketAddress(numeric: "127.0.0.1", port: 0xabcd)?.port == 0xabcd)
        #expect(SocketAddress(numeric: "localhost", port: 1) == nil)
        #expect(SocketAddress(numeric: "", port: 1) == nil)
        #expect(SocketAddress(numeric: "127.0.0.1", port: 1) == SocketAddress(numeric: "127.0.0.1", port: 1))
    }

    private static func option(_ socket: Socket, _ level: Int32, _ name: Int32) -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = getsockopt(socket.fd, level, name, &value, &length)
        return value
    }

    @Test("localhost is resolved off the loop")
    func resolve() async throws {
        let loop = try EventLoop(name: "test")
        let result = await withCheckedContinuation { continuation in
            AddressResolver.resolve(host: "localhost", port: 7, on: loop) { result in
                #expect(loop.isCurrent)
                continuation.resume(returning: result)
            }
        }
        let addresses = try result.get()
        #expect(addresses.contains { $0.description == "127.0.0.1:7" || $0.description == "[::1]:7" })
        await loop.shutDown()
    }

    @Test("a connection is made, bytes pass, and the end is seen", arguments: ["127.0.0.1", "localhost"])
    func connect(host: String) async throws {
        let loop = try EventLoop(name: "test")
        let address = try #require(SocketAddress(numeric: "127.0.0.1", port: 0))
        let received = await withCheckedContinuation { (continuation: CheckedContinuation<String, Never>) in
            loop.execute {
                var keep: [AnyObject] = []
                let listener = try? Listener(loop: loop, address: address) { socket in
                    _ = try? "hello".withCString { try socket.write(UnsafeRawBufferPointer(start: $0, count: 5)) }
                    socket.close()
                }
                guard let listener else { return continuation.resume(returning: "no listener") }
                #expect(listener.address.port != 0)
                keep.append(listener)
                let connector = Connector(loop: loop, host: host, port: listener.address.port, timeout: .seconds(20)) {
                    guard case .success(let socket) = $0 else { return continuation.resume(returning: "\($0)") }
                    // Kept known to whatever translates addresses on the way.
                    #expect(Self.option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1)
                    #expect(Self.option(socket, Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 60)
                    var text: [UInt8] = []
                    var registration: Registration?
                    registration = try? loop.register(fd: socket.fd, interest: .read) { _ in
                        var buffer = [UInt8](repeating: 0, count: 2)
                        let transfer = try? buffer.withUnsafeMutableBytes { try socket.read(into: $0) }
                        if case .moved(let count)? = transfer { text += buffer.prefix(count) }
                        guard case .endOfStream? = transfer else { return }
                        if let registration { loop.cancel(registration) }
                        listener.close()
                        keep = []
                        continuation.resume(returning: String(decoding: text, as: UTF8.self))
                    }
                }
                keep.append(connector)
            }
        }
        #expect(received == "hello")
        await loop.shutDown()
    }

    @Test("a port that is taken is an error with the kernel's number")
    func portTaken() async throws {
        let loop = try EventLoop(name: "test")
        let address = try #require(SocketAddress(numeric: "127.0.0.1", port: 0))
        let number = try await loop.perform { () -> Int32? in
            guard let first = try? Listener(loop: loop, address: address, accepted: { _ in }) else { return nil }
            defer { first.close() }
            do throws(ReactorError) {
                _ = try Listener(loop: loop, address: first.address) { _ in }
                return 0
            } catch {
                return error.errno
            }
        }
        #expect(number == EADDRINUSE)
        await loop.shutDown()
    }

    @Test("a cancelled attempt is never reported")
    func cancelled() async throws {
        let loop = try EventLoop(name: "test")
        let calls = await withCheckedContinuation { continuation in
            loop.execute {
                var calls = 0
                let connector = Connector(loop: loop, host: "127.0.0.1", port: 9, timeout: .milliseconds(10)) { _ in
                    calls += 1
                }
                connector.cancel()
                loop.schedule(after: .milliseconds(40)) { continuation.resume(returning: calls) }
            }
        }
        #expect(calls == 0)
        await loop.shutDown()
    }

    @Test("an attempt that nobody answers ends with its time")
    func timeout() async throws {
        let loop = try EventLoop(name: "test")
        let listener = try FullListener()
        defer { listener.close() }
        let port = listener.address.port
        let error = await attempt(loop, port, .milliseconds(50)).failure
        #expect(error?.code == .timedOut)
        await loop.shutDown()
    }

    @Test(
        "an address that refuses, or does not answer, leaves the others a try; the name is looked up for each connection"
    )
    func severalAddresses() async throws {
        let loop = try EventLoop(name: "test")
        let full = try FullListener()
        defer { full.close() }
        let free = try #require(SocketAddress(numeric: "127.0.0.1", port: 0))
        let (listener, refusing) = try await loop.perform {
            Result {
                let gone = try Listener(loop: loop, address: free) { _ in }
                gone.close()
                return (LoopBound(try Listener(loop: loop, address: free) { _ in }, to: loop), gone.address)
            }
        }.get()
        let address = try await loop.perform { listener.value.address }
        let lookUps = Mutex(0)
        for first in [refusing, full.address] {
            let connected = try await attempt(
                loop,
                0,
                .seconds(60),
                lookUp: { host, port, loop, completion in
                    lookUps.withLock { $0 += 1 }
                    loop.execute { completion(.success([first, address])) }
                }
            ).get()
            try await loop.perform { connected.value.close() }
        }
        #expect(lookUps.withLock(\.self) == 2)
        try await loop.perform {
            listener.value.close()
        }
        await loop.shutDown()
    }

    private func attempt(
        _ loop: EventLoop,
        _ port: UInt16,
        _ timeout: Duration,
        lookUp:
            @escaping @Sendable (
                String, UInt16, EventLoop, @escaping @Sendable (Result<[SocketAddress], ReactorError>) -> Void
            ) -> Void = AddressResolver.resolve
    ) async -> Result<LoopBound<Socket>, ReactorError> {
        await withCheckedContinuation { continuation in
            loop.execute {
                let keep = Keep()
                keep.object = Connector(
                    loop: loop,
                    host: "127.0.0.1",
                    port: port,
                    timeout: timeout,
                    lookUp: lookUp
                ) { result in
                    keep.object = nil
                    continuation.resume(returning: result.map { LoopBound($0, to: loop) })
                }
            }
        }
    }
}

/// Holds something alive that nobody else does.
private final class Keep {
    var object: AnyObject?
}
