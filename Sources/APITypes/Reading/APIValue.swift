package import JSON

/// A value with a JSON form in the HTTP API.
///
/// Reading collects everything that is wrong before it fails, so that a caller mends a request once.
package protocol APIValue: Sendable {
    /// Whether a field that is not known is an error: yes in requests, where it is a typing mistake that would be
    /// lost silently; no in answers, so that a client outlives a newer server.
    static var refusesUnknownFields: Bool { get }

    /// Takes the fields it knows out of `reader`; nil if something was missing or wrong, which `reader` then holds.
    ///
    /// An implementation reads every field first and calls ``ObjectReader/finish()`` before it returns.
    init?(reader: inout ObjectReader)

    /// The JSON form; optional fields without a value are left out.
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

/// A body that the server answers with.
package protocol APIAnswer: APIValue {}

extension APIAnswer {
    package static var refusesUnknownFields: Bool { false }
}
