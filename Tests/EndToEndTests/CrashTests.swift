import APITypes
import ActivityModel
import Foundation
import JSON
import Testing

@Suite("A daemon that is killed at random moments of a match")
struct CrashTests {
    /// `TALLY_CRASH_SEEDS=9,10,11` tries others.
    static let seeds: [UInt64] = {
        let text = ProcessInfo.processInfo.environment["TALLY_CRASH_SEEDS"]
        return text?.split(separator: ",").compactMap { UInt64($0) } ?? [1, 2, 3, 4, 5, 6, 7, 8]
    }()

    @Test("loses nothing that it accepted, and every phone converges", arguments: seeds)
    func converges(seed: UInt64) async throws {
        var options = TallySystem.Options()
        // With every other seed the tokens come so late that starts are repeated before phones can report.
        options.tokenDelay = seed.isMultiple(of: 2) ? 3_000...9_000 : 20...500
        try await TallySystem.with(options) { system in
            let match = try CrashMatch(system, seed: seed)
            try await match.play()

            let report = try await system.simulator.report(on: match.posts)
            var tables = ""
            if !report.isRight {
                for id in [CrashMatch.byToken, CrashMatch.byChannel] {
                    let phones = report.wrong.filter { $0.contains(id.rawValue) }.map {
                        String($0.prefix { $0 != " " })
                    }
                    if !phones.isEmpty { tables += try await system.tables(of: id, devices: phones) }
                }
            }
            #expect(report.wrong == [], "\(tables)")
            #expect(report.phones == CrashMatch.phoneCount)
            #expect(report.ignored("older_timestamp") == 0, "time went back for a phone")

            for id in [CrashMatch.byToken, CrashMatch.byChannel] {
                let posts = match.posts.filter { $0.activityID == id }
                #expect(posts.map(\.revision) == (1...Int64(posts.count)).map(\.self), "each post took effect once")
                let activity = try await system.activity(id)
                #expect(activity.revision == posts.last?.revision)
                #expect(activity.state == .ended)
                #expect(activity.contentState == posts.last?.contentState)
                try await expectRecordedSecondCards(of: id, activity.starts.repeated, in: system)
            }
        }
    }

    /// Two cards are possible only where a start was repeated, and the repeat is on record.
    private func expectRecordedSecondCards(
        of id: ActivityID,
        _ repeatedCount: Int,
        in system: TallySystem
    ) async throws {
        let phones = try await system.simulator.phones().filter { $0.follows.contains(id.rawValue) }
        let doubled = phones.filter { $0.secondCards > 0 }
        let onRecord = try await system.repeatedStarts(of: id)
        #expect(onRecord.count == repeatedCount)
        #expect(Set(doubled.map(\.id)).isSubset(of: onRecord))
        #expect(doubled.allSatisfy { $0.secondCards == 1 })
        #expect(doubled.count <= repeatedCount)
    }
}
