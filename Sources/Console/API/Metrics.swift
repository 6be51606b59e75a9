/// The daemon's metrics, read from their Prometheus text.
struct MetricSamples: Sendable {
    struct Sample: Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    let samples: [Sample]

    init(_ text: String) {
        samples = text.split(separator: "\n").compactMap { Self.sample($0) }
    }

    func all(_ name: String) -> [Sample] { samples.filter { $0.name == name } }

    func sum(_ name: String) -> Double { all(name).reduce(0) { $0 + $1.value } }

    /// `name{label="value",…} number`
    private static func sample(_ line: Substring) -> Sample? {
        guard line.first != "#", let space = line.lastIndex(of: " "), let value = Double(line[space...].dropFirst())
        else { return nil }
        let series = line[..<space]
        let name = series.prefix { $0 != "{" }
        var labels: [String: String] = [:]
        var rest = series.dropFirst(name.count + 1)
        while let equals = rest.firstIndex(of: "=") {
            let label = String(rest[..<equals])
            rest = rest[equals...].dropFirst(2)
            var text = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    text.append(character)
                    continue
                }
                let escaped = rest.popFirst()
                text.append(escaped == "n" ? "\n" : escaped ?? "\\")
            }
            labels[label] = text
            rest = rest.drop { $0 == "," }
        }
        return Sample(name: String(name), labels: labels, value: value)
    }
}
