internal import ActivityModel
internal import JSON

/// Bodies of successful answers about channels.
enum ChannelAnswer {
    /// What a channel stores: `{"message-storage-policy": 1, …}`.
    static func storage(in body: [UInt8]) -> ChannelStorage? {
        // A body that is no JSON is one that says nothing, and that is what nil tells.
        guard let policy = try? JSONValue.parse(body)["message-storage-policy"]?.int64 else {
            return nil
        }
        return ChannelStorage.allCases.first { Int64($0.policyNumber) == policy }
    }

    /// All channels of an app: `{"channels": ["…", …]}`. Nil if any id is not one: a list with holes must not be taken
    /// for the truth about what exists.
    static func list(in body: [UInt8]) -> [APNSChannelID]? {
        // As above.
        guard let items = try? JSONValue.parse(body)["channels"]?.array else {
            return nil
        }
        let ids = items.compactMap { item in item.string.flatMap { APNSChannelID($0) } }
        return ids.count == items.count ? ids : nil
    }
}
