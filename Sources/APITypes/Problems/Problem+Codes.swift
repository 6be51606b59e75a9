package import ActivityModel
package import JSON

// Every code of the contract, once; those of 409 are in `Problem+Conflicts.swift`. `detail` says what to do where that
// is known.
extension Problem {
    /// The codes by which programs of ours tell problems apart. What each means stands below, where its problem is made;
    /// every other code stands only there.
    package enum Code {
        package static let unauthorized = "unauthorized"
        package static let missingScope = "missing_scope"
        package static let unknownType = "unknown_type"
        package static let idempotencyInProgress = "idempotency_in_progress"
        package static let tooManyRequests = "too_many_requests"
        package static let internalError = "internal_error"
        package static let unavailable = "unavailable"
        package static let outcomeUnknown = "outcome_unknown"
    }

    // MARK: The request as such

    /// 400: the body is not JSON (syntax, UTF-8, duplicate key, depth).
    package static func invalidJSON(_ detail: String) -> Problem {
        Problem(status: 400, code: "invalid_json", detail: detail)
    }

    /// 400 for what the parser of JSON found; the offset counts bytes.
    package static func invalidJSON(_ error: JSONParsingError) -> Problem {
        var problem = invalidJSON("The body is not valid JSON at byte \(error.offset): \(error.message)")
        problem.extra["offset"] = .number(JSONNumber(error.offset))
        return problem
    }

    /// 400: a header field that may come once only came several times.
    package static func repeatedHeader(_ name: String) -> Problem {
        Problem(status: 400, code: "repeated_header", detail: "The header field '\(name)' may come once only.")
    }

    /// 401: no key, or one that is unknown, revoked or expired; which of them is not said.
    package static func unauthorized(
        _ detail: String = "A valid API key is needed: 'Authorization: Bearer <key>'."
    ) -> Problem {
        Problem(status: 401, code: Code.unauthorized, detail: detail)
    }

    /// 403: the key is valid and does not have this scope.
    package static func missingScope(_ scope: Scope) -> Problem {
        Problem(
            status: 403,
            code: Code.missingScope,
            detail: "The API key does not have the scope '\(scope.rawValue)'.",
            extra: JSONObject([("scope", .string(scope.rawValue))])
        )
    }

    /// 403: the key is bound to another app, or the request needs a key that is bound to none.
    package static func appForbidden(
        _ detail: String = "The API key is bound to an app and may not be used outside it."
    ) -> Problem {
        Problem(status: 403, code: "app_forbidden", detail: detail)
    }

    /// 403: the ticket does not allow this.
    package static func ticketForbidden(
        _ detail: String = "A registration ticket lets an app report its own device and cards, and nothing else."
    ) -> Problem {
        Problem(status: 403, code: "ticket_forbidden", detail: detail)
    }

    /// 404. `what` is a noun with its article: "the activity", "the device".
    package static func notFound(_ what: String) -> Problem {
        Problem(
            status: 404,
            code: "not_found",
            detail: "\(what.prefix(1).uppercased() + what.dropFirst()) does not exist."
        )
    }

    /// 405. The answer carries `Allow`, which is the route's knowledge.
    package static func methodNotAllowed() -> Problem {
        Problem(status: 405, code: "method_not_allowed", detail: "This path does not take this method.")
    }

    /// 413: the body is longer than the server reads. A push that is too large is
    /// ``payloadTooLarge(bytes:limit:detail:)``.
    package static func bodyTooLarge(limit: Int) -> Problem {
        Problem(
            status: 413,
            code: "body_too_large",
            detail: "The body is longer than \(limit) bytes.",
            extra: JSONObject([("limit", .number(JSONNumber(limit)))])
        )
    }

    /// 415: a body that does not say that it is JSON.
    package static func unsupportedMediaType() -> Problem {
        Problem(status: 415, code: "unsupported_media_type", detail: "The body must be 'application/json'.")
    }

    /// 415: a body that is compressed.
    package static func unsupportedContentEncoding() -> Problem {
        Problem(
            status: 415,
            code: "unsupported_content_encoding",
            detail: "The body must not be compressed: send it without 'Content-Encoding'."
        )
    }

    /// 422: fields that are unknown, missing, of the wrong type or out of range.
    package static func invalidRequest(_ errors: [FieldError]) -> Problem {
        let detail =
            switch errors.count {
            case 1: "One field of the request is not valid."
            case let count where count > FieldError.maximumCount: "Many fields of the request are not valid."
            default: "\(errors.count) fields of the request are not valid."
            }
        return Problem(status: 422, code: "invalid_request", detail: detail, errors: errors)
    }

    /// 422 for something that is not in the body, and so has no pointer.
    package static func invalidRequest(_ detail: String) -> Problem {
        Problem(status: 422, code: "invalid_request", detail: detail)
    }

    /// 422 for one field, or for the whole body with an empty pointer.
    package static func invalidRequest(pointer: JSONPointer, code: String, message: String) -> Problem {
        invalidRequest([FieldError(pointer: pointer, code: code, message: message)])
    }

    /// 422: a text, or the name of a field, with the character U+0000, in the object or text at the pointer.
    package static func nul(at pointer: JSONPointer) -> Problem {
        invalidRequest(
            pointer: pointer,
            code: FieldError.invalidValue,
            message: "A text without the character U+0000 is expected."
        )
    }

    // MARK: Types and content

    /// 422: the type is not registered for this app.
    package static func unknownType(_ name: ActivityTypeName) -> Problem {
        Problem(
            status: 422,
            code: Code.unknownType,
            detail: "The activity type '\(name.rawValue)' is not registered for this app.",
            extra: JSONObject([("type_name", .string(name.rawValue))])
        )
    }

    /// 422: a content state that at least one schema version in use refuses. The pointers lead into the content state.
    package static func invalidContentState(_ errors: [FieldError]) -> Problem {
        Problem(
            status: 422,
            code: "invalid_content_state",
            detail: "The content state does not match the schema of its type.",
            errors: errors
        )
    }

    /// 422: attributes that the schema refuses. The pointers lead into the attributes.
    package static func invalidAttributes(_ errors: [FieldError]) -> Problem {
        Problem(
            status: 422,
            code: "invalid_attributes",
            detail: "The attributes do not match the schema of their type.",
            errors: errors
        )
    }

    /// 422: the largest push that may be rendered is over a limit of Apple's. Both figures are bytes.
    package static func payloadTooLarge(bytes: Int, limit: Int, detail: String) -> Problem {
        Problem(
            status: 422,
            code: "payload_too_large",
            detail: detail,
            extra: JSONObject([("bytes", .number(JSONNumber(bytes))), ("limit", .number(JSONNumber(limit)))])
        )
    }

    /// 422: a start with an audience and without an alert; a phone would show nothing.
    package static func alertRequired() -> Problem {
        Problem(
            status: 422,
            code: "alert_required",
            detail: "A start that goes to phones needs an 'alert', here or as 'start_alert' in the policy of the type."
        )
    }

    // MARK: Load, outages

    /// 429: too many changes that every phone must get are still on their way.
    package static func tooManyMustDeliver(limit: Int, retryAfter: Int) -> Problem {
        Problem(
            status: 429,
            code: "too_many_must_deliver",
            detail: "\(limit) changes with 'must_deliver' are still on their way to phones.",
            extra: JSONObject([("limit", .number(JSONNumber(limit)))]),
            retryAfter: retryAfter
        )
    }

    /// 429.
    package static func tooManyRequests(retryAfter: Int) -> Problem {
        Problem(
            status: 429,
            code: Code.tooManyRequests,
            detail: "Too many requests; try again after \(retryAfter) s.",
            retryAfter: retryAfter
        )
    }

    /// 429: a device has so many requests under way already.
    package static func tooManyOpenRequests(limit: Int, retryAfter: Int) -> Problem {
        Problem(
            status: 429,
            code: Code.tooManyRequests,
            detail: "This device has \(limit) requests under way; wait for an answer before the next one.",
            extra: JSONObject([("limit", .number(JSONNumber(limit)))]),
            retryAfter: retryAfter
        )
    }

    /// 429: so many readers follow events already, with this key or at all.
    package static func tooManyReaders(limit: Int, retryAfter: Int) -> Problem {
        Problem(
            status: 429,
            code: "too_many_readers",
            detail: "\(limit) connections follow events already.",
            extra: JSONObject([("limit", .number(JSONNumber(limit)))]),
            retryAfter: retryAfter
        )
    }

    /// 500: our bug. Says nothing of its cause.
    package static func internalError() -> Problem {
        Problem(status: 500, code: Code.internalError, detail: "The server failed to carry out the request.")
    }

    /// 502: APNs refused what was asked of it on the caller's behalf; `words` are its status and reason.
    package static func apnsRefused(_ words: String) -> Problem {
        Problem(status: 502, code: "apns_refused", detail: "APNs refused it: \(words).")
    }

    /// 503: the database or APNs is away, too many wait for APNs, the daemon is stopping, or what reads Swift sources
    /// cannot be run. Nothing was carried out.
    package static func unavailable(
        _ detail: String = "The database cannot be reached.",
        retryAfter: Int = 1
    ) -> Problem {
        Problem(status: 503, code: Code.unavailable, detail: detail, retryAfter: retryAfter)
    }

    /// 503: who was to carry the request out did not say what became of it. Of the database, the same request again,
    /// under its `Idempotency-Key`, learns it; of APNs, a look at its channels does.
    package static func outcomeUnknown(
        _ detail: String = "The database did not answer in time; the request may have been carried out.",
        retryAfter: Int = 1
    ) -> Problem {
        Problem(status: 503, code: Code.outcomeUnknown, detail: detail, retryAfter: retryAfter)
    }
}
