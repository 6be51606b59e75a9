public import Foundation

/// Encodes and decodes what your backend sends to the app, such as the content state of a card that the app starts.
///
/// Tally's API writes dates as RFC 3339 text. ActivityKit reads the very same struct with the default `JSONDecoder`, where a
/// date is a number; Tally converts it. Your app must not use the default for what comes from your backend.
public enum TallyJSON {
    /// A decoder for content states and attributes as they stand in Tally's API.
    public static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            for format in formats {
                // Another format may fit.
                if let date = try? format.parse(text) { return date }
            }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        return decoder
    }

    /// An encoder that writes what ``decoder`` reads.
    public static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(formats[0]))
        }
        return encoder
    }

    private static let formats = [
        Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle(),
    ]
}
