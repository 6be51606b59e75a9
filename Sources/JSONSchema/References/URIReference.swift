/// A URI or a relative reference in its five parts (RFC 3986, appendix B). Every text has these parts. Their characters
/// are not checked.
struct URIReference: Hashable, Sendable {
    /// The maximum length of a schema's URI, in bytes.
    static let maximumLength = 2_048

    private(set) var scheme: String?
    private(set) var authority: String?
    private(set) var path: String
    private(set) var query: String?
    /// The part after `#`: a location inside the document that the other parts name.
    private(set) var fragment: String?

    init(_ text: String) {
        var rest = text[...]
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "#")) {
            fragment = String(rest[rest.utf8.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = String(rest[rest.utf8.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let mark = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }),
            rest.utf8[mark] == UInt8(ascii: ":"), Self.isScheme(rest[..<mark])
        {
            scheme = rest[..<mark].lowercased()
            rest = rest[rest.utf8.index(after: mark)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let name = rest.prefix { $0 != "/" }
            authority = String(name)
            rest = rest[name.endIndex...]
        }
        path = String(rest)
    }

    /// Resolves this reference against the URI of a document (RFC 3986, section 5.2.2).
    func resolved(against base: URIReference) -> URIReference {
        var result = self
        if scheme == nil {
            result.scheme = base.scheme
            if authority == nil {
                result.authority = base.authority
                if path.isEmpty {
                    result.path = base.path
                    result.query = query ?? base.query
                } else if !path.utf8.starts(with: "/".utf8) {
                    result.path = base.directory + path
                }
            }
        }
        result.path = Self.withoutDots(result.path)
        return result
    }

    /// The URI without the part after `#`: the name of a whole document.
    var withoutFragment: URIReference {
        var result = self
        result.fragment = nil
        return result
    }

    /// The text form.
    var text: String {
        var text = ""
        if let scheme { text += scheme + ":" }
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// The path up to its last `/`.
    private var directory: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return authority == nil ? "" : "/" }
        return String(path[...slash])
    }

    /// `ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )`
    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, first.isLetter else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }

    /// Removes dot segments (RFC 3986, section 5.2.4).
    private static func withoutDots(_ path: String) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.contains(where: { $0 == "." || $0 == ".." }) else { return path }
        let isAbsolute = segments[0].isEmpty
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() where !(index == 0 && isAbsolute) {
            switch segment {
            case ".": break
            case "..": _ = kept.popLast()
            default: kept.append(segment)
            }
            if index == segments.count - 1, segment == "." || segment == ".." { kept.append("") }
        }
        return (isAbsolute ? "/" : "") + kept.joined(separator: "/")
    }
}
