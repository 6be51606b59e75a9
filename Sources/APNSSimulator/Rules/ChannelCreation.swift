import ActivityModel
import JSON

/// The parsed body of a request that creates a channel.
enum ChannelCreation: Hashable {
    /// Not a JSON object.
    case unreadable
    /// The policy is nil if it is missing or not 0 or 1.
    case read(storage: ChannelStorage?, pushType: String?, hasUnknownAttributes: Bool)

    init(body: [UInt8]) {
        // The answer does not depend on the JSON error.
        guard let object = (try? JSONValue.parse(body))?.object else {
            self = .unreadable
            return
        }
        let storage: ChannelStorage? =
            switch object["message-storage-policy"] {
            case .number(let number) where number.digits == "0": ChannelStorage.none
            case .number(let number) where number.digits == "1": .mostRecent
            default: nil
            }
        self = .read(
            storage: storage,
            pushType: object["push-type"]?.string,
            hasUnknownAttributes: object.keys.contains { $0 != "message-storage-policy" && $0 != "push-type" }
        )
    }
}
