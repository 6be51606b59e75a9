internal import SwiftContent
internal import SwiftSyntax

/// The protocols of a type, as far as the sources show them.
struct Conformances {
    /// Protocols without an `init(from:)` of their own.
    private static let harmless: Set<String> = [
        "ActivityAttributes", "Codable", "CodingKey", "CodingKeyRepresentable", "Comparable", "CaseIterable",
        "CustomDebugStringConvertible", "CustomStringConvertible", "Decodable", "Encodable", "Equatable", "Error",
        "ExpressibleByArrayLiteral", "ExpressibleByDictionaryLiteral", "ExpressibleByFloatLiteral",
        "ExpressibleByIntegerLiteral", "ExpressibleByStringLiteral", "Hashable", "Identifiable",
        "LosslessStringConvertible",
        "OptionSet", "RawRepresentable", "Sendable", "SetAlgebra", "Strideable",
    ]
    private static let maximumProtocols = 256

    /// The names of protocols that the sources do not declare.
    private(set) var foreign: Set<String> = []
    /// The first protocol that might change the decoding, because its declaration is unknown.
    private(set) var unknown: (name: String, place: SourcePlace)?
    /// The `init(from:)` that a protocol in the sources provides.
    private(set) var inheritedInitializer: SourcePlace?

    /// Reads the types after the colon, without a raw type.
    init(_ types: [TypeExpression], scope: TypePath, index: DeclarationIndex) {
        var open = types.map { (type: $0, scope: scope) }
        var seen: Set<TypePath> = []
        while let (type, scope) = open.popLast(), seen.count < Self.maximumProtocols {
            switch index.target(of: type, in: scope) {
            case .declared(let path)?:
                guard seen.insert(path).inserted, let declaration = index.declarations[path] else { continue }
                open += declaration.inherited.map { (type: $0, scope: path) }
                inheritedInitializer = inheritedInitializer ?? declaration.decodingInitializer?.place
            case .foreign(let name)?:
                foreign.insert(name)
                if !Self.harmless.contains(name), unknown == nil { unknown = (name, type.place) }
            case .alias?, nil:
                if unknown == nil { unknown = ("this", type.place) }
            }
        }
    }

    var isDecodable: Bool { !foreign.isDisjoint(with: ["Codable", "Decodable", "ActivityAttributes"]) }
    var isCodingKeyRepresentable: Bool { foreign.contains("CodingKeyRepresentable") }
    var isRawRepresentable: Bool { !foreign.isDisjoint(with: ["RawRepresentable", "OptionSet"]) }
}

extension Declaration {
    /// Its own `init(from: any Decoder)`.
    var decodingInitializer: Member? { initializer(labelled: "from") }

    /// An initializer with one parameter of that label.
    func initializer(labelled label: String) -> Member? {
        members.first { member in
            let parameters = member.declaration.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters
            return parameters?.count == 1 && parameters?.first?.firstName.plainText == label
        }
    }

    /// Whether a property or function of that name is declared.
    func declaresVariable(_ name: String) -> Bool {
        members.contains { member in
            member.declaration.as(VariableDeclSyntax.self)?.bindings.contains { binding in
                binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainText == name
            } ?? false
        }
    }
}

extension Declaration.Member {
    /// Whether it is `init?`, `init!` or `init throws`.
    var isFailable: Bool {
        let initializer = declaration.as(InitializerDeclSyntax.self)
        return initializer?.optionalMark != nil || initializer?.signature.effectSpecifiers != nil
    }
}
