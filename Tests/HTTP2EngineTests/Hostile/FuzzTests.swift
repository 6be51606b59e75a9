import HTTP2TestSupport
import TestSupport
import Testing

@testable import HTTP2Engine

/// Conversations with random damage. What fails says its seed; `tools/fuzz --seed N` replays it.
@Suite("Conversations with random damage", .timeLimit(.minutes(10)), .bothSessions)
struct FuzzTests {
    /// The library's memory for one connection of at most 100 streams, with whatever one piece of 64 KiB brings.
    private static let memoryBound = 4 << 20
    /// Every slot may hold one message as large as allowed.
    private static let keptBound = Victim.maximumStreams * (Victim.maximumBody + Victim.maximumHeaders)

    /// The output of one round, one incomplete frame, and the answers that a peer may leave unread.
    private static let waitingBound = 256 * 1024

    @Test("nothing crashes, leaks, grows without bound or is told twice", arguments: Victim.Role.allCases)
    func damaged(role: Victim.Role) throws {
        let ours = try Transcript.recorded().frames(against: role)
        let foreign = Transcript.foreign.frames(against: role)
        for seed in FuzzSeeds.range {
            let isOurs = seed % 2 == 0
            var mutator = Mutator(seed: seed, others: isOurs ? foreign : ours)
            let complaints = try run(role, &mutator, isOurs ? ours : foreign)
            for complaint in complaints { Issue.record("\(complaint) (a \(role.rawValue), seed \(seed))") }
        }
    }

    @Test("the same seed gives the same bytes")
    func repeatable() throws {
        let frames = Transcript.foreign.client
        let runs = (0..<2).map { _ in
            var mutator = Mutator(seed: 42, others: frames)
            return mutator.pieces(of: frames)
        }
        #expect(runs[0] == runs[1])
    }

    @Test("without damage the conversations end well", arguments: Victim.Role.allCases)
    func undamaged(role: Victim.Role) throws {
        for transcript in [try Transcript.recorded(), Transcript.foreign] {
            let victim = try Victim(role)
            try victim.submit(Transcript.requests)
            victim.feed(transcript.frames(against: role).flatMap { $0 })
            #expect(victim.error == nil)
            #expect(victim.violation == nil)
            #expect(role == .client ? victim.outcomes.count > 3 : victim.requests.count > 2)
        }
    }

    private func run(_ role: Victim.Role, _ mutator: inout Mutator, _ frames: [[UInt8]]) throws -> [String] {
        var complaints: [String] = []
        weak var remembered: Victim?
        let memory: CountedMemory
        do {
            let victim = try Victim(role)
            remembered = victim
            memory = victim.memory
            victim.peerReads = mutator.reads()
            try victim.submit(Transcript.requests, body: RawFrame.text(300))
            var fed = 0
            for piece in mutator.pieces(of: frames) where !victim.isOver {
                victim.feed(piece)
                fed += piece.count
                if victim.waitingBytes > Self.waitingBound { complaints.append("\(victim.waitingBytes) bytes wait") }
                if victim.keptBytes > Self.keptBound { complaints.append("\(victim.keptBytes) bytes are kept") }
            }
            if victim.sent.count > 64 * 1024 + 4 * fed {
                complaints.append("\(fed) bytes make us send \(victim.sent.count)")
            }
            if memory.peak > Self.memoryBound { complaints.append("libnghttp2 took \(memory.peak) bytes") }
            if role == .client, victim.slots > Transcript.requests { complaints.append("\(victim.slots) slots") }
            if role == .server, victim.slots > Victim.maximumStreams { complaints.append("\(victim.slots) slots") }
            complaints += victim.end()
        }
        if remembered != nil || memory.held != 0 { complaints.append("\(memory.held) bytes are leaked") }
        return complaints
    }
}
