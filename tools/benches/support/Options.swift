/// What the program was told: a mode, then `--name value` pairs.
package struct Options {
    package let mode: String
    private let values: [String: String]

    package init(_ arguments: [String]) throws(Mistake) {
        guard let mode = arguments.first else { throw Mistake("no mode") }
        self.mode = mode
        var values: [String: String] = [:]
        var rest = arguments.dropFirst()
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else { throw Mistake("\(name) has no value") }
            values[String(name.dropFirst(2))] = value
        }
        self.values = values
    }

    package func text(_ name: String) throws(Mistake) -> String {
        guard let value = values[name] else { throw Mistake("--\(name) is missing") }
        return value
    }

    package func has(_ name: String) -> Bool { values[name] != nil }

    package func number(_ name: String) throws(Mistake) -> Int {
        guard let number = Int(try text(name)), number > 0 else { throw Mistake("--\(name) is no positive number") }
        return number
    }
}

/// Something that the caller of the program has to mend.
package struct Mistake: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
