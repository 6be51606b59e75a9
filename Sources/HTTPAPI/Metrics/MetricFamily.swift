/// All series of one metric name.
struct MetricFamily: Sendable {
    /// The Prometheus type of a metric.
    enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    let name: String
    let kind: Kind
    /// The series by label text, without braces.
    var series: [String: any MetricSeries] = [:]

    /// Appends the metric's help, its type and the lines of its series. With `label`, only the series that have it.
    func render(only label: String? = nil, into text: inout String) {
        let shown = series.filter { labels, _ in label.map { Self.has($0, labels) } ?? true }
        guard !shown.isEmpty else { return }
        if let help = MetricHelp.texts[name] { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for (labels, one) in shown.sorted(by: { $0.key < $1.key }) {
            one.render(name: name, labels: labels, into: &text)
        }
    }

    /// Whether the label text contains this label. Quotes within values are escaped, so no value can look like a label.
    private static func has(_ label: String, _ labels: String) -> Bool {
        labels == label || labels.hasPrefix(label + ",") || labels.hasSuffix("," + label)
            || labels.contains("," + label + ",")
    }
}

/// The values of a metric for one set of label values.
protocol MetricSeries: AnyObject, Sendable {
    /// Appends the sample lines, each with its newline.
    func render(name: String, labels: String, into text: inout String)
}
