import APITypes
import ActivityModel
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import Channels

private typealias Decision = ChannelComparison.Decision
private typealias Record = ChannelComparison.Record

private let now = Instant(unixSeconds: 1_800_000_000)
private let match = ActivityID(stored: "match")
private let mine = APNSChannelID(stored: "mine")
private let theirs = APNSChannelID(stored: "theirs")

private func ago(_ seconds: Int64) -> Instant { Instant(unixSeconds: now.unixSeconds - seconds) }

private func record(
    _ state: ChannelState,
    since: Int64 = 3600,
    of activity: ActivityID? = match,
    isDone: Bool = false
) -> Record {
    Record(
        id: ChannelID(stored: "00000000-0000-4000-8000-000000000001"),
        apnsID: mine,
        state: state,
        since: ago(since),
        activity: activity,
        isDone: isDone
    )
}

private func compare(
    _ listed: [APNSChannelID],
    _ records: [Record] = [],
    running: Set<ActivityID> = [match],
    sightings: [APNSChannelID: Instant] = [:],
    isExclusive: Bool = false
) -> ChannelComparison {
    ChannelComparison(
        listed: listed,
        records: records,
        running: running,
        sightings: sightings,
        isExclusive: isExclusive,
        listedAt: now
    )
}

@Suite("Comparing channels with Apple's list")
struct ChannelComparisonTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        fileprivate let record: Record
        let isListed: Bool
        var isRunning = true
        fileprivate let decisions: [Decision]
    }

    private static let cases: [Case] = [
        Case(testDescription: "in use, there", record: record(.ready), isListed: true, decisions: []),
        Case(
            testDescription: "in use, gone",
            record: record(.ready),
            isListed: false,
            decisions: [.lose(record(.ready), replace: true)]
        ),
        Case(
            testDescription: "in use, made at this moment, not listed yet",
            record: record(.ready, since: 59),
            isListed: false,
            decisions: []
        ),
        Case(
            testDescription: "never used, gone",
            record: record(.ready, of: nil),
            isListed: false,
            decisions: [.lose(record(.ready, of: nil), replace: false)]
        ),
        Case(
            testDescription: "ended but the end not sent, gone",
            record: record(.ready),
            isListed: false,
            isRunning: false,
            decisions: [.lose(record(.ready), replace: false)]
        ),
        Case(
            testDescription: "waits for its deletion, gone",
            record: record(.ready, isDone: true),
            isListed: false,
            isRunning: false,
            decisions: [.settle(record(.ready, isDone: true))]
        ),
        Case(
            testDescription: "being deleted, gone",
            record: record(.deleting, since: 0),
            isListed: false,
            isRunning: false,
            decisions: [.settle(record(.deleting, since: 0))]
        ),
        Case(testDescription: "being deleted, there", record: record(.deleting), isListed: true, decisions: []),
        Case(testDescription: "deleted, gone", record: record(.deleted), isListed: false, decisions: []),
        Case(
            testDescription: "deleted, still there",
            record: record(.deleted),
            isListed: true,
            decisions: [.deleteAgain(record(.deleted))]
        ),
        Case(
            testDescription: "deleted at this moment, still listed",
            record: record(.deleted, since: 59),
            isListed: true,
            decisions: []
        ),
        Case(
            testDescription: "lost, there again",
            record: record(.lost),
            isListed: true,
            decisions: [.deleteAgain(record(.lost))]
        ),
    ]

    @Test("Ours", arguments: cases)
    func ours(_ example: Case) {
        let comparison = compare(
            example.isListed ? [mine] : [],
            [example.record],
            running: example.isRunning ? [match] : []
        )
        #expect(comparison.decisions == example.decisions)
    }

    @Test("An unknown channel is only ever deleted in an exclusive app, after 24 h of being seen")
    func unknown() {
        #expect(compare([theirs]).decisions == [.watch(theirs, firstSeen: now, deleteAt: nil)])
        let old = [theirs: ago(90_000)]
        #expect(
            compare([theirs], sightings: old).decisions == [
                .watch(theirs, firstSeen: ago(90_000), deleteAt: nil)
            ]
        )
        let young = [theirs: ago(86_399)]
        #expect(
            compare([theirs], sightings: young, isExclusive: true).decisions == [
                .watch(theirs, firstSeen: ago(86_399), deleteAt: Instant(unixSeconds: now.unixSeconds + 1))
            ]
        )
        #expect(
            compare([theirs], sightings: [theirs: ago(86_400)], isExclusive: true).decisions == [
                .deleteUnknown(theirs, firstSeen: ago(86_400))
            ]
        )
    }

    @Test("A channel that was unknown is forgotten when it is gone, or ours after all")
    func forgotten() {
        #expect(compare([], sightings: [theirs: ago(5)]).decisions == [.forget(theirs)])
        #expect(compare([mine], [record(.ready)], sightings: [mine: ago(5)]).decisions == [.forget(mine)])
    }

    @Test("Whatever is compared: what is ours is never treated as unknown, and what is there is never lost")
    func invariants() {
        for seed in 0..<2_000 {
            var random = SeededRandom(seed: UInt64(seed))
            let world = RandomChannels(&random)
            let comparison = world.comparison
            let listed = Set(world.listed)
            var decided: Set<APNSChannelID> = []
            for decision in comparison.decisions {
                let id = decision.channel
                if case .forget = decision {
                    #expect(!listed.contains(id) || world.ours.contains(id), "seed \(seed)")
                    continue
                }
                #expect(decided.insert(id).inserted, "two decisions for \(id), seed \(seed)")
                switch decision {
                case .lose(let record, let replace):
                    #expect(!listed.contains(id) && record.state == .ready && !record.isDone, "seed \(seed)")
                    #expect(replace == (record.activity.map(world.running.contains) ?? false), "seed \(seed)")
                case .settle(let record):
                    #expect(!listed.contains(id) && (record.state == .deleting || record.isDone), "seed \(seed)")
                case .deleteAgain(let record):
                    #expect(listed.contains(id) && [.deleted, .lost].contains(record.state), "seed \(seed)")
                case .watch(_, let firstSeen, _):
                    #expect(listed.contains(id) && !world.ours.contains(id), "seed \(seed)")
                    #expect(!world.isExclusive || firstSeen > ago(86_400), "seed \(seed)")
                case .deleteUnknown(_, let firstSeen):
                    #expect(listed.contains(id) && !world.ours.contains(id), "seed \(seed)")
                    #expect(world.isExclusive && firstSeen <= ago(86_400), "seed \(seed)")
                case .forget:
                    break
                }
            }
            // Nothing at Apple goes unnoticed: it is ours and known to be there, or there is a decision about it.
            let settling = world.records.filter { listed.contains($0.apnsID) && $0.isSettlingAfterDeletion }
            #expect(
                comparison.known + settling.count + decided.intersection(listed).count == comparison.listed,
                "seed \(seed)"
            )
            #expect(comparison.unused <= comparison.known, "seed \(seed)")
        }
    }
}

/// Channels by chance: some of ours, some of others, some in Apple's list.
private struct RandomChannels {
    var listed: [APNSChannelID] = []
    var records: [Record] = []
    var running: Set<ActivityID> = []
    var sightings: [APNSChannelID: Instant] = [:]
    let isExclusive: Bool

    var ours: Set<APNSChannelID> { Set(records.map(\.apnsID)) }

    var comparison: ChannelComparison {
        compare(listed, records, running: running, sightings: sightings, isExclusive: isExclusive)
    }

    init(_ random: inout SeededRandom) {
        isExclusive = Bool.random(using: &random)
        for number in 0..<Int.random(in: 0...12, using: &random) {
            let id = APNSChannelID(stored: "channel\(number)")
            if Bool.random(using: &random) {
                let activity = Bool.random(using: &random) ? ActivityID(stored: "activity\(number)") : nil
                if let activity, Bool.random(using: &random) { running.insert(activity) }
                let state = [ChannelState.ready, .deleting, .deleted, .lost].randomElement(using: &random) ?? .ready
                records.append(
                    Record(
                        id: ChannelID(stored: "00000000-0000-4000-8000-\(100_000_000_000 + number)"),
                        apnsID: id,
                        state: state,
                        since: ago(Int64.random(in: 0...120, using: &random)),
                        activity: activity,
                        isDone: state == .ready && Bool.random(using: &random)
                    )
                )
            }
            if Bool.random(using: &random) { listed.append(id) }
            if Bool.random(using: &random) { sightings[id] = ago(Int64.random(in: 0...180_000, using: &random)) }
        }
    }
}

extension Record {
    fileprivate var isSettlingAfterDeletion: Bool { (state == .deleted || state == .lost) && since > ago(60) }
}

extension Decision {
    fileprivate var channel: APNSChannelID {
        switch self {
        case .lose(let record, _), .settle(let record), .deleteAgain(let record): record.apnsID
        case .watch(let id, _, _), .deleteUnknown(let id, _), .forget(let id): id
        }
    }
}
