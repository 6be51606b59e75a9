internal import JSON

/// The location of a schema in its document, as one step from its parent's location. Locations share their beginnings.
final class SchemaPlace: Sendable {
    /// The name under which the document was found; empty for the compiled document itself.
    let document: String
    private let parent: SchemaPlace?
    private let token: String

    /// The location of the document's own schema.
    init(document: String) { (self.document, parent, token) = (document, nil, "") }

    private init(_ parent: SchemaPlace, _ token: String) {
        (document, self.parent, self.token) = (parent.document, parent, token)
    }

    var isRoot: Bool { parent == nil }

    func appending(_ token: String) -> SchemaPlace { SchemaPlace(self, token) }

    /// The location as a pointer within its document.
    var pointer: JSONPointer {
        var tokens: [String] = []
        var place = self
        while let parent = place.parent {
            tokens.append(place.token)
            place = parent
        }
        return JSONPointer(tokens: tokens.reversed())
    }
}
