import TestSupport

@testable import HTTP2Engine

/// A random conversation that client sessions have in lockstep, each with its own strict server.
///
/// The servers say the same. So what the sessions do, and what they report, must be the same as well. Only the turns of
/// bodies in the connection's window are their own. So two sessions have as much of it as they want, and a session
/// alone has little.
final class Duel {
    private var random: SeededRandom
    private let both: [Duellist]
    private let shared: [SharedHeaders]
    private var tags: UInt64 = 0
    /// Streams by tag, as far as they were submitted.
    private var streams: [UInt64: Int32] = [:]
    private var cancelled: Set<UInt64> = []
    private(set) var complaints: [String] = []

    init(seed: UInt64, _ implementations: [HTTP2Implementation] = HTTP2Implementation.allCases) throws {
        random = SeededRandom(seed: seed)
        both = try implementations.map { try Duellist($0) }
        shared = try (0..<4).map { number in
            try SharedHeaders(
                method: number == 3 ? "DELETE" : number == 2 ? "GET" : "POST",
                authority: "host-\(number % 2)",
                pathPrefix: number == 1 ? "" : "/3/device/",
                fields: [
                    HTTP2Header("authorization", "bearer " + String(repeating: "t", count: 180)),
                    HTTP2Header("apns-topic", "topic-\(number)"),
                    HTTP2Header("apns-expiration", "\(1_700_000_000 + number)"),
                    HTTP2Header("apns-id", "id-\(number)"),
                    HTTP2Header("filler-\(number)", String(repeating: "f", count: number * 700)),
                ]
            )
        }
    }

    /// Runs the whole conversation.
    func run() throws {
        say { $0.settings([]) }
        if both.count > 1 { say { $0.grant(1 << 30) } }
        for _ in 0..<Int.random(in: 5...60, using: &random) {
            try step()
            if chance(2, of: 3) { settle() }
            if !complaints.isEmpty { return }
        }
        finish()
    }

    private func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    private func step() throws {
        switch Int.random(in: 0..<13, using: &random) {
        case 0...3: for _ in 0..<Int.random(in: 1...12, using: &random) { try submit() }
        case 4: announce()
        case 5:
            let increment = UInt32.random(in: 1...100_000, using: &random)
            if both.count == 1 { say { $0.grant(increment) } }
        case 6:
            guard let stream = openStream() else { return }
            let increment = UInt32.random(in: 1...100_000, using: &random)
            say { $0.grant(stream: stream, increment) }
        case 7...9: for _ in 0..<Int.random(in: 1...8, using: &random) { answer() }
        case 10: cancel()
        case 11: say { _ in RawFrame.ping(7) + RawFrame.frame(type: 77, flags: 0xff, stream: 3, [1, 2, 3]) }
        default:
            guard chance(1, of: 8), let last = openStream() else { return }
            say { $0.goAway(last: last) }
        }
    }

    private var last: Duellist { both[both.count - 1] }

    // MARK: The client's owner

    private func submit() throws {
        tags += 1
        let tag = tags
        let size = [0, 1, 300, 300, 300, 5000, 70_000].randomElement(using: &random) ?? 0
        let length = [1, 64, 160, 160, 300, 20_000].randomElement(using: &random) ?? 1
        let extra = chance(1, of: 8) ? [HTTP2Header("authorization", "own"), HTTP2Header("own", "\(tag)")] : []
        let headers = shared.randomElement(using: &random) ?? shared[0]
        let body = size == 0 ? nil : SharedBytes((0..<size).map { UInt8(truncatingIfNeeded: $0 &+ Int(tag)) })
        let request = OutgoingRequest(headers: headers, extra: extra, body: body)
        let path = Array(("/" + String(repeating: "\(tag % 10)", count: length)).utf8)
        // libnghttp2 gives back the room of a request that was cancelled in its queue later.
        guard both.allSatisfy(\.hasRoom) else { return }
        let numbers = try both.map { try $0.submit(request, tag: tag, path: path) }
        require(numbers[0] == numbers[numbers.count - 1], "stream \(numbers)")
        streams[tag] = numbers[0]
    }

    private func cancel() {
        let open = streams.keys.filter { both[0].outcomes[$0] == nil && !cancelled.contains($0) }.sorted()
        guard let tag = open.randomElement(using: &random), let stream = streams[tag] else { return }
        cancelled.insert(tag)
        for client in both { client.session.cancel(stream: stream) }
    }

    // MARK: The servers

    private func announce() {
        var pairs: [(UInt16, UInt32)] = []
        if chance(1, of: 2) { pairs.append((1, [0, 100, 300, 4096, 65_536].randomElement(using: &random) ?? 0)) }
        if chance(1, of: 2) { pairs.append((3, [0, 1, 7, 100].randomElement(using: &random) ?? 0)) }
        if chance(1, of: 2) { pairs.append((4, [0, 100, 65_535, 200_000].randomElement(using: &random) ?? 0)) }
        if chance(1, of: 4) { pairs.append((5, [16_384, 20_000].randomElement(using: &random) ?? 16_384)) }
        say { $0.settings(pairs) }
    }

    /// A stream that both servers have open.
    private func openStream() -> UInt32? {
        let open = both.map { client in Set(client.server.requests.filter { $0.value.isOpen }.keys) }
        return open.reduce(open[0]) { $0.intersection($1) }.sorted().randomElement(using: &random)
    }

    private func answer() {
        guard let stream = openStream() else { return }
        guard both.allSatisfy({ $0.server.requests[stream]?.isAnswered == false }) else { return }
        if chance(1, of: 6) {
            let code: UInt32 = [0, 1, 7, 8, 0xdead].randomElement(using: &random) ?? 0
            return say { server in
                server.end(stream, isReset: true)
                return RawFrame.reset(stream: stream, code: code)
            }
        }
        let bytes = response(stream)
        let isReset = chance(1, of: 6)
        say { server in
            server.end(stream, isReset: isReset)
            return bytes + (isReset ? RawFrame.reset(stream: stream, code: 0) : [])
        }
    }

    private func response(_ stream: UInt32) -> [UInt8] {
        let status = [200, 400, 410, 429, 503].randomElement(using: &random) ?? 200
        var block = RawFrame.field(":status", "\(status)") + RawFrame.field("apns-id", "\(stream)")
        if chance(1, of: 2) { block += RawFrame.field(bytes: [97], [98], indexed: true) }
        let body = RawFrame.text([0, 10, 3000].randomElement(using: &random) ?? 0)
        var bytes: [UInt8] = []
        if chance(1, of: 6) {
            bytes += RawFrame.headers(stream: stream, ends: false, RawFrame.field(":status", "103"))
        }
        let endsWithHead = body.isEmpty && chance(1, of: 2)
        if chance(1, of: 4) {
            let cut = Int.random(in: 0...block.count, using: &random)
            bytes += RawFrame.frame(type: 1, flags: endsWithHead ? 1 : 0, stream: stream, Array(block.prefix(cut)))
            bytes += RawFrame.continuation(stream: stream, ends: true, Array(block.dropFirst(cut)))
        } else {
            bytes += RawFrame.headers(stream: stream, ends: endsWithHead, block)
        }
        guard !endsWithHead else { return bytes }
        let trailers = chance(1, of: 6)
        let padding = UInt8.random(in: 0...50, using: &random)
        bytes += RawFrame.frame(
            type: 0,
            flags: 8 | (trailers ? 0 : 1),
            stream: stream,
            [padding] + body + [UInt8](repeating: 0, count: Int(padding))
        )
        if trailers { bytes += RawFrame.headers(stream: stream, ends: true, RawFrame.field("trailer", "1")) }
        return bytes
    }

    /// Both servers say the same, in pieces.
    private func say(_ words: (StrictServer) -> [UInt8]) {
        let said = both.map { words($0.server) }
        var rest = said[0][...]
        // Not byte by byte: libnghttp2 counts the pieces of a CONTINUATION's head as so many frames, of which it allows
        // eight.
        let largest = [4, 20, 100_000].randomElement(using: &random) ?? 4
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 4...largest, using: &random)))
            rest = rest.dropFirst(piece.count)
            for client in both { client.receive(piece) }
        }
    }

    // MARK: The judge

    private func require(_ isRight: Bool, _ words: @autoclosure () -> String) {
        if !isRight { complaints.append(words()) }
    }

    private func settle() {
        for client in both {
            client.settle()
            complaints += client.complaints.map { "\(client.implementation): \($0)" }
            complaints += client.server.violations.map { "\(client.implementation): \($0)" }
        }
        require(both[0].session.acceptsRequests == last.session.acceptsRequests, "one accepts requests")
        // After a GOAWAY, a session without streams reads nothing more.
        let isOver = both.contains { $0.session.isFinished }
        require(isOver || both[0].limits == last.limits, "limits \(both.map(\.limits))")
        require(both[0].session.violation == nil, "violation \(both[0].session.violation ?? "")")
        let requests = both.map { Set($0.server.requests.keys) }
        require(requests.allSatisfy { $0 == requests[0] }, "HEADERS \(requests.map { $0.sorted() })")
    }

    /// The servers open everything and answer what is open. Then nothing may be left.
    private func finish() {
        settle()
        say { $0.settings([(1, 4096), (3, 1000), (4, 1 << 20), (5, 16_384)]) }
        if both.count == 1 { say { $0.grant(1 << 30) } }
        settle()
        while complaints.isEmpty {
            let open = both.map { client in
                Set(client.server.requests.filter { $0.value.isOpen && !$0.value.isAnswered }.keys)
            }
            require(open.allSatisfy { $0 == open[0] }, "open \(open)")
            guard !open[0].isEmpty, complaints.isEmpty else { break }
            for stream in open[0].sorted() {
                say { server in
                    server.end(stream, isReset: false)
                    return RawFrame.headers(stream: stream, ends: true, RawFrame.ok)
                }
            }
            settle()
        }
        for client in both {
            require(client.session.openStreams == 0, "\(client.implementation): \(client.session.openStreams) are open")
            client.end()
        }
        compare()
    }

    private func compare() {
        for tag in streams.keys.sorted() where streams[tag] != nil {
            let outcomes = both.map { $0.outcomes[tag] }
            // Whether an answered request has sent its body when it is cancelled is a matter of turns.
            let isOpen = cancelled.contains(tag) && outcomes.contains(nil)
            require(isOpen || outcomes.allSatisfy { $0 == outcomes[0] }, "request \(tag): \(outcomes)")
            require(isOpen || outcomes[0] != nil, "request \(tag) was forgotten")
        }
        let cancelledStreams = Set(cancelled.compactMap { streams[$0].map { UInt32($0) } })
        for (stream, request) in both[0].server.requests {
            guard let other = last.server.requests[stream] else { continue }
            let fields = "the fields of stream \(stream): \(request.fields) but \(other.fields)"
            require(request.fields == other.fields, fields)
            // How far a body gets before its stream ends is a matter of turns.
            let common = min(request.body.count, other.body.count)
            require(request.body.prefix(common) == other.body.prefix(common), "the body of stream \(stream)")
            let isSame = request.resetCode == other.resetCode || cancelledStreams.contains(stream)
            require(isSame, "the reset of stream \(stream): \(both.map { $0.server.requests[stream]?.resetCode })")
        }
    }
}
