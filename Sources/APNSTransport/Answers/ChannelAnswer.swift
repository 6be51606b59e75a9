internal import ActivityModel
internal import JSON

/// Parses the bodies of successful answers about channels.
enum ChannelAnswer {
    /// The storage policy of a channel: `{"message-storage-policy": 1, …}`.
    static func storage(in body: [UInt8]) -> ChannelStorage? {
        // A body that is not JSON has no policy, hence `nil`.
        guard let policy = try? JSONValue.parse(body)["message-storage-policy"]?.int64 else {
            return nil
        }
        return ChannelStorage.allCases.first { Int64($0.policyNumber) == policy }
    }

    /// All channels of an app: `{"channels": ["…", …]}`. `nil` if any id is invalid, because a list with gaps must not
    /// count as complete.
    static func list(in body: [UInt8]) -> [APNSChannelID]? {
        // As above.
        guard let items = try? JSONValue.parse(body)["channels"]?.array else {
            return nil
        }
        let ids = items.compactMap { item in item.string.flatMap { APNSChannelID($0) } }
        return ids.count == items.count ? ids : nil
    }
}
