/// Turns swift-metrics labels and dimensions into Prometheus names and label text.
enum MetricName {
    /// A counter's name, with the `_total` that OpenMetrics requires.
    static func counter(_ label: String) -> String {
        suffixed(plain(label), "_total")
    }

    /// A timer's name, with its unit.
    static func timer(_ label: String) -> String {
        suffixed(plain(label), "_seconds")
    }

    /// A name with only the characters that Prometheus allows.
    static func plain(_ label: String) -> String {
        sanitized(label, alsoAllowed: UInt8(ascii: ":"))
    }

    /// `a="b",c="d"`, sorted by name; empty without labels.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions
            .map { (sanitized($0.0, alsoAllowed: nil), escaped($0.1)) }
            .sorted { $0.0 < $1.0 }
            .map { "\($0.0)=\"\($0.1)\"" }
            .joined(separator: ",")
    }

    private static func suffixed(_ name: String, _ suffix: String) -> String {
        name.hasSuffix(suffix) ? name : name + suffix
    }

    private static func sanitized(_ text: String, alsoAllowed: UInt8?) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 1)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if bytes.isEmpty { bytes.append(UInt8(ascii: "_")) }
                bytes.append(byte)
            case alsoAllowed:
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "_"))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
