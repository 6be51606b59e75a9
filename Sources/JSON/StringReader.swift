/// Reads the inside of one string of a document, from behind the opening quote to behind the closing one.
///
/// A string without escapes, which is nearly every one, is copied as one slice.
struct StringReader {
    private let bytes: [UInt8]
    private(set) var position: Int

    init(bytes: [UInt8], position: Int) {
        self.bytes = bytes
        self.position = position
    }

    mutating func read() throws(JSONParsingError) -> String {
        var unescaped: [UInt8] = []
        var hasEscapes = false
        var isASCII = true
        let start = position
        var sliceStart = start
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let end = position
                position += 1
                if !isASCII { try checkUTF8(start..<end) }
                if !hasEscapes { return String(decoding: bytes[start..<end], as: UTF8.self) }
                unescaped.append(contentsOf: bytes[sliceStart..<end])
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                unescaped.append(contentsOf: bytes[sliceStart..<position])
                try readEscape(into: &unescaped)
                sliceStart = position
            case 0..<0x20:
                throw failure(.syntax, "A control character in a string must be written as an escape.")
            default:
                if byte >= 0x80 { isASCII = false }
                position += 1
            }
        }
        throw failure(.unexpectedEnd, "The document ends within a string.")
    }

    // MARK: Escapes

    private mutating func readEscape(into unescaped: inout [UInt8]) throws(JSONParsingError) {
        let start = position
        position += 1
        guard position < bytes.count else { throw failure(.unexpectedEnd, "The document ends within a string.") }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(letter)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): unescaped.append(contentsOf: try readScalar(from: start).utf8)
        default: throw failure(.invalidEscape, "A backslash must be followed by one of \"\\/bfnrtu.", at: start)
        }
    }

    /// One scalar from one `\u` escape or from two that form a surrogate pair.
    private mutating func readScalar(from start: Int) throws(JSONParsingError) -> Unicode.Scalar {
        let first = try readHexadecimal(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw failure(.loneSurrogate, "A surrogate escape must be one of a pair.", at: start) }
        position += 2
        let second = try readHexadecimal(from: start)
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw failure(.loneSurrogate, "A surrogate escape must be one of a pair.", at: start) }
        return scalar
    }

    private mutating func readHexadecimal(from start: Int) throws(JSONParsingError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard position < bytes.count else { throw failure(.unexpectedEnd, "The document ends within a string.") }
            guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else {
                throw failure(.invalidEscape, "\\u must be followed by four hexadecimal digits.", at: start)
            }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }

    // MARK: UTF-8

    private func checkUTF8(_ range: Range<Int>) throws(JSONParsingError) {
        var validation = UTF8Validation()
        for index in range where !validation.accept(bytes[index]) {
            throw failure(.invalidUTF8, "The bytes of a string must be UTF-8.", at: index)
        }
        if !validation.isComplete {
            throw failure(.invalidUTF8, "The bytes of a string must be UTF-8.", at: range.upperBound)
        }
    }

    private func failure(_ code: JSONParsingError.Code, _ message: String, at offset: Int? = nil) -> JSONParsingError {
        JSONParsingError(code: code, offset: offset ?? position, message: message)
    }
}
