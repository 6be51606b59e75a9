import APITypes

extension Route {
    /// The names and values of a query.
    ///
    /// - Throws: 422 if it is not percent-encoded UTF-8, or if a name is unknown or repeated.
    func readQuery(_ text: String?) throws(Problem) -> [String: String] {
        guard let text, !text.isEmpty else { return [:] }
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : ""
            guard let name = PercentEncoding.decode(parts[0]), let value = PercentEncoding.decode(value) else {
                throw Problem.invalidRequest("The query is not percent-encoded UTF-8.")
            }
            guard query.contains(name) else {
                throw Problem.invalidRequest("The query parameter '\(name)' is not known here.")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem.invalidRequest("The query parameter '\(name)' is given twice.")
            }
        }
        return values
    }
}
