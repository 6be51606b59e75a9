/// The meaning of a written name.
enum Meaning {
    /// A type of the sources.
    case declared(TypePath)
    /// An alias of another type, and the scope in which to look that up.
    case alias(TypeExpression, scope: TypePath)
    /// A name that the sources do not declare.
    case foreign(String)
}

extension DeclarationIndex {
    /// Modules whose name may precede a type name.
    private static let modules: Set<String> = ["Swift", "Foundation", "ActivityKit", "CoreGraphics", "CoreFoundation"]
    private static let maximumAliases = 32

    /// Looks a name up from inside a type: first its own members, then those of the enclosing types.
    func meaning(of components: [TypeExpression.Component], in scope: TypePath, depth: Int = 0) -> Meaning {
        let names = components.map(\.name)
        let foreign = Meaning.foreign(
            names.count > 1 && Self.modules.contains(names[0])
                ? names.dropFirst().joined(separator: ".") : names.joined(separator: ".")
        )
        var around = scope
        while true {
            let first = around + [names[0]]
            if declarations[first]?.head != nil {
                return member(names.dropFirst(), of: first, depth: depth) ?? foreign
            }
            guard !around.isEmpty else { return foreign }
            around.removeLast()
        }
    }

    private func member(_ names: ArraySlice<String>, of path: TypePath, depth: Int) -> Meaning? {
        guard let head = declarations[path]?.head else { return nil }
        let scope = Array(path.dropLast())
        guard let next = names.first else {
            if case .alias(let target) = head.kind { return .alias(target, scope: scope) }
            return .declared(path)
        }
        if case .alias(let target) = head.kind {
            guard depth < Self.maximumAliases, case .named(let components) = target.kind,
                case .declared(let real) = meaning(of: components, in: scope, depth: depth + 1)
            else { return nil }
            return member(names, of: real, depth: depth + 1)
        }
        return member(names.dropFirst(), of: path + [next], depth: depth)
    }

    /// Follows a name through aliases to the final type; `nil` if that is not a plain name.
    func target(of type: TypeExpression, in scope: TypePath) -> Meaning? {
        var (type, scope) = (type, scope)
        for _ in 0..<Self.maximumAliases {
            guard case .named(let components) = type.kind else { return nil }
            let meaning = meaning(of: components, in: scope)
            guard case .alias(let next, let nextScope) = meaning else { return meaning }
            (type, scope) = (next, nextScope)
        }
        return nil
    }
}
