package import ActivityModel

/// The channels of all apps in both environments.
struct ChannelRegistry {
    private struct Owner: Hashable {
        var environment: APNSEnvironment
        var bundleID: String
    }

    /// A card that follows a channel, with its phone.
    struct Subscriber: Hashable {
        var phone: Int
        var card: Int
    }

    private struct Channel {
        var owner: Owner
        var storage: ChannelStorage
        var subscribers: [Subscriber] = []
        /// The most recent message, if the channel stores one.
        var stored: Mail?
    }

    private var channels: [String: Channel] = [:]
    /// In order of creation.
    private var ids: [Owner: [String]] = [:]
    /// Deleted ids, which are never used again.
    private var deleted: Set<String> = []

    func state(_ id: String, bundleID: String, environment: APNSEnvironment) -> KnownChannelState {
        if let channel = channels[id] {
            let isOwn = channel.owner == Owner(environment: environment, bundleID: bundleID)
            return isOwn ? .registered(channel.storage) : .notRegistered
        }
        return deleted.contains(id) ? .notRegistered : .neverExisted
    }

    func list(bundleID: String, environment: APNSEnvironment) -> [String] {
        ids[Owner(environment: environment, bundleID: bundleID)] ?? []
    }

    mutating func create(id: String, bundleID: String, environment: APNSEnvironment, storage: ChannelStorage) {
        let owner = Owner(environment: environment, bundleID: bundleID)
        channels[id] = Channel(owner: owner, storage: storage)
        ids[owner, default: []].append(id)
    }

    /// Deletes a channel. The cards that follow it stay but get no more pushes.
    mutating func delete(_ id: String) {
        guard let channel = channels.removeValue(forKey: id) else { return }
        ids[channel.owner]?.removeAll { $0 == id }
        deleted.insert(id)
    }

    func storage(of id: String) -> ChannelStorage { channels[id]?.storage ?? .none }

    func stored(_ id: String) -> Mail? { channels[id]?.stored }

    mutating func store(_ mail: Mail, on id: String) { channels[id]?.stored = mail }

    func subscribers(_ id: String) -> [Subscriber] {
        channels[id]?.subscribers ?? []
    }

    mutating func subscribe(_ subscriber: Subscriber, to id: String) {
        channels[id]?.subscribers.append(subscriber)
    }

    mutating func unsubscribe(_ subscriber: Subscriber, from id: String) {
        channels[id]?.subscribers.removeAll { $0 == subscriber }
    }

    /// All channels for the control API, sorted by id: environment, bundle id, storage, subscribers.
    var overview: [ChannelOverview] {
        channels.map { id, channel in
            ChannelOverview(
                id: id,
                environment: channel.owner.environment,
                bundleID: channel.owner.bundleID,
                storage: channel.storage,
                subscribers: channel.subscribers.count
            )
        }
        .sorted { $0.id < $1.id }
    }
}

/// One channel in the control API.
package struct ChannelOverview: Sendable, Hashable {
    package let id: String
    package let environment: APNSEnvironment
    package let bundleID: String
    package let storage: ChannelStorage
    package let subscribers: Int
}
