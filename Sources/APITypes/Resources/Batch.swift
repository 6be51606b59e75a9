package import ActivityModel
package import JSON

/// `POST …/batch`: up to 1,000 operations, each with its own result.
package struct BatchRequest: Sendable {
    /// The most operations in one batch.
    package static let maximumOperations = 1_000

    /// The operations. Those on the same activity or device run in this order. On the server, an unreadable operation
    /// is a `Problem`.
    package var operations: [Result<BatchOperation, Problem>]

    package init(_ operations: [BatchOperation]) {
        self.operations = operations.map { .success($0) }
    }
}

extension BatchRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let operations = reader.required(
            "operations",
            FieldType<[JSONValue]>.list(of: .any).counting(1...Self.maximumOperations, "operations")
        )
        guard reader.finish(), let operations else { return nil }
        self.operations = operations.map { json in
            Result { () throws(Problem) in try BatchOperation(json: json) }
        }
    }

    package var json: JSONValue {
        let operations = operations.compactMap { try? $0.get().json }  // a client's batch has no unreadable operations
        return .object(JSONObject([("operations", .array(operations))]))
    }
}

/// One operation of a batch. Each has an equivalent route.
package struct BatchOperation: Sendable, Hashable {
    /// The operation's content. Indirect, because an operation is passed on many times, and each copy would retain
    /// every field.
    package indirect enum Work: Sendable, Hashable {
        case start(ActivityID, StartRequest)
        case update(ActivityID, UpdateRequest)
        case end(ActivityID, EndRequest)
        case device(DeviceID, DeviceRequest)
        case subscription(ActivityID, DeviceID, SubscriptionRequest)
    }

    package var work: Work
    /// Within a day, an operation with this key runs once. Repeating it returns the first answer. The key counts for
    /// the operation's own route: the same key for another activity is another key.
    package var idempotencyKey: String?

    package init(_ work: Work, idempotencyKey: String? = nil) {
        self.work = work
        self.idempotencyKey = idempotencyKey
    }

    /// The scope that the key needs.
    package var scope: Scope {
        switch work {
        case .start, .update, .end: .publish
        case .device, .subscription: .register
        }
    }
}

// MARK: JSON

extension BatchOperation {
    private enum Op: String, CaseIterable, Sendable {
        case start, update, end, device, subscription
    }

    // Made once, because making one costs several allocations.
    private static let opType: FieldType<Op> = .word(Op.self)
    private static let keyType: FieldType<String> = .idempotencyKey
    private static let bodyType: FieldType<JSONValue> = .any
    private static let activityType: FieldType<ActivityID> = .activityID
    private static let deviceType: FieldType<DeviceID> = .deviceID

    /// Reads one operation.
    ///
    /// - Throws: 422 `invalid_request`. Pointers lead into the operation or, if its own fields are valid, into its
    ///   `body`, as they do on the equivalent route.
    package init(json: JSONValue) throws(Problem) {
        var reader = ObjectReader(json, refusesUnknownFields: true)
        let op = reader.required("op", Self.opType)
        let key = reader.optional("idempotency_key", Self.keyType)
        let body = reader.required("body", Self.bodyType)
        let activity = op == .device ? nil : reader.required("id", Self.activityType)
        let device =
            switch op {
            case .device: reader.required("id", Self.deviceType)
            case .subscription: reader.required("device_id", Self.deviceType)
            case .start, .update, .end: Self.noDevice(&reader)
            case nil: reader.optional("device_id", Self.deviceType)
            }
        guard reader.finish(), let op, let body else { throw reader.problem }
        idempotencyKey = key
        switch (op, activity, device) {
        case (.start, let id?, _): work = .start(id, try StartRequest(json: body))
        case (.update, let id?, _): work = .update(id, try UpdateRequest(json: body))
        case (.end, let id?, _): work = .end(id, try EndRequest(json: body))
        case (.device, _, let id?): work = .device(id, try DeviceRequest(json: body))
        case (.subscription, let id?, let device?):
            work = .subscription(id, device, try SubscriptionRequest(json: body))
        default: throw reader.problem
        }
    }

    private static func noDevice(_ reader: inout ObjectReader) -> DeviceID? {
        if reader.has("device_id") {
            reader.refuse("device_id", code: FieldError.conflict, message: "'device_id' belongs to a subscription.")
        }
        return nil
    }

    package var json: JSONValue {
        let parts: (op: Op, id: String, device: DeviceID?) =
            switch work {
            case .start(let id, _): (.start, id.rawValue, nil)
            case .update(let id, _): (.update, id.rawValue, nil)
            case .end(let id, _): (.end, id.rawValue, nil)
            case .device(let id, _): (.device, id.rawValue, nil)
            case .subscription(let id, let device, _): (.subscription, id.rawValue, device)
            }
        var fields = ObjectWriter()
        fields.add("op", parts.op.rawValue)
        fields.add("id", parts.id)
        fields.add("device_id", parts.device?.rawValue)
        fields.add("idempotency_key", idempotencyKey)
        fields.add("body", body)
        return fields.json
    }

    /// The body that the operation's own route takes.
    package var body: JSONValue {
        switch work {
        case .start(_, let request): request.json
        case .update(_, let request): request.json
        case .end(_, let request): request.json
        case .device(_, let request): request.json
        case .subscription(_, _, let request): request.json
        }
    }
}

extension FieldType where Value == String {
    /// The text of an `Idempotency-Key`: 1 to 255 bytes.
    fileprivate static var idempotencyKey: Self {
        text("A text of 1 to 255 bytes", { (1...255).contains($0.utf8.count) ? $0 : nil }, write: { $0 })
    }
}

// MARK: Results

/// The result of one batch operation: the answer of the equivalent route.
package struct BatchResult: Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// The body. A problem if the status is 400 or more.
    package var body: JSONValue

    package init(status: Int, body: JSONValue) {
        self.status = status
        self.body = body
    }

    package init(_ problem: Problem) {
        self.init(status: problem.status, body: problem.telling(atMost: FieldError.maximumCountInBatch).json)
    }

    /// The answer, if the operation succeeded.
    ///
    /// - Throws: The problem, if it failed; 422 if the body is not an `Answer`.
    package func answer<Answer: APIAnswer>(_: Answer.Type = Answer.self) throws(Problem) -> Answer {
        guard status < 400 else { throw try Problem(json: body) }
        return try Answer(json: body)
    }
}

extension BatchResult: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let status = reader.required("status", .int)
        let body = reader.optional("body", .any)
        guard reader.finish(), let status else { return nil }
        self.init(status: status, body: body ?? .null)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("status", status)
        fields.add("body", body)
        return fields.json
    }
}

/// The answer to a batch, 200: one result per operation, in the same order.
package struct BatchAnswer: Sendable, Hashable {
    package var results: [BatchResult]

    package init(results: [BatchResult]) {
        self.results = results
    }
}

extension BatchAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("results", \.results, .list(of: .object(BatchResult.self))),
        make: Self.init
    )
}
