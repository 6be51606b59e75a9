internal import JSON

/// Applies a compiled schema to one value.
///
/// It runs in one of two ways: *probing* stops at the first violation and keeps no record, *collecting* finds them all
/// with their places. The work is bounded, since schemas exist that would take time exponential in the depth of a
/// value; a value that exhausts it counts as invalid.
struct Validator {
    /// The most violations that are reported.
    static let maximumViolations = 100
    /// What one validation may cost. A step of a pattern or of a long division costs 1.
    static let maximumEffort = 5_000_000
    /// What the application of one schema to one value costs.
    static let effortOfSchema = 5

    private enum Step {
        case member(String)
        case item(Int)
    }

    let program: SchemaProgram
    private(set) var isCollecting: Bool
    private var violations: [Violation] = []
    private var path: [Step] = []
    /// What is left of what this validation may cost.
    var effort: Int
    /// What has been looked at of the value at hand, if an `unevaluated…` of this value wants to know.
    var evaluated: EvaluatedMarks?
    /// The resources that were entered on the way to the schema at hand; kept if dynamic references need it.
    private var scope: [Int] = []
    private var matcher = PatternMatcher()

    private init(_ program: SchemaProgram, isCollecting: Bool, effort: Int = maximumEffort) {
        self.program = program
        self.isCollecting = isCollecting
        self.effort = effort
    }

    static func isValid(_ value: JSONValue, _ program: SchemaProgram) -> Bool {
        var validator = Validator(program, isCollecting: false)
        return validator.check(value, 0) && validator.effort > 0
    }

    static func violations(
        of value: JSONValue,
        _ program: SchemaProgram,
        effort: Int = maximumEffort
    ) -> [Violation] {
        var validator = Validator(program, isCollecting: true, effort: effort)
        _ = validator.check(value, 0)
        guard validator.effort > 0 else {
            let message = "this value takes too much work to check against this schema"
            return [Violation(instance: JSONPointer(), schema: JSONPointer(), keyword: "", message: message)]
        }
        return Array(validator.violations.prefix(maximumViolations))
    }

    // MARK: Applying

    /// Whether a value satisfies a schema.
    mutating func check(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        guard effort > 0 else { return false }
        effort -= Self.effortOfSchema + value.weight
        let node = program.tables.nodes[id]
        switch node.verdict {
        case .anything: return true
        case .nothing: return refuse(at: id, nil, "false", "no value is allowed here")
        case .rules: break
        }
        guard program.hasDynamicReferences, scope.last != node.resource else { return checkNode(value, node, id) }
        scope.append(node.resource)
        defer { scope.removeLast() }
        return checkNode(value, node, id)
    }

    private mutating func checkNode(_ value: JSONValue, _ node: SchemaNode, _ id: SchemaNode.ID) -> Bool {
        guard node.wantsEvaluated else { return checkRules(value, node, id) }
        // It sees what the schemas inside it have looked at, not what those around it have; they see what it has.
        let outer = evaluated
        evaluated = EvaluatedMarks()
        let isValid = checkRules(value, node, id)
        if var outer, let inner = evaluated {
            if isValid { outer.formUnion(inner) }
            evaluated = outer
        } else {
            evaluated = nil
        }
        return isValid
    }

    private mutating func checkRules(_ value: JSONValue, _ node: SchemaNode, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for index in node.rules {
            let rule = program.tables.rules[index]
            // What broke another rule has left no marks, so everything would look as if nothing had looked at it.
            if !isValid, rule.readsMarks { continue }
            if !check(value, rule, id) {
                isValid = false
                if isDone { return false }
            }
        }
        return isValid
    }

    /// Whether a value satisfies a schema, without a record.
    mutating func probe(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let wasCollecting = isCollecting
        isCollecting = false
        defer { isCollecting = wasCollecting }
        return check(value, id)
    }

    /// The same for a schema that may fail without harm: then what it has looked at does not count.
    mutating func attempt(_ value: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let before = evaluated
        let isValid = probe(value, id)
        if !isValid { evaluated = before }
        return isValid
    }

    /// What a schema finds wrong with a value, without adding it to the record.
    mutating func findings(_ value: JSONValue, _ id: SchemaNode.ID) -> [Violation] {
        let (before, marks) = (violations, evaluated)
        violations = []
        defer { (violations, evaluated) = (before, marks) }
        _ = check(value, id)
        return violations
    }

    // MARK: Parts of the value

    /// Whether a member satisfies a schema.
    mutating func check(_ member: JSONValue, at key: String, _ id: SchemaNode.ID) -> Bool {
        if !isCollecting, evaluated == nil { return check(member, id) }
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        guard isCollecting else { return check(member, id) }
        path.append(.member(key))
        defer { path.removeLast() }
        return check(member, id)
    }

    /// Whether an item satisfies a schema.
    mutating func check(_ item: JSONValue, at index: Int, _ id: SchemaNode.ID) -> Bool {
        if !isCollecting, evaluated == nil { return check(item, id) }
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        guard isCollecting else { return check(item, id) }
        path.append(.item(index))
        defer { path.removeLast() }
        return check(item, id)
    }

    /// Whether a part of the value satisfies a schema, without a record.
    mutating func probe(part: JSONValue, _ id: SchemaNode.ID) -> Bool {
        let outer = evaluated
        evaluated = nil
        defer { evaluated = outer }
        return probe(part, id)
    }

    // MARK: Tables

    /// Whether a pattern is found in a text.
    mutating func finds(_ pattern: Int, in text: String) -> Bool {
        matcher.finds(program.tables.patterns[pattern], in: text, effort: &effort)
    }

    /// The schema that a dynamic reference leads to on this way.
    mutating func target(of reference: DynamicReference) -> SchemaNode.ID {
        effort -= scope.count
        for resource in scope {
            if let target = reference.targets[resource] { return target }
        }
        return reference.fallback
    }

    // MARK: Recording

    /// Whether nothing more can be learned: one violation is enough when probing, and the record is bounded.
    var isDone: Bool { !isCollecting || violations.count >= Self.maximumViolations || effort <= 0 }

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

    /// Records a violation of a keyword of a schema; always false.
    mutating func refuse(_ id: SchemaNode.ID, _ keyword: String, _ message: @autoclosure () -> String) -> Bool {
        refuse(at: id, keyword, keyword, message())
    }

    private mutating func refuse(
        at id: SchemaNode.ID,
        _ step: String?,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard isCollecting else { return false }
        var place = program.tables.places[id]
        if let step { place = place.appending(step) }
        let violation = Violation(instance: instance, schema: place.pointer, keyword: keyword, message: message())
        violations.append(violation)
        return false
    }

    /// The same where the phone's decoder stumbles as well, if its type is known; always false.
    mutating func refuse(
        undecodable id: SchemaNode.ID,
        _ keyword: String,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard let type = program.tables.swiftTypes[id] else { return refuse(id, keyword, message()) }
        return refuse(id, keyword, "\(message()); the phone's `\(type)` cannot decode it")
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

extension JSONValue {
    /// What reading the value with everything in it costs, as equality and hashing do.
    var fullWeight: Int {
        switch self {
        case .null, .bool, .number, .string: Validator.effortOfSchema + weight
        case .array(let items): items.reduce(Validator.effortOfSchema) { $0 + $1.fullWeight }
        case .object(let object):
            object.entries.reduce(Validator.effortOfSchema) { $0 + $1.key.weight + $1.value.fullWeight }
        }
    }

    /// What looking at the value itself costs, beyond what every value costs: long texts and numbers are read as a
    /// whole.
    fileprivate var weight: Int {
        switch self {
        case .string(let text): text.weight
        case .number(let number): number.digits.weight
        case .null, .bool, .array, .object: 0
        }
    }
}

extension String {
    /// What reading it costs, beyond what every value and name costs.
    var weight: Int { utf8.count >> 4 }
}
