/// What the program was told: a mode, then `--name value` pairs.
struct Options {
    let mode: String
    private let values: [String: String]

    init(_ arguments: [String]) throws(Mistake) {
        guard let mode = arguments.first else { throw Mistake("no mode: describe, batches or singles") }
        self.mode = mode
        var values: [String: String] = [:]
        var rest = arguments.dropFirst()
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else { throw Mistake("\(name) has no value") }
            values[String(name.dropFirst(2))] = value
        }
        self.values = values
    }

    func text(_ name: String) throws(Mistake) -> String {
        guard let value = values[name] else { throw Mistake("--\(name) is missing") }
        return value
    }

    func number(_ name: String) throws(Mistake) -> Int {
        guard let number = Int(try text(name)), number > 0 else { throw Mistake("--\(name) is no positive number") }
        return number
    }
}
