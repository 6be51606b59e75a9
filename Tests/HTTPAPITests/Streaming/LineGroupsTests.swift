import APITypes
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import HTTP1Server
@testable import HTTPAPI

@Suite("Groups of lines")
struct LineGroupsTests {
    @Test("What has arrived meanwhile joins the rest of a group, and a rest waits for nothing", .timeLimit(.minutes(1)))
    func topUp() async throws {
        let body = ArrivingBody()
        let head = HTTPRequest(method: .post, scheme: "http", authority: "tally", path: "/ingest")
        let groups = LineGroups(
            HTTPCall(head: head, source: body),
            mostLines: 2,
            longestLine: 100,
            turns: ReadingTurns(count: 1)
        ) { (line: [UInt8]) throws(Problem) in String(decoding: line, as: UTF8.self) }
        func next() async throws -> [String] {
            try await groups.next()?.values.compactMap { try $0?.get() } ?? ["the end"]
        }
        body.arrive("a\nb\nc\n")
        #expect(try await next() == ["a", "b"])
        body.arrive("d\ne\n")
        #expect(try await next() == ["c", "d"])
        #expect(try await next() == ["e"])
        body.arrive("f")
        body.end()
        #expect(try await next() == ["f"])
        #expect(try await next() == ["the end"])
    }
}

/// A body that has arrived as far as the test says.
private final class ArrivingBody: BodySource {
    private struct State {
        var bytes = ByteBuffer()
        var hasEnded = false
        var reader: CheckedContinuation<ByteBuffer, Never>?
    }

    private let state = Mutex(State())

    func arrive(_ text: String) { change { $0.bytes.writeString(text) } }
    func end() { change { $0.hasEnded = true } }

    let client = ""

    func collect(upTo limit: Int) async throws -> ByteBuffer { throw BodyTooLarge(limit: limit) }

    func part(keeping most: Int) async throws -> ByteBuffer {
        await withCheckedContinuation { reader in change { $0.reader = reader } }
    }

    func arrived(keeping most: Int) async -> ByteBuffer { state.withLock { Self.take(&$0) } }

    func stopReading() { end() }
    func tellProgress() {}
    func proceed() async throws {}
    func hangUp() {}

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state -> (reader: CheckedContinuation<ByteBuffer, Never>, bytes: ByteBuffer)? in
            body(&state)
            guard state.hasEnded || state.bytes.readableBytes > 0, let reader = state.reader else { return nil }
            state.reader = nil
            return (reader, Self.take(&state))
        }
        if let (reader, bytes) = ready { reader.resume(returning: bytes) }
    }

    private static func take(_ state: inout State) -> ByteBuffer {
        defer { state.bytes = ByteBuffer() }
        return state.bytes
    }
}
