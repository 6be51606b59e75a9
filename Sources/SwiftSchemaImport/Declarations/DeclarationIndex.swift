internal import SwiftContent
internal import SwiftSyntax

/// All types of all sources, by path.
struct DeclarationIndex {
    private(set) var declarations: [TypePath: Declaration] = [:]
    /// The paths of declared types, in order of appearance.
    private(set) var paths: [TypePath] = []
    private(set) var problems: [SwiftImportError.Problem] = []
    /// Types that depend on an `#if` whose outcome is not known, with its place.
    private(set) var uncertain: [TypePath: SourcePlace] = [:]

    init(_ files: [SourceFile]) {
        for file in files {
            add(file.tree.statements, in: file)
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
            add(extended, in: file)
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
        addInherited(type.inheritanceClause, at: path, in: file)
        add(type.memberBlock.members, \.ownMembers, at: path, in: file)
    }

    private mutating func add(_ extended: ExtensionDeclSyntax, in file: SourceFile) {
        let type = TypeExpression(extended.extendedType, in: file)
        guard case .named(let components) = type.kind else { return }
        let path = components.map(\.name)
        addInherited(extended.inheritanceClause, at: path, in: file)
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

    private mutating func addInherited(_ clause: InheritanceClauseSyntax?, at path: TypePath, in file: SourceFile) {
        let types = clause?.inheritedTypes.flatMap { Self.parts(of: $0.type, in: file) } ?? []
        declarations[path, default: Declaration()].inherited += types
    }

    /// The members of `A & B`, or the type itself.
    private static func parts(of type: TypeSyntax, in file: SourceFile) -> [TypeExpression] {
        let composition = type.as(CompositionTypeSyntax.self)
        return composition?.elements.map { TypeExpression($0.type, in: file) } ?? [TypeExpression(type, in: file)]
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

    /// What `#if` leaves of its branches. Where that cannot be known, none of it, and what they touch is ``uncertain``.
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
                let place = file.place(of: text)
                for clause in condition.clauses {
                    for touched in touched(by: clause.elements, at: path, in: file) { uncertain[touched] = place }
                }
                return nil
            }
        }
        return nil
    }

    /// The types that a branch declares, extends or adds members to.
    private func touched(
        by elements: IfConfigClauseSyntax.Elements?,
        at path: TypePath,
        in file: SourceFile
    ) -> [TypePath] {
        switch elements {
        case .statements(let statements)?:
            statements.compactMap { statement in
                guard case .decl(let declaration) = statement.item else { return nil }
                if let extended = declaration.as(ExtensionDeclSyntax.self) {
                    guard case .named(let names) = TypeExpression(extended.extendedType, in: file).kind else {
                        return nil
                    }
                    return names.map(\.name)
                }
                return (declaration.asProtocol((any NamedDeclSyntax).self)).map { [$0.name.plainText] }
            }
        case .decls(let members)?:
            members.contains { !$0.decl.is(FunctionDeclSyntax.self) } ? [path] : []
        default: []
        }
    }

    private mutating func report(_ message: String, at place: SourcePlace) {
        problems.append(.init(place: place, message: message))
    }
}
