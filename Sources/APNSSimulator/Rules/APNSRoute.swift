/// One of Apple's three APIs for servers. Each has its own listener per environment.
package enum AppleAPI: String, Sendable, Hashable, CaseIterable {
    /// `api[.sandbox].push.apple.com`. It also accepts broadcasts.
    case device
    /// `api-broadcast[.sandbox].push.apple.com`, which accepts only broadcasts.
    case broadcast
    /// `api-manage-broadcast[.sandbox].push.apple.com`.
    case channels
}

/// The resource that a path names.
package enum APNSRoute: Sendable, Hashable {
    /// `/3/device/<token>`, in lower case. The rules check the token, which may be empty or invalid.
    case device(token: String)
    /// `/4/broadcasts/apps/<bundle id>`.
    case broadcast(bundleID: String)
    /// `/1/apps/<bundle id>/channels`.
    case channels(bundleID: String)
    /// `/1/apps/<bundle id>/all-channels`.
    case allChannels(bundleID: String)
    /// A path that this listener does not serve.
    case unknown

    /// Parses a path at the given listener.
    package init(path: String, at api: AppleAPI) {
        let parts = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        func part(_ index: Int) -> String { String(Substring(parts[index])) }
        func has(_ prefix: [String], count: Int) -> Bool {
            parts.count == count && zip(prefix, parts).allSatisfy { $0.utf8.elementsEqual($1) }
        }
        guard path.utf8.first == UInt8(ascii: "/") else {
            self = .unknown
            return
        }
        switch api {
        case .device where has(["3", "device"], count: 3):
            self = .device(token: part(2).lowercased())
        case .device where has(["3", "device"], count: 2):
            self = .device(token: "")
        case .device where has(["4", "broadcasts", "apps"], count: 4),
            .broadcast where has(["4", "broadcasts", "apps"], count: 4):
            self = .broadcast(bundleID: part(3))
        case .channels where has(["1", "apps"], count: 4) && part(3) == "channels":
            self = .channels(bundleID: part(2))
        case .channels where has(["1", "apps"], count: 4) && part(3) == "all-channels":
            self = .allChannels(bundleID: part(2))
        case .device, .broadcast, .channels:
            self = .unknown
        }
    }
}
