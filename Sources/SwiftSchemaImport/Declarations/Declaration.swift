internal import SwiftContent
internal import SwiftSyntax

/// A path of type names: `GameAttributes.ContentState`.
typealias TypePath = [String]

/// Everything that the sources declare about one type: its declaration and its extensions.
struct Declaration {
    enum Kind {
        case structure, enumeration, protocolType
        /// A class or an actor.
        case reference
        case alias(TypeExpression)
    }

    /// A member and the file that contains it.
    struct Member {
        let declaration: DeclSyntax
        let file: SourceFile
        var place: SourcePlace { file.place(of: declaration) }
    }

    /// Where and as what kind the type is declared; `nil` for a type that the sources only extend.
    struct Head {
        let kind: Kind
        let place: SourcePlace
        let isGeneric: Bool
        /// The first attribute that may change the type, and its location.
        let unknownAttribute: (name: String, place: SourcePlace)?
    }

    var head: Head?
    /// The types after the colon in the declaration and in the extensions.
    var ownInherited: [TypeExpression] = []
    var extensionInherited: [TypeExpression] = []
    /// The members of the declaration itself; only these can be stored.
    var ownMembers: [Member] = []
    var extensionMembers: [Member] = []

    var members: [Member] { ownMembers + extensionMembers }
    /// All inherited types. Those of the declaration come first, because its first type may be a raw type.
    var inherited: [TypeExpression] { ownInherited + extensionInherited }
}

extension AttributeListSyntax {
    /// Attributes that do not affect what is stored or how it is decoded.
    private static let harmless: Set<String> = [
        "available", "frozen", "usableFromInline", "inlinable", "MainActor", "objc", "preconcurrency",
        "dynamicMemberLookup", "nonobjc", "discardableResult", "_spi", "unchecked",
    ]

    /// The first attribute that may be a property wrapper or a macro.
    func firstUnknown(in file: SourceFile) -> (name: String, place: SourcePlace)? {
        for element in self {
            guard case .attribute(let attribute) = element else { return ("#if", file.place(of: element)) }
            let name = attribute.attributeName.trimmedDescription
            if !Self.harmless.contains(name) { return (name, file.place(of: attribute)) }
        }
        return nil
    }
}
