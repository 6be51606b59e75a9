internal import APITypes
internal import ActivityModel
internal import Foundation
internal import JSON

/// Tally's client for backends. It starts, updates and ends the Live Activities of one app, sets their audiences, and
/// makes the tickets with which the app reports its devices.
///
/// Share one value in the whole process; copies share its connections. Each call retries until it has an answer or its
/// deadline passes. All tries have the same idempotency key, so that the change happens once. An answer means that
/// Tally has committed the change: every phone that follows will show the newest state.
///
/// Attributes and content states are the app's own `Codable` structs. Dates in them are sent as RFC 3339. For fields
/// that the registered type declares as `Date`, Tally converts them to the form that phones decode.
public struct TallyBackend: Sendable {
    let client: TallyClient
    let app: BundleID

    /// Creates a client. It connects with the first call.
    ///
    /// - Parameters:
    ///   - url: The address of Tally, such as `https://tally.example.com`.
    ///   - key: The secret API key. It needs the scope `publish`, and `register` for tickets and for erasing users.
    ///     White space around it, such as the line end in a file, is removed.
    ///   - app: The app's bundle id.
    ///   - caFile: A PEM file with certificates to trust besides the system's, for https.
    ///   - maximumConnections: The most open connections, and so the most simultaneous requests.
    ///   - deadline: The longest duration of one call with all its tries.
    /// - Throws: ``TallyError`` if the address, the key or the bundle id is invalid, or if the file cannot be read.
    public init(
        url: String,
        key: String,
        app: String,
        caFile: String? = nil,
        maximumConnections: Int = 16,
        deadline: Duration = .seconds(30)
    ) throws(TallyError) {
        self.app = try Self.checked(app, "a bundle id", BundleID.init)
        do {
            client = try TallyClient(
                .init(
                    url: url,
                    key: key,
                    caFile: caFile,
                    maximumConnections: maximumConnections,
                    deadline: deadline
                )
            )
        } catch {
            throw TallyError(error)
        }
    }

    /// Starts an activity under an id of yours. Repeating the same start changes nothing.
    ///
    /// - Throws: ``TallyError`` with the code `activity_exists` or `attributes_conflict` if the id belongs to another
    ///   start; `alert_required` if there is an audience but no alert.
    @discardableResult
    public func start(
        _ id: String,
        type: String,
        attributes: some Encodable,
        contentState: some Encodable,
        options: StartOptions = StartOptions()
    ) async throws(TallyError) -> AcceptedChange {
        var request = StartRequest(
            type: try Self.checked(type, "the name of an activity type", ActivityTypeName.init),
            attributes: try Self.object(attributes, "the attributes"),
            contentState: try Self.object(contentState, "the content state")
        )
        try options.apply(to: &request)
        let id = try Self.activityID(id)
        return try await call { client throws(ClientError) in
            let answer = try await client.start(app, id, request).answer
            return AcceptedChange(revision: Int64(answer.revision), isUnchanged: false)
        }
    }

    /// Posts a new state. Pass an `idempotencyKey` if your program repeats posts itself, for example after its restart.
    /// Without one, all tries of this call share a new key.
    ///
    /// - Throws: ``TallyError`` with the code `activity_ended`, `late_event`, `invalid_content_state` and others.
    @discardableResult
    public func update(
        _ id: String,
        contentState: some Encodable,
        options: UpdateOptions = UpdateOptions(),
        idempotencyKey: String? = nil
    ) async throws(TallyError) -> AcceptedChange {
        var request = UpdateRequest(contentState: try Self.object(contentState, "the content state"))
        try options.apply(to: &request)
        let id = try Self.activityID(id)
        return try await call { client throws(ClientError) in
            try await AcceptedChange(client.update(app, id, request, idempotencyKey: idempotencyKey))
        }
    }

    /// Ends an activity permanently, with the newest state.
    @discardableResult
    public func end(
        _ id: String,
        options: EndOptions = EndOptions(),
        idempotencyKey: String? = nil
    ) async throws(TallyError) -> AcceptedChange {
        try await end(id, request: try options.request(contentState: nil), idempotencyKey)
    }

    /// Ends an activity permanently, with a last state.
    @discardableResult
    public func end(
        _ id: String,
        contentState: some Encodable,
        options: EndOptions = EndOptions(),
        idempotencyKey: String? = nil
    ) async throws(TallyError) -> AcceptedChange {
        let state = try Self.object(contentState, "the content state")
        return try await end(id, request: try options.request(contentState: state), idempotencyKey)
    }

    private func end(
        _ id: String,
        request: EndRequest,
        _ idempotencyKey: String?
    ) async throws(TallyError) -> AcceptedChange {
        let id = try Self.activityID(id)
        return try await call { client throws(ClientError) in
            try await AcceptedChange(client.end(app, id, request, idempotencyKey: idempotencyKey))
        }
    }

    // MARK: Swift to JSON

    func call<Answer>(
        _ body: (TallyClient) async throws(ClientError) -> Answer
    ) async throws(TallyError) -> Answer {
        do {
            return try await body(client)
        } catch {
            throw TallyError(error)
        }
    }

    static func activityID(_ text: String) throws(TallyError) -> ActivityID {
        let form = "1 to 128 printable ASCII characters, other than '.' and '..'"
        return try checked(text, "the id of an activity: \(form)", ActivityID.init)
    }

    static func userID(_ text: String) throws(TallyError) -> UserID { try checked(text, "a user id", UserID.init) }

    static func deviceID(_ text: String) throws(TallyError) -> DeviceID {
        try checked(text, "a device id", DeviceID.init)
    }

    static func topic(_ text: String) throws(TallyError) -> Topic { try checked(text, "a topic", Topic.init) }

    static func checked<Value>(
        _ text: String,
        _ what: String,
        _ make: (String) -> Value?
    ) throws(TallyError) -> Value {
        guard let value = make(text) else {
            throw TallyError(invalidArgument: "'\(text)' is not \(what).")
        }
        return value
    }

    static func instant(_ date: Date?, _ name: String) throws(TallyError) -> Instant? {
        guard let date else { return nil }
        guard let instant = Instant(exactly: date) else {
            throw TallyError(invalidArgument: "\(name) is no date of RFC 3339.")
        }
        return instant
    }

    static func finite(_ number: Double?, _ name: String) throws(TallyError) -> Double? {
        guard number?.isFinite != false else {
            throw TallyError(invalidArgument: "\(name) is no finite number.")
        }
        return number
    }

    private static func object(_ value: some Encodable, _ what: String) throws(TallyError) -> JSONObject {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            // `.iso8601` would drop the fraction of a second.
            guard let instant = Instant(exactly: date) else {
                let context = EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: "no RFC 3339 date"
                )
                throw EncodingError.invalidValue(date, context)
            }
            var container = encoder.singleValueContainer()
            try container.encode(instant.description)
        }
        do {
            let json = try JSONValue.parse([UInt8](try encoder.encode(value)))
            guard let object = json.object else {
                throw TallyError(invalidArgument: "\(what) must be encoded as a JSON object.")
            }
            return object
        } catch let error as TallyError {
            throw error
        } catch {
            throw TallyError(invalidArgument: "\(what) cannot be encoded: \(error)")
        }
    }
}
