/// The three APIs of APNs, as metrics and settings name them.
package enum APNSAPI: String, Sendable, Hashable, CaseIterable {
    /// Pushes to tokens, `/3/device/<token>`.
    case device
    /// Pushes to channels, `/4/broadcasts/apps/<bundle id>`.
    case broadcast
    /// Channel management, `/1/apps/<bundle id>/…`.
    case channels
}

/// What a request asks for. The same answer can mean different things for different kinds.
package enum APNSRequestKind: String, Sendable, Hashable, CaseIterable {
    case devicePush
    case broadcastPush
    case channelCreation
    case channelReading
    case channelDeletion
    case channelList

    /// The API that takes it.
    package var api: APNSAPI {
        switch self {
        case .devicePush: .device
        case .broadcastPush: .broadcast
        case .channelCreation, .channelReading, .channelDeletion, .channelList: .channels
        }
    }

    /// The one status that means success; every other 2xx counts as well.
    package var successStatus: Int {
        switch self {
        case .devicePush, .broadcastPush, .channelReading, .channelList: 200
        case .channelCreation: 201
        case .channelDeletion: 204
        }
    }
}
