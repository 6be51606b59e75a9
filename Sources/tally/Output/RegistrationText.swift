import APITypes
import ActivityModel
import JSON
import TallyClient

/// The answer to the registration of a type, with what changed if the version did not.
struct RegistrationText {
    let registration: TypeRegistration
    /// The type before; nil if it is new.
    let before: TypeResource?
    /// The type after; nil if nobody has read it.
    let after: TypeResource?

    /// Whether the request changed the type and made no new version.
    static func keepsVersion(_ registration: TypeRegistration, before: TypeResource?) -> Bool {
        registration.changed && registration.version == before?.version
    }

    var text: String {
        guard Self.keepsVersion(registration, before: before) else { return registration.text }
        let headline = "Version \(registration.version) stays, because the schemas are the same."
        return ([headline] + changes + registration.findings).joined(separator: "\n")
    }

    private var changes: [String] {
        guard let before, let after else { return [] }
        return DocumentDifference.between(Self.document(before), Self.document(after)).map { "  " + $0.text }
    }

    /// What can change without a new version.
    private static func document(_ type: TypeResource) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("min_app_version", type.minAppVersion?.description)
        fields.add("policy", type.policy.json)
        return fields.json
    }
}

extension CommandSession {
    /// Registers a type, and shows what came of it. For people, reads the type before and after, because the answer
    /// does not say what changed.
    func register(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws(ClientError) {
        guard !json else { return show(try await client.putType(app, name, request, force: force)) }
        let before = try await unlessMissing { () async throws(ClientError) in try await client.type(app, name) }
        let registration = try await client.putType(app, name, request, force: force)
        var after: TypeResource?
        if RegistrationText.keepsVersion(registration, before: before) { after = try await client.type(app, name) }
        Terminal.print(RegistrationText(registration: registration, before: before, after: after).text)
    }
}
