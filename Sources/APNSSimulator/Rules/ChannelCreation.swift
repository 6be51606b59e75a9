import ActivityModel
import JSON

/// The body of a request that creates a channel, as far as it could be read.
enum ChannelCreation: Hashable {
    /// Not a JSON object.
    case unreadable
    /// The policy is nil where it is missing or not 0 or 1.
    case read(storage: ChannelStorage?, pushType: String?, hasUnknownAttributes: Bool)

    init(body: [UInt8]) {
        // What is wrong with the text does not matter to the answer.
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
