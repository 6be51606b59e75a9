package import APITypes
package import ActivityModel
package import JSON

/// `POST /phones`: phones to create, identical except for their numbers.
package struct PhonesRequest: Sendable, Hashable {
    package var count: Int
    /// Each id is this text followed by a number.
    package var prefix: String
    /// The number of the first phone.
    package var first: Int
    package var environment: APNSEnvironment
    package var bundleID: BundleID
    package var types: [ActivityTypeName]
    package var osVersion: OSVersion
    package var appVersion: AppVersion?
    /// Nil: `activityId`.
    package var idAttribute: String?
    package var follows: [ActivityID]
    package var startTokens: Bool
    package var frequentPushes: Bool
    /// Each user id is this text followed by the number; nil: no user.
    package var userPrefix: String?

    /// The phones, created at `now` (milliseconds since 1970). `seed` returns a seed for each.
    package func profiles(at now: Int64, seed: () -> UInt64) -> [PhoneProfile] {
        (first..<(first + count)).compactMap { number in
            guard let id = DeviceID("\(prefix)\(number)") else { return nil }
            var profile = PhoneProfile(
                id: id,
                environment: environment,
                bundleID: bundleID,
                osVersion: osVersion,
                appVersion: appVersion,
                userID: userPrefix.flatMap { UserID("\($0)\(number)") },
                types: types,
                idAttribute: idAttribute ?? "activityId",
                follows: follows,
                takesStartTokens: startTokens,
                frequentPushesEnabled: frequentPushes,
                seed: seed()
            )
            profile.generationBase = now
            return profile
        }
    }
}

extension PhonesRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let count = reader.optional("count", .int.within(1...1_000_000))
        // Leaves room for the number, because an id has at most 128 characters.
        let prefix = reader.optional("prefix", .string(length: 1...100))
        let first = reader.optional("first", .int.within(0...1_000_000_000))
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let bundleID = reader.required("bundle_id", .bundleID)
        let type = reader.optional("type", .typeName)
        let types = reader.optional("types", .list(of: .typeName))
        let osVersion = reader.optional("os_version", .osVersion)
        let appVersion = reader.optional("app_version", .appVersion)
        let idAttribute = reader.optional("id_attribute", .string)
        let follows = reader.optional("follows", .list(of: .activityID))
        let startTokens = reader.optional("start_tokens", .bool)
        let frequentPushes = reader.optional("frequent_pushes", .bool)
        let userPrefix = reader.optional("user_prefix", .string(length: 1...100))
        if let prefix, DeviceID(prefix) == nil {
            reader.refuse("prefix", code: FieldError.invalidValue, message: "a prefix must be a valid id")
        }
        guard reader.finish(), let environment, let bundleID else { return nil }
        self.init(
            count: count ?? 1,
            prefix: prefix ?? "phone-",
            first: first ?? 1,
            environment: environment,
            bundleID: bundleID,
            types: (type.map { [$0] } ?? []) + (types ?? []),
            osVersion: osVersion ?? OSVersion(18, 1),
            appVersion: appVersion,
            idAttribute: idAttribute,
            follows: follows ?? [],
            startTokens: startTokens ?? true,
            frequentPushes: frequentPushes ?? true,
            userPrefix: userPrefix
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("count", count)
        fields.add("prefix", prefix)
        fields.add("first", first)
        fields.add("environment", environment.rawValue)
        fields.add("bundle_id", bundleID.rawValue)
        fields.add("types", words: types.map(\.rawValue))
        fields.add("os_version", osVersion.description)
        fields.add("app_version", appVersion?.description)
        fields.add("id_attribute", idAttribute)
        fields.add("follows", words: follows.map(\.rawValue))
        fields.add("start_tokens", startTokens)
        fields.add("frequent_pushes", frequentPushes)
        fields.add("user_prefix", userPrefix)
        return fields.json
    }
}
