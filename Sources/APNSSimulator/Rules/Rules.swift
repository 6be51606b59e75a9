import ActivityModel

/// Apple's rules: which requests are accepted, and how the others are refused.
///
/// The rules of an endpoint are checked in order, and the first broken one decides. Apple does not publish its order.
/// Here it is path, method, credential, headers, payload, and destination.
package enum Rules {
    /// Decides on one request. `now` is in milliseconds since 1970.
    package static func judge(
        _ request: APNSRequest,
        on connection: ConnectionMemory,
        in world: some RulesWorld,
        now: Int64
    ) -> Ruling {
        let inquiry = Inquiry(request, connection: connection, world: world, now: now)
        if let rule = brokenRule(inquiry) {
            if world.answersAsDocumented, let documented = rule.documented { return .refused(documented) }
            return .refused(
                APNSRefusal(status: rule.status, reason: rule.reason, timestamp: inquiry.deathTime(for: rule))
            )
        }
        // Unknown paths break a rule, so only known paths get here.
        return inquiry.acceptance.map(Ruling.accepted) ?? .refused(APNSRefusal(status: 404, reason: "BadPath"))
    }

    /// The first broken rule; nil if the request keeps all rules.
    static func brokenRule(_ inquiry: Inquiry) -> Rule? {
        rules(for: inquiry.endpoint).first { $0.isBroken(inquiry) }
    }

    /// The rules of an endpoint, in the order in which they are checked.
    package static func rules(for endpoint: APNSRoute) -> [Rule] {
        switch endpoint {
        case .device: deviceTable
        case .broadcast: broadcastTable
        case .channels: channelsTable
        case .allChannels: allChannelsTable
        case .unknown: unknownTable
        }
    }

    private static let deviceTable = devicePath + method(["POST"]) + credential + connection + refresh + device
    private static let broadcastTable = method(["POST"]) + credential + refresh + bundlePath + broadcast
    private static let channelsTable = method(["POST", "GET", "DELETE"]) + credential + refresh + bundlePath + channels
    private static let allChannelsTable = method(["GET"]) + credential + refresh + bundlePath + requestID
    private static let unknownTable = [
        Rule("This host does not have the path", 404, "BadPath", .responses) { _ in true }
    ]

    static func method(_ allowed: Set<String>) -> [Rule] {
        [
            Rule(
                "The method is not one of \(allowed.sorted().joined(separator: ", "))",
                405,
                "MethodNotAllowed",
                .responses
            ) {
                !allowed.contains($0.request.method)
            }
        ]
    }

    /// Rules for the two APIs with a bundle id in the path.
    private static let bundlePath = [
        Rule("A topic suffix was added to the bundle id of the path", 400, "TopicDisallowed", .errors) {
            $0.bundleID.map { !TopicHeader($0).suffix.isEmpty } ?? false
        },
        Rule("The key does not cover the bundle id of the path", 403, "TopicMismatch", .errors) {
            guard let bundleIDs = $0.providerToken?.key?.bundleIDs, let bundleID = $0.bundleID else { return false }
            return !bundleIDs.contains(bundleID)
        },
        // Several independent reports say so. Apple's page has the shorter word.
        Rule(
            "The broadcast capability is off for the app",
            400,
            "BroadcastFeatureNotEnabled",
            .recorded,
            documented: APNSRefusal(status: 400, reason: "FeatureNotEnabled")
        ) {
            !$0.hasBroadcast
        },
    ]

    static let requestID = [
        Rule("apns-request-id is not a canonical UUID", 400, "BadMessageId", .errors) {
            $0.headers.requestID.map { !HeaderForms.isCanonicalUUID($0) } ?? false
        }
    ]
}

extension Inquiry {
    init(_ request: APNSRequest, connection: ConnectionMemory, world: some RulesWorld, now: Int64) {
        self.init(
            request: request,
            credential: world.credential(request.headers.authorization),
            connection: connection,
            now: now / 1000
        )
        let environment = request.environment
        hasBroadcast = bundleID.map(world.hasBroadcast) ?? true
        switch endpoint {
        case .device(let text) where HeaderForms.isTokenText(text):
            token = world.token(text, environment: environment, at: now)
        case .broadcast(let bundleID):
            lookUpChannel(bundleID, world)
        case .channels(let bundleID):
            lookUpChannel(bundleID, world)
            guard request.method == "POST" else { break }
            creation = ChannelCreation(body: request.body)
            channelCount = world.channelCount(bundleID: bundleID, environment: environment)
            channelLimit = world.channelLimit
        case .device, .allChannels, .unknown:
            break
        }
    }

    private mutating func lookUpChannel(_ bundleID: String, _ world: some RulesWorld) {
        guard let id = headers.channelID else { return }
        channel = world.channel(id, bundleID: bundleID, environment: request.environment)
    }

    /// The time in a 410; nil for other answers.
    fileprivate func deathTime(for rule: Rule) -> Int64? {
        guard rule.status == 410, case .dead(_, _, _, let since) = token else { return nil }
        return since
    }

    /// How to answer a request that keeps all rules.
    fileprivate var acceptance: Acceptance? {
        let channelID = headers.channelID ?? ""
        switch endpoint {
        case .unknown:
            return nil
        case .device(let token):
            return .push(token: token)
        case .broadcast(let bundleID):
            return .broadcast(bundleID: bundleID, channelID: channelID)
        case .allChannels(let bundleID):
            return .listChannels(bundleID: bundleID)
        case .channels(let bundleID):
            switch request.method {
            case "POST": return .createChannel(bundleID: bundleID, createdStorage)
            case "DELETE": return .deleteChannel(bundleID: bundleID, channelID: channelID)
            default: return .readChannel(bundleID: bundleID, channelID: channelID, registeredStorage)
            }
        }
    }

    private var createdStorage: ChannelStorage {
        guard case .read(let storage?, _, _) = creation else { return .none }
        return storage
    }

    private var registeredStorage: ChannelStorage {
        guard case .registered(let storage) = channel else { return .none }
        return storage
    }
}
