/// Reads one string of a document, from after the opening quote to after the closing one.
///
/// A string without escapes is copied as one slice. Nearly every string is.
struct StringReader {
    private(set) var position: Int
    private(set) var hasEscapes = false
    private let refusesNUL: Bool

    init(position: Int, refusesNUL: Bool) {
        self.position = position
        self.refusesNUL = refusesNUL
    }

    mutating func read(_ bytes: Span<UInt8>) throws(JSONParsingError) -> String {
        var unescaped: [UInt8] = []
        var isASCII = true
        let start = position
        var sliceStart = start
        while true {
            isASCII = skipPlain(bytes) && isASCII
            guard position < bytes.count else { throw failure(.unexpectedEnd, "The document ends within a string.") }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let end = position
                position += 1
                if !isASCII { try checkUTF8(bytes, start..<end) }
                if !hasEscapes { return String(checked: bytes.extracting(start..<end), isASCII: isASCII) }
                unescaped.append(bytes, sliceStart..<end)
                return String(checked: unescaped.span, isASCII: false)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                unescaped.append(bytes, sliceStart..<position)
                try readEscape(bytes, into: &unescaped)
                sliceStart = position
            default:
                throw failure(.syntax, "A control character in a string must be written as an escape.")
            }
        }
    }

    /// Skips plain bytes; true if all are ASCII.
    private mutating func skipPlain(_ bytes: Span<UInt8>) -> Bool {
        let (end, areASCII) = PlainBytes.skip(bytes, from: position)
        position = end
        return areASCII
    }

    // MARK: Escapes

    private mutating func readEscape(_ bytes: Span<UInt8>, into unescaped: inout [UInt8]) throws(JSONParsingError) {
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
        case UInt8(ascii: "u"):
            let scalar = try readScalar(bytes, from: start)
            if refusesNUL, scalar == "\0" { throw failure(.nul, "The character U+0000 is not taken.", at: start) }
            unescaped.append(contentsOf: scalar.utf8)
        default: throw failure(.invalidEscape, "A backslash must be followed by one of \"\\/bfnrtu.", at: start)
        }
    }

    /// Reads one scalar from one `\u` escape, or from two that form a surrogate pair.
    private mutating func readScalar(_ bytes: Span<UInt8>, from start: Int) throws(JSONParsingError) -> Unicode.Scalar {
        let first = try readHexadecimal(bytes, from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw failure(.loneSurrogate, "A surrogate escape must be one of a pair.", at: start) }
        position += 2
        let second = try readHexadecimal(bytes, from: start)
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw failure(.loneSurrogate, "A surrogate escape must be one of a pair.", at: start) }
        return scalar
    }

    private mutating func readHexadecimal(_ bytes: Span<UInt8>, from start: Int) throws(JSONParsingError) -> UInt16 {
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

    private func checkUTF8(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONParsingError) {
        do {
            _ = try UTF8Span(validating: bytes.extracting(range))
        } catch {
            throw firstFault(bytes, range)
        }
    }

    /// Finds the first byte that violates the encoding. The standard library reports only where the broken sequence
    /// begins.
    private func firstFault(_ bytes: Span<UInt8>, _ range: Range<Int>) -> JSONParsingError {
        var validation = UTF8Validation()
        for index in range where !validation.accept(bytes[index]) {
            return failure(.invalidUTF8, "The bytes of a string must be UTF-8.", at: index)
        }
        return failure(.invalidUTF8, "The bytes of a string must be UTF-8.", at: range.upperBound)
    }

    private func failure(_ code: JSONParsingError.Code, _ message: String, at offset: Int? = nil) -> JSONParsingError {
        JSONParsingError(code: code, offset: offset ?? position, message: message)
    }
}

extension [UInt8] {
    /// Appends a part of some bytes.
    fileprivate mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        for index in range { append(bytes[index]) }
    }
}

extension String {
    /// The text of bytes that are known to be UTF-8: numbers, and strings that ``StringReader`` has checked.
    init(checked bytes: Span<UInt8>, isASCII: Bool) {
        self.init(copying: UTF8Span(unchecked: bytes, isKnownASCII: isASCII))
    }
}
