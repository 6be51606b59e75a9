internal import SwiftContent
internal import SwiftSyntax

/// A property that a decoder fills.
struct StoredProperty {
    let name: String
    let type: TypeExpression
    let hasDefault: Bool
    let place: SourcePlace
}

/// The stored properties of a struct, in order.
struct StoredProperties {
    private(set) var decoded: [StoredProperty] = []
    /// Stored but never decoded: a `let` with a value, and lazy properties.
    private(set) var fixed: Set<String> = []
    private(set) var problems: [SwiftImportError.Problem] = []

    init(_ declaration: Declaration) {
        for member in declaration.ownMembers {
            if let variable = member.declaration.as(VariableDeclSyntax.self) { read(variable, in: member.file) }
        }
    }

    private mutating func read(_ variable: VariableDeclSyntax, in file: SourceFile) {
        let modifiers = variable.modifiers.map(\.name.text)
        if modifiers.contains("static") || modifiers.contains("class") { return }
        let isStored = variable.bindings.contains { !$0.isComputed }
        guard isStored else { return }
        if let (name, place) = variable.attributes.firstUnknown(in: file) {
            report("@\(name) may be a property wrapper or a macro; how it is decoded cannot be known", at: place)
            return
        }
        let isLet = variable.bindingSpecifier.text == "let"
        let isLazy = modifiers.contains("lazy")
        let bindings = Array(variable.bindings)
        for (position, binding) in bindings.enumerated() where !binding.isComputed {
            guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainText else {
                report("only single names can be read here", at: file.place(of: binding))
                continue
            }
            if isLazy || isLet && binding.initializer != nil {
                fixed.insert(name)
                continue
            }
            guard let type = Self.type(of: binding, followedBy: bindings[(position + 1)...], in: file) else {
                report(
                    "the type of '\(name)' cannot be told from its value; write it: var \(name): …",
                    at: file.place(of: binding)
                )
                continue
            }
            let hasDefault = binding.initializer != nil
            decoded.append(
                StoredProperty(name: name, type: type, hasDefault: hasDefault, place: file.place(of: binding))
            )
        }
    }

    /// The written type: here, or after a later name on the same line; otherwise the type of the literal.
    private static func type(
        of binding: PatternBindingSyntax,
        followedBy rest: ArraySlice<PatternBindingSyntax>,
        in file: SourceFile
    ) -> TypeExpression? {
        if let annotation = binding.typeAnnotation { return TypeExpression(annotation.type, in: file) }
        guard let value = binding.initializer?.value else {
            return rest.lazy.compactMap(\.typeAnnotation).first.map { TypeExpression($0.type, in: file) }
        }
        let name =
            switch Literal(value) {
            case .integer?: "Int"
            case .floatingPoint?: "Double"
            case .text?: "String"
            case .boolean?: "Bool"
            case nil: value.is(StringLiteralExprSyntax.self) ? "String" : nil as String?
            }
        return name.map {
            TypeExpression(
                .named([.init(name: "Swift", arguments: []), .init(name: $0, arguments: [])]),
                at: file.place(of: value)
            )
        }
    }

    private mutating func report(_ message: String, at place: SourcePlace) {
        problems.append(.init(place: place, message: message))
    }
}

extension PatternBindingSyntax {
    /// Whether it has a getter. A property with only observers is stored.
    fileprivate var isComputed: Bool {
        switch accessorBlock?.accessors {
        case nil: false
        case .getter?: true
        case .accessors(let accessors)?:
            accessors.contains { !["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        }
    }
}
