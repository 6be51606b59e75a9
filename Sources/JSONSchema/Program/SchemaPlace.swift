internal import JSON

/// The place of a schema in its document, as a step from what is around it: places share their beginnings.
final class SchemaPlace: Sendable {
    /// The name under which the document was found; empty for the one that is compiled.
    let document: String
    private let parent: SchemaPlace?
    private let token: String

    /// The document's own schema.
    init(document: String) { (self.document, parent, token) = (document, nil, "") }

    private init(_ parent: SchemaPlace, _ token: String) {
        (document, self.parent, self.token) = (parent.document, parent, token)
    }

    var isRoot: Bool { parent == nil }

    func appending(_ token: String) -> SchemaPlace { SchemaPlace(self, token) }

    /// The place within its document.
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
