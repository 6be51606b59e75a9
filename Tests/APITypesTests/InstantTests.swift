import APITypes
import Testing

@Suite("Times")
struct InstantTests {
    @Test(
        "RFC 3339 is read and written",
        arguments: [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
            ("2022-12-18T15:00:00Z", 1_671_375_600_000_000, "2022-12-18T15:00:00Z"),
            ("2022-12-18T18:00:00+03:00", 1_671_375_600_000_000, "2022-12-18T15:00:00Z"),
            ("2022-12-18T09:30:00-05:30", 1_671_375_600_000_000, "2022-12-18T15:00:00Z"),
            ("2022-12-18t15:00:00.5z", 1_671_375_600_500_000, "2022-12-18T15:00:00.500Z"),
            ("2022-12-18 15:00:00.000001Z", 1_671_375_600_000_001, "2022-12-18T15:00:00.000001Z"),
            ("2022-12-18T15:00:00.1234567Z", 1_671_375_600_123_456, "2022-12-18T15:00:00.123456Z"),
            ("2024-02-29T23:59:60Z", 1_709_251_200_000_000, "2024-03-01T00:00:00Z"),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000, "2000-02-29T00:00:00Z"),
            ("1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000_000, "9999-12-31T23:59:59Z"),
            ("0001-01-01T01:00:00+01:00", -62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
            ("9999-12-31T22:59:59.999999-01:00", 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ]
    )
    func reading(text: String, microseconds: Int64, written: String) throws {
        let instant = try #require(Instant(text))
        #expect(instant.microseconds == microseconds)
        #expect(instant.description == written)
    }

    @Test(
        "what is not a time is refused",
        arguments: [
            "", "2022-12-18", "2022-12-18T15:00:00", "2022-12-18T15:00Z", "2022-12-18T15:00:00.Z",
            "2022-12-18T24:00:00Z",
            "2022-12-18T15:60:00Z", "2022-12-18T15:00:61Z", "2022-13-18T15:00:00Z", "2022-00-18T15:00:00Z",
            "2022-02-29T15:00:00Z", "1900-02-29T15:00:00Z", "2022-04-31T15:00:00Z", "0000-01-01T00:00:00Z",
            "2022-12-18T15:00:00Z ", "2022-12-18T15:00:00+3:00", "2022-12-18T15:00:00+24:00", "22-12-18T15:00:00Z",
            "2022-12-18T15:00:00é", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:60Z", "0001-01-01T00:59:59+01:00",
        ]
    )
    func refusing(text: String) {
        #expect(Instant(text) == nil)
    }

    @Test("every day of four hundred years and more is written as it is read")
    func everyDay() throws {
        var previous = ""
        for day in stride(from: Int64(-200_000), through: 200_000, by: 97) {
            let instant = Instant(unixSeconds: day * 86_400 + 43_210)
            let text = instant.description
            #expect(Instant(text) == instant)
            #expect(text > previous)
            previous = text
        }
    }

    @Test(
        "UNIX seconds are rounded down, before 1970 too",
        arguments: [(1_500_000, 1), (-1, -1), (-1_000_000, -1), (0, 0)]
    )
    func unixSeconds(microseconds: Int64, seconds: Int64) {
        #expect(Instant(microseconds: microseconds).unixSeconds == seconds)
    }
}
