import APITypes

/// The names and values of a query or of a form, in their order.
package struct FormFields: Sendable, Hashable {
    /// The most pairs that are read.
    static let most = 200

    private(set) var entries: [Entry]
    /// Whether the text has more pairs than are read.
    let isCut: Bool

    struct Entry: Sendable, Hashable {
        let name: String
        let value: String
    }

    /// Reads `application/x-www-form-urlencoded` text. Pairs that are not percent-encoded UTF-8 are left out.
    init(_ text: some StringProtocol) {
        let pairs = text.split(separator: "&", maxSplits: Self.most)
        isCut = pairs.count > Self.most
        entries = pairs.prefix(Self.most).compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0], isForm: true),
                let value = PercentEncoding.decode(parts.count > 1 ? parts[1] : "", isForm: true)
            else { return nil }
            return Entry(name: name, value: value)
        }
    }

    /// The first value of that name, without surrounding white space; nil if it is absent or empty.
    ///
    /// It is for what people type. An id may begin and end with a blank: ``exact(_:)`` reads one.
    subscript(name: String) -> String? {
        guard let value = raw(name) else { return nil }
        let trimmed = value.trimmed
        return trimmed.isEmpty ? nil : trimmed
    }

    /// The first value of that name as it was sent; nil if it is absent or empty. Without its blanks, an id is another one.
    func exact(_ name: String) -> String? { raw(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// The first value of that name as it was sent; nil if it is absent.
    func raw(_ name: String) -> String? { entries.first { $0.name == name }?.value }

    /// All values of that name.
    func all(_ name: String) -> [String] { entries.filter { $0.name == name }.map(\.value) }
}

extension StringProtocol {
    /// The text without white space at both ends.
    var trimmed: String {
        let start = drop { $0.isWhitespace }
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...end])
    }
}
