package import JSON

/// Why a document cannot be used as a schema. Nothing but another document helps.
package struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case notASchema, unsupportedDialect, unsupportedKeyword, unknownKeyword, invalidKeyword, unresolvedReference
            case endlessReference, tooComplex, tooLarge
        }
        private let kind: Kind

        /// Something that is neither an object nor a boolean stands where a schema is expected.
        package static let notASchema = Code(kind: .notASchema)
        /// `$schema` names a dialect that is not known.
        package static let unsupportedDialect = Code(kind: .unsupportedDialect)
        /// A keyword of 2020-12 with a value that cannot be checked here, such as a pattern that looks ahead.
        package static let unsupportedKeyword = Code(kind: .unsupportedKeyword)
        /// A word that 2020-12 does not have; own annotations begin with `x-`.
        package static let unknownKeyword = Code(kind: .unknownKeyword)
        /// A keyword with a value that it cannot have.
        package static let invalidKeyword = Code(kind: .invalidKeyword)
        /// A `$ref` that leads to no schema of this document, nor of one that is known.
        package static let unresolvedReference = Code(kind: .unresolvedReference)
        /// References that lead back to where they began without a step into the value.
        package static let endlessReference = Code(kind: .endlessReference)
        /// Schemas applied to one place of a value stand deeper inside each other than allowed.
        package static let tooComplex = Code(kind: .tooComplex)
        /// The document, or a limit or pattern in it, is beyond what is accepted.
        package static let tooLarge = Code(kind: .tooLarge)

        package var description: String { kind.rawValue }
    }

    /// What kind of failure it is.
    package let code: Code
    /// The place in the schema document.
    package let pointer: JSONPointer
    /// A sentence for the author of the schema.
    package let message: String

    /// A failure at a place of the document at hand.
    package init(code: Code, pointer: JSONPointer, message: String) {
        (self.code, self.pointer, self.message) = (code, pointer, message)
    }

    /// Safe for logs: schemas are no secret, but can be long, so only kind and place.
    package var description: String { "schema \(code) at '\(pointer)'" }
}

extension SchemaError {
    /// A failure at a place, which can be in a document that the one at hand refers to.
    init(code: Code, place: SchemaPlace, message: String) {
        let isElsewhere = !place.document.isEmpty
        self.init(
            code: code,
            pointer: isElsewhere ? JSONPointer() : place.pointer,
            message: isElsewhere ? "In '\(place.document)' at '\(place.pointer)': \(message)" : message
        )
    }
}
