internal import JSON

/// Applies the nodes of a schema to one value.
///
/// It runs in one of two ways: *probing* stops at the first violation and keeps no record, *collecting* finds them all
/// with their places. The work is bounded by a number of steps, since schemas exist that would take time exponential in
/// the depth of a value; a value that exhausts it counts as invalid.
struct Validator {
    /// The most violations that are reported.
    static let maximumViolations = 100
    /// The most schema applications for one value.
    static let maximumSteps = 1_000_000

    private enum Step {
        case member(String)
        case item(Int)
    }

    let nodes: [SchemaNode]
    private(set) var isCollecting: Bool
    private var violations: [Violation] = []
    private var path: [Step] = []
    private var stepsLeft = Self.maximumSteps

    private init(nodes: [SchemaNode], isCollecting: Bool) {
        self.nodes = nodes
        self.isCollecting = isCollecting
    }

    static func isValid(_ value: JSONValue, nodes: [SchemaNode]) -> Bool {
        var validator = Validator(nodes: nodes, isCollecting: false)
        return validator.check(value, 0) && validator.stepsLeft > 0
    }

    static func violations(of value: JSONValue, nodes: [SchemaNode]) -> [Violation] {
        var validator = Validator(nodes: nodes, isCollecting: true)
        _ = validator.check(value, 0)
        guard validator.stepsLeft > 0 else {
            let message = "the value is too deep and the schema too branched to be checked"
            return [Violation(instance: JSONPointer(), schema: JSONPointer(), keyword: "", message: message)]
        }
        return Array(validator.violations.prefix(maximumViolations))
    }

    // MARK: Applying

    /// Whether a value satisfies a node.
    mutating func check(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        guard stepsLeft > 0 else { return false }
        stepsLeft -= 1
        switch nodes[id].verdict {
        case .anything:
            return true
        case .nothing:
            return refuse(nodes[id].location, "false", "no value is allowed here")
        case .rules(let rules):
            var isValid = true
            for rule in rules where !check(value, rule, id) {
                isValid = false
                if isDone { return false }
            }
            return isValid
        }
    }

    /// Whether a value satisfies a node, without a record.
    mutating func probe(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let wasCollecting = isCollecting
        isCollecting = false
        defer { isCollecting = wasCollecting }
        return check(value, id)
    }

    /// What a node finds wrong with a value, without adding it to the record.
    mutating func findings(_ value: JSONValue, _ id: SchemaNode.ID) -> [Violation] {
        let before = violations
        violations = []
        defer { violations = before }
        _ = check(value, id)
        return violations
    }

    /// Whether a member satisfies a node.
    mutating func check(_ member: JSONValue, at key: String, _ id: SchemaNode.ID) -> Bool {
        guard isCollecting else { return check(member, id) }
        path.append(.member(key))
        defer { path.removeLast() }
        return check(member, id)
    }

    /// Whether an item satisfies a node.
    mutating func check(_ item: JSONValue, at index: Int, _ id: SchemaNode.ID) -> Bool {
        guard isCollecting else { return check(item, id) }
        path.append(.item(index))
        defer { path.removeLast() }
        return check(item, id)
    }

    // MARK: Recording

    /// Whether nothing more can be learned: one violation is enough when probing, and the record is bounded.
    var isDone: Bool { !isCollecting || violations.count >= Self.maximumViolations || stepsLeft == 0 }

    /// The place at hand in the value.
    var instance: JSONPointer {
        JSONPointer(
            tokens: path.map { step in
                switch step {
                case .member(let key): key
                case .item(let index): String(index)
                }
            }
        )
    }

    /// Records a violation of a keyword of a node; always false.
    mutating func refuse(_ id: SchemaNode.ID, _ keyword: String, _ message: @autoclosure () -> String) -> Bool {
        guard isCollecting else { return false }
        return refuse(nodes[id].location.appending(keyword), keyword, message())
    }

    private mutating func refuse(_ schema: JSONPointer, _ keyword: String, _ message: String) -> Bool {
        guard isCollecting else { return false }
        violations.append(Violation(instance: instance, schema: schema, keyword: keyword, message: message))
        return false
    }

    /// Records a violation at a member of the value at hand; always false.
    mutating func refuse(
        member: String,
        _ id: SchemaNode.ID,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard isCollecting else { return false }
        path.append(.member(member))
        defer { path.removeLast() }
        return refuse(id, keyword, message())
    }

    /// Takes findings into the record.
    mutating func record(_ findings: [Violation]) { violations += findings }
}
