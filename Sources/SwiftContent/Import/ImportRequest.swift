package import JSON

/// What schemas are to be made from.
package struct ImportRequest: Sendable, Hashable {
    /// Everything that declares what the two structs hold, in any order.
    package let sources: [SwiftSource]
    /// Which `ActivityAttributes` struct; nil if there is only one.
    package let typeName: String?
    /// Schemas by the name of the type that they stand for, also in place of one that could be read. They stand by
    /// themselves: no references.
    package let supplied: [String: JSONValue]

    /// A request.
    package init(_ sources: [SwiftSource], typeName: String? = nil, supplied: [String: JSONValue] = [:]) {
        self.sources = sources
        self.typeName = typeName
        self.supplied = supplied
    }
}
