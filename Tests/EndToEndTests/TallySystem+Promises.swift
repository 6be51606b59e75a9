import SystemSupport
import Testing

extension TallySystem {
    /// What a match has to come to at the end of which all posts were answered and all faults are over.
    func expectPromises(
        after posts: [PostedChange],
        of activities: [FollowedActivity],
        phones: Int64,
        allowing allowances: Verdict.Allowances = []
    ) async throws {
        let verdict = try await verdict(after: posts, of: activities.map(\.id), allowing: allowances)
        #expect(verdict.broken == [])
        #expect(verdict.phones == phones)
    }
}
