import JSON
import Testing

@Suite("JSON numbers")
struct JSONNumberTests {
    @Test(
        "An exact Int64 is found in every way to write it",
        arguments: [
            ("0", 0), ("-0", 0), ("1", 1), ("1.0", 1), ("1e3", 1000), ("1E+3", 1000), ("12.50e1", 125), ("100e-2", 1),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775807.000", .max),
            ("0e999999999", 0), ("0.0000", 0), ("-5.00", -5), ("1e18", 1_000_000_000_000_000_000),
        ] as [(String, Int64)]
    )
    func exactInteger(digits: String, value: Int64) throws {
        let number = try #require(JSONNumber(digits: digits))
        #expect(number.int64 == value)
        #expect(number.digits == digits)
        #expect(number.isInteger)
    }

    @Test(
        "What Int64 cannot hold exactly is not one",
        arguments: [
            "1.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e999999999", "1e-1", "1e-999999999", "0.1",
            "99999999999999999999999999999999999999",
        ]
    )
    func notAnInteger(digits: String) throws {
        #expect(try #require(JSONNumber(digits: digits)).int64 == nil)
    }

    @Test(
        "Only JSON's own grammar is a number",
        arguments: [
            "", "+1", "01", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", " 1", "1 ", "1_000", "--1",
            "1e9999999999",
        ]
    )
    func notANumber(digits: String) {
        #expect(JSONNumber(digits: digits) == nil)
    }

    @Test(
        "Numbers are equal by value, and then their hashes are too",
        arguments: [
            ("1", "1.0", true), ("1e2", "100", true), ("-0", "0", true), ("0.1e1", "1", true), ("1", "2", false),
            ("0.1", "0.10", true), ("1e999999999", "10e999999998", true), ("1", "-1", false),
            ("12", "120e-1", true), ("-12", "12", false), ("123456789012345678", "123456789012345678.0", true),
            ("9007199254740993", "9007199254740992", false), ("0.1", "0.1000000000000000055511151231257827", false),
        ]
    )
    func equality(left: String, right: String, equal: Bool) throws {
        let (left, right) = (try #require(JSONNumber(digits: left)), try #require(JSONNumber(digits: right)))
        #expect((left == right) == equal)
        if equal { #expect(left.hashValue == right.hashValue) }
    }

    @Test("Order is exact at any size")
    func order() throws {
        let ascending = [
            "-1e999999999", "-1e20", "-99999999999999999999", "-2", "-1.5", "-1e-999999999", "0", "1e-999999999", "0.1",
            "0.10000000000000000000000001", "1", "1.5", "2", "10", "99999999999999999998", "99999999999999999999",
            "1e20", "1e999999999",
        ]
        let numbers = try ascending.map { try #require(JSONNumber(digits: $0)) }
        for (left, lower) in numbers.enumerated() {
            for (right, upper) in numbers.enumerated() {
                #expect((lower < upper) == (left < right), "\(ascending[left]) < \(ascending[right])")
            }
        }
    }

    @Test("Doubles: what JSON cannot express is refused, what Double cannot hold is nil")
    func doubles() throws {
        #expect(JSONNumber(Double.nan) == nil)
        #expect(JSONNumber(-Double.infinity) == nil)
        #expect(JSONNumber(0.25)?.digits == "0.25")
        #expect(JSONNumber(digits: "1e400")?.double == nil)
        #expect(JSONNumber(digits: "1e-400")?.double == 0)
        #expect(JSONNumber(digits: "2.5")?.double == 2.5)
        for value in [1e300, 1e-300, 123456789.5, Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude] {
            let number = try #require(JSONNumber(value))
            #expect(JSONNumber(digits: number.digits)?.double == value)
        }
    }
}

@Suite("Numbers in fixed point")
struct FixedPointTests {
    @Test(
        "Are read with their fraction, and not where Int64 or the notation has no room",
        arguments: [
            ("0", 0, 0), ("-0.0", 0, 1), ("12.50", 1250, 2), ("-0.57", -57, 2),
            ("123456789012345678", 123_456_789_012_345_678, 0),
            ("-12345678901234567.8", nil, 0), ("1234567890123456.7", 12_345_678_901_234_567, 1),
            ("1e2", nil, 0), ("1234567890123456789", nil, 0),
        ] as [(String, Int64?, Int)]
    )
    func fixedPoint(digits: String, units: Int64?, fractionDigits: Int) throws {
        let number = try #require(JSONNumber(digits: digits))
        #expect(number.fixedPoint?.units == units)
        if units != nil { #expect(number.fixedPoint?.fractionDigits == fractionDigits) }
    }
}
