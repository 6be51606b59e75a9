internal import SwiftContent
internal import SwiftSyntax

/// A path of type names: `GameAttributes.ContentState`.
typealias TypePath = [String]

/// What all sources together say of one type: its declaration and its extensions.
struct Declaration {
    enum Kind {
        case structure, enumeration, protocolType
        /// A class or an actor.
        case reference
        case alias(TypeExpression)
    }

    /// A member with the file that it stands in.
    struct Member {
        let declaration: DeclSyntax
        let file: SourceFile
        var place: SourcePlace { file.place(of: declaration) }
    }

    /// Where and as what it is declared; nil for a type that is only extended here.
    struct Head {
        let kind: Kind
        let place: SourcePlace
        let isGeneric: Bool
        /// The first attribute that may change what the type is, with its place.
        let unknownAttribute: (name: String, place: SourcePlace)?
    }

    var head: Head?
    /// The types after the colon of the declaration, and of its extensions.
    var ownInherited: [TypeExpression] = []
    var extensionInherited: [TypeExpression] = []
    /// Of the declaration alone; only these can be stored.
    var ownMembers: [Member] = []
    var extensionMembers: [Member] = []

    var members: [Member] { ownMembers + extensionMembers }
    /// Those of the declaration first, wherever the extensions stand: the first of them may be a raw type.
    var inherited: [TypeExpression] { ownInherited + extensionInherited }
}

extension AttributeListSyntax {
    /// Attributes that leave alone what is stored and how it is decoded.
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
