/// The three APIs of APNs, as named in metrics and settings.
package enum APNSAPI: String, Sendable, Hashable, CaseIterable {
    /// Pushes to tokens, `/3/device/<token>`.
    case device
    /// Pushes to channels, `/4/broadcasts/apps/<bundle id>`.
    case broadcast
    /// Channel management, `/1/apps/<bundle id>/…`.
    case channels
}

/// The kind of a request. The same answer can have a different meaning for each kind.
package enum APNSRequestKind: String, Sendable, Hashable, CaseIterable {
    case devicePush
    case broadcastPush
    case channelCreation
    case channelReading
    case channelDeletion
    case channelList

    /// The API that serves it.
    package var api: APNSAPI {
        switch self {
        case .devicePush: .device
        case .broadcastPush: .broadcast
        case .channelCreation, .channelReading, .channelDeletion, .channelList: .channels
        }
    }

    /// The documented success status. Every other 2xx counts as success too.
    package var successStatus: Int {
        switch self {
        case .devicePush, .broadcastPush, .channelReading, .channelList: 200
        case .channelCreation: 201
        case .channelDeletion: 204
        }
    }
}
