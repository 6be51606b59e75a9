internal import JSON

/// One keyword while it is being read: its value, its siblings, its location, and helpers that keywords share.
struct KeywordContext {
    /// The largest count that a keyword may set. No accepted document comes near it.
    static let maximumCount = Int(Int32.max)

    let keyword: String
    let value: JSONValue
    /// The schema around the keyword, as written; its ID and its location.
    let object: JSONObject
    let schema: SchemaNode.ID
    let place: SchemaPlace
    let scope: SchemaScope

    /// A sibling of the keyword, if it exists and has a meaning.
    func neighbour(_ name: String) -> KeywordContext? {
        guard let value = object[name], !scope.vocabularies.isDisjoint(with: Keywords.vocabularies[name] ?? []) else {
            return nil
        }
        return KeywordContext(keyword: name, value: value, object: object, schema: schema, place: place, scope: scope)
    }

    func failure(_ code: SchemaError.Code, _ message: String) -> SchemaError {
        SchemaError(code: code, place: place.appending(keyword), message: message)
    }

    func invalid(_ message: String) -> SchemaError { failure(.invalidKeyword, message) }

    func text() throws(SchemaError) -> String {
        guard let text = value.string else { throw invalid("'\(keyword)' must be a string.") }
        return text
    }

    func number() throws(SchemaError) -> JSONNumber {
        guard let number = value.number else { throw invalid("'\(keyword)' must be a number.") }
        return number
    }

    func count() throws(SchemaError) -> Int {
        guard let number = value.number, number.isInteger, number >= 0 else {
            throw invalid("'\(keyword)' must be an integer, 0 or more.")
        }
        guard let count = number.int64, count <= Self.maximumCount else {
            throw failure(.tooLarge, "'\(keyword)' must be at most \(Self.maximumCount).")
        }
        return Int(count)
    }

    func flag() throws(SchemaError) -> Bool {
        guard let flag = value.bool else { throw invalid("'\(keyword)' must be true or false.") }
        return flag
    }

    func items() throws(SchemaError) -> [JSONValue] {
        guard let items = value.array else { throw invalid("'\(keyword)' must be an array.") }
        return items
    }

    func members() throws(SchemaError) -> [(key: String, value: JSONValue)] {
        guard let object = value.object else { throw invalid("'\(keyword)' must be an object.") }
        return object.entries
    }

    func texts() throws(SchemaError) -> [String] { try texts(value) }

    func texts(_ value: JSONValue) throws(SchemaError) -> [String] {
        let texts = value.array?.compactMap(\.string)
        guard let texts, texts.count == value.array?.count else {
            throw invalid("'\(keyword)' must list member names as strings.")
        }
        return texts
    }

    /// `[A-Za-z_][-A-Za-z0-9._]*`
    func anchor() throws(SchemaError) -> String {
        let name = try text()
        let isInner = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        guard let first = name.utf8.first, name.utf8.allSatisfy(isInner), first > UInt8(ascii: "9") else {
            throw invalid("An anchor is letters, digits, '-', '.' and '_', led by a letter or '_'.")
        }
        return name
    }

    /// Whether the keyword exists in 2020-12 and the dialect has its vocabulary.
    ///
    /// - Throws: If the keyword is unknown and unknown keywords are refused.
    func hasMeaning(_ options: SchemaOptions) throws(SchemaError) -> Bool {
        if let vocabularies = Keywords.vocabularies[keyword] {
            return !scope.vocabularies.isDisjoint(with: vocabularies)
        }
        if keyword.hasPrefix(Keywords.ownPrefix) { return true }
        guard options.unknownKeywords == .refuse else { return false }
        let hint =
            Keywords.replaced[keyword].map { "use \($0)." } ?? "words of your own begin with '\(Keywords.ownPrefix)'."
        throw failure(.unknownKeyword, "'\(keyword)' is not a keyword of JSON Schema 2020-12; \(hint)")
    }
}
