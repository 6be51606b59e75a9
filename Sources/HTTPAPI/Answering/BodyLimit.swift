import APITypes
import Hummingbird
import NIOCore

/// What a body has to be like, and how much of it is read.
struct BodyLimit: Sendable {
    /// The most bytes that it may have, on a route without a limit of its own.
    let size: Int

    /// Refuses a body by its headers, before a byte of it is read and before a key is looked at.
    ///
    /// - Throws: ``Problem``, ``Refusal``.
    func check(_ fields: RequestFields, _ route: Route?) throws {
        let limit = limit(of: route)
        if let text = fields.contentLength, let length = Int(text), length > limit {
            throw Problem.bodyTooLarge(limit: limit)
        }
        guard route?.takesBody == true, Self.hasBody(fields) else { return }
        if !Self.isPlain(fields.contentEncoding) {
            // What would do, as RFC 9110 §15.5.16 asks for.
            throw Refusal(problem: .unsupportedContentEncoding(), headers: [.acceptEncoding: "identity"])
        }
        if !Self.isJSON(fields.contentType) { throw Problem.unsupportedMediaType() }
    }

    /// Reads the whole body, which the caller may hold back until it is told to send it.
    ///
    /// - Throws: 413 if there is more of it than it said; ``BodyReadError``.
    func read(_ asked: AskedRequest, _ route: Route) async throws -> [UInt8] {
        let limit = limit(of: route)
        do {
            if asked.fields.awaitsContinue { try await asked.proceed?() }
            return Array(try await asked.request.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem.bodyTooLarge(limit: limit)
        } catch {
            throw BodyReadError(cause: error)
        }
    }

    private func limit(of route: Route?) -> Int { min(size, route?.access.bodyLimit ?? size) }

    private static func hasBody(_ fields: RequestFields) -> Bool {
        if let length = fields.contentLength { return length != "0" }
        return fields.transferEncoding != nil
    }

    /// Not compressed, as those say who name no encoding or `identity`. Nothing is unpacked here: the limit of size would
    /// be one of what is packed.
    private static func isPlain(_ encodings: String?) -> Bool {
        guard let encodings else { return true }
        return encodings.split(separator: ",").allSatisfy { name in
            let name = name.filter { !$0.isWhitespace }
            return name.isEmpty || name.lowercased() == "identity"
        }
    }

    /// `application/json`, with parameters or without; JSON is UTF-8 whatever they say (RFC 8259 §8.1).
    private static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        // What nearly all say, and 1 % of a post's price.
        if contentType == "application/json" { return true }
        let type = contentType.prefix { $0 != ";" }
        return type.filter { !$0.isWhitespace }.lowercased() == "application/json"
    }
}

/// The body could not be read to its end: the connection broke or was not HTTP any more.
struct BodyReadError: Error {
    let cause: any Error
}
