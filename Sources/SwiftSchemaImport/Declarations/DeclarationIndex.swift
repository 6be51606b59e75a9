internal import SwiftContent
internal import SwiftSyntax

/// All types of all sources, by path. The schema builder looks types up here.
struct DeclarationIndex {
    private(set) var declarations: [TypePath: Declaration] = [:]
    /// The paths of declared types, in order of appearance.
    private(set) var paths: [TypePath] = []
    private(set) var problems: [SwiftImportError.Problem] = []
    /// Types that depend on an `#if` with an unknown result, and the location of the `#if`.
    private(set) var uncertain: [TypePath: SourcePlace] = [:]
    /// Extensions whose types are not resolved yet. Other files may declare the names.
    private var extensions: [(type: TypeExpression, syntax: ExtensionDeclSyntax, file: SourceFile)] = []
    /// The same for extensions that depend on an `#if`.
    private var uncertainExtensions: [(type: TypeExpression, condition: SourcePlace)] = []

    /// The maximum number of rounds. Each round finds the types that extensions of the round before declare.
    private static let maximumRounds = 64

    init(_ files: [SourceFile]) {
        for file in files {
            add(file.tree.statements, in: file)
        }
        addExtensions()
        for (type, condition) in uncertainExtensions {
            let path = extendedPath(type) ?? extendedPath(type.droppingModule) ?? type.path
            if let path { uncertain[path] = condition }
        }
    }

    private mutating func add(_ statements: CodeBlockItemListSyntax, in file: SourceFile) {
        for statement in statements {
            guard case .decl(let declaration) = statement.item else { continue }
            if let condition = declaration.as(IfConfigDeclSyntax.self) {
                if case .statements(let statements)? = active(condition, at: [], in: file) { add(statements, in: file) }
            } else {
                add(declaration, at: [], in: file)
            }
        }
    }

    // MARK: Types

    private mutating func add(_ declaration: DeclSyntax, at scope: TypePath, in file: SourceFile) {
        if let type = declaration.as(StructDeclSyntax.self) {
            add(type, .structure, type.genericParameterClause, at: scope, in: file)
        } else if let type = declaration.as(EnumDeclSyntax.self) {
            add(type, .enumeration, type.genericParameterClause, at: scope, in: file)
        } else if let type = declaration.as(ClassDeclSyntax.self) {
            add(type, .reference, type.genericParameterClause, at: scope, in: file)
        } else if let type = declaration.as(ActorDeclSyntax.self) {
            add(type, .reference, type.genericParameterClause, at: scope, in: file)
        } else if let type = declaration.as(ProtocolDeclSyntax.self) {
            add(type, .protocolType, nil, at: scope, in: file)
        } else if let alias = declaration.as(TypeAliasDeclSyntax.self) {
            let target = TypeExpression(alias.initializer.value, in: file)
            let head = Declaration.Head(
                kind: .alias(target),
                place: file.place(of: alias),
                isGeneric: alias.genericParameterClause != nil,
                unknownAttribute: nil
            )
            declare(head, at: scope + [alias.name.plainText])
        } else if let extended = declaration.as(ExtensionDeclSyntax.self) {
            extensions.append((TypeExpression(extended.extendedType, in: file), extended, file))
        }
    }

    private mutating func add(
        _ type: some DeclGroupSyntax & NamedDeclSyntax,
        _ kind: Declaration.Kind,
        _ generics: GenericParameterClauseSyntax?,
        at scope: TypePath,
        in file: SourceFile
    ) {
        let path = scope + [type.name.plainText]
        let head = Declaration.Head(
            kind: kind,
            place: file.place(of: type.name),
            isGeneric: generics != nil,
            unknownAttribute: type.attributes.firstUnknown(in: file)
        )
        declare(head, at: path)
        addInherited(type.inheritanceClause, \.ownInherited, at: path, in: file)
        add(type.memberBlock.members, \.ownMembers, at: path, in: file)
    }

    private mutating func add(_ extended: ExtensionDeclSyntax, of path: TypePath, in file: SourceFile) {
        refuseOwnDecoding(extended, of: path, in: file)
        addInherited(extended.inheritanceClause, \.extensionInherited, at: path, in: file)
        add(extended.memberBlock.members, \.extensionMembers, at: path, in: file)
    }

    private mutating func declare(_ head: Declaration.Head, at path: TypePath) {
        if let earlier = declarations[path]?.head {
            report("'\(path.joined(separator: "."))' is declared before, at \(earlier.place)", at: head.place)
            return
        }
        declarations[path, default: Declaration()].head = head
        paths.append(path)
    }

    private mutating func addInherited(
        _ clause: InheritanceClauseSyntax?,
        _ list: WritableKeyPath<Declaration, [TypeExpression]>,
        at path: TypePath,
        in file: SourceFile
    ) {
        let types = clause?.inheritedTypes.flatMap { Self.parts(of: $0.type, in: file) } ?? []
        declarations[path, default: Declaration()][keyPath: list] += types
    }

    /// The parts of `A & B`, or the type itself.
    private static func parts(of type: TypeSyntax, in file: SourceFile) -> [TypeExpression] {
        let composition = type.as(CompositionTypeSyntax.self)
        return composition?.elements.map { TypeExpression($0.type, in: file) } ?? [TypeExpression(type, in: file)]
    }

    // MARK: Extensions

    /// Adds every extension to its type. The name may be an alias and may have a module in front. Extensions of types
    /// outside the sources are added under their written name.
    private mutating func addExtensions() {
        for _ in 0..<Self.maximumRounds where !extensions.isEmpty {
            if addExtensions(where: { $0.extendedPath($1) }) { continue }
            if addExtensions(where: { $0.extendedPath($1.droppingModule) }) { continue }
            if !addExtensions(where: { $1.path }) { return }
        }
        for (type, _, _) in extensions where type.path != nil {
            report("extensions that declare the types of others this deep cannot be read", at: type.place)
        }
    }

    /// - Returns: Whether a path was found for at least one extension.
    private mutating func addExtensions(where path: (DeclarationIndex, TypeExpression) -> TypePath?) -> Bool {
        let known = extensions.map { path(self, $0.type) }
        let all = extensions
        extensions = []
        for (path, extended) in zip(known, all) {
            if let path {
                add(extended.syntax, of: path, in: extended.file)
            } else {
                extensions.append(extended)
            }
        }
        return known.contains { $0 != nil }
    }

    /// The type of the sources behind a written type and its aliases; `nil` for any other type.
    private func extendedPath(_ type: TypeExpression) -> TypePath? {
        if case .declared(let path)? = target(of: type, in: []) { path } else { nil }
    }

    /// Synthesized decoding calls a custom `decode` for a certain type, if one exists, instead of the standard
    /// library's.
    private static let containers: Set<String> = [
        "KeyedDecodingContainer", "KeyedDecodingContainerProtocol", "UnkeyedDecodingContainer",
    ]
    private static let decoding: Set<String> = ["decode", "decodeIfPresent", "nestedContainer"]

    private mutating func refuseOwnDecoding(_ extended: ExtensionDeclSyntax, of path: TypePath, in file: SourceFile) {
        guard let name = path.last, Self.containers.contains(name), path.count == 1 || path == ["Swift", name] else {
            return
        }
        let own = extended.memberBlock.members.first { member in
            guard let function = member.decl.as(FunctionDeclSyntax.self) else {
                return member.decl.is(IfConfigDeclSyntax.self)
            }
            return Self.decoding.contains(function.name.plainText)
        }
        guard let own else { return }
        report(
            "what an extension of \(name) reads cannot be known, and the decoding of every type may call it; "
                + "write the schemas by hand",
            at: file.place(of: own)
        )
    }

    // MARK: Members

    private mutating func add(
        _ members: MemberBlockItemListSyntax,
        _ list: WritableKeyPath<Declaration, [Declaration.Member]>,
        at path: TypePath,
        in file: SourceFile
    ) {
        for item in members {
            if let condition = item.decl.as(IfConfigDeclSyntax.self) {
                if case .decls(let members)? = active(condition, at: path, in: file) {
                    add(members, list, at: path, in: file)
                }
            } else if item.decl.is(MacroExpansionDeclSyntax.self) {
                report("what a macro declares here cannot be known", at: file.place(of: item))
            } else {
                let member = Declaration.Member(declaration: item.decl, file: file)
                declarations[path, default: Declaration()][keyPath: list].append(member)
                add(item.decl, at: path, in: file)
            }
        }
    }

    /// The active branch of an `#if`. If the result is unknown, it is `nil`, and the affected types become
    /// ``uncertain``.
    private mutating func active(
        _ condition: IfConfigDeclSyntax,
        at path: TypePath,
        in file: SourceFile
    ) -> IfConfigClauseSyntax.Elements? {
        for clause in condition.clauses {
            guard let text = clause.condition else { return clause.elements }
            switch ConditionalCompilation.holds(text) {
            case true?: return clause.elements
            case false?: continue
            case nil:
                touch(condition, at: path, file.place(of: text), in: file)
                return nil
            }
        }
        return nil
    }

    /// Marks the types that the branches declare, extend or add members to.
    private mutating func touch(
        _ condition: IfConfigDeclSyntax,
        at path: TypePath,
        _ place: SourcePlace,
        in file: SourceFile
    ) {
        for clause in condition.clauses {
            switch clause.elements {
            case .statements(let statements)?:
                for case .decl(let declaration) in statements.map(\.item) {
                    if let inner = declaration.as(IfConfigDeclSyntax.self) {
                        touch(inner, at: path, place, in: file)
                    } else if let extended = declaration.as(ExtensionDeclSyntax.self) {
                        let type = TypeExpression(extended.extendedType, in: file)
                        if let path = type.path { refuseOwnDecoding(extended, of: path, in: file) }
                        uncertainExtensions.append((type, place))
                    } else if let named = declaration.asProtocol((any NamedDeclSyntax).self) {
                        uncertain[[named.name.plainText]] = place
                    }
                }
            case .decls(let members)?:
                if members.contains(where: { !$0.decl.is(FunctionDeclSyntax.self) }) { uncertain[path] = place }
            default: break
            }
        }
    }

    private mutating func report(_ message: String, at place: SourcePlace) {
        problems.append(.init(place: place, message: message))
    }
}

extension TypeExpression {
    /// The names as written; `nil` for a type without a name.
    fileprivate var path: TypePath? {
        guard case .named(let components) = kind else { return nil }
        return components.map(\.name)
    }

    /// The type without the first of several names, which may be a module; unchanged if it has one name.
    fileprivate var droppingModule: TypeExpression {
        guard case .named(let components) = kind, components.count > 1 else { return self }
        return TypeExpression(.named(Array(components.dropFirst())), at: place)
    }
}
