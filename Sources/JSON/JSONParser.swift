/// Parses one document, strictly by RFC 8259, in a single pass. The caller must pass the same bytes to all methods.
struct JSONParser {
    private let maximumDepth: Int
    private let refusesNUL: Bool
    private var position = 0

    init(maximumDepth: Int, refusesNUL: Bool) {
        self.maximumDepth = maximumDepth
        self.refusesNUL = refusesNUL
    }

    mutating func parseDocument(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw failure(.syntax, "A document must not begin with a byte order mark.")
        }
        skipWhitespace(bytes)
        let value = try parseValue(bytes, depth: 0)
        skipWhitespace(bytes)
        if position < bytes.count { throw failure(.syntax, "Nothing may follow the value, found \(found(bytes)).") }
        return value
    }

    // MARK: Values

    private mutating func parseValue(_ bytes: Span<UInt8>, depth: Int) throws(JSONParsingError) -> JSONValue {
        guard position < bytes.count else {
            throw failure(.unexpectedEnd, "The document ends where a value is expected.")
        }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            return .object(try parseObject(bytes, depth: depth + 1))
        case UInt8(ascii: "["):
            return .array(try parseArray(bytes, depth: depth + 1))
        case UInt8(ascii: "\""):
            return .string(try parseString(bytes).text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try parseNumber(bytes))
        case UInt8(ascii: "t"):
            try skip(bytes, word: "true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try skip(bytes, word: "false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try skip(bytes, word: "null")
            return .null
        default:
            throw failure(.syntax, "Expected a value, found \(found(bytes)).")
        }
    }

    private mutating func parseObject(_ bytes: Span<UInt8>, depth: Int) throws(JSONParsingError) -> JSONObject {
        try enter(depth)
        var object = JSONObject()
        var kinds = KeyKinds()
        skipWhitespace(bytes)
        if skip(bytes, UInt8(ascii: "}")) { return object }
        while true {
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw unexpected(bytes, "a key in double quotes")
            }
            let keyPosition = position
            let (key, keyHasEscapes) = try parseString(bytes)
            let isNew = kinds.insert(bytes, keyPosition..<position, hasEscapes: keyHasEscapes)
            skipWhitespace(bytes)
            guard skip(bytes, UInt8(ascii: ":")) else { throw unexpected(bytes, "':' after a key") }
            skipWhitespace(bytes)
            let value = try parseValue(bytes, depth: depth)
            guard object.append(key, value, isNew: isNew) else {
                throw failure(.duplicateKey, "The key \"\(key)\" is repeated in one object.", at: keyPosition)
            }
            skipWhitespace(bytes)
            if skip(bytes, UInt8(ascii: "}")) { return object }
            guard skip(bytes, UInt8(ascii: ",")) else { throw unexpected(bytes, "',' or '}'") }
            skipWhitespace(bytes)
        }
    }

    private mutating func parseArray(_ bytes: Span<UInt8>, depth: Int) throws(JSONParsingError) -> [JSONValue] {
        try enter(depth)
        var items: [JSONValue] = []
        skipWhitespace(bytes)
        if skip(bytes, UInt8(ascii: "]")) { return items }
        while true {
            items.append(try parseValue(bytes, depth: depth))
            skipWhitespace(bytes)
            if skip(bytes, UInt8(ascii: "]")) { return items }
            guard skip(bytes, UInt8(ascii: ",")) else { throw unexpected(bytes, "',' or ']'") }
            skipWhitespace(bytes)
        }
    }

    private mutating func parseNumber(_ bytes: Span<UInt8>) throws(JSONParsingError) -> JSONNumber {
        let start = position
        var scanner = NumberScanner(position: start)
        let outcome = scanner.scan(bytes)
        position = scanner.position
        switch outcome {
        case .number:
            return JSONNumber(scanned: String(checked: bytes.extracting(start..<position), isASCII: true))
        case .malformed(let expected):
            throw unexpected(bytes, expected)
        case .exponentTooLarge:
            throw failure(.numberOutOfRange, "The exponent of this number is out of range.", at: start)
        }
    }

    private mutating func parseString(_ bytes: Span<UInt8>) throws(JSONParsingError) -> (text: String, hasEscapes: Bool)
    {
        var reader = StringReader(position: position + 1, refusesNUL: refusesNUL)
        let text = try reader.read(bytes)
        position = reader.position
        return (text, reader.hasEscapes)
    }

    // MARK: Steps

    private mutating func enter(_ depth: Int) throws(JSONParsingError) {
        if depth > maximumDepth {
            throw failure(.tooDeep, "Arrays and objects are nested deeper than \(maximumDepth) levels.")
        }
        position += 1
    }

    private mutating func skip(_ bytes: Span<UInt8>, _ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ bytes: Span<UInt8>, word: StaticString) throws(JSONParsingError) {
        let start = position
        for scalar in word.description.utf8 where !skip(bytes, scalar) {
            throw position < bytes.count
                ? failure(.syntax, "Expected \(word), found something else.", at: start)
                : failure(.unexpectedEnd, "The document ends within a word.")
        }
    }

    private mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    // MARK: Failures

    private func unexpected(_ bytes: Span<UInt8>, _ expected: String) -> JSONParsingError {
        position < bytes.count
            ? failure(.syntax, "Expected \(expected), found \(found(bytes)).")
            : failure(.unexpectedEnd, "The document ends where \(expected) is expected.")
    }

    private func failure(_ code: JSONParsingError.Code, _ message: String, at offset: Int? = nil) -> JSONParsingError {
        JSONParsingError(code: code, offset: offset ?? position, message: message)
    }

    /// A description of the current byte, for messages.
    private func found(_ bytes: Span<UInt8>) -> String {
        guard position < bytes.count else { return "the end" }
        let byte = bytes[position]
        guard (0x21...0x7E).contains(byte) else { return "byte 0x" + String(byte, radix: 16, uppercase: true) }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}

/// The kinds of keys seen in one object: 64 classes by length, first byte and last byte. A key of a new kind is
/// certainly new and needs no lookup.
private struct KeyKinds {
    private var seen: UInt64 = 0

    /// Adds a key in its quotes; true if it is the first of its kind.
    mutating func insert(_ bytes: Span<UInt8>, _ key: Range<Int>, hasEscapes: Bool) -> Bool {
        // An escape can spell the same key differently, so its kind proves nothing.
        if hasEscapes {
            seen = .max
            return false
        }
        let ends = bytes[key.lowerBound + 1] &* 7 ^ bytes[key.upperBound - 2]
        let kind: UInt64 = 1 << UInt64((ends &+ UInt8(truncatingIfNeeded: key.count) &* 5) & 63)
        defer { seen |= kind }
        return seen & kind == 0
    }
}

extension JSONValue {
    /// Parses a whole document, strictly by RFC 8259.
    ///
    /// Beyond the grammar, it refuses:
    /// - repeated keys
    /// - bytes that are not UTF-8, halves of surrogate pairs, a byte order mark
    /// - arrays and objects nested deeper than `maximumDepth`
    /// - exponents of more than ``JSONNumber/maximumExponentDigits``
    /// - with `refusesNUL`, the escape `\u0000`: Postgres stores it in a `json` column and then cannot read it
    package static func parse(
        _ bytes: [UInt8],
        maximumDepth: Int = 64,
        refusesNUL: Bool = false
    ) throws(JSONParsingError) -> JSONValue {
        var parser = JSONParser(maximumDepth: maximumDepth, refusesNUL: refusesNUL)
        return try parser.parseDocument(bytes.span)
    }

    /// Parses a whole document from text. Offsets of errors count UTF-8 bytes.
    package init(parsing text: String) throws(JSONParsingError) {
        self = try Self.parse(Array(text.utf8))
    }
}
