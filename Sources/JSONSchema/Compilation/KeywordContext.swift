internal import JSON

/// One keyword while it is read: its value, its neighbours and its place, with the readings that keywords share.
struct KeywordContext {
    let keyword: String
    let value: JSONValue
    /// The schema that the keyword stands in.
    let object: JSONObject
    /// The place of that schema.
    let schema: JSONPointer

    /// The place of the keyword.
    var place: JSONPointer { schema.appending(keyword) }

    var isAtRoot: Bool { schema.tokens.isEmpty }

    func invalid(_ message: String) -> SchemaError {
        SchemaError(code: .invalidKeyword, pointer: place, message: message)
    }

    func text() throws(SchemaError) -> String {
        guard let text = value.string else { throw invalid("'\(keyword)' must be a string.") }
        return text
    }

    func number() throws(SchemaError) -> JSONNumber {
        guard let number = value.number else { throw invalid("'\(keyword)' must be a number.") }
        return number
    }

    /// A count; one beyond `Int` is as good as the largest.
    func count() throws(SchemaError) -> Int {
        guard let number = value.number, number.isInteger, number >= 0 else {
            throw invalid("'\(keyword)' must be an integer, 0 or more.")
        }
        return number.int64.map { Int($0) } ?? Int.max
    }

    /// The count that a neighbour gives, if it is there.
    func count(of neighbour: String) throws(SchemaError) -> Int? {
        guard let value = object[neighbour] else { return nil }
        return try KeywordContext(keyword: neighbour, value: value, object: object, schema: schema).count()
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

    /// Lets annotations pass and refuses every word that is none.
    func checkAnnotation() throws(SchemaError) {
        if Keywords.textAnnotations.contains(keyword) { _ = try text() }
        if keyword.hasPrefix(Keywords.ownPrefix) || Keywords.annotations.contains(keyword) {
            return
        }
        if Keywords.unsupported.contains(keyword) {
            let message = "'\(keyword)' is not supported, and ignoring it could let wrong values through."
            throw SchemaError(code: .unsupportedKeyword, pointer: place, message: message)
        }
        let hint =
            Keywords.replaced[keyword].map { "use \($0)." } ?? "words of your own begin with '\(Keywords.ownPrefix)'."
        let message = "'\(keyword)' is not a keyword of JSON Schema 2020-12; \(hint)"
        throw SchemaError(code: .unknownKeyword, pointer: place, message: message)
    }
}
