/// Reads one document, strictly by RFC 8259, with one look at every byte.
struct JSONParser {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var position = 0

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func parseDocument() throws(JSONParsingError) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw failure(.syntax, "A document must not begin with a byte order mark.")
        }
        skipWhitespace()
        let value = try parseValue(depth: 0)
        skipWhitespace()
        if position < bytes.count { throw failure(.syntax, "Nothing may follow the value, found \(found).") }
        return value
    }

    // MARK: Values

    private mutating func parseValue(depth: Int) throws(JSONParsingError) -> JSONValue {
        guard position < bytes.count else {
            throw failure(.unexpectedEnd, "The document ends where a value is expected.")
        }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            return .object(try parseObject(depth: depth + 1))
        case UInt8(ascii: "["):
            return .array(try parseArray(depth: depth + 1))
        case UInt8(ascii: "\""):
            return .string(try parseString())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try parseNumber())
        case UInt8(ascii: "t"):
            try skip(word: "true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try skip(word: "false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try skip(word: "null")
            return .null
        default:
            throw failure(.syntax, "Expected a value, found \(found).")
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONParsingError) -> JSONObject {
        try enter(depth)
        var object = JSONObject()
        skipWhitespace()
        if skip(UInt8(ascii: "}")) { return object }
        while true {
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw unexpected("a key in double quotes")
            }
            let keyPosition = position
            let key = try parseString()
            skipWhitespace()
            guard skip(UInt8(ascii: ":")) else { throw unexpected("':' after a key") }
            skipWhitespace()
            let value = try parseValue(depth: depth)
            guard object.appendIfNew(key, value) else {
                throw failure(.duplicateKey, "The key \"\(key)\" is repeated in one object.", at: keyPosition)
            }
            skipWhitespace()
            if skip(UInt8(ascii: "}")) { return object }
            guard skip(UInt8(ascii: ",")) else { throw unexpected("',' or '}'") }
            skipWhitespace()
        }
    }

    private mutating func parseArray(depth: Int) throws(JSONParsingError) -> [JSONValue] {
        try enter(depth)
        var items: [JSONValue] = []
        skipWhitespace()
        if skip(UInt8(ascii: "]")) { return items }
        while true {
            items.append(try parseValue(depth: depth))
            skipWhitespace()
            if skip(UInt8(ascii: "]")) { return items }
            guard skip(UInt8(ascii: ",")) else { throw unexpected("',' or ']'") }
            skipWhitespace()
        }
    }

    private mutating func parseNumber() throws(JSONParsingError) -> JSONNumber {
        let start = position
        var scanner = NumberScanner(bytes: bytes, position: start)
        let outcome = scanner.scan()
        position = scanner.position
        switch outcome {
        case .number:
            return JSONNumber(scanned: String(decoding: bytes[start..<position], as: UTF8.self))
        case .malformed(let expected):
            throw unexpected(expected)
        case .exponentTooLarge:
            throw failure(.numberOutOfRange, "The exponent of this number is out of range.", at: start)
        }
    }

    private mutating func parseString() throws(JSONParsingError) -> String {
        var reader = StringReader(bytes: bytes, position: position + 1)
        let text = try reader.read()
        position = reader.position
        return text
    }

    // MARK: Steps

    private mutating func enter(_ depth: Int) throws(JSONParsingError) {
        if depth > maximumDepth {
            throw failure(.tooDeep, "Arrays and objects are nested deeper than \(maximumDepth) levels.")
        }
        position += 1
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skip(word: StaticString) throws(JSONParsingError) {
        let start = position
        for scalar in word.description.utf8 where !skip(scalar) {
            throw position < bytes.count
                ? failure(.syntax, "Expected \(word), found something else.", at: start)
                : failure(.unexpectedEnd, "The document ends within a word.")
        }
    }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    // MARK: Failures

    private func unexpected(_ expected: String) -> JSONParsingError {
        position < bytes.count
            ? failure(.syntax, "Expected \(expected), found \(found).")
            : failure(.unexpectedEnd, "The document ends where \(expected) is expected.")
    }

    private func failure(_ code: JSONParsingError.Code, _ message: String, at offset: Int? = nil) -> JSONParsingError {
        JSONParsingError(code: code, offset: offset ?? position, message: message)
    }

    /// The byte at hand, in words.
    private var found: String {
        guard position < bytes.count else { return "the end" }
        let byte = bytes[position]
        guard (0x21...0x7E).contains(byte) else { return "byte 0x" + String(byte, radix: 16, uppercase: true) }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}

extension JSONValue {
    /// Reads a whole document, strictly by RFC 8259.
    ///
    /// Refused beyond the grammar: repeated keys, bytes that are not UTF-8, halves of surrogate pairs, a byte order
    /// mark, more than `maximumDepth` arrays and objects inside each other, exponents beyond
    /// ``JSONNumber/maximumExponent``.
    package static func parse(_ bytes: [UInt8], maximumDepth: Int = 64) throws(JSONParsingError) -> JSONValue {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        return try parser.parseDocument()
    }

    /// Reads a whole document from any bytes; see ``parse(_:maximumDepth:)``.
    package static func parse(
        _ bytes: some Sequence<UInt8>,
        maximumDepth: Int = 64
    ) throws(JSONParsingError) -> JSONValue {
        try parse(Array(bytes), maximumDepth: maximumDepth)
    }

    /// Reads a whole document from text; offsets of errors count its UTF-8 bytes.
    package init(parsing text: String) throws(JSONParsingError) {
        self = try Self.parse(Array(text.utf8))
    }
}
