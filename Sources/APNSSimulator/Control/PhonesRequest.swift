package import APITypes
package import ActivityModel
import JSON

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
            return PhoneProfile(
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
                seed: seed(),
                generationBase: now
            )
        }
    }
}

extension PhonesRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("count", \.count, .int.within(1...1_000_000), else: 1),
        // Leaves room for the number, because an id has at most 128 characters.
        .optional("prefix", \.prefix, .string(length: 1...100), else: "phone-"),
        .optional("first", \.first, .int.within(0...1_000_000_000), else: 1),
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("bundle_id", \.bundleID, .bundleID),
        allTypes,
        .optional("os_version", \.osVersion, .osVersion, else: OSVersion(18, 1)),
        .optional("app_version", \.appVersion, .appVersion),
        .optional("id_attribute", \.idAttribute, .string),
        .optional("follows", \.follows, .list(of: .activityID), else: []),
        .optional("start_tokens", \.startTokens, .bool, else: true),
        .optional("frequent_pushes", \.frequentPushes, .bool, else: true),
        .optional("user_prefix", \.userPrefix, .string(length: 1...100)),
        rule: { reader in
            let prefix = reader.peek("prefix", .string(length: 1...100))
            guard let prefix, DeviceID(prefix) == nil else { return }
            reader.refuse("prefix", code: FieldError.invalidValue, message: "a prefix must be a valid id")
        },
        make: Self.init
    )

    /// `type` for one, or `types`.
    private static let allTypes = Field<PhonesRequest, [ActivityTypeName]> { reader in
        let type = reader.optional("type", .typeName)
        let types = reader.optional("types", .list(of: .typeName))
        return (type.map { [$0] } ?? []) + (types ?? [])
    } write: { request, writer in
        writer.add("types", words: request.types.map(\.rawValue))
    }
}
