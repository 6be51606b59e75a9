package import ActivityModel
package import JSON

// Every error code of the API is made here; the codes of 409 are in `Problem+Conflicts.swift`. `detail` tells the
// caller what to do where Tally knows it.
extension Problem {
    /// The codes that Tally's own programs check for. The functions below make the problems and explain each code.
    package enum Code {
        package static let unauthorized = "unauthorized"
        package static let missingScope = "missing_scope"
        package static let unknownType = "unknown_type"
        package static let idempotencyInProgress = "idempotency_in_progress"
        package static let tooManyRequests = "too_many_requests"
        package static let internalError = "internal_error"
        package static let apnsRefused = "apns_refused"
        package static let unavailable = "unavailable"
        package static let outcomeUnknown = "outcome_unknown"
    }

    // MARK: Form of the request

    /// 400: the body is not JSON (syntax, UTF-8, duplicate key, depth).
    package static func invalidJSON(_ detail: String) -> Problem {
        Problem(400, "invalid_json", detail)
    }

    /// 400 for an error that the JSON parser found. The offset counts bytes.
    package static func invalidJSON(_ error: JSONParsingError, of part: String = "body") -> Problem {
        var problem = invalidJSON("The \(part) is not valid JSON at byte \(error.offset): \(error.message)")
        problem.extra["offset"] = .number(JSONNumber(error.offset))
        return problem
    }

    /// 400: a header field that is allowed once came several times.
    package static func repeatedHeader(_ name: String) -> Problem {
        Problem(400, "repeated_header", "The header field '\(name)' may come once only.")
    }

    /// 401: the key is missing, unknown, revoked or expired. The answer does not tell which.
    package static func unauthorized(
        _ detail: String = "A valid API key is needed: 'Authorization: Bearer <key>'."
    ) -> Problem {
        Problem(401, Code.unauthorized, detail)
    }

    /// 403: the key is valid but lacks this scope.
    package static func missingScope(_ scope: Scope) -> Problem {
        let detail = "The API key does not have the scope '\(scope.rawValue)'."
        return Problem(403, Code.missingScope, detail, extra: ["scope": .string(scope.rawValue)])
    }

    /// 403: the key is bound to another app, or the request needs an unbound key.
    package static func appForbidden(
        _ detail: String = "The API key is bound to an app and may not be used outside it."
    ) -> Problem {
        Problem(403, "app_forbidden", detail)
    }

    /// 403: the ticket does not allow this request.
    package static func ticketForbidden(
        _ detail: String = "A registration ticket lets an app report its own device and cards, and nothing else."
    ) -> Problem {
        Problem(403, "ticket_forbidden", detail)
    }

    /// 404. `what` is a noun with its article: "the activity", "the device".
    package static func notFound(_ what: String) -> Problem {
        Problem(404, "not_found", "\(what.prefix(1).uppercased() + what.dropFirst()) does not exist.")
    }

    /// 404: sending is not halted.
    package static func notHalted() -> Problem {
        Problem(404, "not_found", "Sending is not halted.")
    }

    /// 405. The route adds the `Allow` header.
    package static func methodNotAllowed() -> Problem {
        Problem(405, "method_not_allowed", "This path does not take this method.")
    }

    /// 413: the body is longer than the server accepts. A push that is too large
    /// is ``payloadTooLarge(bytes:limit:detail:)``.
    package static func bodyTooLarge(limit: Int, part: String = "body") -> Problem {
        let detail = "The \(part) is longer than \(limit) bytes."
        return Problem(413, "body_too_large", detail, extra: ["limit": .number(JSONNumber(limit))])
    }

    /// 415: the content type is not the one that the route takes.
    package static func unsupportedMediaType(_ expected: String = "application/json") -> Problem {
        Problem(415, "unsupported_media_type", "The body must be '\(expected)'.")
    }

    /// 415: the body is compressed.
    package static func unsupportedContentEncoding() -> Problem {
        let detail = "The body must not be compressed: send it without 'Content-Encoding'."
        return Problem(415, "unsupported_content_encoding", detail)
    }

    /// 422: fields that are unknown, missing, of the wrong type or out of range.
    package static func invalidRequest(_ errors: [FieldError]) -> Problem {
        let detail =
            switch errors.count {
            case 1: "One field of the request is not valid."
            case let count where count > FieldError.maximumCount: "Many fields of the request are not valid."
            default: "\(errors.count) fields of the request are not valid."
            }
        return Problem(422, "invalid_request", detail, errors: errors)
    }

    /// 422 for an error outside the body, which has no pointer.
    package static func invalidRequest(_ detail: String) -> Problem {
        Problem(422, "invalid_request", detail)
    }

    /// 422 for one field, or for the whole body with an empty pointer.
    package static func invalidRequest(pointer: JSONPointer, code: String, message: String) -> Problem {
        invalidRequest([FieldError(pointer: pointer, code: code, message: message)])
    }

    /// The same for the field with these names, from the outside in.
    package static func invalidRequest(
        at names: [String],
        code: String = FieldError.invalidValue,
        _ message: String
    ) -> Problem {
        invalidRequest(pointer: JSONPointer(tokens: names), code: code, message: message)
    }

    /// 422: the event is so far in the future that correct updates after it would be late.
    package static func futureEvent(limit seconds: Int64) -> Problem {
        let message = "'event_time' may be at most \(seconds) seconds after the update is accepted."
        return invalidRequest(at: ["event_time"], code: FieldError.outOfRange, message)
    }

    /// 422: the object or text at the pointer contains the character U+0000 in a text or a field name.
    package static func nul(at pointer: JSONPointer) -> Problem {
        let message = "A text without the character U+0000 is expected."
        return invalidRequest(pointer: pointer, code: FieldError.invalidValue, message: message)
    }

    // MARK: Types and content

    /// 422: the type is not registered for this app.
    package static func unknownType(_ name: ActivityTypeName) -> Problem {
        let detail = "The activity type '\(name.rawValue)' is not registered for this app."
        return Problem(422, Code.unknownType, detail, extra: ["type_name": .string(name.rawValue)])
    }

    /// 422: at least one schema version in use rejects the content state. The pointers lead into the content state.
    package static func invalidContentState(_ errors: [FieldError]) -> Problem {
        let detail = "The content state does not match the schema of its type."
        return Problem(422, "invalid_content_state", detail, errors: errors)
    }

    /// 422: the schema rejects the attributes. The pointers lead into the attributes.
    package static func invalidAttributes(_ errors: [FieldError]) -> Problem {
        Problem(422, "invalid_attributes", "The attributes do not match the schema of their type.", errors: errors)
    }

    /// 422: the largest push that could be rendered exceeds one of Apple's limits. Both figures are bytes.
    package static func payloadTooLarge(bytes: Int, limit: Int, detail: String) -> Problem {
        let extra: JSONObject = ["bytes": .number(JSONNumber(bytes)), "limit": .number(JSONNumber(limit))]
        return Problem(422, "payload_too_large", detail, extra: extra)
    }

    /// 422: a start has an audience but no alert. A phone would show nothing.
    package static func alertRequired() -> Problem {
        let detail = "A start that goes to phones needs an 'alert', here or as 'start_alert' in the policy of the type."
        return Problem(422, "alert_required", detail)
    }

    // MARK: Load and outages

    /// 429: too many `must_deliver` changes are still being sent.
    package static func tooManyMustDeliver(limit: Int, retryAfter: Int) -> Problem {
        let detail = "\(limit) changes with 'must_deliver' are still on their way to phones."
        let extra: JSONObject = ["limit": .number(JSONNumber(limit))]
        return Problem(429, "too_many_must_deliver", detail, extra: extra, retryAfter: retryAfter)
    }

    /// 429: the caller sends too many requests.
    package static func tooManyRequests(retryAfter: Int) -> Problem {
        let detail = "Too many requests; try again after \(retryAfter) s."
        return Problem(429, Code.tooManyRequests, detail, retryAfter: retryAfter)
    }

    /// 429: the device already has `limit` open requests.
    package static func tooManyOpenRequests(limit: Int, retryAfter: Int) -> Problem {
        let detail = "This device has \(limit) requests under way; wait for an answer before the next one."
        let extra: JSONObject = ["limit": .number(JSONNumber(limit))]
        return Problem(429, Code.tooManyRequests, detail, extra: extra, retryAfter: retryAfter)
    }

    /// 429: `limit` readers already follow events: with this key, with keys of this app, with bound keys, or in total.
    package static func tooManyReaders(limit: Int, retryAfter: Int) -> Problem {
        let detail = "\(limit) connections follow events already."
        let extra: JSONObject = ["limit": .number(JSONNumber(limit))]
        return Problem(429, "too_many_readers", detail, extra: extra, retryAfter: retryAfter)
    }

    /// 500: a bug in Tally. The answer does not reveal the cause.
    package static func internalError() -> Problem {
        Problem(500, Code.internalError, "The server failed to carry out the request.")
    }

    /// 502: APNs refused a request that Tally made for the caller. `words` are its status and reason.
    package static func apnsRefused(_ words: String) -> Problem {
        Problem(502, Code.apnsRefused, "APNs refused it: \(words).")
    }

    /// 503. Causes: the database or APNs is unavailable, too many requests wait for APNs, the daemon is stopping, or
    ///      the importer of Swift sources cannot run. Nothing was changed.
    package static func unavailable(
        _ detail: String = "The database cannot be reached.",
        retryAfter: Int = 1
    ) -> Problem {
        Problem(503, Code.unavailable, detail, retryAfter: retryAfter)
    }

    /// 503: the database or APNs did not confirm the outcome. To learn the database's outcome, repeat the request with
    /// its `Idempotency-Key`. To learn APNs' outcome, list its channels.
    package static func outcomeUnknown(
        _ detail: String = "The database did not answer in time; the request may have been carried out.",
        retryAfter: Int = 1
    ) -> Problem {
        Problem(503, Code.outcomeUnknown, detail, retryAfter: retryAfter)
    }
}
