import Postgres
import TestSupport

/// What must hold of channels at the end of every run.
extension Universe {
    /// Promise 11: a channel serves one activity.
    func checkChannels() async throws {
        let sent = apple.with { $0.sent }
        for (channel, pushes) in Dictionary(
            grouping: sent.filter { $0.destination.hasPrefix("channel") },
            by: \.destination
        ) {
            let activities = Set(pushes.compactMap(\.push.content?.match))
            guard activities.count == 1 else {
                throw BrokenPromise(11, "\(channel) served \(activities.sorted().joined(separator: " and "))")
            }
        }
    }

    /// Promise 11: the pool holds channels that were never used, as many as are wanted.
    func checkPool() async throws {
        let rows = try await clock.database.query(
            """
            SELECT apns_channel_id FROM channels
            WHERE state = 'ready' AND activity_key IS NULL AND delete_at IS NULL AND lost_at IS NULL
            """
        )
        let unused = try rows.decoded(as: String.self)
        let used = apple.with { Set($0.sent.map(\.destination)) }
        if let channel = unused.first(where: used.contains) {
            throw BrokenPromise(11, "\(channel) is in the pool and was sent to")
        }
        guard unused.count >= channelPool else {
            throw BrokenPromise(11, "\(unused.count) channels are ready, and \(channelPool) are wanted")
        }
    }

    /// Promise 11: after the next comparison with Apple's list, each channel there is ours and known, or reported.
    func checkChannelsAtApple() async throws {
        try await pass(milliseconds: 3_700_000)
        try await settle()
        let rows = try await clock.database.query(
            """
            SELECT apns_channel_id FROM channels WHERE state IN ('ready', 'deleting')
            UNION ALL SELECT apns_channel_id FROM unknown_channels
            """
        )
        let known = Set(try rows.decoded(as: String.self))
        let leaked = apple.with { $0.channels.filter(\.value).keys.filter { !known.contains($0) }.sorted() }
        guard leaked.isEmpty else {
            throw BrokenPromise(11, "nobody knows of \(leaked.joined(separator: ", ")) at Apple")
        }
    }
}
