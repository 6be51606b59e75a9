import HTTP2TestSupport
import TestSupport
import Testing

@testable import HTTP2Engine

/// Both client sessions in the same situation. A failure names its seed; `tools/fuzz --seed N` replays it.
@Suite("Both client sessions side by side", .timeLimit(.minutes(10)))
struct DifferentialFuzzTests {
    /// Some of the seeds, because a conversation takes long. `tools/fuzz` tries as many of each round.
    private static let conversationSeeds = FuzzSeeds.range.prefix(100)

    @Test("they send the same requests, keep the same limits and report the same outcomes")
    func conversations() throws {
        for seed in Self.conversationSeeds {
            let duel = try Duel(seed: seed)
            try duel.run()
            for complaint in duel.complaints.prefix(3) { Issue.record("\(complaint) (seed \(seed))") }
        }
    }

    @Test("each keeps every limit of a server with a small window", arguments: HTTP2Implementation.allCases)
    func alone(implementation: HTTP2Implementation) throws {
        for seed in Self.conversationSeeds {
            let duel = try Duel(seed: seed, [implementation])
            try duel.run()
            for complaint in duel.complaints.prefix(3) { Issue.record("\(complaint) (seed \(seed))") }
        }
    }

    @Test("a damaged conversation ends in the same way")
    func damaged() throws {
        let ours = try Transcript.recorded().server
        let foreign = Transcript.foreign.server
        for seed in FuzzSeeds.range {
            let isOurs = seed % 2 == 0
            var mutator = Mutator(seed: seed, others: isOurs ? foreign : ours)
            let pieces = Self.wholeFrames(mutator.pieces(of: isOurs ? ours : foreign))
            let verdicts = try HTTP2Implementation.allCases.map { try Self.verdict(of: $0, on: pieces) }
            if verdicts[0] != verdicts[1] { Issue.record("\(verdicts[0])\nbut\n\(verdicts[1])\n(seed \(seed))") }
        }
    }

    /// What became of a client.
    private struct Verdict: Equatable, CustomStringConvertible {
        let outcomes: [String]
        let error: HTTP2Error.Code?
        let goAway: HTTP2ErrorCode?
        let isOver: Bool
        let hasViolation: Bool

        var description: String {
            "error \(error?.description ?? "none"), GOAWAY \(goAway?.description ?? "none"), over \(isOver): \(outcomes)"
        }
    }

    private static func verdict(of implementation: HTTP2Implementation, on pieces: [[UInt8]]) throws -> Verdict {
        try BothSessions.$implementation.withValue(implementation) {
            let victim = try Victim(.client)
            try victim.submit(Transcript.requests, body: RawFrame.text(300))
            for piece in pieces where !victim.isOver { victim.feed(piece) }
            let isOver = victim.isOver
            _ = victim.end()
            return Verdict(
                outcomes: victim.outcomes.sorted { $0.tag < $1.tag }.map { "\($0.tag): \($0.outcome)" },
                error: victim.error?.code,
                goAway: victim.sentFrames.last { $0.type == 7 }?.errorCode,
                isOver: isOver,
                hasViolation: victim.violation != nil
            )
        }
    }

    /// Pieces of about the same sizes that end with a frame each. libnghttp2 reads frames that are incomplete, and so
    /// it may find a fault earlier.
    private static func wholeFrames(_ pieces: [[UInt8]]) -> [[UInt8]] {
        var frames = RawFrame.split(pieces.flatMap { $0 })[...]
        var missing = 0
        return pieces.compactMap { piece in
            missing += piece.count
            var bytes: [UInt8] = []
            while missing > 0, let frame = frames.popFirst() {
                bytes += frame
                missing -= frame.count
            }
            return bytes.isEmpty ? nil : bytes
        }
    }
}
