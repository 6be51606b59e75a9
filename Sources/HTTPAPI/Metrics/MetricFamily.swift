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
    /// By rendered label text, without braces.
    var series: [String: any MetricSeries] = [:]

    init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// Appends the type line and one or more lines for each series.
    func render(into text: inout String) {
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for (labels, one) in series.sorted(by: { $0.key < $1.key }) {
            one.render(name: name, labels: labels, into: &text)
        }
    }
}

/// One line of values: a metric name with one set of label values.
protocol MetricSeries: AnyObject, Sendable {
    /// Appends the sample lines, each with its newline.
    func render(name: String, labels: String, into text: inout String)
}
