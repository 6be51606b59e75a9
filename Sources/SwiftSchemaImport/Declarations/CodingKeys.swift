internal import SwiftContent
internal import SwiftSyntax

/// The keys that a type declares for its encoding.
struct CodingKeys {
    /// Each member with its key, in order.
    let keys: [(member: String, key: String, place: SourcePlace)]

    /// Reads the enum at a path; `nil` if the type has no coding keys.
    ///
    /// - Throws: If the keys are not a plain enum.
    init?(at path: TypePath, in index: DeclarationIndex) throws(SwiftImportError) {
        guard let declaration = index.declarations[path], let head = declaration.head else { return nil }
        guard case .enumeration = head.kind, !declaration.declaresVariable("stringValue"),
            declaration.initializer(labelled: "stringValue") == nil
        else {
            let name = path.joined(separator: ".")
            throw SwiftImportError("'\(name)' can be read only as an enum that lists its keys", at: head.place)
        }
        // A case without a string has its name as key, even if the raw values are numbers.
        keys = EnumCase.all(of: declaration).map { item in
            guard let value = item.rawValue, case .text(let key)? = Literal(value) else {
                return (item.name, item.name, item.place)
            }
            return (item.name, key, item.place)
        }
    }

    /// The key of a member; nil if it is not encoded.
    subscript(member member: String) -> String? { keys.first { $0.member == member }?.key }
}
