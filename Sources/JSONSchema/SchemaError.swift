package import JSON

/// Why a document was refused as a schema. The author must correct the document.
package struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case notASchema, unsupportedDialect, unsupportedKeyword, unknownKeyword, invalidKeyword, unresolvedReference
            case endlessReference, tooComplex, tooLarge
        }
        private let kind: Kind

        /// A schema is expected, but the value is neither an object nor a boolean.
        package static let notASchema = Code(kind: .notASchema)
        /// `$schema` names an unknown dialect.
        package static let unsupportedDialect = Code(kind: .unsupportedDialect)
        /// A keyword of 2020-12 whose value is valid but not supported here, such as a pattern with look-ahead.
        package static let unsupportedKeyword = Code(kind: .unsupportedKeyword)
        /// A keyword that 2020-12 does not define. Authors' own annotations begin with `x-`.
        package static let unknownKeyword = Code(kind: .unknownKeyword)
        /// A keyword with an invalid value.
        package static let invalidKeyword = Code(kind: .invalidKeyword)
        /// A `$ref` whose target is not in this document nor in a known one.
        package static let unresolvedReference = Code(kind: .unresolvedReference)
        /// References that return to their start without a step into the value.
        package static let endlessReference = Code(kind: .endlessReference)
        /// Too many nested schemas apply to the same value.
        package static let tooComplex = Code(kind: .tooComplex)
        /// The document, or a number or pattern in it, exceeds a limit.
        package static let tooLarge = Code(kind: .tooLarge)

        package var description: String { kind.rawValue }
    }

    /// The kind of failure.
    package let code: Code
    /// The location in the schema document.
    package let pointer: JSONPointer
    /// A message for the author of the schema.
    package let message: String

    /// A failure at a location of the compiled document.
    package init(code: Code, pointer: JSONPointer, message: String) {
        (self.code, self.pointer, self.message) = (code, pointer, message)
    }

    /// Safe for logs: kind and location only. Schemas are not secret, but can be long.
    package var description: String { "schema \(code) at '\(pointer)'" }
}

extension SchemaError {
    /// A failure at a location of the compiled document or of one that it refers to.
    init(code: Code, place: SchemaPlace, message: String) {
        let isElsewhere = !place.document.isEmpty
        self.init(
            code: code,
            pointer: isElsewhere ? JSONPointer() : place.pointer,
            message: isElsewhere ? "In '\(place.document)' at '\(place.pointer)': \(message)" : message
        )
    }
}
