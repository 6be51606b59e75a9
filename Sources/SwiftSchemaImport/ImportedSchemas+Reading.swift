internal import JSON
package import SwiftContent

extension ImportedSchemas {
    /// Imports schemas from Swift sources.
    ///
    /// - Throws: Everything that cannot be determined, with locations; see ``SwiftImportError``.
    package init(_ request: ImportRequest) throws(SwiftImportError) {
        let sources = request.sources
        guard sources.reduce(0, { $0 + $1.text.utf8.count }) <= SwiftSource.maximumBytes else {
            throw SwiftImportError("the sources have more than \(SwiftSource.maximumBytes) bytes together")
        }
        let supplied = try SuppliedSchemas(request.supplied)
        var files: [SourceFile] = []
        for source in sources { files.append(try SourceFile(source)) }
        let index = DeclarationIndex(files)
        guard index.problems.isEmpty else { throw SwiftImportError(index.problems) }
        let root = try Self.root(named: request.typeName, in: index)
        let (attributes, attributesProblems) = SchemaBuilder.document(for: root, index, supplied)
        let (contentState, contentStateProblems) = try Self.contentState(of: root, index, supplied)
        let problems = attributesProblems + contentStateProblems.filter { !attributesProblems.contains($0) }
        guard let attributes, let contentState, problems.isEmpty else {
            throw SwiftImportError(Array(problems.prefix(SwiftImportError.maximumProblems)))
        }
        self.init(typeName: root.last ?? "", attributes: attributes, contentState: contentState)
    }

    private static func root(named name: String?, in index: DeclarationIndex) throws(SwiftImportError) -> TypePath {
        let all = index.paths.filter { path in
            guard case .structure? = index.declarations[path]?.head?.kind, let declaration = index.declarations[path]
            else { return false }
            return Conformances(declaration.inherited, scope: path, index: index).foreign.contains("ActivityAttributes")
        }
        let found = name.map { name in all.filter { $0.last == name } } ?? all
        if found.count == 1 { return found[0] }
        let names = all.map { $0.joined(separator: ".") }.joined(separator: ", ")
        let wanted = name.map { "no struct '\($0)' that" } ?? "not one struct that"
        let others = all.isEmpty ? "" : "; there are: \(names)"
        throw SwiftImportError("there is \(wanted) conforms to ActivityAttributes\(others)")
    }

    private static func contentState(
        of root: TypePath,
        _ index: DeclarationIndex,
        _ supplied: SuppliedSchemas
    ) throws(SwiftImportError) -> (JSONValue?, [SwiftImportError.Problem]) {
        let place = index.declarations[root]?.head?.place
        guard place != nil, index.declarations[root + ["ContentState"]]?.head != nil else {
            let name = root.joined(separator: ".")
            throw SwiftImportError("'\(name)' declares no type ContentState inside it", at: place)
        }
        let name = TypeExpression.Component(name: "ContentState", arguments: [])
        let type = TypeExpression(.named([name]), at: place ?? SourcePlace(file: "", line: 1, column: 1))
        guard case .declared(let path)? = index.target(of: type, in: root) else {
            throw SwiftImportError("the sources do not declare the type behind ContentState", at: place)
        }
        return SchemaBuilder.document(for: path, index, supplied)
    }
}
