package import JSON

/// The input of an import: the sources and options to make schemas from.
package struct ImportRequest: Sendable, Hashable {
    /// The sources that declare everything in the two structs, in any order.
    package let sources: [SwiftSource]
    /// The name of the `ActivityAttributes` struct; `nil` if there is only one.
    package let typeName: String?
    /// Schemas by type name. A supplied schema replaces the one that the source would give. It must not contain
    /// references.
    package let supplied: [String: JSONValue]

    /// Creates a request.
    package init(_ sources: [SwiftSource], typeName: String? = nil, supplied: [String: JSONValue] = [:]) {
        self.sources = sources
        self.typeName = typeName
        self.supplied = supplied
    }
}
