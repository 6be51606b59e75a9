import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Registry

/// A valid start.
struct StartProposal: Sendable {
    let start: RequestedStart
    let type: TypeContext
    /// With the id attribute filled in, as they go to the phone.
    let attributes: CompactJSON
    /// As it goes to the phone.
    let contentState: CompactJSON
    let alert: AlertContent?
    /// Where the app versions of the audience were read; nil if there is no audience.
    let environment: APNSEnvironment?
    /// The app versions of the audience, and whether each can decode the start.
    let appVersions: [(appVersion: String, isWithheld: Bool)]

    var request: StartRequest { start.request }

    /// The app versions of the audience must be able to decode the start, unless their version of the type is retired.
    /// If the start goes to a channel, every current version of the type must be able to decode it.
    ///
    /// - Throws: 422 if the type or Apple's limits refuse it.
    init(
        _ start: RequestedStart,
        type: TypeContext,
        in environment: APNSEnvironment?,
        appVersions: [String]
    ) throws(Problem) {
        let request = start.request
        self.start = start
        self.environment = environment
        self.type = type
        var required = Set(appVersions.map(type.version(ofStored:))).filter { !type.versions.isRetired($0) }
        if request.delivery.usesChannel { required.formUnion(type.versions.current) }
        let filled = try Self.filled(request.attributes, with: start.id, type.policy.idAttribute)
        let (settled, state) = try Self.settled(filled, request.contentState, type, for: required)
        attributes = CompactJSON(.object(settled.content.object ?? filled))
        contentState = CompactJSON(.object(type.policy.filling(state.content, with: 1).object ?? request.contentState))
        self.appVersions = appVersions.map { ($0, !state.decodedBy.contains(type.version(ofStored: $0))) }
        alert = request.audience.isEmpty ? request.alert : request.alert ?? type.policy.startAlert
        if !request.audience.isEmpty, alert == nil { throw .alertRequired() }
        var combination = BodySizes.Combination(
            type: request.type,
            attributes: attributes,
            delivery: request.delivery
        )
        combination.startAlert = alert
        combination.alerts = [alert].compactMap { $0 }
        combination.hints = CardHints(request)
        try BodySizes.check(contentState, in: combination)
    }

    private static func settled(
        _ attributes: JSONObject,
        _ contentState: JSONObject,
        _ type: TypeContext,
        for versions: Set<Int>
    ) throws(Problem) -> (attributes: JudgedContent.Settled, contentState: JudgedContent.Settled) {
        let attributes = try JudgedContent(attributes, as: .attributes, by: type)
        let contentState = try JudgedContent(contentState, as: .contentState, by: type)
        let settledAttributes: JudgedContent.Settled
        do {
            settledAttributes = try attributes.settled(for: versions)
        } catch {
            throw .invalidAttributes(error.errors)
        }
        do {
            return (settledAttributes, try contentState.settled(for: versions))
        } catch {
            throw .invalidContentState(error.errors)
        }
    }

    private static func filled(
        _ attributes: JSONObject,
        with id: ActivityID,
        _ idAttribute: String?
    ) throws(Problem) -> JSONObject {
        guard let idAttribute else { return attributes }
        var attributes = attributes
        switch attributes[idAttribute] {
        case nil, .null:
            attributes[idAttribute] = .string(id.rawValue)
        case .string(id.rawValue):
            break
        default:
            throw .invalidAttributes([
                FieldError(
                    pointer: JSONPointer().appending(idAttribute),
                    code: FieldError.invalidValue,
                    message: "'\(idAttribute)' is filled with the activity id and must equal it where it is given."
                )
            ])
        }
        return attributes
    }
}
