import APITypes
import ActivityModel
import JSON

// The text of each resource: a row of a list, and a list of names and values.

extension AppResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "APP"), .init(title: "TEAM"), .init(title: "PRODUCTION KEY"), .init(title: "SANDBOX KEY"),
        .init(title: "CHANNEL POOL", isNumber: true, isExtra: true), .init(title: "UPDATED", isExtra: true),
    ]

    var row: [String] {
        [
            bundleID.rawValue, teamID.rawValue, environments[.production]?.keyID.rawValue ?? "",
            environments[.sandbox]?.keyID.rawValue ?? "", String(channelPool), updatedAt.inTable,
        ]
    }

    var text: String {
        FactList([
            ("app", bundleID.rawValue),
            ("team", teamID.rawValue),
            ("production key", environments[.production]?.keyID.rawValue),
            ("sandbox key", environments[.sandbox]?.keyID.rawValue),
            ("channel pool", String(channelPool)),
            ("channels exclusive", channelsExclusive ? "yes" : "no"),
            ("created", createdAt.description),
            ("updated", updatedAt.description),
        ]).text
    }
}

extension APIKeyResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "NAME", isShortened: true), .init(title: "SCOPES"), .init(title: "STATE"), .init(title: "ID"),
        .init(title: "APP", isExtra: true), .init(title: "LAST USED", isExtra: true),
        .init(title: "EXPIRES", isExtra: true), .init(title: "CREATED", isExtra: true),
    ]

    private var scopeText: String { scopes.map(\.rawValue).joined(separator: ",") }

    var row: [String] {
        [
            name, scopeText, state(at: .now), id, bundleID?.rawValue ?? "", lastUsedAt?.inTable ?? "",
            expiresAt?.inTable ?? "", createdAt.inTable,
        ]
    }

    /// Whether the key works at that time.
    func state(at time: Instant) -> String {
        if revokedAt != nil { return "revoked" }
        if let expiresAt, expiresAt <= time { return "expired" }
        return "active"
    }

    var text: String {
        let card = FactList([
            ("id", id), ("name", name), ("scopes", scopeText), ("app", bundleID?.rawValue),
            ("expires", expiresAt?.description), ("secret", secret),
        ]).text
        return secret == nil ? card : card + "\n\nThe secret is shown this once; Tally keeps only its hash."
    }
}

extension TypeResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "TYPE"), .init(title: "VERSION", isNumber: true), .init(title: "MIN APP VERSION"),
        .init(title: "UPDATED"),
    ]

    var row: [String] { [name.rawValue, String(version), minAppVersion?.description ?? "", updatedAt.inTable] }

    var text: String {
        FactList([
            ("type", name.rawValue),
            ("version", String(version)),
            ("min app version", minAppVersion?.description),
            ("updated", updatedAt.description),
            ("attributes", attributesSchema.indentedText),
            ("content state", contentStateSchema.indentedText),
            ("policy", policy.json.indentedText),
        ]).text
    }
}

extension TypeVersionResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "VERSION", isNumber: true), .init(title: "MIN APP VERSION"), .init(title: "CREATED"),
        .init(title: "RETIRED"),
    ]

    var row: [String] {
        [String(version), minAppVersion?.description ?? "", createdAt.inTable, retiredAt?.inTable ?? ""]
    }

    var text: String {
        FactList([
            ("version", String(version)),
            ("min app version", minAppVersion?.description),
            ("created", createdAt.description),
            ("retired", retiredAt?.description),
            ("attributes", attributesSchema.indentedText),
            ("content state", contentStateSchema.indentedText),
        ]).text
    }
}

extension TypeRegistration: Presentable {
    var text: String {
        let headline =
            changed ? "Version \(version) is registered." : "Version \(version) is registered already; nothing changed."
        return ([headline] + findings).joined(separator: "\n")
    }

    /// The lines about the schemas.
    var findings: [String] { (lint + compatibility.findings).map(\.text) }
}

extension ValidationAnswer: Presentable {
    var text: String {
        let headline = valid ? "Valid, \(bytes.together) bytes." : "Not valid, \(bytes.together) bytes."
        let places = errors.map { error in
            let version = error.schemaVersion.map { " (schema version \($0))" } ?? ""
            return "  \(error.pointer): \(error.code): \(error.message)\(version)"
        }
        return ([headline] + places + lint.map(\.text)).joined(separator: "\n")
    }
}

extension DeviceResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "DEVICE"), .init(title: "USER"), .init(title: "ENVIRONMENT", isExtra: true), .init(title: "iOS"),
        .init(title: "APP VERSION", isExtra: true), .init(title: "START TOKENS"),
        .init(title: "UPDATED", isExtra: true),
    ]

    var row: [String] {
        [
            deviceID.rawValue, userID?.rawValue ?? "", environment.rawValue, osVersion?.description ?? "",
            appVersion?.description ?? "", startTokens.keys.map(\.rawValue).sorted().joined(separator: ","),
            updatedAt.inTable,
        ]
    }

    var text: String {
        let tokens = startTokens.sorted { $0.key < $1.key }.map { name, token in
            ("start token \(name)", "\(token.token) \(token.state.rawValue), generation \(token.generation)")
        }
        let isRejected = deviceTokenState == .rejected
        let deviceToken = self.deviceToken.map { isRejected ? $0 + " rejected" : $0 }
        return FactList(
            [
                ("device", deviceID.rawValue), ("user", userID?.rawValue), ("environment", environment.rawValue),
                ("iOS", osVersion?.description), ("app version", appVersion?.description),
                ("activities", activitiesEnabled ? "enabled" : "switched off"),
                ("frequent pushes", frequentPushesEnabled ? "enabled" : "no"), ("device token", deviceToken),
            ] + tokens + [("created", createdAt.description), ("updated", updatedAt.description)]
        ).text
    }
}

extension ChannelResource: Listable, Presentable {
    static let columns: [Table.Column] = [
        .init(title: "CHANNEL"), .init(title: "APNS CHANNEL", isExtra: true),
        .init(title: "ENVIRONMENT", isExtra: true), .init(title: "STORAGE", isExtra: true), .init(title: "STATE"),
        .init(title: "ACTIVITY"), .init(title: "CREATED", isExtra: true),
    ]

    var row: [String] {
        [
            id.rawValue, apnsChannelID?.rawValue ?? "", environment.rawValue, storage.rawValue, state.rawValue,
            activityID?.rawValue ?? "", createdAt.inTable,
        ]
    }

    var text: String {
        FactList([
            ("channel", id.rawValue), ("APNs channel", apnsChannelID?.rawValue), ("environment", environment.rawValue),
            ("storage", storage.rawValue), ("state", state.rawValue), ("activity", activityID?.rawValue),
            ("created", createdAt.description), ("delete at", deleteAt?.description),
            ("deleted", deletedAt?.description), ("lost", lostAt?.description), ("reason", reason),
        ]).text
    }
}

extension ChannelReport: Presentable {
    private static let columns: [Table.Column] = [
        .init(title: "FINDING"), .init(title: "APNS CHANNEL"), .init(title: "CHANNEL", isExtra: true),
        .init(title: "ACTIVITY", isExtra: true), .init(title: "SEEN SINCE", isExtra: true), .init(title: "OUTCOME"),
    ]

    var text: String {
        let card = FactList([
            ("environment", environment.rawValue),
            ("at Apple", "\(atApple) of \(Self.quota)"),
            ("known", String(known)),
            ("never used", String(unused)),
            ("being made", String(creating)),
        ]).text
        guard !findings.isEmpty else { return card + "\n\nTally and Apple agree." }
        return card + "\n\n" + Table(columns: Self.columns, rows: findings.map(\.row)).text(width: Terminal.outputWidth)
            + (dryRun ? "\n\nNothing was changed (dry run)." : "")
    }
}

extension ChannelFinding {
    fileprivate var row: [String] {
        [
            kind.rawValue, apnsChannelID.rawValue, channelID?.rawValue ?? "", activityID?.rawValue ?? "",
            firstSeenAt?.inTable ?? "", outcome,
        ]
    }

    private var outcome: String {
        if let reason { return "\(plan): not done: \(reason)" }
        return isDone ? done : plan
    }

    private var plan: String {
        switch action {
        case .keep: deleteAt.map { "will be deleted at \($0.inTable)" } ?? "kept: the app is not channels_exclusive"
        case .record: "to be recorded as \(kind == .gone ? "deleted" : "lost")"
        case .replace: "to be replaced by another"
        case .delete: "to be deleted"
        }
    }

    private var done: String {
        switch action {
        case .keep: plan
        case .record: "recorded as \(kind == .gone ? "deleted" : "lost")"
        case .replace: "replaced by another"
        case .delete: "deleted"
        }
    }
}
