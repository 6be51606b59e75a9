import Glibc
import Reactor
import Testing

@Suite("Registered descriptors", .timeLimit(.minutes(1)))
struct RegistrationTests {
    private func pair() -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
        return (ends[0], ends[1])
    }

    @Test("a handler is called as long as bytes are unread, and not after it was cancelled")
    func levelTriggered() async throws {
        let loop = try EventLoop(name: "test")
        let (near, far) = pair()
        _ = write(far, "abc", 3)
        let calls = await withCheckedContinuation { continuation in
            loop.execute {
                var calls = 0
                var registration: Registration?
                registration = try? loop.register(fd: near, interest: .read) { ready in
                    #expect(ready == .read)
                    calls += 1
                    var byte: UInt8 = 0
                    guard read(near, &byte, 1) == 1, calls == 3 else { return }
                    if let registration { loop.cancel(registration) }
                    _ = write(far, "more", 4)
                    loop.schedule(after: .milliseconds(20)) { continuation.resume(returning: calls) }
                }
            }
        }
        #expect(calls == 3)
        close(near)
        close(far)
        await loop.shutDown()
    }

    @Test("with an empty interest not even a hang-up is reported, and it comes when interest returns")
    func emptyInterest() async throws {
        let loop = try EventLoop(name: "test")
        let (near, far) = pair()
        close(far)
        let calls = await withCheckedContinuation { continuation in
            loop.execute {
                var calls = 0
                var registration: Registration?
                registration = try? loop.register(fd: near, interest: []) { _ in
                    calls += 1
                    if let registration { loop.cancel(registration) }
                    continuation.resume(returning: calls)
                }
                loop.schedule(after: .milliseconds(20)) {
                    #expect(calls == 0)
                    if let registration { try? loop.update(registration, interest: .read) }
                }
            }
        }
        #expect(calls == 1)
        close(near)
        await loop.shutDown()
    }

    @Test("a handler may cancel another that is ready in the same pass, and its descriptor may be used again")
    func cancelOther() async throws {
        let loop = try EventLoop(name: "test")
        let pairs = [pair(), pair()]
        for pair in pairs { _ = write(pair.far, "x", 1) }
        let calls = await withCheckedContinuation { continuation in
            loop.execute {
                var calls = 0
                var registrations: [Registration] = []
                for pair in pairs {
                    let registration = try? loop.register(fd: pair.near, interest: .read) { _ in
                        calls += 1
                        for registration in registrations { loop.cancel(registration) }
                        registrations = []
                        loop.schedule(after: .milliseconds(10)) { continuation.resume(returning: calls) }
                    }
                    if let registration { registrations.append(registration) }
                }
            }
        }
        #expect(calls == 1)
        for pair in pairs {
            close(pair.near)
            close(pair.far)
        }
        await loop.shutDown()
    }
}
