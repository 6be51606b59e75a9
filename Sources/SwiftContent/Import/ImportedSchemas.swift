package import JSON

/// The two schemas of an activity type, made from the Swift declarations that the phone decodes with.
///
/// They refuse everything that `JSONDecoder` with its default settings refuses. docs/reference/schemas.md lists what else they
/// refuse. Each schema names the Swift type of every value (`x-swift-type`).
package struct ImportedSchemas: Sendable, Hashable {
    /// The name of the struct.
    package let typeName: String
    /// JSON Schema 2020-12.
    package let attributes: JSONValue
    /// JSON Schema 2020-12.
    package let contentState: JSONValue

    /// Creates the result of an import.
    package init(typeName: String, attributes: JSONValue, contentState: JSONValue) {
        self.typeName = typeName
        self.attributes = attributes
        self.contentState = contentState
    }
}
