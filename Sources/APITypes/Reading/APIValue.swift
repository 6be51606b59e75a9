package import JSON

/// A value with a JSON form in the HTTP API.
///
/// Reading collects every error before it fails, so that a caller can fix them all at once.
package protocol APIValue: Sendable {
    /// Whether an unknown field is an error.
    ///
    /// True for requests: there it is a typing mistake that would be lost silently. False for answers, so that an older
    /// client works with a newer server.
    static var refusesUnknownFields: Bool { get }

    /// Reads the known fields from `reader`. Returns nil if a field is missing or wrong; `reader` then holds the
    /// errors.
    ///
    /// An implementation reads every field first and calls ``ObjectReader/finish()`` before it returns.
    init?(reader: inout ObjectReader)

    /// The JSON form. Optional fields without a value are left out.
    var json: JSONValue { get }
}

extension APIValue {
    /// Reads the JSON form.
    ///
    /// - Throws: 422 `invalid_request` with every error found.
    package init(json: JSONValue) throws(Problem) {
        var reader = ObjectReader(json, refusesUnknownFields: Self.refusesUnknownFields)
        guard let value = Self(reader: &reader) else { throw reader.problem }
        self = value
    }
}

/// A body that a caller sends.
package protocol APIRequest: APIValue {}

extension APIRequest {
    package static var refusesUnknownFields: Bool { true }
}

/// A body that the server sends.
package protocol APIAnswer: APIValue {}

extension APIAnswer {
    package static var refusesUnknownFields: Bool { false }
}
