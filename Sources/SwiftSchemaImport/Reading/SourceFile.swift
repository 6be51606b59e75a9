internal import SwiftContent
internal import SwiftParser
internal import SwiftSyntax

/// One parsed source.
struct SourceFile {
    /// The maximum nesting for the parser. SwiftUI views are deep, but less than this.
    private static let maximumNesting = 96

    private let name: String
    private let lineStarts: [Int]
    let tree: SourceFileSyntax

    /// Parses a source.
    ///
    /// - Throws: If any part does not parse. A missing brace could otherwise move members from one type to another.
    init(_ source: SwiftSource) throws(SwiftImportError) {
        name = source.name
        guard BracketBudget.isKept(by: source.text) else {
            throw SwiftImportError("too much is nested, or in one chain, to be read in '\(source.name)'")
        }
        lineStarts =
            [0] + source.text.utf8.enumerated().lazy.filter { $0.element == UInt8(ascii: "\n") }.map { $0.offset + 1 }
        var parser = Parser(source.text, maximumNestingLevel: Self.maximumNesting)
        tree = SourceFileSyntax.parse(from: &parser)
        if tree.hasError {
            throw SwiftImportError(
                "this is not Swift that can be read; the compiler says more about it",
                at: place(offset: Self.offsetOfError(in: Syntax(tree)))
            )
        }
    }

    func place(of node: some SyntaxProtocol) -> SourcePlace {
        place(offset: node.positionAfterSkippingLeadingTrivia.utf8Offset)
    }

    private func place(offset: Int) -> SourcePlace {
        var (low, high) = (0, lineStarts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return SourcePlace(file: name, line: low + 1, column: offset - lineStarts[low] + 1)
    }

    /// The position of the first error. It descends a limited number of levels, because the tree of a hostile source
    /// can be as deep as the source is long.
    private static func offsetOfError(in tree: Syntax) -> Int {
        var node = tree
        for _ in 0..<200 {
            guard let inner = node.children(viewMode: .all).first(where: { $0.hasError }) else { break }
            node = inner
            if node.is(UnexpectedNodesSyntax.self) { break }
        }
        return node.positionAfterSkippingLeadingTrivia.utf8Offset
    }
}
