internal import SwiftContent
internal import SwiftSyntax

/// A type as written, before its names are resolved.
struct TypeExpression {
    indirect enum Kind {
        /// `A`, `A.B`, `A<B>.C`.
        case named([Component])
        case optional(TypeExpression)
        case array(TypeExpression)
        case dictionary(TypeExpression, TypeExpression)
        /// A type that cannot be decoded or determined; the text describes it.
        case unsupported(String)
    }

    /// The name as written, without generic arguments; empty for a type without a name.
    var name: String {
        guard case .named(let components) = kind else { return "" }
        return components.map(\.name).joined(separator: ".")
    }

    struct Component {
        let name: String
        let arguments: [TypeExpression]
    }

    private static let maximumDepth = 32

    let kind: Kind
    let place: SourcePlace

    init(_ kind: Kind, at place: SourcePlace) {
        self.kind = kind
        self.place = place
    }

    init(_ type: TypeSyntax, in file: SourceFile, depth: Int = 0) {
        place = file.place(of: type)
        guard depth < Self.maximumDepth else {
            kind = .unsupported("a type nested this deep")
            return
        }
        let inner = { (type: TypeSyntax) in TypeExpression(type, in: file, depth: depth + 1) }
        if let optional = type.as(OptionalTypeSyntax.self) {
            kind = .optional(inner(optional.wrappedType))
        } else if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            kind = .optional(inner(optional.wrappedType))
        } else if let array = type.as(ArrayTypeSyntax.self) {
            kind = .array(inner(array.element))
        } else if let dictionary = type.as(DictionaryTypeSyntax.self) {
            kind = .dictionary(inner(dictionary.key), inner(dictionary.value))
        } else if let attributed = type.as(AttributedTypeSyntax.self) {
            kind = inner(attributed.baseType).kind
        } else if let tuple = type.as(TupleTypeSyntax.self) {
            let only = tuple.elements.count == 1 ? tuple.elements.first : nil
            kind = only.map { inner($0.type).kind } ?? .unsupported("a tuple, which is never Codable")
        } else {
            kind = Self.named(type, in: file, depth: depth)
        }
    }

    private static func named(_ type: TypeSyntax, in file: SourceFile, depth: Int) -> Kind {
        var components: [Component] = []
        var rest = type
        while components.count < maximumDepth {
            if let member = rest.as(MemberTypeSyntax.self) {
                components.append(component(member.name, member.genericArgumentClause, in: file, depth: depth))
                rest = member.baseType
            } else if let name = rest.as(IdentifierTypeSyntax.self) {
                components.append(component(name.name, name.genericArgumentClause, in: file, depth: depth))
                return .named(components.reversed())
            } else {
                break
            }
        }
        return .unsupported("a type of this kind, which is not known to be Codable")
    }

    private static func component(
        _ name: TokenSyntax,
        _ clause: GenericArgumentClauseSyntax?,
        in file: SourceFile,
        depth: Int
    ) -> Component {
        let arguments = clause?.arguments.map { argument in
            if case .type(let type) = argument.argument { return TypeExpression(type, in: file, depth: depth + 1) }
            return TypeExpression(.unsupported("a value in place of a type"), at: file.place(of: argument))
        }
        return Component(name: name.plainText, arguments: arguments ?? [])
    }
}

extension TokenSyntax {
    /// The name without the backticks of an escaped keyword.
    var plainText: String {
        guard text.count > 2, text.hasPrefix("`"), text.hasSuffix("`") else { return text }
        return String(text.dropFirst().dropLast())
    }
}
