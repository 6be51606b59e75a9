import CNGHTTP2

/// The rules for one response (RFC 9113 §8.1 to §8.3). A response that breaks one is malformed.
///
/// They are those of libnghttp2, whose functions check names and values.
struct ResponseRules {
    private var status = 0
    private var hasStatus = false
    /// Whether only fields may follow in this block, and no `:status`.
    private var isPastStatus = false
    /// Whether the block is that of trailers.
    private var isTrailer = false
    /// Whether an interim response was the last one.
    private(set) var expectsFinal = false
    /// The announced length of the body.
    private var announced: Int?
    private var received = 0

    /// A header block begins.
    ///
    /// - `isFirst`: whether it is the first of this stream.
    mutating func begin(isFirst: Bool) {
        isTrailer = !isFirst && !expectsFinal
    }

    /// Checks one field of the block. False if it is not allowed.
    mutating func field(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard unsafe nghttp2_check_header_name(name.baseAddress, name.count) != 0,
            unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        else { return false }
        if unsafe name[0] == UInt8(ascii: ":") {
            guard !isTrailer, !isPastStatus, !hasStatus, unsafe name.equals(":status") else { return false }
            hasStatus = true
            guard value.count == 3, let number = unsafe Self.number(value), number != 101 else { return false }
            status = number
            return true
        }
        isPastStatus = true
        switch name.count {
        case 2 where unsafe name.equals("te"): return unsafe Self.isTrailers(value)
        case 7 where unsafe name.equals("upgrade"): return false
        case 10 where unsafe name.equals("connection") || name.equals("keep-alive"):
            return false
        case 14 where unsafe name.equals("content-length"): return unsafe length(value)
        case 16 where unsafe name.equals("proxy-connection"): return false
        case 17 where unsafe name.equals("transfer-encoding"): return false
        default: return true
        }
    }

    /// The header block is complete. False if it lacks something.
    mutating func end(endsStream: Bool) -> Bool {
        if isTrailer {
            guard endsStream else { return false }
        } else {
            guard hasStatus else { return false }
            let isInterim = status / 100 == 1
            expectsFinal = isInterim
            if isInterim {
                announced = nil
                hasStatus = false
                isPastStatus = false
                status = 0
            } else if status == 204 || status == 304 {
                announced = 0
            }
        }
        return endsStream ? bodyEnds() : true
    }

    /// Counts a part of the body. False if none was due, or if it is longer than announced.
    mutating func body(_ count: Int) -> Bool {
        received += count
        guard !expectsFinal else { return false }
        return announced.map { received <= $0 } ?? true
    }

    /// The stream ends. False if the response is incomplete.
    func bodyEnds() -> Bool {
        guard !expectsFinal else { return false }
        return announced.map { received == $0 } ?? true
    }

    private mutating func length(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard announced == nil, status / 100 != 1, let count = unsafe Self.number(value) else { return false }
        announced = count
        // RFC 9110 §8.6 forbids the field with 204. Some servers send a zero.
        return status != 204 || (value.count == 1 && count == 0)
    }

    /// The number in decimal digits; `nil` if there is another character, or more than fits.
    private static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !digits.isEmpty else { return nil }
        var number = 0
        for index in digits.indices {
            let digit = unsafe digits[index]
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }

    private static func isTrailers(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        // Bit 5 is the case of a letter.
        unsafe value.count == 8 && zip(value, "trailers".utf8).allSatisfy { $0 | 0x20 == $1 }
    }
}
